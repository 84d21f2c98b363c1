"""Which events tell of something that went wrong."""

from __future__ import annotations

from orchestrator.events import (
    BriefRefused,
    Event,
    FindingsSubmitted,
    LimitReachedEvent,
    MemoryKept,
    MemoryRecalled,
    ModelFailed,
    ModelRetried,
    ReportSubmitted,
    RunEnded,
    RunParked,
    SubagentEnded,
    ToolEnded,
)
from orchestrator.store.reading import DAMAGED

__all__ = ["TROUBLE_KINDS", "is_trouble"]

_ALWAYS = frozenset(
    {
        BriefRefused.KIND,
        LimitReachedEvent.KIND,
        ModelFailed.KIND,
        ModelRetried.KIND,
        RunParked.KIND,
        DAMAGED,
    }
)
_HAND_INS = frozenset({FindingsSubmitted.KIND, ReportSubmitted.KIND})
_MEMORY = frozenset({MemoryKept.KIND, MemoryRecalled.KIND})
_ENDS = frozenset({"done", "interrupted", "paused"})
_BAD_ENDS = frozenset({"failed", "limit"})

TROUBLE_KINDS = (
    _ALWAYS | _HAND_INS | _MEMORY | {ToolEnded.KIND, SubagentEnded.KIND, RunEnded.KIND}
)
"""All others never do."""


def is_trouble(event: Event) -> bool:
    """Return whether an event tells of a failure, a refusal or a limit.

    So do calls that gave an error, a look into memory that failed, what was handed in
    and sent back, subagents that failed, and the end of a run that is not done; what
    people stopped is none.
    """
    kind, data = event.kind, event.data
    if kind in _ALWAYS:
        return True
    if kind == ToolEnded.KIND:
        return bool(data.get("is_error"))
    if kind in _MEMORY:
        return bool(data.get("failure"))
    if kind in _HAND_INS:
        return not data.get("accepted", True) or bool(data.get("wrong"))
    if kind == SubagentEnded.KIND:
        return data.get("status") == "failed" or data.get("outcome") in _BAD_ENDS
    return kind == RunEnded.KIND and data.get("state") not in _ENDS
