"""The index of one scope: derived from its topic files, and never the truth.

Every call stands alone: it opens what it needs, sees one state, and leaves nothing
locked. Where the file is damaged, or of another form, it is made anew and empty, so
that `stamps` asks its owner for all topics again.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, TypeVar

from orchestrator.errors import StoreError
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import Topic
from orchestrator.memory.search import rows
from orchestrator.memory.search.duplicates import duplicates
from orchestrator.memory.search.meaning import Meaning
from orchestrator.memory.search.merging import Found, search
from orchestrator.memory.search.queries import asked
from orchestrator.memory.search.ranking import Counts
from orchestrator.memory.search.rows import Stamp
from orchestrator.memory.search.schema import Damaged, File
from orchestrator.memory.search.subjects import about

__all__ = ["Found", "Index", "Stamp"]

_T = TypeVar("_T")
_MOST_QUERIES: Final = 8
_MOST_PARTS: Final = 24
_QUERY_CHARS: Final = 4_000


class Index:
    """What one scope knows, ready to be searched.

    Safe to use from any number of threads, by any number of processes at once. Each
    method raises `StoreError` where the disk is full, the folder may not be written, or
    another process holds the file for over ten seconds.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the index of a file, which need not be there yet.

        Args:
            path: of the file; its folder is made at first use.
            embedder: of vectors; None: words are enough.
            monotonic: seconds from an arbitrary start.
        """
        self._file = File(path)
        self._counts = Counts()
        self._meaning = (
            Meaning(self._file, embedder, monotonic=monotonic) if embedder else None
        )

    @property
    def notice(self) -> str:
        """Why vectors are not used at the moment, or ""."""
        return self._meaning.notice if self._meaning else ""

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
        if self._meaning:
            self._meaning.catch_up()

    def remove(self, topics: Iterable[str]) -> None:
        """Take out topic files that are gone."""
        paths = list(topics)
        self._write(lambda connection: rows.remove(connection, paths))

    def find(
        self,
        queries: Sequence[str],
        *,
        most: int = 5,
        is_subject: bool = False,
        share: float = 1.0,
    ) -> list[Found]:
        """Return the entries that fit best, the best first, newer ones among equals.

        Args:
            queries: phrasings of one question, in any language; what one of them names
                by a number or id is meant by all.
            most: entries at most.
            is_subject: they are no question but what is said of a subject, see
                `subjects`.
            share: of the evidence that an answer needs; 0: whatever comes first.

        Returns:
            [] where nothing fits well enough.
        """
        most_texts = _MOST_PARTS if is_subject else _MOST_QUERIES
        texts = [query[:_QUERY_CHARS] for query in queries[:most_texts]]
        wanted = [asked(text) for text in texts]
        meaning = self._meaning
        vectors = meaning.of_queries(texts) if meaning and texts else []
        find = about if is_subject else search
        return self._read(
            lambda connection: find(
                connection,
                self._counts,
                wanted,
                meaning.likeness(connection, vectors) if meaning else None,
                most,
                share=share,
            )
        )

    def topic_of(self, folded_key: str) -> str | None:
        """Return the topic file that holds a key, or None."""
        sql = "SELECT topic FROM entries WHERE folded = ? ORDER BY id LIMIT 1"
        row = self._read(lambda link: link.execute(sql, (folded_key,)).fetchone())
        return str(row[0]) if row else None

    def near(self, key: str, value: str) -> list[Found]:
        """Return the entries that probably say the same, the nearest first.

        Args:
            key: of an entry; the one in the index with that key is left out.
            value: its value.
        """
        meaning = self._meaning
        vectors = meaning.of_texts([f"{key}: {value}"]) if meaning else []

        def work(connection: sqlite3.Connection) -> list[Found]:
            compared = meaning.likeness(connection, vectors) if meaning else None
            first = (compared[0], compared[1][0]) if compared else None
            return duplicates(connection, self._counts, key, value, first)

        return self._read(work)

    def compact(self) -> None:
        """Leave no byte in the file, or beside it, of what was taken out."""
        self._done(self._file.compact)

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        self._file.close()

    def _read(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        def once() -> _T:
            with self._file.reading() as connection:
                return work(connection)

        return self._done(once)

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        def once() -> None:
            with self._file.writing() as connection:
                work(connection)

        self._done(once)

    def _done(self, work: Callable[[], _T]) -> _T:
        """Do something; where the file is damaged, once more with a new one."""
        try:
            try:
                return work()
            except Damaged:
                self._file.renew()
            return work()
        except (Damaged, OSError, sqlite3.Error) as error:
            told = f"the index of memory cannot be used: {error}"
            raise StoreError(told) from error
