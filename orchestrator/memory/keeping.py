"""What is asked to be changed in memory, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from orchestrator.memory.entries import Place

__all__ = ["Author", "Drop", "Outcome", "Put"]


@dataclass(frozen=True, slots=True)
class Author:
    """Who writes: an agent of a run."""

    run: str
    agent: str

    @property
    def source(self) -> str:
        """Return it as entries name it."""
        return f"{self.run}/{self.agent}"


@dataclass(frozen=True, slots=True)
class Put:
    """Write an entry, or a new value for one.

    Attributes:
        topic: the file for a new one, as `auth.md`; an entry that is there stays where
            it is.
        key: names it.
        value: Markdown.
        evidence: what it rests on.
        confidence: 0 to 1, or None.
        description: of the topic, for a new file.
    """

    topic: str
    key: str
    value: str
    evidence: tuple[Place, ...] = ()
    confidence: float | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Take an entry out, because it is not true any more."""

    key: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one change.

    Attributes:
        key: as it is in memory.
        topic: the file that has it.
        what: `merged`: into the entry of another key, which is named by `key`.
        why: of what was refused or merged.
    """

    key: str
    topic: str
    what: Literal["new", "updated", "same", "merged", "dropped", "refused"]
    why: str = ""
