"""Which entries are not worth keeping any more, and which say the same."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Final

from orchestrator.memory.alike import are_alike
from orchestrator.memory.entries import MAX_WAS, Entry, changed, folded, same_key
from orchestrator.memory.folder import Changed
from orchestrator.memory.keeping import Outcome
from orchestrator.memory.scope import Scope
from orchestrator.memory.seals import Seals
from orchestrator.memory.writing import earlier_values, merged_places

__all__ = ["may_merge", "merged", "newer_first", "tidied", "why_unused"]

MOST_COMPARED: Final = 300
"""Entries that one pass compares with others, the newest."""
_DAYS: Final = ((0.8, 365), (0.5, 180), (0.0, 60))
"""Least confidence, and days without use after which an entry goes."""


def tidied(scope: Scope) -> list[Outcome]:
    """Drop and merge in a whole scope, each time under the lock for one file or pair.

    Returns:
        What went.

    Raises:
        StoreError: it cannot be read or written.
    """
    scope.refresh()
    dropped = [
        outcome
        for path in scope.catalog.listing().files
        for outcome in _dropped(scope, path)
    ]
    return dropped + _merged_in(scope)


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


def _dropped(scope: Scope, path: str) -> list[Outcome]:
    """Drop what nobody used from one topic file, and return what went."""
    today, seals = scope.today(), scope.seals()
    topic = scope.catalog.load(path).topic
    if not any(why_unused(entry, seals, today) for entry in topic.entries):
        return []
    try:
        with scope.batch() as batch:
            if batch.why_cut(path):
                return []
            reasons = [
                (entry, why)
                for entry in batch.topic(path).entries
                if (why := why_unused(entry, seals, today))
            ]
            batch.take_out(path, [entry for entry, _ in reasons])
            batch.commit(path)
    except Changed:  # whoever changed it still wants it; there is another day
        return []
    return [Outcome(entry.key, path, "dropped", why) for entry, why in reasons]


def _merged_in(scope: Scope) -> list[Outcome]:
    """Merge what says the same, and return what went."""
    entries = [
        entry
        for path in scope.catalog.listing().files
        for entry in scope.catalog.load(path).topic.entries
        if not entry.is_by_a_person
    ]
    entries.sort(key=lambda entry: entry.when, reverse=True)
    outcomes: list[Outcome] = []
    for entry in entries[:MOST_COMPARED]:
        for found in scope.catalog.near(entry.key, entry.value):
            if not same_key(found.key, entry.key) and _may_be(scope, entry, found.key):
                with suppress(Changed):
                    outcomes += _merge(scope, entry.key, found.key)
    return outcomes


def _may_be(scope: Scope, entry: Entry, key: str) -> bool:
    """Return whether two entries say the same, as they were a moment ago."""
    path = scope.catalog.topic_of(key)
    other = None if path is None else scope.catalog.load(path).entry(key)
    return other is not None and may_merge(entry, other)


def _merge(scope: Scope, key: str, other: str) -> list[Outcome]:
    with scope.batch() as batch:
        one, two = batch.find(key), batch.find(other)
        if one is None or two is None or not may_merge(one[1], two[1]):
            return []
        newer, older = newer_first(one[1], two[1])
        stays, goes = (one[0], two[0]) if newer is one[1] else (two[0], one[0])
        if batch.why_cut(goes) or batch.put(stays, merged(newer, older)):
            return []
        batch.take_out(goes, [older])
        # The newer one first: where the work ends in between, nothing is lost.
        batch.commit(stays)
        batch.commit(goes)
    return [Outcome(newer.key, stays, "merged", f"`{older.key}` said the same")]
