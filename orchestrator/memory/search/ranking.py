"""Find pieces by words: candidates from the index, ranked by what they cover."""

from __future__ import annotations

import dataclasses
import heapq
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search.queries import YEAR, Asked, Numbers, Term, shape_of
from orchestrator.memory.search.words import is_number

__all__ = ["Counts", "Hit", "Spread", "candidates", "counted", "sharpened"]

_Row = tuple[int, int, str, str]
"""A piece: its row, its entry, the terms of its heading and of its body."""
_RARE_ROWS: Final = 4_000
"""Rows that are ranked by SQLite at most, about 10 ms."""
_CANDIDATES: Final = 120
_END: Final = "\U0010ffff"
_K, _B = 1.2, 0.5
_HEADING: Final = 2.0
"""A term in the key counts as so many in the value."""
_EXTRA: Final = 0.5
# Chosen on the part `dev` of the questions in `tests/data/memory`.
NAMED: Final = 0.25
"""More coverage where all that was asked is in the key; a share of it for a part."""
OF_NUMBER: Final = 0.3
"""More for a number or id that was asked for, and again for one with its name."""
UNSEEN_WIDE: Final = 0.4
"""What a pair of characters counts that may be the seam of two words."""
OTHER_SCRIPT: Final = 0.35
"""What a word counts in a piece that is written in another script."""
# A term in so many pieces is counted anew when the index has grown by a tenth.
_COMMON_ROWS: Final = 500
_DRIFT: Final = 0.1
_MOST_COUNTS: Final = 4_000


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


class Counts:
    """How many pieces hold a common term, remembered: counting them takes a while."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bool], tuple[int, int]] = {}

    def of(self, connection: sqlite3.Connection, term: Term, rows: int) -> int:
        """Return in how many pieces a term is, of so many; of a common one, about."""
        total = sum(
            self._of_form(connection, form, term.is_start, rows) for form in term.forms
        )
        return min(total, rows)

    def _of_form(
        self, connection: sqlite3.Connection, form: str, is_start: bool, rows: int
    ) -> int:
        held, then = self._known.get((form, is_start), (0, 0))
        if held and abs(rows - then) <= rows * _DRIFT:
            return held
        held = _held(connection, form, is_start=is_start)
        if held >= _COMMON_ROWS:
            if len(self._known) >= _MOST_COUNTS:
                self._known.clear()
            self._known[form, is_start] = (held, rows)
        return held


def counted(
    connection: sqlite3.Connection, counts: Counts, terms: Iterable[Term]
) -> Spread:
    """Return how common terms are."""
    sql = "SELECT CAST(value AS INTEGER) FROM facts WHERE name = 'pieces'"
    rows = connection.execute(sql).fetchone()[0]
    return Spread(rows, {term: counts.of(connection, term, rows) for term in terms})


def _held(connection: sqlite3.Connection, form: str, *, is_start: bool = False) -> int:
    """Return in how many pieces a term is, or terms that start so together."""
    if is_start:
        sql = "SELECT sum(doc) FROM spread WHERE term >= ? AND term < ?"
        found = connection.execute(sql, (form, form + _END)).fetchone()
    else:
        sql = "SELECT doc FROM spread WHERE term = ?"
        found = connection.execute(sql, (form,)).fetchone()
    return int(found[0] or 0) if found else 0


def sharpened(connection: sqlite3.Connection, numbers: Numbers) -> Numbers:
    """Return numbers with the names that must be found, since others of the kind are.

    Where `web-03` is known and `web-05` is not, nothing else is an answer to `web-05`.
    """
    missing = [
        term
        for term, shape in numbers.shapes
        if not _held(connection, term) and _has_sibling(connection, shape)
    ]
    return dataclasses.replace(numbers, strict=numbers.strict | set(missing))


def _has_sibling(connection: sqlite3.Connection, shape: str) -> bool:
    """Return whether the index holds a term of a shape."""
    if shape == YEAR:
        return False
    start, _, ending = shape.partition("0")
    sql = "SELECT term FROM spread WHERE term >= ? AND term < ? AND term GLOB ?"
    rows = connection.execute(sql, (f"{start}0", f"{start}:", f"{start}[0-9]*{ending}"))
    return any(shape_of(term) == shape for (term,) in rows)


def candidates(
    connection: sqlite3.Connection,
    query: Asked,
    numbers: Numbers,
    spread: Spread,
    *,
    rows_ranked: int = _RARE_ROWS,
    most: int = _CANDIDATES,
) -> list[Hit]:
    """Return the pieces that hold the rarest terms of a query, the best first.

    Args:
        connection: sees one state of the index.
        query: what is looked for.
        numbers: that may not be confused.
        spread: how common its terms are.
        rows_ranked: rows that SQLite ranks at most, but for one very common term.
        most: pieces at most.
    """
    terms = [term for term in query.terms if spread.of_terms[term]]
    if not terms:
        return []
    terms.sort(key=lambda term: spread.of_terms[term])
    if spread.of_terms[terms[0]] > _RARE_ROWS:
        rows = _with_most(connection, terms, numbers)
    else:
        rarest = _rarest(terms, spread, rows_ranked)
        rows = _ranked(connection, rarest, numbers, most)
    if not rows:
        return []
    average = sum(len(row[2]) + len(row[3]) for row in rows) / len(rows)
    hits = [_judged(row, query, numbers, spread, average) for row in rows]
    return heapq.nlargest(most, [hit for hit in hits if hit], key=lambda hit: hit.score)


def _rarest(terms: Sequence[Term], spread: Spread, most: int) -> list[Term]:
    """Return the first terms, as many as may be ranked in a moment.

    Args:
        terms: the rarest first.
        spread: how common they are.
        most: rows with any of them, but for the first.
    """
    chosen, rows = list[Term](), 0
    for term in terms:
        rows += spread.of_terms[term]
        if chosen and rows > most:
            break
        chosen.append(term)
    return chosen


def _ranked(
    connection: sqlite3.Connection, terms: Sequence[Term], numbers: Numbers, most: int
) -> list[_Row]:
    """Return the pieces with any of the terms that SQLite ranks first."""
    match = " OR ".join(map(_any_form, terms))
    sql = (
        "SELECT pieces.id, entry, pieces.heading, pieces.body FROM"
        " (SELECT rowid FROM words WHERE words MATCH ?"
        " ORDER BY bm25(words, ?, 1.0) LIMIT ?) AS best"
        " JOIN pieces ON pieces.id = best.rowid"
    )
    found = (_with_strict(match, numbers), _HEADING, most)
    return connection.execute(sql, found).fetchall()


def _with_most(
    connection: sqlite3.Connection, terms: Sequence[Term], numbers: Numbers
) -> list[_Row]:
    """Return pieces with all of the terms, else with all but the commonest ones.

    For terms that are in thousands of pieces each: they are not ranked by SQLite, which
    takes a microsecond for each piece; the newest rows come first.
    """
    sql = (
        "SELECT pieces.id, entry, pieces.heading, pieces.body FROM"
        " (SELECT rowid FROM words WHERE words MATCH ?"
        " ORDER BY rowid DESC LIMIT ?) AS newest"
        " JOIN pieces ON pieces.id = newest.rowid"
    )
    found: dict[int, _Row] = {}
    sizes = {len(terms), len(terms) * 3 // 4, len(terms) // 2, 1}
    for size in sorted(sizes, reverse=True):
        if 1 <= size <= len(terms) and len(found) < _CANDIDATES:
            match = " AND ".join(map(_any_form, terms[:size]))
            asked = (_with_strict(match, numbers), _CANDIDATES - len(found))
            found |= {row[0]: row for row in connection.execute(sql, asked)}
    return list(found.values())


def _any_form(term: Term) -> str:
    star = "*" if term.is_start else ""
    return "(" + " OR ".join(f'"{form}"{star}' for form in term.forms) + ")"


def _with_strict(match: str, numbers: Numbers) -> str:
    if not numbers.strict:
        return match
    must = " OR ".join(f'"{each}"' for each in sorted(numbers.strict))
    return f"({must}) AND ({match})"


def _judged(
    row: _Row,
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
    total = covered = gained = extra = named = 0.0
    is_wide = _is_wide(in_heading, in_body)
    unknown = _unknown(query, spread)
    for term in query.terms:
        weight = spread.weight(term)
        times = sum(
            _HEADING * in_heading[form] + in_body[form] for form in _forms(term, held)
        )
        gain = weight * times / (times + _K * length)
        if term.is_extra:
            extra += gain
            continue
        total += weight if times else weight * _missed(term, unknown, is_wide)
        covered += weight if times else 0
        if in_heading.keys() & set(term.forms):
            named += weight
        gained += gain
    if not total:
        return None
    coverage = covered / total
    score = (gained + _EXTRA * extra) / total * (0.5 + 0.5 * coverage)
    coverage += NAMED * named / total
    coverage += OF_NUMBER * query.numbers.held(held)
    return Hit(piece, entry, score, coverage)


def _missed(term: Term, unknown: frozenset[Term], is_wide: bool) -> float:
    """Return how much it counts that a piece does not hold a term, 0 to 1.

    Less where it cannot: a pair of characters that nobody wrote may be the end of one
    word and the start of the next, and another language has other words.
    """
    if term.is_wide:
        return UNSEEN_WIDE if term in unknown or not is_wide else 1
    return OTHER_SCRIPT if is_wide and not is_number(term.forms[0]) else 1


def _unknown(query: Asked, spread: Spread) -> frozenset[Term]:
    """Return the pairs of characters that nobody wrote, but for unknown words.

    Two of them in a row are three characters that are no accident of cutting.
    """
    wide = [term for term in query.terms if term.is_wide]
    unseen = [not spread.of_terms[term] for term in wide]
    return frozenset(
        term
        for at, term in enumerate(wide)
        if unseen[at]
        and not (at and unseen[at - 1] and _follows(wide[at - 1], term))
        and not (at + 1 < len(wide) and unseen[at + 1] and _follows(term, wide[at + 1]))
    )


def _follows(first: Term, second: Term) -> bool:
    return first.forms[0][-1] == second.forms[0][0]


def _is_wide(heading: Counter[str], body: Counter[str]) -> bool:
    """Return whether most of a piece is written in characters of East Asia."""
    terms = [*heading, *body]
    return 2 * sum(map(_starts_wide, terms)) > len(terms)


def _starts_wide(term: str) -> bool:
    return term[0] >= "\u3005"


def _forms(term: Term, held: Iterable[str]) -> Iterable[str]:
    if not term.is_start:
        return term.forms
    return [each for each in held if each.startswith(term.forms)]
