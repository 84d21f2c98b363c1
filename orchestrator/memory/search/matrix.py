"""All vectors of an index in memory, compared with one by brute force.

With numpy, 10,000 vectors of 512 numbers take a few milliseconds; without it, plain
Python is fast enough for some thousand.
"""

from __future__ import annotations

import math
import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from operator import mul
from typing import Any, Final

__all__ = ["MOST_PLAIN", "Likeness", "Matrix", "has_numpy", "unit"]

MOST_PLAIN: Final = 2_000
"""Vectors that are compared without numpy; about 0.1 s for 1,000 numbers each."""


@cache
def has_numpy() -> bool:
    """Return whether numpy is installed, without loading it."""
    return find_spec("numpy") is not None


def unit(vector: Iterable[float]) -> bytes | None:
    """Return a vector of length 1 as it is kept; None: it has no direction."""
    values = [float(each) for each in vector]
    length = math.sqrt(math.fsum(each * each for each in values))
    if not math.isfinite(length) or length <= 0:
        return None
    return array("f", [each / length for each in values]).tobytes()


@dataclass(frozen=True, slots=True)
class Likeness:
    """How near each piece is to a question.

    Attributes:
        pieces: rows of the index, ascending.
        cosines: of each piece, in the same order.
    """

    pieces: Sequence[int]
    cosines: Any

    def of(self, piece: int) -> float | None:
        """Return the cosine of a piece; None: it has no vector yet."""
        at = bisect_left(self.pieces, piece)
        if at == len(self.pieces) or self.pieces[at] != piece:
            return None
        return float(self.cosines[at])

    def nearest(self, most: int) -> list[int]:
        """Return the positions of the nearest pieces, the nearest first."""
        if not isinstance(self.cosines, list):
            import numpy as np  # noqa: PLC0415 - an extra

            most = min(most, len(self.cosines))
            if not most:
                return []
            best = np.argpartition(-self.cosines, most - 1)[:most]
            return [int(at) for at in best[np.argsort(-self.cosines[best])]]
        order = sorted(range(len(self.cosines)), key=lambda at: -self.cosines[at])
        return order[:most]


class Matrix:
    """The vectors of one index as they were at one version of it.

    Not safe to use from two threads at once.
    """

    def __init__(self) -> None:
        self._seen: tuple[str, ...] = ()
        self._pieces: list[int] = []
        self._rows: Any = None

    def __len__(self) -> int:
        return len(self._pieces)

    def refresh(self, connection: sqlite3.Connection, seen: tuple[str, ...]) -> None:
        """Take in what changed.

        Args:
            connection: sees one state of the index.
            seen: what is the same as long as vectors may be added or removed, but none
                changes; and last, the version of the index.
        """
        if seen == self._seen:
            return
        if seen[:-1] != self._seen[:-1]:
            self._pieces, self._rows = [], None
        sql = "SELECT piece FROM vectors ORDER BY piece"
        live = [row[0] for row in connection.execute(sql)]
        newest = self._pieces[-1] if self._pieces else 0
        # A row that was waiting may get its vector after younger ones.
        known = set(self._pieces)
        if any(piece <= newest and piece not in known for piece in live):
            self._pieces, self._rows, newest, known = [], None, 0, set()
        self._keep(live)
        sql = "SELECT vector FROM vectors WHERE piece > ? ORDER BY piece"
        self._add([row[0] for row in connection.execute(sql, (newest,))])
        self._pieces, self._seen = live, seen

    def like(self, vector: bytes) -> Likeness:
        """Return how near all pieces are to a vector, as `unit` returns it."""
        return Likeness(self._pieces, self._cosines(vector))

    def _cosines(self, vector: bytes) -> Any:  # noqa: ANN401 - a list, or of numpy
        if self._rows is None:
            return []
        if isinstance(self._rows, list):
            wanted = array("f", vector)
            return [sum(map(mul, row, wanted)) for row in self._rows]
        import numpy as np  # noqa: PLC0415 - an extra

        return self._rows @ np.frombuffer(vector, dtype=np.float32)

    def _keep(self, live: Sequence[int]) -> None:
        """Drop the rows of pieces that are gone."""
        if self._rows is None:
            return
        wanted = set(live)
        kept = [at for at, piece in enumerate(self._pieces) if piece in wanted]
        if len(kept) == len(self._pieces):
            return
        if isinstance(self._rows, list):
            self._rows = [self._rows[at] for at in kept]
        else:
            self._rows = self._rows[kept]

    def _add(self, vectors: Sequence[bytes]) -> None:
        if not vectors:
            return
        if not has_numpy():
            self._rows = [
                *(self._rows or []),
                *(array("f", vector) for vector in vectors),
            ]
            return
        import numpy as np  # noqa: PLC0415 - an extra

        new = np.frombuffer(b"".join(vectors), dtype=np.float32)
        new = new.reshape(len(vectors), -1)
        self._rows = new if self._rows is None else np.concatenate([self._rows, new])
