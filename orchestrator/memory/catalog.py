"""Which topic files there are and what is in them, with the index kept up to date.

The files are the truth. A state that was looked at is known by its stamp, so that a
look costs no more than the names of the folder and the files that changed since.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from orchestrator.errors import StoreError
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.entries import (
    Entry,
    Topic,
    folded_key,
    parse_topic,
    topic_text,
)
from orchestrator.memory.folder import OWN, Folder, Lease, Listing, Stamp, Text
from orchestrator.memory.index_page import About, about
from orchestrator.memory.search.index import Found, Index
from orchestrator.messages import whole_chars

__all__ = ["Catalog", "Loaded"]

_T = TypeVar("_T")
_NO_UTF8: Final = re.compile("[\udc80-\udcff]")
INDEX: Final = "search.sqlite"
FEW: Final = 200
"""So many files are looked at before every change; it costs less than a millisecond."""
MOST_PARSED: Final = 32
"""Files whose entries are kept at hand; the text is read each time."""
LOOK_EVERY_S: Final = 1.0
"""Where there are more, a change by hand in another file may be noticed so late."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A topic file as it was read; one that is not there has no entries."""

    topic: Topic
    text: Text

    def entry(self, key: str) -> Entry | None:
        """Return the first entry of a key, or None."""
        wanted = folded_key(key)
        for each in self.topic.entries:
            if folded_key(each.key) == wanted:
                return each
        return None


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at the folder; `writes`: of the lock's holder, -1: without the lock."""

    listing: Listing
    at: float
    writes: int


class Catalog:
    """What one process knows of a scope. Safe to use from many threads."""

    def __init__(self, folder: Folder, embedder: Embedder | None) -> None:
        """Open nothing yet."""
        self._folder, self._embedder = folder, embedder
        self._index: Index | None = None
        self._where = ""
        # The first is held while texts are embedded; never by whoever has the lock of
        # the folder. The second is held for a moment.
        self._refreshing = threading.Lock()
        self._lock = threading.RLock()
        self._look: _Look | None = None
        self._indexed: dict[str, Stamp] | None = None
        self._inode = 0
        self._abouts: dict[str, tuple[Stamp, About]] = {}
        self._keys: dict[str, tuple[Stamp, frozenset[str]]] = {}
        """Keys of the files that are not in the index as they are now."""
        self._parsed: dict[str, tuple[str, Topic]] = {}
        """What texts said that were read last, the newest behind."""
        self._told: dict[str, About | None] = {}
        """What changed by another hand, for the index page; None: it is gone."""

    @property
    def notice(self) -> str:
        """Return why something is not searched or listed, or ""."""
        told = [self._where]
        if self._look is not None and self._look.listing.is_cut:
            told.append(f"only {len(self._look.listing.files):,} topic files are read")
        if self._index is not None:
            told.append(self._index.notice)
        return "; ".join(filter(None, told))

    def load(self, path: str) -> Loaded:
        """Return a topic file as it is now.

        Raises:
            StoreError: it cannot be read.
        """
        text = self._folder.read(path)
        with self._lock:
            known = self._parsed.pop(path, None)
        if known is None or known[0] != text.text:
            known = (text.text, parse_topic(text.text, path))
        with self._lock:
            self._parsed[path] = known
            while len(self._parsed) > MOST_PARSED:
                del self._parsed[next(iter(self._parsed))]
        return Loaded(known[1], text)

    def listing(self) -> Listing:
        """Return the topic files as they are now.

        Raises:
            StoreError: the folder cannot be read.
        """
        return self._looked(-1).listing

    def abouts(self) -> dict[str, About]:
        """Return what there is to say of each topic file, by path.

        Raises:
            StoreError: the folder cannot be read.
        """
        found = {}
        for path, stamp in self.listing().files.items():
            known = self._abouts.get(path)
            if known is None or known[0] != stamp:
                known = (stamp, about(self.load(path).topic))
                self._abouts[path] = known
            found[path] = known[1]
        return found

    def refresh(self, *, is_thorough: bool = True) -> None:
        """Bring the index up to date with the files; nobody holds the lock for it.

        Args:
            is_thorough: look at the folder and the index in any case.

        Raises:
            StoreError: the folder cannot be read.
        """
        with self._refreshing:
            if (
                not is_thorough
                and not self._must_look(-1)
                and self._indexed is not None
            ):
                return
            files = self._looked(-1).listing.files
            if is_thorough:
                self._indexed = None
            if not files and not self._folder.root.is_dir():
                return
            for path in self._not_indexed(files):
                self._index_file(path)
            for path in [path for path in self._stamps() if path not in files]:
                self._put_in(path, Topic(path, "", ""), ())
                self._told[path] = None

    def told(self) -> dict[str, About | None]:
        """Return what changed by another hand since the last time this was asked."""
        with self._lock:
            told, self._told = self._told, {}
            return told

    def tell(self, told: Mapping[str, About | None]) -> None:
        """Take back what `told` gave, since it is not on the index page yet."""
        with self._lock:
            self._told = {**told, **self._told}

    def prepare(self, lease: Lease) -> Listing:
        """Look at the folder under the lock, so that `topic_of` knows every key.

        Raises:
            StoreError: the folder cannot be read.
        """
        with self._lock:
            if self._look is None or self._must_look(lease.writes):
                self._looked(lease.writes)
            assert self._look is not None  # noqa: S101 - looked at just now
            files = self._look.listing.files
            changed = self._not_indexed(files)
            for path in [path for path in self._keys if path not in changed]:
                del self._keys[path]
            for path in changed:
                if self._keys.get(path, ((), None))[0] != files[path]:
                    self._keys[path] = (files[path], _keys(self.load(path).topic))
            return self._look.listing

    def topic_of(self, key: str) -> str | None:
        """Return the file that holds a key; call it under the lock, when prepared."""
        wanted = folded_key(key)
        with self._lock:
            files = {} if self._look is None else self._look.listing.files
            if not files:
                return None
            for path, (_, keys) in self._keys.items():
                if wanted in keys and path in files:
                    return path
            plain = whole_chars(wanted)
            indexed = self._with_index(lambda index: index.topic_of(plain))
            if indexed is None or indexed not in files or indexed in self._keys:
                return None
        return indexed if self.load(indexed).entry(key) is not None else None

    def written(self, lease: Lease, loaded: Loaded, stamp: Stamp) -> None:
        """Note what was written under the lock; `stamp` is (): the file is gone."""
        topic = loaded.topic
        with self._lock:
            if self._look is not None:
                files = dict(self._look.listing.files)
                if stamp:
                    files[topic.path] = stamp
                else:
                    files.pop(topic.path, None)
                listing = Listing(files, self._look.listing.is_cut)
                self._look = _Look(listing, self._look.at, lease.writes)
            if stamp:
                self._keys[topic.path] = (stamp, _keys(topic))
                self._abouts[topic.path] = (stamp, about(topic))
            else:
                self._keys.pop(topic.path, None)
                self._abouts.pop(topic.path, None)

    def index_written(self, topics: Mapping[str, tuple[Topic, Stamp]]) -> None:
        """Bring what was written into the index, after the lock is free again."""
        for path, (topic, stamp) in topics.items():
            with contextlib.suppress(StoreError):  # the next look does what is missing
                self._put_in(path, topic, stamp)

    def find(
        self, queries: Sequence[str], *, most: int, is_subject: bool = False
    ) -> list[Found]:
        """Return what fits best, as the index has it; arguments as for `Index.find`."""
        if not self._folder.root.is_dir():
            return []
        return self._with_index(
            lambda index: index.find(queries, most=most, is_subject=is_subject)
        )

    def near(self, key: str, value: str) -> list[Found]:
        """Return what may say the same, as the index has it."""
        if not self._folder.root.is_dir():
            return []
        return self._with_index(lambda index: index.near(key, value))

    @property
    def is_large(self) -> bool:
        """Whether a look at everything takes longer than a write."""
        return self._look is not None and len(self._look.listing.files) > FEW

    def compact(self) -> None:
        """Leave no byte in the index of what was taken out of the files.

        Raises:
            StoreError: the index cannot be written.
        """
        self.refresh()
        self._with_index(lambda index: index.compact())

    def _must_look(self, writes: int) -> bool:
        look = self._look
        if look is None or not self.is_large:
            return True
        if writes >= 0 and writes != look.writes:
            return True
        return time.monotonic() - look.at > LOOK_EVERY_S

    def _looked(self, writes: int) -> _Look:
        at = time.monotonic()
        look = _Look(self._folder.listed(), at, writes)
        self._look = look
        return look

    def _index_file(self, path: str) -> None:
        loaded = self.load(path)
        if loaded.text.found is None:
            return
        known = about(loaded.topic)
        with self._lock:
            self._abouts[path] = (loaded.text.stamp, known)
            self._told[path] = known
        self._put_in(path, loaded.topic, loaded.text.stamp)

    def _put_in(self, path: str, topic: Topic, stamp: Stamp) -> None:
        if not stamp:
            self._with_index(lambda index: index.remove([path]))
        else:
            self._with_index(lambda index: index.replace(_readable(topic), stamp))
        with self._lock:
            if self._indexed is not None:
                if stamp:
                    self._indexed[path] = stamp
                else:
                    self._indexed.pop(path, None)
            if self._keys.get(path, ((), None))[0] == stamp:
                self._keys.pop(path, None)

    def _not_indexed(self, files: Mapping[str, Stamp]) -> set[str]:
        """Return the files that the index has not as they are now."""
        known = self._stamps()
        if known == files:
            return set()
        changed = {path for path, stamp in files.items() if known.get(path) != stamp}
        if changed:  # another process may have put them in meanwhile
            with self._lock:
                self._indexed = None
                known = self._stamps()
            changed = {path for path in changed if known.get(path) != files[path]}
        return changed

    def _stamps(self) -> dict[str, Stamp]:
        """Return what the index was made from; another file of it is read anew."""
        inode = self._inode_now()
        if self._indexed is None or not inode or inode != self._inode:
            self._indexed = self._with_index(lambda index: index.stamps())
            self._inode = self._inode_now()
        return self._indexed

    def _inode_now(self) -> int:
        try:
            return self._path().stat().st_ino
        except OSError:
            return 0

    def _path(self) -> Path:
        return self._folder.root / OWN / INDEX

    def _with_index(self, work: Callable[[Index], _T]) -> _T:
        """Work with the index; where it cannot be written, with one of this process."""
        with self._lock:
            if self._index is None:
                try:
                    self._index = Index(self._place(), self._embedder)
                except OSError as error:
                    told = f"the index of memory cannot be used: {error}"
                    raise StoreError(told) from error
            index = self._index
        return work(index)

    def _place(self) -> Path:
        """Return where the index is to be: in the scope, else where only we look."""
        path = self._path()
        for each in (path.parent, path):
            if each.is_symlink():
                each.unlink()  # it is ours, and would lead into another scope
        if not (problem := self._folder.problem()):
            return path
        own = Path(tempfile.mkdtemp(prefix="orchestrate-memory-"))
        weakref.finalize(self, shutil.rmtree, own, ignore_errors=True)
        self._where = f"the index is not kept: {problem}"
        return own / INDEX


def _keys(topic: Topic) -> frozenset[str]:
    return frozenset(folded_key(entry.key) for entry in topic.entries)


def _readable(topic: Topic) -> Topic:
    """Return a topic whose text is UTF-8 throughout; keys are found by it again."""
    if not any(_is_odd(each.raw) for each in topic.entries):
        return topic
    text = whole_chars(topic_text(topic))
    return parse_topic(text, topic.path)


def _is_odd(text: str) -> bool:
    return not text.isascii() and _NO_UTF8.search(text) is not None
