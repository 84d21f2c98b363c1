"""What the next request holds, by size: what decisions about a context go by."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.events.of_agent import Label

__all__ = ["Item", "Label", "Layout", "ShownResult"]


@dataclass(slots=True)
class ShownResult:
    """A result that is sent whole.

    Attributes:
        call: id of what it answers.
        name: of the tool.
        step: in which the call was made, from 1.
        tokens: estimated.
        label: as its tool says: `critical`, `reference` or `transient`.
        is_superseded: a later read or edit of the same file is shown.
    """

    call: str
    name: str
    step: int
    tokens: int
    label: Label = "reference"
    is_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One tool result in what is shown.

    Attributes:
        call: id of the call that it answers.
        step: number of its step, from 1.
        tokens: estimated size as it is shown now; of the stub, where it is cleared.
        stub_tokens: estimated size of the stub that would stand in its place.
        label: `critical` is never cleared; `transient` as soon as two replies came.
        is_seen: a reply has come after it.
        is_superseded: a later read or edit of the same file is shown.
        is_cleared: its stub is shown.
    """

    call: str
    step: int
    tokens: int
    stub_tokens: int
    label: Label = "reference"
    is_seen: bool = True
    is_superseded: bool = False
    is_cleared: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """What the next request holds if nothing is done, in estimated tokens.

    Attributes:
        fixed_tokens: system prompt, tools, first user message, and the text of a
            compaction.
        items: tool results of the steps that are shown, oldest first.
        total_tokens: of the whole request.
        steps: size of each step shown whole (message, results, texts), oldest first.
        first_step: number of the first of `steps`; those behind it count on.
        at_break: a fan-out is fully reported, or a plan item was ticked, since the last
            request.
        turns_since_compaction: requests since the newest compaction, or attempt at one,
            or since the start.
        compacted_to_tokens: size of the request right after the newest compaction, or
            attempt at one, whatever came of it; None: there was none. Another one is
            tried only when the request has grown by a step's worth since.
    """

    fixed_tokens: int
    items: tuple[Item, ...]
    total_tokens: int
    steps: tuple[int, ...]
    first_step: int = 1
    at_break: bool = False
    turns_since_compaction: int = 0
    compacted_to_tokens: int | None = None
