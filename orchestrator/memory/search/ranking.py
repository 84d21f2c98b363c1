"""Find pieces by words: candidates from the index, ranked by what they cover."""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search.queries import Asked, Numbers, Term

__all__ = ["Hit", "candidates", "counted"]

_RARE_ROWS: Final = 4_000
"""Rows that are ranked by SQLite at most, about 10 ms."""
_CANDIDATES: Final = 120
_END: Final = "\U0010ffff"
_K, _B = 1.2, 0.5
_HEADING: Final = 2.0
"""A term in the key counts as so many in the value."""
_EXTRA: Final = 0.5


@dataclass(frozen=True, slots=True)
class Hit:
    """A piece that fits.

    Attributes:
        piece, entry: rows of the index.
        score: more is better, 0 to about 1.
        coverage: share of what was asked, weighted by rareness, that it holds.
    """

    piece: int
    entry: int
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Spread:
    """In how many pieces each term of a query is, of all."""

    rows: int
    of_terms: dict[Term, int]

    def weight(self, term: Term) -> float:
        """Return how much a term tells: more, the fewer pieces hold it."""
        held = min(self.of_terms[term], self.rows)
        return math.log(1 + (self.rows - held + 0.5) / (held + 0.5))


def counted(connection: sqlite3.Connection, terms: Iterable[Term]) -> Spread:
    """Return how common terms are."""
    rows = connection.execute("SELECT count(*) FROM pieces").fetchone()[0]
    return Spread(rows, {term: _held(connection, term) for term in terms})


def _held(connection: sqlite3.Connection, term: Term) -> int:
    total = 0
    for form in term.forms:
        if term.is_start:
            sql = "SELECT sum(doc) FROM spread WHERE term >= ? AND term < ?"
            found = connection.execute(sql, (form, form + _END)).fetchone()
        else:
            sql = "SELECT doc FROM spread WHERE term = ?"
            found = connection.execute(sql, (form,)).fetchone()
        total += int(found[0] or 0) if found else 0
    return total


def candidates(
    connection: sqlite3.Connection, query: Asked, numbers: Numbers, spread: Spread
) -> list[Hit]:
    """Return the pieces that hold the rarest terms of a query, the best first."""
    terms = [term for term in query.terms if spread.of_terms[term]]
    if not terms:
        return []
    rows = _rows(connection, _chosen(terms, spread), numbers)
    if not rows:
        return []
    average = sum(len(row[2]) + len(row[3]) for row in rows) / len(rows)
    hits = [_judged(row, query, numbers, spread, average) for row in rows]
    return heapq.nlargest(
        _CANDIDATES, [hit for hit in hits if hit], key=lambda hit: hit.score
    )


def _chosen(terms: Sequence[Term], spread: Spread) -> list[Term]:
    """Return the rarest terms, as many as may be ranked in a moment."""
    chosen, rows = list[Term](), 0
    for term in sorted(terms, key=lambda term: spread.of_terms[term]):
        rows += spread.of_terms[term]
        if chosen and rows > _RARE_ROWS:
            break
        chosen.append(term)
    return chosen


def _rows(
    connection: sqlite3.Connection, terms: Sequence[Term], numbers: Numbers
) -> list[tuple[int, int, str, str]]:
    match = " OR ".join(
        f'"{form}"{"*" if term.is_start else ""}'
        for term in terms
        for form in term.forms
    )
    if numbers.strict:
        must = " OR ".join(f'"{each}"' for each in sorted(numbers.strict))
        match = f"({must}) AND ({match})"
    sql = (
        "SELECT pieces.id, entry, pieces.heading, pieces.body FROM"
        " (SELECT rowid FROM words WHERE words MATCH ?"
        f" ORDER BY bm25(words, {_HEADING}, 1.0) LIMIT {_CANDIDATES}) AS best"
        " JOIN pieces ON pieces.id = best.rowid"
    )
    return connection.execute(sql, (match,)).fetchall()


def _judged(
    row: tuple[int, int, str, str],
    query: Asked,
    numbers: Numbers,
    spread: Spread,
    average: float,
) -> Hit | None:
    piece, entry, heading, body = row
    in_heading, in_body = Counter(heading.split()), Counter(body.split())
    held = in_heading.keys() | in_body.keys()
    if not numbers.allow(held):
        return None
    length = 1 - _B + _B * (len(heading) + len(body)) / average
    total = covered = gained = extra = 0.0
    for term in query.terms:
        weight = spread.weight(term)
        times = sum(
            _HEADING * in_heading[form] + in_body[form] for form in _forms(term, held)
        )
        gain = weight * times / (times + _K * length)
        if term.is_extra:
            extra += gain
            continue
        total += weight
        covered += weight if times else 0
        gained += gain
    if not total:
        return None
    coverage = covered / total
    score = (gained + _EXTRA * extra) / total * (0.5 + 0.5 * coverage)
    return Hit(piece, entry, score, coverage)


def _forms(term: Term, held: Iterable[str]) -> Iterable[str]:
    if not term.is_start:
        return term.forms
    return [each for each in held if each.startswith(term.forms)]
