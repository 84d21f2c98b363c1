"""`progress.md` between the program and the people who change it.

What a person changed is in the log, on disk, before the file is written anew; and no
file is removed before it was read. So what is where at a crash does not matter: the
next process finds either the change or the event.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import structlog

from orchestrator.clock import Clock
from orchestrator.errors import StoreError
from orchestrator.events import NotesEdited
from orchestrator.ids import LEAD
from orchestrator.messages import clean_text
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.notes import MAX_SECTION_CHARS, Notes
from orchestrator.store.notes_back import Page, read_back
from orchestrator.store.notes_merge import Edit, cleaned, edits_of
from orchestrator.store.notes_page import PERSON
from orchestrator.store.swapping import MAX_READ_BYTES, Content, Stamp, SwappedFile
from orchestrator.tools.decoding import decode

__all__ = ["EditLog", "NotesFile"]

SETTLE_S = 1.0
"""A file without its end is taken as it is when it has been the same for so long."""
BUSY_S = 5.0
"""So long an editor may have the file open for writing until it is read all the same:
`cat >> progress.md` in a terminal may never close it."""


logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EditLog:
    """Where changes by people are written down.

    Attributes:
        log: the run's.
        artifacts: of the run, for what is too long for a section.
        redact: replaces secrets in a text.
    """

    log: EventLog
    artifacts: Artifacts
    redact: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file as it was read, or written, last.

    Attributes:
        stamp: of the content that is taken in; None: nothing of it is.
        data: that content, where it was read.
        again: the stamp does not tell yet whether that is all.
        gone_at: when it gave up the name.
    """

    stamp: Stamp | None = None
    data: bytes | None = None
    again: bool = False
    gone_at: float = 0.0


class _Read(NamedTuple):
    """What was read of a file."""

    content: Content
    page: Page | None = None
    """None: it is as it was the last time, or no notes."""
    is_notes: bool = True


@dataclass(slots=True)
class _Unsettled:
    """A change that may not be all: somebody may be in the middle of it."""

    stamp: Stamp
    since: float
    same_since: float


class NotesFile:
    """Writes the notes of a live run, and takes in what people change in them."""

    def __init__(
        self,
        file: SwappedFile,
        notes: Notes,
        clock: Clock,
        *,
        render: Callable[[], str],
        edits: EditLog | None = None,
    ) -> None:
        """Touch nothing yet.

        Args:
            file: `progress.md`; this process holds the lock of the run.
            notes: the lead's, which follow the log.
            clock: tells how long a change is under way.
            render: returns the file as it should be.
            edits: where changes by people go; None: nobody makes any.
        """
        self._file, self._notes, self._clock = file, notes, clock
        self._render, self._edits = render, edits
        self._main = _Seen()
        self._text = ""
        """That was written last."""
        self._is_due = True
        now = clock.monotonic()
        self._old = {path: _Seen(gone_at=now) for path in self._left()}
        self._unsettled: dict[Path, _Unsettled] = {}
        self._not_kept = ""
        """Why something could not be set aside, as it was told last."""
        self._looking = anyio.Lock()

    def _left(self) -> list[Path]:
        return self._file.old_files() if self._edits else []

    @property
    def is_settled(self) -> bool:
        """Return whether all that people changed is taken in, as far as is known."""
        return not self._unsettled and all(each.stamp for each in self._old.values())

    def put(self) -> bool:
        """Write the file as it should be; return False where it has to be read first.

        Raises:
            StoreError: it could not be written.
        """
        stamp, before = self._file.stamp(), self._main
        is_changed = stamp is not None and stamp != before.stamp
        if self._edits and (is_changed or not self.is_settled):
            return False
        text = self._render()
        if stamp is not None and not self._is_due and text == self._text:
            return True
        beside, new = self._file.write_beside(text.encode())
        now = self._clock.monotonic()
        try:
            old = self._file.swap(beside)
        except StoreError:
            for path in self._left():  # of others, moved away before it failed
                self._old.setdefault(path, _Seen(gone_at=now))
            raise
        self._main, self._text, self._is_due = _Seen(new), text, False
        for path in old:
            is_same = self._file.stamp(path) == before.stamp
            self._old[path] = replace(before if is_same else _Seen(), gone_at=now)
        if self._edits is None:
            self._drop(now)
        return self.is_settled

    async def look(self, *, is_last: bool = False) -> None:
        """Take in what people changed, if they did; then it is in the log, on disk.

        Args:
            is_last: a change that may not be all is taken as it is: nobody will look
                again.

        Raises:
            StoreError: a file cannot be read, or the log not be written.
        """
        if self._edits is None:
            return
        async with self._looking:
            now, before = self._clock.monotonic(), self._main
            taken: dict[Path, _Seen] = {}
            for path in [*self._old, self._file.path]:
                read = await self._changed(path)
                if read is not None and self._takes(path, read, now, is_last=is_last):
                    stamp, data, _, again = read.content
                    taken[path] = _Seen(stamp, data, again)
            if taken:
                await self._edits.log.sync()
            for path, seen in taken.items():
                self._remember(path, seen, before)
            self._drop(now, is_last=is_last)

    def _remember(self, path: Path, seen: _Seen, before: _Seen) -> None:
        """Take note of what is read and in the log; `before` is what was known then."""
        self._unsettled.pop(path, None)
        if path in self._old:
            self._old[path] = replace(seen, gone_at=self._old[path].gone_at)
        elif self._main is before:  # it was not written anew meanwhile
            self._is_due = self._is_due or seen.data != before.data
            self._main = seen

    async def _changed(self, path: Path) -> _Read | None:
        """Return what stands in a file where it may be new, or None.

        What cannot be read stays as it is.
        """
        with suppress(StoreError):
            stamp, seen = self._file.stamp(path), self._seen(path)
            if stamp is None:
                self._old.pop(path, None)
                self._unsettled.pop(path, None)
            elif stamp != seen.stamp or seen.again:
                read = await anyio.to_thread.run_sync(self._read, path, seen)
                if read is None:  # a link, which has no text of its own
                    self._remember(path, _Seen(stamp, b""), seen)
                return read
        return None

    def _seen(self, path: Path) -> _Seen:
        return self._old.get(path, self._main)

    def _read(self, path: Path, seen: _Seen) -> _Read | None:
        """Return what stands in a file; in a thread, since it may be a lot.

        Raises:
            StoreError: it cannot be read.
        """
        content = self._file.read(path)
        if content is None or content.data == seen.data:
            return content and _Read(content)
        is_long = len(content.data) > MAX_READ_BYTES
        text = None if is_long else decode(content.data)
        if text is None:
            return _Read(content, is_notes=False)
        if self._text.startswith(text):  # nothing in it is new
            return _Read(content, Page({}))
        return _Read(content, cleaned(read_back(text), self._clean))

    def _takes(self, path: Path, read: _Read, now: float, *, is_last: bool) -> bool:
        """Log what was changed in a file; return False where that may not be all."""
        content, page, is_notes = read
        if page is None and is_notes:
            return True
        if not is_last and not self._is_over(path, content, page or Page({}), now):
            return False
        if page is None:
            return self._set_aside(path, content)
        self._log(edits_of(page, self._notes, ours=self._ours()))
        return True

    def _is_over(self, path: Path, content: Content, page: Page, now: float) -> bool:
        """Return whether nobody seems to be in the middle of changing a file."""
        waiting = self._unsettled.setdefault(path, _Unsettled(content.stamp, now, now))
        if waiting.stamp != content.stamp:
            waiting.stamp, waiting.same_since = content.stamp, now
        if now - waiting.since >= BUSY_S:
            return True
        if content.is_open:
            return False
        return page.is_whole or now - waiting.same_since >= SETTLE_S

    def _set_aside(self, path: Path, content: Content) -> bool:
        """Keep what is no notes, too long or no text; return False where it cannot be.

        Then the file stays as it is.
        """
        if not content.data.strip(b"\0"):
            return True  # what a power cut leaves
        try:
            kept = self._file.set_aside(path)
        except StoreError as error:
            if str(error) != self._not_kept:  # it is tried again at each look
                logger.warning("notes.not_kept", error=str(error))
            self._not_kept = str(error)
            return False
        size = content.stamp.size
        line = f"_A file of {size:,} bytes that is no notes: kept as `{kept.name}`._"
        text = self._notes.text_of(PERSON)
        if line not in text.split("\n"):
            self._log([Edit(PERSON, f"{text}\n{line}".strip("\n"))])
        return True

    def _log(self, edits: list[Edit]) -> None:
        if self._edits is None:
            return
        log, artifacts = self._edits.log, self._edits.artifacts
        for section, text, origin in edits:
            is_long = len(text) > MAX_SECTION_CHARS
            whole = artifacts.put(text.encode(), "md") if is_long else ""
            edited = NotesEdited(section, text, origin, whole)
            log.append(edited, agent=LEAD, cause=log.newest(LEAD))

    def _clean(self, text: str) -> str:
        text = clean_text(text)
        return self._edits.redact(text) if self._edits else text

    def _ours(self) -> list[str]:
        """Return the lines that the program writes outside of sections."""
        pages = [read_back(self._text), read_back(self._render())]
        return [line for page in pages for line in page.owned]

    def _drop(self, now: float, *, is_last: bool = False) -> None:
        """Remove old files that have been read and that nobody writes any more.

        Not at once: who was about to open one a moment ago has it open by now.
        """
        for path, seen in list(self._old.items()):
            age_s = math.inf if is_last else now - seen.gone_at
            is_due = age_s > 0 and seen.stamp and (is_last or not seen.again)
            if (self._edits and not is_due) or not self._file.drop(
                path, seen.stamp, age_s=age_s
            ):
                continue
            del self._old[path]
