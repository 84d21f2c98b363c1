"""An index in a folder of a test, and embedders that need no package."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from orchestrator.errors import EmbedderError
from orchestrator.memory.entries import Entry, Topic
from orchestrator.memory.search.calibration import PAIRS
from orchestrator.memory.search.index import Index

__all__ = ["Broken", "Known", "entry_index", "index_of", "keys", "topic"]

_SIZE = 64
_ALIKE = {
    text: at for at, pair in enumerate(PAIRS) for text in pair
}  # what belongs together points one way


def topic(*entries: tuple[str, str], path: str = "notes.md", when: str = "") -> Topic:
    """A topic file with these keys and values."""
    made = tuple(Entry(key, value, when) for key, value in entries)
    return Topic(path, "Notes", "", made)


def index_of(folder: Path, *entries: tuple[str, str]) -> Index:
    """An index of one topic file."""
    index = Index(folder / ".index" / "search.sqlite")
    index.replace(topic(*entries), (1,))
    return index


def entry_index(folder: Path, *values: str) -> Index:
    """An index of values whose keys are `1`, `2`, and so on, in words."""
    names = ("one", "two", "three", "four", "five", "six")
    return index_of(folder, *zip(names, values, strict=False))


def keys(index: Index, *queries: str, most: int = 5) -> list[str]:
    """The keys that a question finds, the best first."""
    return [found.key for found in index.find(queries, most=most)]


class Known:
    """Knows what belongs together by a list; all else points anywhere.

    Attributes:
        asked: the texts that were embedded, in order.
    """

    def __init__(self, *groups: Sequence[str], name: str = "known") -> None:
        self.name = name
        self.asked: list[str] = []
        self._groups = {text: at for at, group in enumerate(groups) for text in group}

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.asked += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        place = self._groups.get(text, self._groups.get(text.rstrip("?")))
        if place is not None:
            return _direction(f"group {place}", text)
        if text in _ALIKE:
            return _direction(f"pair {_ALIKE[text]}", text)
        return _direction(text, text)


class Broken:
    """Fails, or gives vectors that are none.

    Attributes:
        calls: how often it was asked.
    """

    name = "broken"

    def __init__(self, vector: Sequence[float] | None = None) -> None:
        self.calls = 0
        self._vector = vector

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.calls += 1
        if self._vector is None:
            raise EmbedderError("nobody answers")
        return [self._vector for _ in texts]


def _direction(main: str, own: str) -> list[float]:
    """Return a vector that is nearly the same for the same `main`."""
    first, second = _numbers(main), _numbers(own)
    mixed = [one + 0.3 * two for one, two in zip(first, second, strict=True)]
    length = math.sqrt(sum(each * each for each in mixed))
    return [each / length for each in mixed]


def _numbers(text: str) -> list[float]:
    raw = hashlib.shake_128(text.encode("utf-8", "replace")).digest(_SIZE)
    return [byte / 127.5 - 1 for byte in raw]
