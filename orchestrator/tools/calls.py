"""One call of a tool: what is asked, what answers it, and what was known before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.events.of_agent import FileSeen, Label
from orchestrator.messages import Block

__all__ = [
    "Answered",
    "Barred",
    "CallResult",
    "CallSpec",
    "Known",
    "OnRecord",
    "Prior",
]


@dataclass(frozen=True, slots=True)
class CallResult:
    """What answers one call, as the model is shown it.

    Attributes:
        call: id of the `tool_use` block.
        name: the tool, bounded.
        content: of the `tool_result` block; never empty.
        is_error: whether the call failed.
        ends: an accepted hand-in; the agent's loop ends with this step.
        value: what was handed in, for the program.
        tokens: estimated tokens of `content`.
        delivers: deliveries of subagents in it.
        label: how long it should stay in sight.
        files: whose text is shown in it.
    """

    call: str
    name: str
    content: str | list[Block]
    is_error: bool
    ends: bool = False
    value: Any = None
    tokens: int = 0
    delivers: tuple[str, ...] = ()
    label: Label = "reference"
    files: tuple[FileSeen, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """Its result is in the log: nothing runs."""

    result: CallResult


@dataclass(frozen=True, slots=True)
class Known:
    """It is done, though the log has no result of it: nothing runs, and it is told."""

    text: str


@dataclass(frozen=True, slots=True)
class Barred:
    """It must not run (a cut call): it fails with this text."""

    text: str


@dataclass(frozen=True, slots=True)
class OnRecord:
    """A hand-in that was accepted: its result is in the log, but its value is not.

    So it runs for its value alone, and nothing of that is logged again.
    """

    result: CallResult


Prior = Answered | Known | Barred | OnRecord
"""What is known of a call before it would run."""


@dataclass(frozen=True, slots=True)
class CallSpec:
    """One `tool_use` block.

    Attributes:
        call: its id.
        name: the tool, as the model wrote it.
        input: its arguments, as the model wrote them.
        prior: what is known of it; None: nothing, so that it runs.
    """

    call: str
    name: str
    input: dict[str, Any]
    prior: Prior | None = None
