"""One accepted brief and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.brief import Brief
from orchestrator.events import SubagentEnded
from orchestrator.findings import Findings
from orchestrator.messages import one_line
from orchestrator.subagents.child import Child
from orchestrator.subagents.render import Delivered

__all__ = ["CANCELLED", "MAX_REASON_CHARS", "Place", "as_delivered", "makes_up_for"]

CANCELLED = "cancelled"
"""The outcome of a subagent that was stopped alone."""
FAILED = frozenset({"failed", "limit", "unvalidated"})
"""Outcomes after which something the lead asked for is not there."""
MAX_REASON_CHARS = 300


@dataclass(slots=True)
class Place:
    """One accepted brief and what became of it.

    Attributes:
        child: who works on it.
        call: id of the `delegate` call.
        index: its place in that call, from 0.
        after: ids of the subagents that had ended when it was accepted.
        ended: how it ended, or None.
    """

    child: Child
    call: str
    index: int
    after: frozenset[str] = frozenset()
    ended: SubagentEnded | None = None

    @property
    def id(self) -> str:
        """Return the agent's id."""
        return self.child.id

    @property
    def brief(self) -> Brief:
        """Return what it was asked."""
        return self.child.brief

    @property
    def findings(self) -> Findings | None:
        """Return the findings as delivered, or None while the subagent is at work."""
        return (
            Findings.model_validate(self.ended.findings, extra="ignore")
            if self.ended
            else None
        )

    @property
    def title(self) -> str:
        """Return the brief's title on one line."""
        return one_line(self.brief.title)

    @property
    def is_cancelled(self) -> bool:
        """Return whether it was stopped alone, before its end."""
        return self.ended is not None and self.ended.outcome == CANCELLED

    @property
    def problem(self) -> str:
        """Return why what it was asked for is not there, or ""."""
        ended = self.ended
        if ended is None:
            return "failed: it was not finished"
        reason = one_line(ended.reason, MAX_REASON_CHARS)
        if self.is_cancelled:
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


def makes_up_for(later: Place, failed: Place) -> bool:
    """Tell whether `later`, sent after `failed` had ended, brought its answer."""
    is_same = later.title.casefold() == failed.title.casefold()
    return is_same and failed.id in later.after and not later.problem


def as_delivered(place: Place) -> Delivered:
    """Return the findings of a subagent that has ended, as the lead gets them."""
    ended, found = place.ended, place.findings
    if ended is None or found is None:
        raise ValueError(f"`{place.id}` has not ended")
    return Delivered(
        agent=place.id,
        title=place.brief.title,
        findings=found,
        outcome=ended.outcome,
        reason=ended.reason,
        unsupported=tuple(ended.unsupported_items),
        notes=tuple(ended.notes),
    )
