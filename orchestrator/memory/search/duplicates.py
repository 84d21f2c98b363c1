"""Entries that say the same: one holds nearly all words of the other, and its numbers.

Careful on purpose, since what is merged by mistake is lost: two texts that differ in a
number, a `not` or a word that each has of its own are two facts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from typing import Final

from orchestrator.memory.entries import folded_key
from orchestrator.memory.search import ranking
from orchestrator.memory.search.calibration import Calibration
from orchestrator.memory.search.matrix import Likeness
from orchestrator.memory.search.merging import Found
from orchestrator.memory.search.queries import Asked, Numbers, Term
from orchestrator.memory.search.words import is_number, lexed_words, plain_terms

__all__ = ["LEAST_HELD", "duplicates"]

LEAST_HELD: Final = 0.9
"""Share of the shorter text, weighted by rareness, that the longer one holds."""
LEAST_ALIKE: Final = 0.5
"""Share of both texts together that is in both."""
LEAST_SHARED: Final = 0.4
"""Share of the words of the shorter text that the longer one holds."""
LEAST_BY_VECTORS: Final = (0.6, 8.5)
"""So much is enough where texts are so many deviations nearer than unrelated ones."""
_MOST_TERMS: Final = 8
_ROWS_RANKED: Final = 100
_MOST_COMPARED: Final = 4
"""What says the same holds the rarest words, so that few need a closer look."""
_MOST_FOUND: Final = 5
_NEGATIONS: Final = frozenset(
    {
        "not", "no", "never", "none", "neither", "nor", "without", "cannot", "except",
        "don", "doesn", "didn", "isn", "aren", "wasn", "won", "shouldn", "mustn",
    }
)  # fmt: skip
_WIDE_NEGATIONS: Final = frozenset("不没未无非禁勿别")


def duplicates(
    connection: sqlite3.Connection,
    counts: ranking.Counts,
    key: str,
    value: str,
    compared: tuple[Calibration, Likeness] | None,
) -> list[Found]:
    """Return the entries that probably say the same as another one, the nearest first.

    Args:
        connection: sees one state of the index.
        counts: how common terms are.
        key: of the other one; an entry with the same key is that one itself.
        value: of the other one.
        compared: the likeness of all pieces to it; None: by words alone.
    """
    text = f"{key}\n{value}"
    own = plain_terms(text)
    spread = ranking.counted(connection, counts, [Term((each,)) for each in own])
    wanted = sorted(spread.of_terms, key=lambda term: -spread.weight(term))
    query = Asked(tuple(wanted[:_MOST_TERMS]), Numbers())
    found: dict[str, Found] = {}
    hits = ranking.candidates(
        connection,
        query,
        Numbers(),
        spread,
        rows_ranked=_ROWS_RANKED,
        most=_MOST_COMPARED,
    )
    for hit in hits:
        sql = (
            "SELECT topic, key, text FROM pieces JOIN entries ON entries.id = entry"
            " WHERE pieces.id = ?"
        )
        topic, other_key, other = connection.execute(sql, (hit.piece,)).fetchone()
        if folded_key(other_key) == folded_key(key) or other_key in found:
            continue
        alike = _distance(compared, hit.piece)
        score = _sameness(connection, counts, (text, own), other, alike)
        if score:
            by = ("words", "vectors") if alike else ("words",)
            found[other_key] = Found(topic, other_key, score, by)
    return sorted(found.values(), key=lambda each: -each.score)[:_MOST_FOUND]


def _distance(compared: tuple[Calibration, Likeness] | None, piece: int) -> float:
    if compared is None:
        return 0.0
    scale, likeness = compared
    cosine = likeness.of(piece)
    return 0.0 if cosine is None else scale.distance(cosine)


def _sameness(
    connection: sqlite3.Connection,
    counts: ranking.Counts,
    one: tuple[str, Collection[str]],
    other: str,
    alike: float,
) -> float:
    """Return how much of two texts is the same, 0: they are two facts."""
    text, own = one
    theirs = plain_terms(other)
    if _figures(own) != _figures(theirs) or _negations(text) != _negations(other):
        return 0.0
    if len(theirs.intersection(own)) < LEAST_SHARED * min(len(theirs), len(own)):
        return 0.0  # rare words alone cannot make up for so many
    spread = ranking.counted(connection, counts, [Term((t,)) for t in {*own, *theirs}])

    def weight(terms: Iterable[str]) -> float:
        return sum(spread.weight(Term((each,))) for each in terms)

    both = weight(theirs.intersection(own))
    held = both / max(min(weight(own), weight(theirs)), 1e-9)
    share = 2 * both / max(weight(own) + weight(theirs), 1e-9)
    least, most_alike = LEAST_BY_VECTORS
    is_near = held >= LEAST_HELD or (held >= least and alike >= most_alike)
    return round(share, 3) if is_near and share >= LEAST_ALIKE else 0.0


def _figures(terms: Iterable[str]) -> set[str]:
    return {each for each in terms if is_number(each)}


def _negations(text: str) -> int:
    words = sum(word in _NEGATIONS for word in lexed_words(text))
    return words + sum(each in _WIDE_NEGATIONS for each in text)
