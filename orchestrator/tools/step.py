"""One step under way: the calls that run, those that do not, and what has come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from orchestrator.tools.base import Tool, ToolContext
from orchestrator.tools.calls import CallResult, CallSpec

__all__ = ["STOPPED", "Job", "NotRun", "Step", "stopped"]

STOPPED = "Stopped: the time limit of this agent is reached."


@dataclass(frozen=True, slots=True)
class NotRun:
    """A call that does not run, and what answers it."""

    spec: CallSpec
    context: ToolContext
    text: str
    is_error: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """A call that may run."""

    spec: CallSpec
    context: ToolContext
    tool: Tool[Any]
    args: BaseModel


@dataclass(slots=True)
class Step:
    """The results of one step as they come in, by call; `reply` holds the calls."""

    reply: int
    on_result: Callable[[CallResult], None]
    done: dict[str, CallResult]

    def take(self, result: CallResult) -> None:
        """Keep one result and tell of it."""
        self.done[result.call] = result
        self.on_result(result)


def stopped(call: Job | NotRun) -> NotRun:
    """Return `call` as one that does not run any more; its agent's time is up."""
    if isinstance(call, NotRun):
        return call
    return NotRun(call.spec, call.context, STOPPED)
