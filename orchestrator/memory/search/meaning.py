"""Vectors of an index: made in batches, whenever they can be, and never waited for.

What an embedder cannot do now is done at a later call; until then words alone are used,
and `notice` says why.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from orchestrator.errors import EmbedderError
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.search.calibration import (
    PAIRS,
    Calibration,
    calibrated,
    read_calibration,
)
from orchestrator.memory.search.matrix import (
    MOST_PLAIN,
    Likeness,
    Matrix,
    has_numpy,
    unit,
)
from orchestrator.memory.search.rows import fact, set_fact
from orchestrator.memory.search.schema import Damaged, File

__all__ = ["Meaning"]

BY_WORDS: Final = "memory is searched by words alone"
_BATCH: Final = 64
_CATCH_UP_S: Final = 3.0
"""After so long no further batch is begun within one call."""
_REST_S: Final = 60.0
"""An embedder that failed is left alone for so long."""


class Meaning:
    """The vectors of one index. Safe to use from any thread.

    Attributes:
        notice: why they are not used at the moment, or "".
    """

    def __init__(
        self,
        file: File,
        embedder: Embedder,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.notice = ""
        self._file, self._embedder, self._monotonic = file, embedder, monotonic
        self._matrix, self._lock = Matrix(), threading.Lock()
        self._rest_until = float("-inf")

    def catch_up(self) -> None:
        """Embed what has no vector yet, as much as there is time for."""
        until = self._monotonic() + _CATCH_UP_S
        try:
            while self._is_awake() and self._monotonic() < until:
                if not self._next_batch():
                    return
        except (Damaged, OSError, sqlite3.Error) as error:
            # What needs the file will say so itself.
            self._failed(f"vectors cannot be kept ({error})")

    def of_queries(self, queries: Sequence[str]) -> list[bytes]:
        """Return a vector for each query; none at all where there are none."""
        # Entries are no questions: without its mark one is nearer to what answers it.
        return self.of_texts([query.rstrip("?？!！。. ") for query in queries])

    def of_texts(self, texts: Sequence[str]) -> list[bytes]:
        """Return a vector for each text; none at all where there are none."""
        self.catch_up()
        return self._embedded(texts) if self._is_awake() else []

    def likeness(
        self, connection: sqlite3.Connection, vectors: Sequence[bytes]
    ) -> tuple[Calibration, list[Likeness]] | None:
        """Return how near all pieces are to each query; None: it cannot be said."""
        if not vectors or fact(connection, "embedder") != self._embedder.name:
            return None
        scale = read_calibration(fact(connection, "calibration"))
        if scale is None or int(fact(connection, "size")) * 4 != len(vectors[0]):
            return None
        if not scale.is_usable:
            name = self._embedder.name
            self.notice = f"{BY_WORDS}: `{name}` does not tell what belongs together"
            return None
        seen = (fact(connection, "epoch"), fact(connection, "version"))
        with self._lock:
            if not has_numpy() and _count(connection) > MOST_PLAIN:
                many = f"more than {MOST_PLAIN:,} vectors need numpy"
                self.notice = f"{BY_WORDS}: {many}"
                return None
            self._matrix.refresh(connection, seen)
            return scale, [self._matrix.like(vector) for vector in vectors]

    def _is_awake(self) -> bool:
        return self._monotonic() >= self._rest_until

    def _next_batch(self) -> bool:
        """Embed a batch and keep its vectors; return whether there may be more."""
        if not self._is_ours() and not self._begin():
            return False
        sql = (
            "SELECT id, text FROM pieces JOIN pending ON pending.piece = pieces.id"
            " ORDER BY id LIMIT ?"
        )
        with self._file.reading() as connection:
            rows = connection.execute(sql, (_BATCH,)).fetchall()
        if not rows:
            return False
        vectors = self._embedded([text for _, text in rows])
        if not vectors:
            return False
        with self._file.writing() as connection:
            if fact(connection, "embedder") != self._embedder.name or (
                int(fact(connection, "size")) * 4 != len(vectors[0])
            ):
                self._failed("its vectors are of another size than before")
                return False
            for (piece, _), vector in zip(rows, vectors, strict=True):
                connection.execute(
                    "INSERT OR REPLACE INTO vectors"
                    " SELECT id, ? FROM pieces WHERE id = ?",
                    (vector, piece),
                )
                connection.execute("DELETE FROM pending WHERE piece = ?", (piece,))
        return len(rows) == _BATCH

    def _is_ours(self) -> bool:
        with self._file.reading() as connection:
            return fact(connection, "embedder") == self._embedder.name

    def _begin(self) -> bool:
        """Measure the embedder, and let all pieces wait for its vectors."""
        texts = [asked for asked, _ in PAIRS] + [told for _, told in PAIRS]
        vectors = self._embedded(texts)
        if not vectors:
            return False
        plain = [memoryview(vector).cast("f").tolist() for vector in vectors]
        scale = calibrated(plain)
        with self._file.writing() as connection:
            connection.execute("DELETE FROM vectors")
            connection.execute("DELETE FROM pending")
            connection.execute("INSERT INTO pending SELECT id FROM pieces")
            for name, value in (
                ("embedder", self._embedder.name),
                ("calibration", scale.text()),
                ("size", str(len(plain[0]))),
                ("epoch", secrets.token_hex(8)),
            ):
                set_fact(connection, name, value)
        return True

    def _embedded(self, texts: Sequence[str]) -> list[bytes]:
        """Return vectors of length 1, or none where the embedder fails."""
        try:
            found = [unit(vector) for vector in self._embedder.embed(texts)]
        except EmbedderError as error:
            self._failed(str(error))
            return []
        vectors = [vector for vector in found if vector is not None]
        if len(vectors) != len(texts) or len(set(map(len, vectors))) > 1:
            self._failed("it gives vectors that cannot be compared")
            return []
        self.notice = ""
        return vectors

    def _failed(self, why: str) -> None:
        self.notice = f"{BY_WORDS}: {why}"
        self._rest_until = self._monotonic() + _REST_S


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])
