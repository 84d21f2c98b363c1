"""One scope of memory: entries that outlive runs, in files that people can edit.

Safe to use from many threads and processes at once. What is on disk at the moment of a
change is what it is made to; no lock is held while a model or an embedder is waited
for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.memory.batch import Batch
from orchestrator.memory.catalog import Catalog, Loaded
from orchestrator.memory.commands import Commands
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import Entry, changed, folded_key
from orchestrator.memory.exchange import Record
from orchestrator.memory.folder import OWN, Changed, Folder
from orchestrator.memory.forgetting import forget
from orchestrator.memory.index_page import About
from orchestrator.memory.judging import judged
from orchestrator.memory.keeping import Author, Drop, Outcome, Put
from orchestrator.memory.scope import BUSY, TRIES, Scope
from orchestrator.memory.seals import Seals, State, worst
from orchestrator.memory.taking_in import taken_in
from orchestrator.memory.tidy import tidied
from orchestrator.memory.tombstones import Tombstones
from orchestrator.memory.writing import Change, Writer, prepared

__all__ = ["About", "Known", "Memory", "State"]

MOST_BESIDE: Final = 20
"""Earlier changes of one call that a new entry is compared with, the last ones."""
TOUCH_S: Final = 0.5
"""Longest wait to note that entries were shown; writers are done in milliseconds."""
_TIDIED: Final = f"{OWN}/tidied"
_SAME: Final[tuple[State, ...]] = ("unchanged", "moved")


@dataclass(frozen=True, slots=True)
class Known:
    """One entry, and whether what it rests on is still as it was.

    Attributes:
        topic: its file.
        entry: as it is in the file; lines of evidence that have moved, as they are now.
        state: of its evidence, the worst of all places. Lines vouch for what the
            program wrote from them; for what a person made of it they are `unknown`.
        states: of each place.
    """

    topic: str
    entry: Entry
    state: State
    states: tuple[State, ...] = ()

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
        disk = Folder(folder)
        self._scope = Scope(disk, Catalog(disk, embedder), workspace, redact, today)

    @property
    def notice(self) -> str:
        """Why something is not searched or read in full at the moment, or ""."""
        return self._scope.catalog.notice

    def problem(self) -> str:
        """Return why nothing can be written, or ""; nothing is made."""
        return self._scope.disk.problem()

    def topics(self) -> list[About]:
        """Return what there is to say of each topic file, by path.

        Raises:
            StoreError: the folder cannot be read.
        """
        return list(self._scope.catalog.abouts().values())

    def entries(self, topic: str = "") -> list[Known]:
        """Return all entries, by topic, in the order of their files.

        Args:
            topic: of this file alone.

        Raises:
            StoreError: the folder cannot be read.
        """
        seals = self._scope.seals()
        return [
            _known(path, entry, seals)
            for path in self._scope.catalog.listing().files
            if topic in ("", path)
            for entry in self._scope.catalog.load(path).topic.entries
        ]

    def with_key(self, key: str) -> Known | None:
        """Return the entry of a key, or None.

        Raises:
            StoreError: the folder cannot be read.
        """
        self._scope.refresh()
        path = self._scope.catalog.topic_of(key)
        if path is None:
            return None
        entry = self._scope.catalog.load(path).entry(key)
        return None if entry is None else _known(path, entry, self._scope.seals())

    def recall(
        self, queries: Sequence[str], *, most: int = 5, is_subject: bool = False
    ) -> list[Known]:
        """Return the entries that fit best, the best first.

        Args:
            queries: phrasings of one question.
            most: entries at most.
            is_subject: they are parts of what is said of a subject, and ask nothing.

        Raises:
            StoreError: the folder or the index cannot be read.
        """
        self._scope.refresh()
        seals, loaded = self._scope.seals(), dict[str, Loaded]()
        found: list[Known] = []
        for each in self._scope.catalog.find(queries, most=most, is_subject=is_subject):
            if each.topic not in loaded:
                loaded[each.topic] = self._scope.catalog.load(each.topic)
            # In the moment since the index was asked, it may have gone.
            if (entry := loaded[each.topic].entry(each.key)) is not None:
                found.append(_known(each.topic, entry, seals))
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
        seals = self._scope.seals()
        asked = [prepared(change, self._scope.redact, seals) for change in changes]
        with suppress(StoreError):
            self._scope.catalog.refresh(is_thorough=False)
        near_each = [self._near(each) for each in asked]
        ready = [
            Change(each, (*_keys(asked[max(number - MOST_BESIDE, 0) : number]), *near))
            for number, (each, near) in enumerate(zip(asked, near_each, strict=True))
        ]

        def make(batch: Batch, forgotten: Tombstones, number: int) -> Outcome:
            today = self._scope.today()
            return Writer(batch, forgotten, author.source, today).make(ready[number])

        return judged(self._scope, [each.asked.key for each in ready], make)

    def take_in(self, records: Sequence[Record]) -> list[Outcome]:
        """Take in entries with their dates and sources, where they are newer.

        Returns:
            What became of each, in their order; `same`: what is here stays.

        Raises:
            StoreError: nothing can be written, or somebody holds the lock for long.
        """
        return taken_in(self._scope, records)

    def touch(self, keys: Collection[str]) -> None:
        """Note that entries were shown today; at most once a day each.

        Whoever has been shown them does not wait long for it.

        Raises:
            StoreError: it cannot be written now.
        """
        today = self._scope.today()
        with suppress(StoreError):
            self._scope.catalog.refresh(is_thorough=False)
        wanted = [key for key in keys if self._is_untouched(key, today)]
        if not wanted:
            return
        with suppress(Changed), self._scope.batch(limit_s=TOUCH_S) as batch:
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
        outcomes = tidied(self._scope)
        with self._scope.disk.lock() as lease:
            self._scope.disk.clear_left()
            before = self._scope.disk.read(_TIDIED)
            with suppress(Changed):
                text = f"{self._scope.today()}\n"
                self._scope.disk.write(
                    lease, _TIDIED, text, before=before, derived=True
                )
        return outcomes

    def tidy_if_due(self) -> list[Outcome]:
        """Tidy, if nobody has today and there is something.

        Raises:
            StoreError: it cannot be written.
        """
        if not self.folder.is_dir():
            return []
        if self._scope.disk.read(_TIDIED).text.strip() == self._scope.today():
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
                with self._scope.batch() as batch:
                    found = forget(batch, wanted)
                    gone |= dict.fromkeys(found)
                    batch.commit_all()
                    self._scope.disk.clear_left(all_of_them=True)
                break
            except Changed:
                continue
        else:
            raise StoreError(f"memory at `{self.folder}`: {BUSY}")
        if gone:
            self._scope.erase()
        return list(gone)

    def commands(self, author: Author, *, entries_alone: bool = False) -> Commands:
        """Return the memory commands for one agent; it is to have its own.

        Args:
            author: the agent.
            entries_alone: it may not write what stands above the entries of a file,
                which nobody can tell from what others wrote there.
        """
        return Commands(self._scope, author, entries_alone)

    def _near(self, asked: Put | Drop) -> tuple[str, ...]:
        """Return keys that may say the same; none where the key is known already.

        In a large scope that is left to tidying: a write does not wait for it.
        """
        if isinstance(asked, Drop) or not (asked.key and asked.value):
            return ()
        if self._scope.catalog.is_large:
            return ()
        with suppress(StoreError):
            if self._scope.catalog.topic_of(asked.key) is None:
                return tuple(
                    f.key for f in self._scope.catalog.near(asked.key, asked.value)
                )
        return ()

    def _is_untouched(self, key: str, today: str) -> bool:
        path = self._scope.catalog.topic_of(key)
        entry = None if path is None else self._scope.catalog.load(path).entry(key)
        return entry is not None and _may_touch(entry, today)


def _known(path: str, entry: Entry, seals: Seals) -> Known:
    states = tuple(map(seals.state, entry.evidence))
    if entry.is_by_a_person:  # the lines were compared with what it said before
        states = tuple("unknown" if each in _SAME else each for each in states)
    return Known(path, seals.now(entry), worst(states), states)


def _keys(changes: Sequence[Put | Drop]) -> tuple[str, ...]:
    return tuple(each.key for each in changes if isinstance(each, Put) and each.key)


def _may_touch(entry: Entry, today: str) -> bool:
    return entry.used != today and not entry.is_by_a_person
