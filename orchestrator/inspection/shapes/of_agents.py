"""Shapes of everything about one agent: `show RUN --agent AGENT`."""

from __future__ import annotations

from typing import Any

from orchestrator.inspection.shapes.figures import (
    AgentFigures,
    Shape,
    Version,
)

__all__ = [
    "AgentInFull",
    "CompactedShape",
    "EvidenceShape",
    "FindingShape",
    "ShownAgent",
    "SummaryShape",
    "TroubleShape",
]


class EvidenceShape(Shape):
    """Where a claim can be checked."""

    source: str
    quote: str


class FindingShape(Shape):
    """One item that a subagent handed back."""

    ref: str
    """As reports cite it: `a2#3`."""
    claim: str
    confidence: float | None
    """Its own estimate, 0 to 1; not calibrated."""
    supported: bool
    """Its evidence was found where it said."""
    evidence: list[EvidenceShape]


class SummaryShape(Shape):
    """The summary of one answer."""

    id: str
    text: str


class CompactedShape(Shape):
    """A compaction in short; `diff` has all of it."""

    nth: int
    seq: int
    turn: int
    """Of the request that follows."""
    says: str
    steps: list[int]
    """First and last of those that went; empty if none did."""
    calls: int
    """Whose results went."""
    tokens: int
    """Of these results, as they had come."""
    lost: list[str]
    """What the summary lacked, and the check put right: short texts."""


class TroubleShape(Shape):
    """An event that tells of something that went wrong."""

    seq: int
    kind: str
    says: str


class AgentInFull(AgentFigures):
    """Everything about one agent."""

    label: str
    """Where it stands, in at most ten letters."""
    accepted: int | None
    """Number of the event that took its brief."""
    brief: dict[str, Any] | None
    """As it was sent: `title`, `objective`, `questions`, `scope`, …"""
    summaries: list[SummaryShape]
    findings: list[FindingShape]
    open_questions: list[str]
    notes: list[str]
    """What the program has to say about its findings."""
    edits: list[CompactedShape]
    troubles: list[TroubleShape]


class ShownAgent(Shape):
    """`show RUN --agent AGENT --json`: everything about one agent."""

    v: Version
    run: str
    agent: AgentInFull
