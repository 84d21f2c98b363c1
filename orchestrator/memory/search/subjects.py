"""What an index holds on a subject, which is named at length and asks nothing.

An objective tells what is wanted, by whom and how. Words of it that no entry holds say
nothing of the subject, so they are not missed; and each of its parts stands alone, with
the numbers that it names.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Sequence
from typing import Final

from orchestrator.memory.search import ranking
from orchestrator.memory.search.merging import Compared, Found, search
from orchestrator.memory.search.queries import Asked

__all__ = ["about"]

SHARE: Final = 0.7
"""Of the evidence that an answer to a question needs."""


def about(
    connection: sqlite3.Connection,
    counts: ranking.Counts,
    parts: Sequence[Asked],
    compared: Compared | None,
    most: int,
    *,
    share: float = 1.0,
) -> list[Found]:
    """Return the entries that fit the parts best: the best of each, then the next.

    Args:
        connection: sees one state of the index.
        counts: how common terms are.
        parts: of what is said of the subject.
        compared: the likeness of all pieces to each of them; None: words alone.
        most: entries at most.
        share: of the evidence that they need.
    """
    best: dict[tuple[str, str], tuple[int, Found]] = {}
    for at, part in enumerate(parts):
        known = _known(connection, counts, part)
        if not known.terms:
            continue
        one = None if compared is None else (compared[0], [compared[1][at]])
        hits = search(connection, counts, [known], one, most, share=share * SHARE)
        for rank, found in enumerate(hits):
            before = best.get((found.topic, found.key))
            if before is None or (rank, -found.score) < (before[0], -before[1].score):
                best[found.topic, found.key] = rank, found
    ranked = sorted(best.values(), key=lambda each: (each[0], -each[1].score))
    return [found for _, found in ranked[:most]]


def _known(
    connection: sqlite3.Connection, counts: ranking.Counts, part: Asked
) -> Asked:
    """Return a part with the terms alone that some entry holds."""
    spread = ranking.counted(connection, counts, part.terms)
    terms = tuple(term for term in part.terms if spread.of_terms[term])
    return dataclasses.replace(part, terms=terms)
