"""Changes to topic files under one lock: each file read once and written once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.memory.catalog import Catalog, Loaded
from orchestrator.memory.entries import (
    Entry,
    Topic,
    folded_key,
    parse_topic,
    title_of,
    topic_text,
)
from orchestrator.memory.folder import (
    INDEX_PAGE,
    MAX_FILE_BYTES,
    MAX_FILES,
    Changed,
    Folder,
    Lease,
    Listing,
    Stamp,
    Text,
)
from orchestrator.memory.index_page import (
    MARK,
    About,
    about,
    page_text,
    updated_page,
)
from orchestrator.memory.rules import MAX_ENTRIES

__all__ = ["Batch"]

_SPLIT: Final = "put it into another topic"


@dataclass(slots=True)
class Batch:
    """What is changed under one lock.

    Attributes:
        folder: of the scope.
        catalog: of the same, prepared under this lock.
        lease: of the lock.
        listing: of the topic files.
        written: what was written so far, with its stamp; () where it was removed.
    """

    folder: Folder
    catalog: Catalog
    lease: Lease
    listing: Listing
    written: dict[str, tuple[Topic, Stamp]] = field(default_factory=dict)
    _loaded: dict[str, Loaded] = field(default_factory=dict)
    _topics: dict[str, Topic] = field(default_factory=dict)

    def topic(self, path: str) -> Topic:
        """Return a topic as it is to be; one that is not there has no entries."""
        if path not in self._topics:
            loaded = self.catalog.load(path)
            self._loaded[path] = loaded
            self._topics[path] = (
                loaded.topic
                if loaded.text.found is not None
                else Topic(path, title_of(path), "")
            )
        return self._topics[path]

    def is_there(self, path: str) -> bool:
        """Return whether a topic file is on disk."""
        self.topic(path)
        return self._loaded[path].text.found is not None

    def find(self, key: str) -> tuple[str, Entry] | None:
        """Return where a key is, and its entry, as they are to be."""
        wanted = folded_key(key)
        for path, topic in self._topics.items():
            for entry in topic.entries:
                if folded_key(entry.key) == wanted:
                    return path, entry
        path_found = self.catalog.topic_of(key)
        if path_found is None or path_found in self._topics:
            return None
        for entry in self.topic(path_found).entries:
            if folded_key(entry.key) == wanted:
                return path_found, entry
        return None

    def put(self, path: str, entry: Entry, *, description: str = "") -> str:
        """Write an entry: in the place of the one it is, or behind the others.

        Args:
            path: of the topic file.
            entry: to be written anew.
            description: of the topic, if the file is a new one.

        Returns:
            Why it is refused, or "".
        """
        topic = self.topic(path)
        if not self.is_there(path) and not topic.entries and description:
            topic = replace(topic, description=description)
        wanted = folded_key(entry.key)
        entries = list(topic.entries)
        for number, each in enumerate(entries):
            if folded_key(each.key) == wanted:
                entries[number] = entry
                break
        else:
            if len(entries) >= MAX_ENTRIES:
                return f"`{path}` has {len(entries):,} entries; {_SPLIT}"
            entries.append(entry)
        changed = replace(topic, entries=tuple(entries))
        why = self._why_not(path, entry, changed)
        if not why:
            self._topics[path] = changed
        return why

    def take_out(self, path: str, gone: Collection[Entry]) -> None:
        """Take entries out of a topic: these very ones, not others of the same key."""
        kept = (e for e in self.topic(path).entries if not any(e is g for g in gone))
        self.set_entries(path, kept)

    def set_entries(self, path: str, entries: Iterable[Entry]) -> None:
        """Give a topic other entries."""
        self._topics[path] = replace(self.topic(path), entries=tuple(entries))

    def set_topic(self, topic: Topic) -> str:
        """Give a topic file another content, and return why it is refused, or ""."""
        self.topic(topic.path)
        if len(topic.entries) > MAX_ENTRIES:
            return f"it has over {MAX_ENTRIES} entries; {_SPLIT}"
        if why := self._why_no_file(topic.path, topic):
            return why
        self._topics[topic.path] = topic
        return ""

    def why_cut(self, path: str) -> str:
        """Return why a file is left alone that was read in part, or ""."""
        self.topic(path)
        if not self._loaded[path].text.is_cut:
            return ""
        return (
            f"`{path}` has over {MAX_FILE_BYTES // 1000} kB, and what stands at its "
            "end is not read; a person has to split it"
        )

    def remove(self, path: str) -> None:
        """Take a topic file away with all that is in it.

        Raises:
            Changed: a person changed it meanwhile.
            StoreError: it cannot be removed.
        """
        if why := self.why_cut(path):
            raise StoreError(why)
        self.folder.remove(self.lease, path, before=self._loaded[path].text)
        self._note(Loaded(Topic(path, title_of(path), ""), Text("", None)), ())

    def move(self, old: str, new: str, paths: Iterable[str]) -> None:
        """Give a topic file, or a folder of them, another name.

        Args:
            old: of the file or folder.
            new: nothing may be there.
            paths: of the topic files that move.

        Raises:
            FileExistsError: there is something of that name.
            StoreError: it cannot be moved.
        """
        self.folder.move(self.lease, old, new)
        for path in paths:
            self._note(Loaded(Topic(path, title_of(path), ""), Text("", None)), ())
            loaded = self.catalog.load(f"{new}{path[len(old) :]}")
            self._note(loaded, loaded.text.stamp)

    def commit(self, path: str, *, keeps_empty: bool = False) -> bool:
        """Write one topic file if it was changed; return whether it was.

        Args:
            path: of the file.
            keeps_empty: it stays where its last entry went.

        Raises:
            Changed: a person changed it meanwhile; nothing of it was written.
            StoreError: it cannot be written.
        """
        topic = self.topic(path)
        loaded = self._loaded[path]
        text = topic_text(topic)
        is_gone = not (topic.entries or keeps_empty) and self._is_bare(topic, loaded)
        if not is_gone and loaded.text.found is not None and text == loaded.text.text:
            return False
        if why := self.why_cut(path):
            raise StoreError(why)
        if is_gone:
            if loaded.text.found is None:
                return False
            self.remove(path)
            return True
        if "```" in text or "~~~" in text:
            _refuse_open_code(topic, text)
        written = self.folder.write(self.lease, path, text, before=loaded.text)
        self._note(Loaded(topic, written), written.stamp)
        return True

    def commit_all(self) -> None:
        """Write all that was changed.

        Raises:
            Changed: a person changed a file meanwhile; the others are written.
            StoreError: one cannot be written.
        """
        missed: Changed | None = None
        for path in list(self._topics):
            try:
                self.commit(path)
            except Changed as error:
                missed = error
        if missed is not None:
            raise missed

    def write_page(self, told: dict[str, About | None]) -> None:
        """Bring the index page up to date; what cannot be written, is another time.

        Args:
            told: what changed by other hands.
        """
        for path, (topic, stamp) in self.written.items():
            told[path] = about(topic) if stamp else None
        before = self.folder.read(INDEX_PAGE)
        if MARK in before.text:
            text = updated_page(before.text, told)
        elif told:
            text = page_text(before.text, self.catalog.abouts().values())
        else:
            return
        if text != before.text:
            self.folder.write(self.lease, INDEX_PAGE, text, before=before, derived=True)

    def _why_not(self, path: str, entry: Entry, topic: Topic) -> str:
        alone = parse_topic(topic_text(Topic(path, "x", "", (entry,))), path)
        if [_said(each) for each in alone.entries] != [_said(entry)]:
            return "a block of code in its value is not closed"
        return self._why_no_file(path, topic)

    def _why_no_file(self, path: str, topic: Topic) -> str:
        if self.listing.is_cut:
            return f"there are over {MAX_FILES:,} topic files; nothing more is written"
        is_new = path not in self.listing.files and path not in self.written
        if is_new and len(self.listing.files) + len(self._new()) > MAX_FILES:
            return f"there are {MAX_FILES:,} topic files already; put it into one"
        if self._loaded[path].text.is_cut or _size(topic) > MAX_FILE_BYTES:
            return f"`{path}` would have over {MAX_FILE_BYTES // 1000} kB; {_SPLIT}"
        return ""

    def _new(self) -> set[str]:
        return {path for path in self._topics if path not in self.listing.files}

    def _is_bare(self, topic: Topic, loaded: Loaded) -> bool:
        """Return whether nothing is left that a person wrote, or would miss."""
        plain = topic_text(Topic(topic.path, topic.title, topic.description))
        head = topic.head if topic.head is not None else plain
        return bool(loaded.topic.entries) and (
            not head.strip() or head.replace("\r\n", "\n").strip() == plain.strip()
        )

    def _note(self, loaded: Loaded, stamp: Stamp) -> None:
        path = loaded.topic.path
        self._loaded[path], self._topics[path] = loaded, loaded.topic
        self.written[path] = (loaded.topic, stamp)
        self.catalog.written(self.lease, loaded, stamp)


def _refuse_open_code(topic: Topic, text: str) -> None:
    """Refuse a text in which the code of one entry would swallow another.

    Raises:
        StoreError: it would.
    """
    read = parse_topic(text, topic.path).entries
    if [_said(entry) for entry in read] != [_said(entry) for entry in topic.entries]:
        raise StoreError(
            f"`{topic.path}` cannot be written: a block of code in it is not closed"
        )


def _size(topic: Topic) -> int:
    return len(topic_text(topic).encode("utf-8", "surrogateescape"))


def _said(entry: Entry) -> tuple[str, str]:
    return entry.key, entry.value.replace("\r", "")
