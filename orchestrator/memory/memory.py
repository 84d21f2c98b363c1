"""One scope of memory: entries that outlive runs, in files that people can edit.

Safe to use from many threads and processes at once. What is on disk at the moment of a
change is what it is made to; no lock is held while a model or an embedder is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.memory.batch import Batch
from orchestrator.memory.catalog import Catalog, Loaded
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import Entry, changed, folded_key, same_key
from orchestrator.memory.exchange import Record
from orchestrator.memory.folder import OWN, Changed, Folder
from orchestrator.memory.forgetting import forget, forgetting_is_done, forgotten_in
from orchestrator.memory.index_page import About
from orchestrator.memory.keeping import Author, Drop, Outcome, Put
from orchestrator.memory.seals import Seals, State
from orchestrator.memory.taking_in import cleaned, take_in
from orchestrator.memory.tidy import (
    MOST_COMPARED,
    may_merge,
    merged,
    newer_first,
    why_unused,
)
from orchestrator.memory.tombstones import Tombstones
from orchestrator.memory.writing import Change, Writer, prepared

__all__ = ["About", "Known", "Memory", "State"]

TRIES: Final = 6
"""How often a change is made anew where a person saves the same file meanwhile."""
MOST_BESIDE: Final = 20
"""Earlier changes of one call that a new entry is compared with, the last ones."""
PAGE_S: Final = 0.2
"""How long a search waits to bring the index page up to date."""
MOST_AT_ONCE: Final = 200
"""Entries that are taken in under one lock, so that nobody waits long for it."""
_Make = Callable[[Batch, Tombstones, int], Outcome]
_TIDIED: Final = f"{OWN}/tidied"
_BUSY: Final = "somebody else keeps changing this file; try again"


@dataclass(frozen=True, slots=True)
class Known:
    """One entry, and whether what it rests on is still as it was.

    Attributes:
        topic: its file.
        entry: as it is in the file.
        state: of its evidence, the worst of all places.
    """

    topic: str
    entry: Entry
    state: State

    @property
    def is_stale(self) -> bool:
        """Whether lines that it rests on have changed, or their file is gone."""
        return self.state in ("changed", "gone")


class Memory:
    """One scope."""

    def __init__(
        self,
        folder: Path,
        *,
        workspace: Path | None,
        redact: Callable[[str], str],
        today: Callable[[], str],
        embedder: Embedder | None = None,
    ) -> None:
        """Open nothing yet; the folder is made when something is written.

        Args:
            folder: of the scope.
            workspace: what evidence is relative to; None: it is not looked at.
            redact: replaces secrets in what is written.
            today: the day, `YYYY-MM-DD`.
            embedder: for searches by meaning; None: by words alone.
        """
        self.folder = folder
        self._workspace, self._redact, self._today = workspace, redact, today
        self._disk = Folder(folder)
        self._catalog = Catalog(self._disk, embedder)

    @property
    def notice(self) -> str:
        """Why something is not searched or read in full at the moment, or ""."""
        return self._catalog.notice

    def problem(self) -> str:
        """Return why nothing can be written, or ""; nothing is made."""
        return self._disk.problem()

    def topics(self) -> list[About]:
        """Return what there is to say of each topic file, by path.

        Raises:
            StoreError: the folder cannot be read.
        """
        return list(self._catalog.abouts().values())

    def entries(self) -> list[Known]:
        """Return all entries, by topic, in the order of their files.

        Raises:
            StoreError: the folder cannot be read.
        """
        seals = Seals(self._workspace)
        return [
            Known(path, entry, seals.state_of(entry))
            for path in self._catalog.listing().files
            for entry in self._catalog.load(path).topic.entries
        ]

    def with_key(self, key: str) -> Known | None:
        """Return the entry of a key, or None.

        Raises:
            StoreError: the folder cannot be read.
        """
        self._refresh()
        path = self._catalog.topic_of(key)
        if path is None:
            return None
        entry = self._catalog.load(path).entry(key)
        return None if entry is None else self._known(path, entry, self._seals())

    def states(self, entry: Entry) -> tuple[State, ...]:
        """Return of each place of an entry's evidence whether it is as it was."""
        seals = self._seals()
        return tuple(map(seals.state, entry.evidence))

    def recall(self, queries: Sequence[str], *, most: int = 5) -> list[Known]:
        """Return the entries that fit best, the best first.

        Args:
            queries: phrasings of one question.
            most: entries at most.

        Raises:
            StoreError: the folder or the index cannot be read.
        """
        self._refresh()
        seals, loaded = self._seals(), dict[str, Loaded]()
        found: list[Known] = []
        for each in self._catalog.find(queries, most=most):
            if each.topic not in loaded:
                loaded[each.topic] = self._catalog.load(each.topic)
            # In the moment since the index was asked, it may have gone.
            if (entry := loaded[each.topic].entry(each.key)) is not None:
                found.append(self._known(each.topic, entry, seals))
        return found

    def keep(self, changes: Sequence[Put | Drop], author: Author) -> list[Outcome]:
        """Make changes, each judged by itself, to what is on disk now.

        Returns:
            What became of each, in their order.

        Raises:
            StoreError: nothing can be written, or somebody holds the lock for long.
        """
        if not changes:
            return []
        seals = self._seals()
        asked = [prepared(change, self._redact, seals) for change in changes]
        with suppress(StoreError):
            self._catalog.refresh(is_thorough=False)
        near_each = [self._near(each) for each in asked]
        ready = [
            Change(each, (*_keys(asked[max(number - MOST_BESIDE, 0) : number]), *near))
            for number, (each, near) in enumerate(zip(asked, near_each, strict=True))
        ]

        def make(batch: Batch, forgotten: Tombstones, number: int) -> Outcome:
            writer = Writer(batch, forgotten, author.source, self._today())
            return writer.make(ready[number])

        return self._judged([each.asked.key for each in ready], make)

    def take_in(self, records: Sequence[Record]) -> list[Outcome]:
        """Take in entries with their dates and sources, where they are newer.

        Returns:
            What became of each, in their order, see `taking_in.take_in`.

        Raises:
            StoreError: nothing can be written, or somebody holds the lock for long.
        """
        ready = [cleaned(each, self._redact) for each in records]
        outcomes: list[Outcome] = []
        for start in range(0, len(ready), MOST_AT_ONCE):
            part = ready[start : start + MOST_AT_ONCE]
            outcomes += self._judged(
                [each.entry.key for each in part],
                lambda batch, forgotten, number, part=part: take_in(  # type: ignore[misc]
                    batch, part[number], forgotten
                ),
            )
        return outcomes

    def touch(self, keys: Collection[str]) -> None:
        """Note that entries were shown today; at most once a day each.

        Raises:
            StoreError: it cannot be written.
        """
        today = self._today()
        with suppress(StoreError):
            self._catalog.refresh(is_thorough=False)
        wanted = [key for key in keys if self._is_untouched(key, today)]
        if not wanted:
            return
        with suppress(Changed), self._batch() as batch:
            for key in wanted:
                found = batch.find(key)
                if found is not None and _may_touch(found[1], today):
                    batch.put(found[0], changed(found[1], used=today))
            batch.commit_all()

    def tidy(self) -> list[Outcome]:
        """Drop what nobody used for long, and merge what says the same.

        What a person wrote stays. Others may write meanwhile.

        Raises:
            StoreError: it cannot be written.
        """
        self._refresh()
        outcomes = [
            outcome
            for path in self._catalog.listing().files
            for outcome in self._dropped(path)
        ]
        outcomes += self._merged()
        with self._disk.lock() as lease:
            self._disk.clear_left()
            before = self._disk.read(_TIDIED)
            with suppress(Changed):
                text = f"{self._today()}\n"
                self._disk.write(lease, _TIDIED, text, before=before, derived=True)
        return outcomes

    def tidy_if_due(self) -> list[Outcome]:
        """Tidy, if nobody has today and there is something.

        Raises:
            StoreError: it cannot be written.
        """
        if not self.folder.is_dir():
            return []
        if self._disk.read(_TIDIED).text.strip() == self._today():
            return []
        return self.tidy()

    def forget(self, keys: Collection[str]) -> list[str]:
        """Take entries out for good, their history included, a person's too.

        What is forgotten does not come back by a run: its key and its value are known
        by a keyed hash. A person may write it again.

        Returns:
            The keys that were there, as they were spelled.

        Raises:
            StoreError: it cannot be written.
        """
        wanted = {folded_key(key) for key in keys}
        gone: dict[str, None] = {}
        for _ in range(TRIES):
            try:
                with self._batch() as batch:
                    found = forget(batch, wanted)
                    gone |= dict.fromkeys(found)
                    batch.commit_all()
                    self._disk.clear_left(all_of_them=True)
                break
            except Changed:
                continue
        else:
            raise StoreError(f"memory at `{self.folder}`: {_BUSY}")
        if gone:
            self._erase()
        return list(gone)

    def _judged(self, keys: Sequence[str], make: _Make) -> list[Outcome]:
        """Make changes under the lock, those anew that a person came between.

        Args:
            keys: of the changes.
            make: makes the change of a number, or refuses it.
        """
        outcomes: dict[int, Outcome] = {}
        for _ in range(TRIES):
            left = [n for n in range(len(keys)) if n not in outcomes]
            with self._batch() as batch:
                forgotten = forgotten_in(self._disk)
                judged = {number: make(batch, forgotten, number) for number in left}
                outcomes |= _committed(batch, judged)
            if forgotten.is_under_way:
                self._erase()
            if len(outcomes) == len(keys):
                break
        for number, key in enumerate(keys):
            outcomes.setdefault(number, Outcome(key, "", "refused", _BUSY))
        return [outcomes[number] for number in range(len(keys))]

    def _known(self, path: str, entry: Entry, seals: Seals) -> Known:
        return Known(path, entry, seals.state_of(entry))

    def _seals(self) -> Seals:
        return Seals(self._workspace)

    def _refresh(self) -> None:
        """Bring the index up to date, and the page as far as that is possible now."""
        self._catalog.refresh()
        told = self._catalog.told()
        if not told:
            return
        try:
            with self._disk.lock(limit_s=PAGE_S) as lease:
                listing = self._catalog.prepare(lease)
                Batch(self._disk, self._catalog, lease, listing).write_page(told)
        except (StoreError, Changed):
            self._catalog.tell(told)

    @contextmanager
    def _batch(self) -> Iterator[Batch]:
        """Give a batch under the lock; the index follows when the lock is free."""
        with self._disk.lock() as lease:
            batch = Batch(
                self._disk, self._catalog, lease, self._catalog.prepare(lease)
            )
            yield batch
            told = self._catalog.told()
            try:
                batch.write_page(dict(told))
            except (StoreError, Changed):
                self._catalog.tell(told)
        self._catalog.index_written(batch.written)

    def _near(self, asked: Put | Drop) -> tuple[str, ...]:
        """Return keys that may say the same; none where the key is known already."""
        if isinstance(asked, Drop) or not (asked.key and asked.value):
            return ()
        with suppress(StoreError):
            if self._catalog.topic_of(asked.key) is None:
                return tuple(f.key for f in self._catalog.near(asked.key, asked.value))
        return ()

    def _is_untouched(self, key: str, today: str) -> bool:
        path = self._catalog.topic_of(key)
        entry = None if path is None else self._catalog.load(path).entry(key)
        return entry is not None and _may_touch(entry, today)

    def _dropped(self, path: str) -> list[Outcome]:
        """Drop what nobody used from one topic file, and return what went."""
        today, seals = self._today(), self._seals()
        topic = self._catalog.load(path).topic
        if not any(why_unused(entry, seals, today) for entry in topic.entries):
            return []
        gone: list[Outcome] = []
        try:
            with self._batch() as batch:
                for entry in batch.topic(path).entries:
                    if why := why_unused(entry, seals, today):
                        gone.append(Outcome(entry.key, path, "dropped", why))
                batch.take_out(path, [each.key for each in gone])
                batch.commit(path)
        except Changed:  # whoever changed it still wants it; there is another day
            return []
        return gone

    def _merged(self) -> list[Outcome]:
        """Merge what says the same, and return what went."""
        entries = [
            entry
            for path in self._catalog.listing().files
            for entry in self._catalog.load(path).topic.entries
            if not entry.is_by_a_person
        ]
        entries.sort(key=lambda entry: entry.when, reverse=True)
        outcomes: list[Outcome] = []
        for entry in entries[:MOST_COMPARED]:
            for found in self._catalog.near(entry.key, entry.value):
                if not same_key(found.key, entry.key):
                    with suppress(Changed):
                        outcomes += self._merge(entry.key, found.key)
        return outcomes

    def _merge(self, key: str, other: str) -> list[Outcome]:
        known = [self.with_key(each) for each in (key, other)]
        if not all(each and not each.entry.is_by_a_person for each in known):
            return []
        with self._batch() as batch:
            one, two = batch.find(key), batch.find(other)
            if one is None or two is None or not may_merge(one[1], two[1]):
                return []
            newer, older = newer_first(one[1], two[1])
            stays, goes = (one, two) if newer is one[1] else (two, one)
            # The newer one first: where the work ends in between, nothing is lost.
            if batch.put(stays[0], merged(newer, older)):
                return []
            batch.commit(stays[0])
            batch.take_out(goes[0], [older.key])
            batch.commit(goes[0])
        why = f"`{older.key}` said the same"
        return [Outcome(newer.key, stays[0], "merged", why)]

    def _erase(self) -> None:
        """Leave nothing of what was forgotten in the index."""
        self._catalog.compact()
        with self._disk.lock() as lease, suppress(Changed):
            forgetting_is_done(self._disk, lease)


def _keys(changes: Sequence[Put | Drop]) -> tuple[str, ...]:
    return tuple(each.key for each in changes if isinstance(each, Put) and each.key)


def _may_touch(entry: Entry, today: str) -> bool:
    return entry.used != today and not entry.is_by_a_person


def _committed(batch: Batch, judged: Mapping[int, Outcome]) -> dict[int, Outcome]:
    """Write what was judged, and return the outcomes that hold."""
    final = {n: each for n, each in judged.items() if each.what == "refused"}
    written: dict[str, str | None] = {}
    for number, outcome in judged.items():
        if number in final:
            continue
        path = outcome.topic
        if path not in written:
            try:
                batch.commit(path)
                written[path] = ""
            except Changed:  # by a person: it is judged again
                written[path] = None
            except StoreError as error:
                written[path] = str(error)
        why = written[path]
        if why is not None:
            final[number] = (
                replace(outcome, what="refused", why=why) if why else outcome
            )
    return final
