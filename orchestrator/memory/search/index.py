"""The index of one scope: derived from its topic files, and never the truth.

Every call stands alone: it opens what it needs, sees one state, and leaves nothing
locked. Where the file is damaged, or of another form, it is made anew and empty, so that
`stamps` asks its owner for all topics again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from orchestrator.memory.entries import Topic
from orchestrator.memory.search import ranking, rows
from orchestrator.memory.search.queries import Asked, Numbers, asked
from orchestrator.memory.search.rows import Stamp
from orchestrator.memory.search.schema import Damaged, File

if TYPE_CHECKING:
    import sqlite3

__all__ = ["Found", "Index", "Stamp"]

_T = TypeVar("_T")
_MOST_QUERIES: Final = 8
LEAST_COVERAGE: Final = 0.45
"""Share of what was asked, weighted by rareness, that an answer by words holds."""


@dataclass(frozen=True, slots=True)
class Found:
    """One entry that fits.

    Attributes:
        topic: its file.
        key: its key.
        score: more is better; comparable within one search.
        by: how it was found: `words`, `vectors`.
    """

    topic: str
    key: str
    score: float
    by: tuple[str, ...]


class Index:
    """What one scope knows, ready to be searched.

    Safe to use from any number of threads, by any number of processes at once.

    Attributes:
        notice: why vectors are not used at the moment, or "".
    """

    def __init__(self, path: Path, embedder: object | None = None) -> None:
        """Make the index of a file, which need not be there yet."""
        self._file = File(path)
        self.notice = ""

    def stamps(self) -> dict[str, Stamp]:
        """Return what the rows of each topic file were made from, by its path."""
        return self._read(rows.stamps)

    def replace(self, topic: Topic, stamp: Stamp) -> None:
        """Make the rows of a topic file anew; what did not change is left alone.

        Args:
            topic: all of the file.
            stamp: of the file as it was read.
        """
        self._write(lambda connection: rows.replace(connection, topic, stamp))

    def remove(self, topics: Iterable[str]) -> None:
        """Take out topic files that are gone."""
        paths = list(topics)
        self._write(lambda connection: rows.remove(connection, paths))

    def find(self, queries: Sequence[str], *, most: int = 5) -> list[Found]:
        """Return the entries that fit best, the best first, newer ones among equals.

        Args:
            queries: phrasings of one question, in any language; what one of them names
                by a number or id is meant by all.
            most: entries at most.

        Returns:
            [] where nothing fits well enough.
        """
        wanted = [asked(query) for query in queries[:_MOST_QUERIES]]
        return self._read(lambda connection: _find(connection, wanted, most))

    def topic_of(self, folded_key: str) -> str | None:
        """Return the topic file that holds a key, or None."""
        sql = "SELECT topic FROM entries WHERE folded = ? ORDER BY id LIMIT 1"
        row = self._read(lambda link: link.execute(sql, (folded_key,)).fetchone())
        return str(row[0]) if row else None

    def erase(self, topic: str, key: str) -> None:
        """Take out one entry, so that no byte of it is left in the file."""
        self._write(lambda connection: rows.erase(connection, topic, key))
        self._file.compact()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def _read(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        try:
            with self._file.reading() as connection:
                return work(connection)
        except Damaged:
            self._file.renew()
        with self._file.reading() as connection:
            return work(connection)

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        try:
            with self._file.writing() as connection:
                return work(connection)
        except Damaged:
            self._file.renew()
        with self._file.writing() as connection:
            return work(connection)


def _find(
    connection: sqlite3.Connection, queries: Sequence[Asked], most: int
) -> list[Found]:
    numbers = Numbers()
    for query in queries:
        numbers |= query.numbers
    best: dict[int, float] = {}
    for query in queries:
        spread = ranking.counted(connection, query.terms)
        for hit in ranking.candidates(connection, query, numbers, spread):
            if hit.coverage >= LEAST_COVERAGE:
                best[hit.entry] = max(best.get(hit.entry, 0.0), hit.score)
    found = []
    for entry, score in best.items():
        sql = "SELECT topic, key, newest FROM entries WHERE id = ?"
        topic, key, newest = connection.execute(sql, (entry,)).fetchone()
        found.append((round(score, 3), newest, Found(topic, key, score, ("words",))))
    found.sort(key=lambda each: each[:2], reverse=True)
    return [each for _, _, each in found[:most]]
