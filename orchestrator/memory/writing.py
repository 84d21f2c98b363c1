"""Judge changes to memory one by one, and make those that may be made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.memory.alike import are_alike, holds_all_of
from orchestrator.memory.batch import Batch
from orchestrator.memory.entries import (
    MAX_WAS,
    Earlier,
    Entry,
    Place,
    changed,
    check_of,
    folded,
)
from orchestrator.memory.keeping import Drop, Outcome, Put
from orchestrator.memory.rules import (
    MAX_PLACES,
    PERSONS,
    clean_description,
    clean_key,
    clean_places,
    clean_value,
    same_value,
    why_no_entry,
    why_no_path,
)
from orchestrator.memory.seals import Seals
from orchestrator.memory.tombstones import Tombstones

__all__ = [
    "Change",
    "Writer",
    "earlier_values",
    "fresh_entry",
    "merged_places",
    "prepared",
    "shortened",
]

MAX_WAS_CHARS: Final = 300


@dataclass(frozen=True, slots=True)
class Change:
    """A change that is cleaned and has its seals, made before the lock is taken.

    Attributes:
        asked: the change.
        near: keys whose entries may say the same.
    """

    asked: Put | Drop
    near: tuple[str, ...] = ()


def prepared(
    change: Put | Drop, redact: Callable[[str], str], seals: Seals
) -> Put | Drop:
    """Return a change as it is written, if it is."""
    key = clean_key(change.key, redact)
    if isinstance(change, Drop):
        return Drop(key, change.why)
    confidence = change.confidence
    if confidence is not None and not 0 <= confidence <= 1:
        confidence = None
    return Put(
        redact(change.topic.strip()),
        key,
        clean_value(change.value, redact),
        tuple(seals.sealed(place) for place in clean_places(change.evidence)),
        None if confidence is None else round(confidence, 2),
        clean_description(change.description, redact),
    )


def fresh_entry(put: Put, source: str, today: str, was: Sequence[Earlier]) -> Entry:
    """Return a new entry, stamped with who wrote it and when."""
    return Entry(
        key=put.key,
        value=put.value,
        when=today,
        confidence=put.confidence,
        source=source,
        evidence=put.evidence,
        was=tuple(was)[:MAX_WAS],
        check=check_of(put.key, put.value),
    )


def earlier_values(entry: Entry) -> tuple[Earlier, ...]:
    """Return what an entry was, with the value that it has now."""
    value = shortened(entry.value)
    now = Earlier(value, entry.when)
    return (now, *(each for each in entry.was if each.value != value))[:MAX_WAS]


def shortened(value: str) -> str:
    """Return a value in one line, bounded, as it stands among earlier ones."""
    line = folded(value)
    if len(line) <= MAX_WAS_CHARS:
        return line
    return f"{line[: MAX_WAS_CHARS - 1].rstrip()}…"


@dataclass(slots=True)
class Writer:
    """Makes changes within a batch.

    Attributes:
        batch: of the files.
        forgotten: what must not come back.
        source: who writes.
        today: `YYYY-MM-DD`.
    """

    batch: Batch
    forgotten: Tombstones
    source: str
    today: str

    def make(self, change: Change) -> Outcome:
        """Make one change in the batch, or refuse it."""
        asked = change.asked
        found = self.batch.find(asked.key) if asked.key else None
        if isinstance(asked, Drop):
            return self._drop(asked, found)
        path = asked.topic if found is None else found[0]
        if found is not None and found[1].is_by_a_person:
            entry = found[1]
            if same_value(entry, asked.value):
                return Outcome(entry.key, path, "same")
            return Outcome(entry.key, path, "refused", PERSONS)
        why = why_no_entry(asked.key, asked.value, self.forgotten)
        if not why and found is None:
            why = why_no_path(path)
        if why:
            return Outcome(asked.key, path, "refused", why)
        if found is not None:
            return self._update(asked, *found)
        return self._merged(change, asked) or self._new(asked)

    def _drop(self, asked: Drop, found: tuple[str, Entry] | None) -> Outcome:
        if found is None:
            return Outcome(asked.key, "", "refused", "there is no such entry")
        path, entry = found
        if entry.is_by_a_person:
            return Outcome(entry.key, path, "refused", PERSONS)
        self.batch.take_out(path, [entry])
        return Outcome(entry.key, path, "dropped", asked.why)

    def _new(self, put: Put) -> Outcome:
        entry = fresh_entry(put, self.source, self.today, ())
        why = self.batch.put(put.topic, entry, description=put.description)
        return Outcome(put.key, put.topic, "refused" if why else "new", why)

    def _update(self, put: Put, path: str, entry: Entry) -> Outcome:
        if same_value(entry, put.value):
            same = changed(
                entry,
                when=max(self.today, entry.when),
                evidence=put.evidence or entry.evidence,
                confidence=entry.confidence
                if put.confidence is None
                else put.confidence,
            )
            if same != entry and (why := self.batch.put(path, same)):
                return Outcome(entry.key, path, "refused", why)
            return Outcome(entry.key, path, "same")
        # The key stays as it is spelled in the file.
        newer = fresh_entry(
            replace(put, key=entry.key), self.source, self.today, earlier_values(entry)
        )
        why = self.batch.put(path, replace(newer, used=entry.used))
        return Outcome(entry.key, path, "refused" if why else "updated", why)

    def _merged(self, change: Change, put: Put) -> Outcome | None:
        """Return what became of it where an entry of another key says the same."""
        for key in change.near:
            found = self.batch.find(key)
            if found is None or found[1].is_by_a_person:
                continue
            path, entry = found
            if not are_alike(put.key, put.value, entry.key, entry.value):
                continue
            told = f"`{put.key}` says the same"
            evidence = merged_places(put.evidence, entry.evidence)
            is_less = holds_all_of(entry.value, put.value)
            value = entry.value if is_less else put.value
            both = replace(put, value=value, evidence=evidence)
            outcome = self._update(both, path, entry)
            if outcome.what == "refused":
                return outcome
            return Outcome(entry.key, path, "merged", told)
        return None


def merged_places(
    newer: tuple[Place, ...], older: tuple[Place, ...]
) -> tuple[Place, ...]:
    """Return the evidence of both, each place once, as the newer has it."""
    places = {(p.path, p.first, p.last): p for p in (*older, *newer)}
    return tuple(places.values())[-MAX_PLACES:]
