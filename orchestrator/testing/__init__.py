"""For tests of code that uses this package: a scripted model, a fake clock, replays."""

from __future__ import annotations

from orchestrator.testing.clock import FakeClock
from orchestrator.testing.model import ScriptedModel
from orchestrator.testing.recorded import replay
from orchestrator.testing.steps import (
    Script,
    Step,
    broken_call,
    call,
    conversations,
    fail,
    first_text,
    hang,
    reply,
    say,
    think,
)

__all__ = [
    "FakeClock",
    "Script",
    "ScriptedModel",
    "Step",
    "broken_call",
    "call",
    "conversations",
    "fail",
    "first_text",
    "hang",
    "replay",
    "reply",
    "say",
    "think",
]
