"""One scope of memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.memory.entries import Entry
from orchestrator.memory.keeping import Author, Drop, Outcome, Put

__all__ = ["About", "Known", "Memory", "State"]

State = Literal["unchanged", "moved", "changed", "gone", "unknown"]


@dataclass(frozen=True, slots=True)
class Known:
    """One entry, and whether its evidence is still as it was."""

    topic: str
    entry: Entry
    state: State

    @property
    def is_stale(self) -> bool:
        """Whether a file that it rests on has changed, or is gone."""
        return self.state in ("changed", "gone")


@dataclass(frozen=True, slots=True)
class About:
    """One topic file, as the index page has it."""

    path: str
    title: str
    description: str
    entries: int
    newest: str


class Memory:
    """Skeleton; the work follows."""

    notice: str = ""

    def __init__(
        self,
        folder: Path,
        *,
        workspace: Path | None,
        redact: Callable[[str], str],
        today: Callable[[], str],
        embedder: object | None = None,
    ) -> None:
        self.folder = folder

    def topics(self) -> list[About]:
        """Return all topics, by path."""
        raise NotImplementedError

    def entries(self) -> list[Known]:
        """Return all entries, by topic."""
        raise NotImplementedError

    def with_key(self, key: str) -> Known | None:
        """Return the entry of a key."""
        raise NotImplementedError

    def recall(self, queries: Sequence[str], *, most: int = 5) -> list[Known]:
        """Return what fits best."""
        raise NotImplementedError

    def keep(self, changes: Sequence[Put | Drop], author: Author) -> list[Outcome]:
        """Make changes."""
        raise NotImplementedError

    def touch(self, keys: Collection[str]) -> None:
        """Note that entries were shown today."""
        raise NotImplementedError

    def tidy(self) -> list[Outcome]:
        """Merge and drop."""
        raise NotImplementedError

    def tidy_if_due(self) -> list[Outcome]:
        """Tidy, if that was not done today."""
        raise NotImplementedError

    def forget(self, keys: Collection[str]) -> list[str]:
        """Forget entries for good."""
        raise NotImplementedError

    def problem(self) -> str:
        """Return why it cannot be written, or ""."""
        raise NotImplementedError
