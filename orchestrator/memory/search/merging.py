"""What a query finds: by words and by meaning, merged and held to one threshold."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search import ranking
from orchestrator.memory.search.calibration import Calibration
from orchestrator.memory.search.matrix import Likeness
from orchestrator.memory.search.queries import Asked, Numbers

__all__ = ["Compared", "Found", "search"]

Compared = tuple[Calibration, list[Likeness]]

LEAST_BY_WORDS: Final = 0.6
"""Evidence by words that is enough, with vectors too: names have little meaning."""
LEAST: Final = 1.3
"""Evidence that it needs with vectors: by words and by likeness together."""
OF_LIKENESS: Final = 0.25
"""Weight of a deviation by which a text is nearer than unrelated ones are."""
_NEAREST: Final = 40


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


@dataclass(slots=True)
class _Seen:
    """What speaks for an entry: the best of its pieces and of all phrasings."""

    evidence: float = 0.0
    score: float = 0.0
    by_words: bool = False
    by_vectors: bool = False


def search(
    connection: sqlite3.Connection,
    counts: ranking.Counts,
    queries: Sequence[Asked],
    compared: Compared | None,
    most: int,
    *,
    share: float = 1.0,
) -> list[Found]:
    """Return the entries that fit best, the best first, newer ones among equals.

    Args:
        connection: sees one state of the index.
        counts: how common terms are.
        queries: phrasings of one question.
        compared: the likeness of all pieces to each of them; None: words alone.
        most: entries at most.
        share: of the evidence that an answer needs.
    """
    numbers = Numbers()
    for query in queries:
        numbers |= query.numbers
    numbers = ranking.sharpened(connection, numbers)
    seen: dict[int, _Seen] = {}
    for at, query in enumerate(queries):
        spread = ranking.counted(connection, counts, query.terms)
        hits = ranking.candidates(connection, query, numbers, spread)
        if compared is None:
            for hit in hits:
                _note(seen, hit.entry, hit.coverage, hit.score, by_words=True)
        else:
            scale, likenesses = compared
            _merge(connection, seen, hits, numbers, (scale, likenesses[at]))
    least = share * (LEAST_BY_WORDS if compared is None else LEAST)
    return _sorted(
        connection,
        [(entry, one) for entry, one in seen.items() if one.evidence >= least],
        most,
    )


def _merge(
    connection: sqlite3.Connection,
    seen: dict[int, _Seen],
    hits: Sequence[ranking.Hit],
    numbers: Numbers,
    compared: tuple[Calibration, Likeness],
) -> None:
    scale, likeness = compared
    by_words = {hit.piece: hit for hit in hits}
    entries = {hit.piece: hit.entry for hit in hits}
    nearest = [likeness.pieces[at] for at in likeness.nearest(_NEAREST)]
    entries |= _allowed(connection, [p for p in nearest if p not in entries], numbers)
    for piece, entry in entries.items():
        hit = by_words.get(piece)
        alike = _alike(scale, likeness, piece)
        coverage = hit.coverage if hit else 0.0
        evidence = coverage + alike
        if coverage >= LEAST_BY_WORDS:
            evidence = max(evidence, LEAST)
        _note(
            seen,
            entry,
            evidence,
            coverage + alike,
            by_words=hit is not None,
            by_vectors=piece in nearest and alike > 0,
        )


def _alike(scale: Calibration, likeness: Likeness, piece: int) -> float:
    cosine = likeness.of(piece)
    return 0.0 if cosine is None else OF_LIKENESS * scale.distance(cosine)


def _allowed(
    connection: sqlite3.Connection, pieces: Iterable[int], numbers: Numbers
) -> dict[int, int]:
    """Return the entry of each piece that names no other number than asked for."""
    found = {}
    sql = "SELECT entry, heading, body FROM pieces WHERE id = ?"
    for piece in pieces:
        entry, heading, body = connection.execute(sql, (piece,)).fetchone()
        if numbers.allow([*heading.split(), *body.split()]):
            found[piece] = entry
    return found


def _note(
    seen: dict[int, _Seen],
    entry: int,
    evidence: float,
    score: float,
    *,
    by_words: bool = False,
    by_vectors: bool = False,
) -> None:
    one = seen.setdefault(entry, _Seen())
    one.evidence = max(one.evidence, evidence)
    one.score = max(one.score, score)
    one.by_words |= by_words
    one.by_vectors |= by_vectors


def _sorted(
    connection: sqlite3.Connection, seen: Sequence[tuple[int, _Seen]], most: int
) -> list[Found]:
    rows = []
    for entry, one in seen:
        sql = "SELECT topic, key, newest FROM entries WHERE id = ?"
        topic, key, newest = connection.execute(sql, (entry,)).fetchone()
        by = ("words",) * one.by_words + ("vectors",) * one.by_vectors
        found = Found(topic, key, one.score, by)
        rows.append((round(one.score, 2), newest, one.score, found))
    rows.sort(key=lambda row: row[:3], reverse=True)
    return [found for *_, found in rows[:most]]
