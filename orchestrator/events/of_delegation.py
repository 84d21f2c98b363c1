"""Kinds that tell of briefs, subagents and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events.base import Payload

__all__ = [
    "BriefRefused",
    "BriefReused",
    "EvidenceStale",
    "FindingsSubmitted",
    "SubagentAccepted",
    "SubagentAsked",
    "SubagentEnded",
]


@dataclass(frozen=True, slots=True)
class BriefRefused(Payload):
    """A brief did not stand alone; nothing was spent on it."""

    KIND: ClassVar[str] = "brief.refused"
    call: str
    index: int
    title: str
    problems: list[str]
    no_room: bool = False
    """All subagents of the run were used up; nothing is wrong with the brief."""
    no_budget: bool = False
    """It would probably cost more than is left; nothing is wrong with the brief."""


@dataclass(frozen=True, slots=True)
class BriefReused(Payload):
    """A brief was answered before, and nothing changed since: nothing was spent."""

    KIND: ClassVar[str] = "brief.reused"
    call: str
    index: int
    title: str
    id: str
    """The subagent whose findings answer it."""


@dataclass(frozen=True, slots=True)
class SubagentAccepted(Payload):
    """A brief was accepted and has its agent id; the agent waits for its turn."""

    KIND: ClassVar[str] = "subagent.accepted"
    id: str
    call: str
    """The `delegate` call, by its tool_use id."""
    index: int
    """Place of the brief in that call, from 0."""
    title: str
    profile: str
    brief: dict[str, Any]
    scope_hash: str = ""
    """Of names, sizes and times of the files in its scope; "" where it is not known."""


@dataclass(frozen=True, slots=True)
class SubagentAsked(Payload):
    """A subagent that had ended is asked a further question, and goes on.

    It is told of the subagent itself; another `subagent.ended` follows.
    """

    KIND: ClassVar[str] = "subagent.asked"
    id: str
    call: str
    """The `follow_up` call, by its tool_use id."""
    question: str
    text: str
    """What it is told, word for word."""


@dataclass(frozen=True, slots=True)
class SubagentEnded(Payload):
    """A subagent is over and its findings are stored."""

    KIND: ClassVar[str] = "subagent.ended"
    id: str
    status: str
    """Of the findings: `complete`, `partial`, `nothing_found`, `failed`."""
    outcome: str
    reason: str
    findings: dict[str, Any]
    """As delivered."""
    explored_tokens: int
    """Estimated tokens of everything its tools returned."""
    returned_tokens: int
    """Estimated tokens of the findings as delivered."""
    unsupported: int = 0
    """Items whose evidence was not found."""
    unsupported_items: list[int] = field(default_factory=list)
    """Their numbers, from 1."""
    notes: list[str] = field(default_factory=list)
    """What the program has to say about the findings, a line each."""
    traceback: str = ""
    """Of a fault of the program."""
    sources: dict[str, str] = field(default_factory=dict)
    """Path → SHA-256 of the file in which evidence was found, as it was read."""
    first_item: int = 1
    """Number of the first item: those of a follow-up go on from the earlier ones."""
    question: str = ""
    """The further question that this answers; "" for the brief."""


@dataclass(frozen=True, slots=True)
class FindingsSubmitted(Payload):
    """A subagent handed in findings; problems send them back."""

    KIND: ClassVar[str] = "findings.submitted"
    attempt: int
    accepted: bool
    problems: list[str]
    findings: dict[str, Any] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    """Its own subagents whose findings it had not got: why they went back."""


@dataclass(frozen=True, slots=True)
class EvidenceStale(Payload):
    """Files have changed since the evidence in them was read; whoever is told of it.

    It is told of the agent that gets the findings, or of the run, for its report.
    """

    KIND: ClassVar[str] = "evidence.stale"
    of: str
    """The subagent whose findings they are."""
    files: dict[str, str]
    """Path → `changed` or `gone`."""
