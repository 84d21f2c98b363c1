"""Kinds that tell of what an agent is no longer sent, and what stands in its place.

Both are edits: the conversation stays whole in the log, and what is sent is computed
from it and from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events.base import Payload
from orchestrator.events.of_agent import FileSeen

__all__ = ["ContextCleared", "ContextCompacted"]


@dataclass(frozen=True, slots=True)
class ContextCleared(Payload):
    """Some results are no longer sent; a stub stands in the place of each."""

    KIND: ClassVar[str] = "context.cleared"
    turn: int
    """Of the request that follows."""
    why: str
    """`rent`, `soft`, `band`, `too_long` or `exceeded`."""
    stubs: dict[str, str]
    """Call id → the text in the place of its result, word for word."""
    tokens_before: int
    """Estimated size of the request without this edit."""
    tokens_after: int
    cleared: list[dict[str, Any]]
    """Oldest first: `call`, `name`, `ref` (`h12` or `h12.2`), `tokens`, `stub_tokens`,
    `superseded`."""
    thinking: int = 0
    """Blocks of thinking that went with it: all behind the first changed result."""
    spares_newest: bool = False
    """Thinking of the newest step stays: it is bound to itself alone."""
    rent_usd: float | None = None
    """What carrying the results had cost so far, where prices decided."""
    cost_usd: float | None = None
    """What the clear costs, where prices decided."""


@dataclass(frozen=True, slots=True)
class ContextCompacted(Payload):
    """Earlier steps are no longer sent; one text stands in their place."""

    KIND: ClassVar[str] = "context.compacted"
    turn: int
    """Of the request that follows."""
    why: str
    """`hard`, `break`, `every_turns`, `too_long`, `exceeded`, `window` or `budget`;
    `thinking`: the endpoint takes nothing back as it was, and all is said in one."""
    how: str
    """`model`, `mechanical`, or `none` (policies `window` and `budget`)."""
    kept_messages: int
    """The last so many messages of the conversation stay whole."""
    first_dropped: int
    """Number of the first step that went; step n is the n-th assistant message."""
    last_dropped: int
    text: str
    """The block behind the first user message, word for word."""
    summary: str = ""
    """Of `text`, as accepted."""
    parts: dict[str, int] = field(default_factory=dict)
    """Estimated tokens of `text`: state (notes in it), summary, subagents, memory,
    files, and results: the newest step, where that is said in it."""
    tokens_before: int = 0
    """Estimated size of the request without this edit."""
    tokens_after: int = 0
    checks: list[dict[str, Any]] = field(default_factory=list)
    """`check` (sections, length, names, numbers, negations, statuses, rules, calls),
    `found` as a number, `lost` as short texts."""
    mended: list[dict[str, str]] = field(default_factory=list)
    """What the checks doubted in the text of the summary: `check`, and as short texts
    what the model `said`, what the `source` says, or "", and what stands `now`."""
    added: list[str] = field(default_factory=list)
    """What the checks put back, word for word."""
    own_rules: list[str] = field(default_factory=list)
    """Rules that the summary made up; marked as the model's own notes."""
    failures: list[str] = field(default_factory=list)
    """What went wrong with the request of a summary, in order."""
    usd: float | None = None
    """What the request of a summary cost."""
    seconds: float = 0.0
    """What it took, checks included."""
    tokens_in: int = 0
    tokens_out: int = 0
    """Of the request of a summary, as reported."""
    reopened: list[str] = field(default_factory=list)
    """Files shown afresh in `text`."""
    thinking: int = 0
    """Blocks of thinking that went with it."""
    spares_newest: bool = False
    """Thinking of the newest step stays: it is bound to itself alone."""
    files: list[FileSeen] = field(default_factory=list)
    """Versions of the reopened files."""
    opened: dict[str, list[int]] = field(default_factory=dict)
    """Path of each of those → where its part of `text` begins, and ends, in
    characters."""
