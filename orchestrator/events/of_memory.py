"""Kinds that tell of what outlives a run: found in memory, or kept there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events.base import Payload
from orchestrator.events.of_agent import FileSeen

__all__ = ["MemoryKept", "MemoryRecalled"]


@dataclass(frozen=True, slots=True)
class MemoryRecalled(Payload):
    """The program looked into memory for an agent."""

    KIND: ClassVar[str] = "memory.recalled"
    why: str
    """`objective`: for its first message; `compaction`: what stands in the place of
    steps; `end`: what the pass at the end of the run is shown."""
    text: str
    """What was found, as it is shown, word for word; "": nothing."""
    entries: list[dict[str, str]] = field(default_factory=list)
    """`topic`, `key`, and `state` of the evidence: `unchanged`, `moved`, `changed`,
    `gone` or `unknown`."""
    files: list[FileSeen] = field(default_factory=list)
    """Files whose lines were compared with what an entry says of them, and are still
    the same: a report may cite them."""
    failure: str = ""
    """Why memory could not be looked into, or not in full."""


@dataclass(frozen=True, slots=True)
class MemoryKept(Payload):
    """The pass at the end of a run wrote down what will be useful again."""

    KIND: ClassVar[str] = "memory.kept"
    by: str
    """`model`, or `extractor`: taken from the findings by the program."""
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    """`key`, `topic`, `what` (`new`, `updated`, `same`, `merged`, `dropped`,
    `refused`), `why`."""
    failure: str = ""
    """Why nothing could be written."""
