"""The events of a run, one frozen class per kind: what the log holds.

Changes are only additive: a field may be added with a default, never renamed,
removed or given another meaning. Unknown kinds and unknown fields survive reading
and rewriting, since a reader keeps `Event.data` as it came.

Writing gives a class (`log.append(ModelAnswered(...), agent="a1")`); reading gives an
`Event`, and `parse(event, ModelAnswered)` where the fields are wanted. Plain
dataclasses on purpose: the reading commands load them in milliseconds.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from orchestrator.events.base import SCHEMA_VERSION, Event, Payload
from orchestrator.events.of_agent import (
    AgentEnded,
    AgentStarted,
    CacheMissed,
    FileChange,
    FileSeen,
    ModelAdapted,
    ModelAnswered,
    ModelFailed,
    ModelReplaced,
    ModelRequested,
    ModelRetried,
    NotesEdited,
    NotesUpdated,
    ResultReplaced,
    TextAdded,
    ThinkingDropped,
    ToolEnded,
    ToolStarted,
)
from orchestrator.events.of_context import ContextCleared, ContextCompacted
from orchestrator.events.of_delegation import (
    BriefRefused,
    BriefReused,
    EvidenceStale,
    FindingsSubmitted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
)
from orchestrator.events.of_memory import MemoryKept, MemoryRecalled
from orchestrator.events.of_run import (
    ControlReceived,
    LimitReachedEvent,
    PermissionAnswered,
    PermissionAsked,
    ReportSubmitted,
    RunEnded,
    RunParked,
    RunReopened,
    RunResumed,
    RunStarted,
)
from orchestrator.events.worktime import WorkTime

__all__ = [
    "KINDS",
    "SCHEMA_VERSION",
    "AgentEnded",
    "AgentStarted",
    "BriefRefused",
    "BriefReused",
    "CacheMissed",
    "ContextCleared",
    "ContextCompacted",
    "ControlReceived",
    "Event",
    "EvidenceStale",
    "FileChange",
    "FileSeen",
    "FindingsSubmitted",
    "LimitReachedEvent",
    "MemoryKept",
    "MemoryRecalled",
    "ModelAdapted",
    "ModelAnswered",
    "ModelFailed",
    "ModelReplaced",
    "ModelRequested",
    "ModelRetried",
    "NotesEdited",
    "NotesUpdated",
    "Payload",
    "PermissionAnswered",
    "PermissionAsked",
    "ReportSubmitted",
    "ResultReplaced",
    "RunEnded",
    "RunParked",
    "RunReopened",
    "RunResumed",
    "RunStarted",
    "SubagentAccepted",
    "SubagentAsked",
    "SubagentEnded",
    "TextAdded",
    "ThinkingDropped",
    "ToolEnded",
    "ToolStarted",
    "WorkTime",
    "parse",
]

P = TypeVar("P", bound=Payload)

KINDS: dict[str, type[Payload]] = {
    kind.KIND: kind
    for kind in (
        RunStarted, RunResumed, RunEnded, RunReopened, ControlReceived, AgentStarted,
        AgentEnded, ModelRequested, ModelAnswered, ModelRetried, ModelFailed,
        ModelAdapted, ModelReplaced, CacheMissed, ContextCleared, ContextCompacted,
        ToolStarted, ToolEnded, TextAdded, ThinkingDropped, ResultReplaced,
        BriefRefused, BriefReused, SubagentAccepted, SubagentAsked, SubagentEnded,
        FindingsSubmitted, ReportSubmitted, NotesUpdated, LimitReachedEvent, RunParked,
        PermissionAsked, PermissionAnswered, NotesEdited, EvidenceStale,
        MemoryRecalled, MemoryKept,
    )
}  # fmt: skip


def parse(event: Event, kind: type[P]) -> P:
    """Return the data of `event` as `kind`; fields it does not know are left out.

    Raises:
        TypeError: a field without a default is missing.
    """
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in event.data.items() if name in known})
