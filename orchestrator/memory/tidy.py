"""Which entries are not worth keeping any more, and which say the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Final

from orchestrator.memory.alike import are_alike
from orchestrator.memory.entries import MAX_WAS, Entry, changed, folded
from orchestrator.memory.seals import Seals
from orchestrator.memory.writing import earlier_values, merged_places

__all__ = ["MOST_COMPARED", "may_merge", "merged", "newer_first", "why_unused"]

MOST_COMPARED: Final = 300
"""Entries that one pass compares with others, the newest."""
_DAYS: Final = ((0.8, 365), (0.5, 180), (0.0, 60))
"""Least confidence, and days without use after which an entry goes."""


def why_unused(entry: Entry, seals: Seals, today: str) -> str:
    """Return why an entry is dropped, or "".

    Args:
        entry: it goes only if the program wrote it and its day is known.
        seals: for its evidence; where that is gone, half the time is enough.
        today: `YYYY-MM-DD`.
    """
    last = max(entry.when, entry.used)
    if entry.is_by_a_person or not last:
        return ""
    idle = (date.fromisoformat(today) - date.fromisoformat(last)).days
    confidence = 1.0 if entry.confidence is None else entry.confidence
    limit = next(days for least, days in _DAYS if confidence >= least)
    if idle >= limit:
        return f"not used for {idle} days"
    if idle >= limit // 2 and seals.state_of(entry) == "gone":
        return f"not used for {idle} days, and what it rests on is gone"
    return ""


def may_merge(one: Entry, other: Entry) -> bool:
    """Return whether the program wrote both and they say the same."""
    if one.is_by_a_person or other.is_by_a_person:
        return False
    return are_alike(one.key, one.value, other.key, other.value)


def newer_first(one: Entry, other: Entry) -> tuple[Entry, Entry]:
    """Return two entries, the newer first; of one day, the one that says more."""
    both = (one, other)
    newer = max(both, key=lambda each: (each.when, len(each.value), each.key))
    return newer, other if newer is one else one


def merged(newer: Entry, older: Entry) -> Entry:
    """Return the newer entry with history, evidence and use of both."""
    before = older.was if _same(newer, older) else earlier_values(older)
    was = tuple(dict.fromkeys((*newer.was, *before)))
    return changed(
        replace(newer, evidence=merged_places(newer.evidence, older.evidence)),
        used=max(newer.used, older.used),
        was=was[:MAX_WAS],
    )


def _same(newer: Entry, older: Entry) -> bool:
    return folded(newer.value) == folded(older.value)
