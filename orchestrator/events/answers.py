"""How a subagent's work ended: its answer to the brief, and to each further question.

Folded from the events that tell of it. Nothing here fails on a field of a wrong type.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orchestrator.events.phrases import count_phrase, number, one_line, quoted

__all__ = ["Answer", "Answers"]

Data = dict[str, Any]
STALL_LIMIT = "stall_s"
_BAD = frozenset({"cancelled", "failed", "limit"})
"""Outcomes that say more than the status of the findings."""


@dataclass(slots=True)
class Answer:
    """What a subagent handed over, for its brief or for one further question.

    Attributes:
        id: as deliveries name it: `a3`, or `a3/1` for its first further question.
        question: the further question; "" for the brief.
        call: id of the call that asked it; "" for the brief.
        is_over: it has ended.
        is_delivered: it has reached the agent that wants it.
        status: of the findings: `complete`, `partial`, `nothing_found`, `failed`.
        outcome: of the loop: `submitted`, `unvalidated`, `limit`, `failed` or
            `cancelled`.
        reason: why it ended so; "" where that needs no saying.
        cancelled_by: the agent that asked to cancel it; "" for a person or nobody.
        cancelled_why: in the words of who asked.
        limit: name of the limit that stopped it, or "".
        first_item: number of the first item.
        items: how many there are.
        unsupported: items whose evidence was not found.
        unsupported_items: their numbers.
        explored_tokens: of all that its tools returned up to then.
        returned_tokens: of what it handed over.
        findings: as handed over; {} where they are not kept.
    """

    id: str
    question: str = ""
    call: str = ""
    is_over: bool = False
    is_delivered: bool = False
    status: str = ""
    outcome: str = ""
    reason: str = ""
    cancelled_by: str = ""
    cancelled_why: str = ""
    limit: str = ""
    first_item: int = 1
    items: int = 0
    unsupported: int = 0
    unsupported_items: list[Any] = field(default_factory=list)
    explored_tokens: int = 0
    returned_tokens: int = 0
    findings: Data = field(default_factory=dict)

    @property
    def word(self) -> str:
        """Return how it ended in at most ten letters; "" while it is at work."""
        if not self.is_over:
            return ""
        if self.limit == STALL_LIMIT and self.status != "complete":
            return "stalled"
        if self.outcome in _BAD:
            return self.outcome
        told = self.status or self.outcome
        return one_line(told).replace("nothing_found", "none found") or "ended"

    @property
    def why(self) -> str:
        """Return why it ended so, where that needs saying; else ""."""
        if self.outcome == "cancelled" and self.cancelled_by:
            told = f": {self.cancelled_why}" if self.cancelled_why else ""
            return f"cancelled by {self.cancelled_by}{told}"
        if self.outcome == "unvalidated":
            told = f" ({self.reason})" if self.reason else ""
            return f"its last words are taken as they are{told}"
        if self.word == "stalled":
            return f"no progress: {self.reason}"
        return self.reason

    @property
    def brought(self) -> str:
        """Return what it handed over: `3 items, 1 of them unsupported`."""
        if not self.items:
            return "nothing"
        bad = f", {self.unsupported} of them unsupported" if self.unsupported else ""
        return count_phrase(self.items, "item") + bad

    def take(self, findings: Data) -> None:
        """Keep findings, whole."""
        self.findings = findings
        self._count(findings)

    def end(self, data: Data, *, keeps_findings: bool) -> None:
        """Take over a `subagent.ended`."""
        self.is_over = True
        self.status = one_line(data.get("status"))
        self.outcome = one_line(data.get("outcome"))
        self.reason = one_line(data.get("reason"))
        self.first_item = int(number(data.get("first_item"))) or 1
        self.explored_tokens = int(number(data.get("explored_tokens")))
        self.returned_tokens = int(number(data.get("returned_tokens")))
        self.unsupported = int(number(data.get("unsupported")))
        numbers = data.get("unsupported_items")
        self.unsupported_items = numbers if isinstance(numbers, list) else []
        findings = data.get("findings")
        found = findings if isinstance(findings, dict) else {}
        self._count(found)
        self.findings = found if keeps_findings else {}

    def _count(self, findings: Data) -> None:
        items = findings.get("items")
        self.items = len(items) if isinstance(items, list) else 0

    @property
    def open_questions(self) -> list[str]:
        """Return what it says is not answered, a line each, as far as it is kept."""
        questions = self.findings.get("open_questions")
        return [one_line(q) for q in (questions if isinstance(questions, list) else [])]

    @property
    def unsupported_claims(self) -> list[str]:
        """Return the claims whose evidence was not found, as far as they are kept."""
        items = self.findings.get("items")
        return [
            str(item.get("claim", ""))
            for place, item in enumerate(
                items if isinstance(items, list) else [], self.first_item
            )
            if isinstance(item, dict) and place in self.unsupported_items
        ]

    def to_dict(self) -> Data:
        """Return everything but the findings, for machines."""
        return {
            "id": self.id,
            "question": self.question,
            "over": self.is_over,
            "delivered": self.is_delivered,
            "status": self.status,
            "outcome": self.outcome,
            "word": self.word,
            "reason": self.why,
            "cancelled_by": self.cancelled_by,
            "limit": self.limit,
            "first_item": self.first_item,
            "items": self.items,
            "unsupported": self.unsupported,
            "explored_tokens": self.explored_tokens,
            "returned_tokens": self.returned_tokens,
        }


class Answers:
    """All answers of one subagent, the one to its brief first; that one always is."""

    def __init__(self, agent: str, *, keeps_findings: bool = True) -> None:
        """Begin with a brief that is not answered yet.

        Args:
            agent: its id.
            keeps_findings: keep them too, not only how many items there are.
        """
        self._agent = agent
        self._keeps_findings = keeps_findings
        self.all = [Answer(agent)]

    @property
    def brief(self) -> Answer:
        """Return the answer to the brief, also while it is at work on it."""
        return self.all[0]

    @property
    def newest(self) -> Answer:
        """Return the answer that it is, or was, at work on last."""
        return self.all[-1]

    @property
    def further(self) -> list[Answer]:
        """Return those to further questions, in order."""
        return self.all[1:]

    @property
    def undelivered(self) -> list[Answer]:
        """Return those that are there and have not reached who wants them."""
        return [each for each in self.all if each.is_over and not each.is_delivered]

    @property
    def is_delivered(self) -> bool:
        """Return whether all that it was asked has been answered and has arrived."""
        return all(each.is_over and each.is_delivered for each in self.all)

    def ask(self, data: Data) -> None:
        """Take over a `subagent.asked`."""
        call = one_line(data.get("call"))
        if call and any(each.call == call for each in self.all):
            return  # the same one, told again
        question = one_line(data.get("question"))
        self.all.append(Answer(f"{self._agent}/{len(self.all)}", question, call))

    def limit(self, data: Data) -> None:
        """Take over a `limit.reached` of this agent."""
        if not self.newest.is_over:
            self.newest.limit = one_line(data.get("limit"))

    def cancel(self, data: Data) -> None:
        """Take over a `control.received` about this agent; the first one counts."""
        newest = self.newest
        if not newest.is_over and not newest.cancelled_why:
            newest.cancelled_by = one_line(data.get("by"))
            newest.cancelled_why = one_line(data.get("reason"))

    def end(self, data: Data) -> None:
        """Take over a `subagent.ended`."""
        question = one_line(data.get("question"))
        if not question:
            answer = self.brief
        elif self.newest.question and not self.newest.is_over:
            answer = self.newest
        else:  # that it was asked is lost
            answer = Answer(f"{self._agent}/{len(self.all)}", question)
            self.all.append(answer)
        answer.end(data, keeps_findings=self._keeps_findings)

    def deliver(self, delivery: str) -> None:
        """Note that an answer has arrived, by its id; unknown ones are passed over."""
        for each in self.all:
            if each.id == delivery:
                each.is_delivered = True

    def deliver_all(self) -> None:
        """Note that all that is there has arrived."""
        for each in self.undelivered:
            each.is_delivered = True

    def further_phrases(self, *, goes_on: bool) -> list[str]:
        """Return what became of each further question, a line each.

        Args:
            goes_on: somebody works on the run, or it is parked until somebody does.
        """
        return [_further(each, goes_on=goes_on) for each in self.further]


def _further(answer: Answer, *, goes_on: bool) -> str:
    asked = f"asked further {quoted(answer.question)}"
    if not answer.is_over:
        return f"{asked}: {'not answered yet' if goes_on else 'cut off'}"
    told = [answer.word, answer.why]
    if answer.items:
        agent = answer.id.partition("/")[0]
        ends = {answer.first_item: "", answer.first_item + answer.items - 1: ""}
        named = " to ".join(f"[{agent}#{place}]" for place in ends)
        told.append(f"{answer.brought}, {named}")
    return f"{asked}: {'; '.join(each for each in told if each)}"
