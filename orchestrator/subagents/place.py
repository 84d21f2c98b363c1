"""One accepted brief and what became of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from orchestrator.brief import Brief
from orchestrator.events import SubagentAsked, SubagentEnded
from orchestrator.findings import Findings
from orchestrator.messages import one_line
from orchestrator.subagents.child import Child
from orchestrator.subagents.render import Delivered

__all__ = [
    "CANCELLED",
    "MAX_REASON_CHARS",
    "Place",
    "all_findings",
    "as_delivered",
    "delivery_id",
    "makes_up_for",
]

CANCELLED = "cancelled"
"""The outcome of a subagent that was stopped alone."""
FAILED = frozenset({"failed", "limit", "unvalidated"})
"""Outcomes after which something the lead asked for is not there."""
MAX_REASON_CHARS = 300
MAX_QUESTION_CHARS = 80


@dataclass(slots=True)
class Place:
    """One accepted brief and what became of it.

    Attributes:
        child: who works on it.
        call: id of the call that sent it.
        number: of acceptance in the whole run, from 1.
        after: ids of the subagents that had ended when it was accepted.
        scope_hash: of the tree that it may see, when it was accepted; "" if unknown.
        answers: how it ended: on its brief, then on each further question.
        asked: the further questions, in order.
        is_begun: it has, or had, a place to work in.
        is_withdrawn: its parent cancelled it: nothing is missing.
    """

    child: Child
    call: str
    number: int = 0
    after: frozenset[str] = frozenset()
    scope_hash: str = ""
    answers: list[SubagentEnded] = field(default_factory=list)
    asked: list[SubagentAsked] = field(default_factory=list)
    is_begun: bool = False
    is_withdrawn: bool = False

    @property
    def id(self) -> str:
        """Return the agent's id."""
        return self.child.id

    @property
    def parent(self) -> str:
        """Return the id of the agent that sent it."""
        return self.child.parent

    @property
    def brief(self) -> Brief:
        """Return what it was asked."""
        return self.child.brief

    @property
    def ended(self) -> SubagentEnded | None:
        """Return how it ended last, or None while it is at work."""
        is_over = len(self.answers) > len(self.asked)
        return self.answers[-1] if is_over else None

    @property
    def findings(self) -> Findings | None:
        """Return all that it delivered, items in their numbers, or None."""
        return all_findings(self.answers) if self.answers else None

    @property
    def unsupported(self) -> list[int]:
        """Return the numbers of its items without found evidence."""
        return [n for each in self.answers for n in each.unsupported_items]

    @property
    def title(self) -> str:
        """Return the brief's title on one line."""
        return one_line(self.brief.title)

    @property
    def is_cancelled(self) -> bool:
        """Return whether it was stopped alone, before its end."""
        return self.ended is not None and self.ended.outcome == CANCELLED

    @property
    def state(self) -> str:
        """Return where it stands, in words for its parent."""
        if self.ended is not None:
            return "ended"
        return "at work" if self.is_begun else "begins once there is a place"

    def recognises(self, call: str, question: str) -> bool:
        """Take a call for the one that asked something, where nobody knows which did.

        Args:
            call: the `follow_up` call.
            question: what it asks.

        Returns:
            Whether it has been asked that by an unknown call, which is this one now.
        """
        for number, asked in enumerate(self.asked):
            if not asked.call and asked.question == question:
                self.asked[number] = replace(asked, call=call)
                return True
        return False

    @property
    def problem(self) -> str:
        """Return why what its brief asked for is not there, or ""."""
        return _problem(self.answers[0] if self.answers else None)

    @property
    def unanswered(self) -> Iterator[tuple[str, str]]:
        """Yield call and problem of further questions that got no answer.

        A later answer makes up for an earlier one that did not come.
        """
        for number, asked in enumerate(self.asked, 1):
            answers: list[SubagentEnded | None] = [*self.answers[number:]]
            problems = [_problem(each) for each in answers or [None]]
            if all(problems):
                question = one_line(asked.question, MAX_QUESTION_CHARS)
                yield asked.call, f"asked “{question}”, {problems[0]}"


def _problem(ended: SubagentEnded | None) -> str:
    """Return why what was asked for is not there, or ""."""
    if ended is None:
        return "failed: it was not finished"
    reason = one_line(ended.reason, MAX_REASON_CHARS)
    if ended.outcome == CANCELLED:
        return f"was cancelled: {reason}"
    if ended.outcome in FAILED:
        return f"failed: {reason or ended.outcome}"
    if ended.status == "failed":
        summary = str(ended.findings.get("summary", ""))
        return f"could not do the work: {one_line(summary, MAX_REASON_CHARS)}"
    # With a reason, a limit made it hand in.
    if reason and ended.status != "complete":
        return f"did not come to its end: {reason}"
    return ""


def all_findings(ends: Sequence[SubagentEnded]) -> Findings:
    """Return what a subagent delivered in all, items in their numbers.

    Args:
        ends: how it ended: on its brief, then on further questions; at least one.
    """
    first, *more = (
        Findings.model_validate(each.findings, extra="ignore") for each in ends
    )
    if not more:
        return first
    return first.model_copy(
        update={
            "summary": "\n".join(each.summary for each in (first, *more)),
            "items": sum((each.items for each in more), first.items),
        }
    )


def makes_up_for(later: Place, failed: Place) -> bool:
    """Tell whether `later`, sent after `failed` had ended, brought its answer."""
    is_same = later.title.casefold() == failed.title.casefold()
    return is_same and failed.id in later.after and not later.problem


def delivery_id(agent: str, number: int) -> str:
    """Return what a delivery is called: `a3`, then `a3/1` for its first follow-up."""
    return f"{agent}/{number}" if number else agent


def as_delivered(place: Place, number: int = 0) -> Delivered:
    """Return what a subagent brought, as its parent gets it.

    Args:
        place: it has ended so often at least.
        number: 0 for the brief, 1 for the first follow-up, and so on.
    """
    ended = place.answers[number]
    return Delivered(
        agent=place.id,
        title=place.brief.title,
        findings=Findings.model_validate(ended.findings, extra="ignore"),
        outcome=ended.outcome,
        reason=ended.reason,
        unsupported=tuple(ended.unsupported_items),
        notes=tuple(ended.notes),
        first_item=ended.first_item,
        question=ended.question,
    )
