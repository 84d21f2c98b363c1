"""Take in entries that come with their dates and sources, where they are newer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from orchestrator.memory.batch import Batch
from orchestrator.memory.entries import MAX_WAS, Earlier, Entry, check_of, folded
from orchestrator.memory.exchange import Record
from orchestrator.memory.judging import judged
from orchestrator.memory.keeping import Outcome
from orchestrator.memory.rules import (
    FORGOTTEN,
    MAX_KEY_CHARS,
    MAX_VALUE_CHARS,
    clean_description,
    clean_key,
    clean_places,
    clean_value,
    same_value,
    why_no_path,
)
from orchestrator.memory.scope import Scope
from orchestrator.memory.tombstones import Tombstones
from orchestrator.memory.writing import earlier_values
from orchestrator.security.placeholders import PLACEHOLDER

__all__ = ["taken_in"]

MOST_AT_ONCE: Final = 200
"""Entries that are taken in under one lock, so that nobody waits long for it."""
PERSONS: Final = "a person wrote or changed it here"
OLDER: Final = "what is here is as new, or newer"


def taken_in(scope: Scope, records: Sequence[Record]) -> list[Outcome]:
    """Take in entries with their dates and sources, where they are newer.

    What a person wrote here stays. What a person wrote elsewhere is newer than what the
    program wrote here, unless its date says otherwise.

    Args:
        scope: that is written.
        records: each with a key of its own.

    Returns:
        What became of each, in their order: `new`, `updated`, `refused`, or `same`,
        where what is here stays; `why` says why, if it differs.

    Raises:
        StoreError: nothing can be written, or somebody holds the lock for long.
    """
    ready = [_cleaned(each, scope.redact) for each in records]
    outcomes: list[Outcome] = []
    for start in range(0, len(ready), MOST_AT_ONCE):
        part = ready[start : start + MOST_AT_ONCE]
        keys = [each.entry.key for each in part]

        def make(
            batch: Batch,
            forgotten: Tombstones,
            number: int,
            part: Sequence[Record] = part,
        ) -> Outcome:
            return _take_in(batch, part[number], forgotten)

        outcomes += judged(scope, keys, make)
    return outcomes


def _cleaned(record: Record, redact: Callable[[str], str]) -> Record:
    """Return an entry as it is written, if it is: redacted, in one form."""
    entry = record.entry
    key, value = clean_key(entry.key, redact), clean_value(entry.value, redact)
    fresh = replace(
        entry,
        key=key,
        value=value,
        evidence=clean_places(entry.evidence),
        was=tuple(_without_secrets(entry.was, redact)),
        check=check_of(key, value) if entry.check else "",
    )
    description = clean_description(record.description, redact)
    title = folded(redact(record.title))
    return Record(record.topic, title, description, fresh)


def _take_in(batch: Batch, record: Record, forgotten: Tombstones) -> Outcome:
    """Put an entry into the batch, if it is new, or newer than what is there."""
    entry = record.entry
    found = batch.find(entry.key) if entry.key else None
    path = record.topic if found is None else found[0]
    if found is not None and (kept := _why_kept(found[1], entry)) is not None:
        return Outcome(found[1].key, path, "same", kept)
    why = _why_refused(entry, forgotten) or ("" if found else why_no_path(path))
    if not why and found is not None:
        entry = _in_place_of(found[1], entry)
    why = why or batch.put(path, entry, description=record.description)
    if why:
        return Outcome(entry.key, path, "refused", why)
    _entitle(batch, path, record)
    return Outcome(entry.key, path, "new" if found is None else "updated")


def _why_kept(here: Entry, other: Entry) -> str | None:
    """Return why what is here stays, "" where both say the same; None: it does not."""
    is_same = same_value(here, other.value)
    if here.is_by_a_person:
        return "" if is_same else PERSONS
    if other.is_by_a_person and not other.when:
        return None
    if other.when > here.when:
        return None
    return "" if is_same else OLDER


def _why_refused(entry: Entry, forgotten: Tombstones) -> str:
    """Return why an entry does not come in, or "".

    A person's may be of any length: a file that a person wrote holds such, too.
    """
    if not entry.key or not entry.value:
        return "it has no key or no value"
    if PLACEHOLDER.search(f"{entry.key}\n{entry.value}"):
        return "holds a secret"
    if forgotten.holds(entry.key, entry.value):
        return FORGOTTEN
    return "" if entry.is_by_a_person else _why_too_long(entry)


def _why_too_long(entry: Entry) -> str:
    if len(entry.key) > MAX_KEY_CHARS:
        return f"its key has over {MAX_KEY_CHARS} characters"
    if len(entry.value) > MAX_VALUE_CHARS:
        return f"its value has over {MAX_VALUE_CHARS:,} characters"
    return ""


def _in_place_of(here: Entry, other: Entry) -> Entry:
    """Return the newer entry with the history of both, spelled as the key is here."""
    before = here.was if same_value(here, other.value) else earlier_values(here)
    was = {each.value: each for each in (*before, *other.was)}
    newest = sorted(was.values(), key=lambda each: each.when, reverse=True)
    return replace(
        other,
        key=here.key,
        used=max(here.used, other.used),
        was=tuple(newest[:MAX_WAS]),
        check=check_of(here.key, other.value) if other.check else "",
    )


def _entitle(batch: Batch, path: str, record: Record) -> None:
    """Give a new topic file its title."""
    topic = batch.topic(path)
    if not batch.is_there(path) and len(topic.entries) == 1 and record.title:
        batch.set_topic(replace(topic, title=record.title))


def _without_secrets(
    was: tuple[Earlier, ...], redact: Callable[[str], str]
) -> tuple[Earlier, ...]:
    plain = (replace(each, value=folded(redact(each.value))) for each in was)
    return tuple(each for each in plain if not PLACEHOLDER.search(each.value))
