"""The append-only log of a run: one writer; `reading.py` has the readers.

A line is handed to the system at once, so that it survives the death of the process;
`sync` brings it to disk, so that it survives a power cut.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
import orjson

from orchestrator.clock import Clock
from orchestrator.errors import RunBusy, StoreError
from orchestrator.events import SCHEMA_VERSION, Event, Payload, WorkTime
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.disk import reason, store_error, sync_folder
from orchestrator.store.lock import lock_log
from orchestrator.store.reading import read_events
from orchestrator.store.records import REF, dump, plain, records_of

__all__ = ["EventLog"]

MAX_INLINE_BYTES = 16 * 1024
_CHUNK_BYTES = 64 * 1024
_LINE = (
    b'{"v":%d,"seq":%d,"at":"%b","run":%b,"agent":%b,"kind":"%b","cause":%d,'
    b'"worked_s":%.3f,"data":%b}\n'
)
# `fdatasync` is enough, since it also brings a changed length; macOS has none.
_sync_data: Callable[[int], None] = getattr(os, "fdatasync", os.fsync)


class EventLog:
    """The log of a live run, opened for writing by `create` or `reopen`."""

    def __init__(
        self, path: Path, run_id: str, artifacts: Artifacts, clock: Clock
    ) -> None:
        self.path = path
        self.run_id = run_id
        self._artifacts = artifacts
        self._clock = clock
        self._run = orjson.dumps(run_id)
        self._began = clock.monotonic()  # earlier by what earlier processes worked
        self._agents: dict[str, bytes] = {}
        self._handle: int | None = None
        self._seq = 0
        self._newest: dict[str, int] = {}
        self._size = 0  # of whole lines
        self._synced = 0
        self._broken = ""
        self._syncing: anyio.Event | None = None
        self._subscribers: list[Callable[[Event], None]] = []
        self._lock = threading.Lock()
        self._waiting: deque[Event] = deque()
        self._delivering = False

    @classmethod
    def create(
        cls, path: Path, run_id: str, artifacts: Artifacts, clock: Clock
    ) -> EventLog:
        """Return the log of a new run; its file must not exist.

        Raises:
            RunBusy: another process has it already.
            StoreError: the file exists or cannot be made.
        """
        log = cls(path, run_id, artifacts, clock)
        try:
            log._open(os.O_EXCL | os.O_CREAT)
        except FileExistsError as error:
            raise StoreError(f"`{path}` exists already; resume the run") from error
        except OSError as error:
            raise store_error("make the log", path, error) from error
        return log

    @classmethod
    def reopen(
        cls, path: Path, run_id: str, artifacts: Artifacts, clock: Clock
    ) -> EventLog:
        """Return the log of an earlier process, to go on with it.

        What a crash left of a last line is cut off; whole records stay, and `seq` goes
        on behind them. The caller holds the run's lock.

        Raises:
            RunBusy: another process writes it.
            StoreError: the file is not there, or cannot be read or written.
        """
        log = cls(path, run_id, artifacts, clock)
        try:
            log._open(0)
            log._mend()
            artifacts.folder.mkdir(exist_ok=True)
        except OSError as error:
            log._drop()
            raise store_error("reopen the log", path, error) from error
        return log

    @property
    def size(self) -> int:
        """Return the bytes of all whole lines."""
        return self._size

    @property
    def seq(self) -> int:
        """Return `seq` of the last event, or 0."""
        return self._seq

    def newest(self, agent: str) -> int:
        """Return `seq` of what last happened to `agent`, or 0."""
        return self._newest.get(agent, 0)

    def link(self, agent: str, seq: int) -> None:
        """Say that what happens to `agent` next comes of the event `seq`.

        It is numbered behind that in any case: the last line need not be the newest,
        if the log is damaged.
        """
        self._newest[agent] = seq
        self._seq = max(self._seq, seq)

    def append(
        self, payload: Payload, *, agent: str = "", cause: int | None = None
    ) -> Event:
        """Write one event and return it, with its full data.

        The line is with the system when this returns; `sync` brings it to disk. A
        field of more than 16 KB goes to an artifact, which is on disk before the line.

        Args:
            payload: what happened.
            agent: who it happened to, or "" for the run itself.
            cause: `seq` of the event that led to this one; None: what last happened to
                the agent.

        Raises:
            StoreError: the disk refuses; nothing half-written is left, and the event
                did not happen.
        """
        data = plain(payload)
        encoded = self._encode(data)
        now = self._clock.now().astimezone(UTC)
        at = f"{now.isoformat(timespec='milliseconds')[:23]}Z"
        with self._lock:
            seq = self._seq + 1
            led = self._newest.get(agent, 0) if cause is None else cause
            worked = int((self._clock.monotonic() - self._began) * 1e3 + 0.5) / 1e3
            line = _LINE % (
                SCHEMA_VERSION,
                seq,
                at.encode(),
                self._run,
                self._agents.get(agent) or self._agent(agent),
                payload.KIND.encode(),
                led,
                worked,
                encoded,
            )
            self._write(line)
            self._seq = self._newest[agent] = seq
            event = Event(
                seq,
                at,
                self.run_id,
                agent,
                payload.KIND,
                led,
                data,
                SCHEMA_VERSION,
                worked,
            )
            if self._subscribers:
                self._waiting.append(event)
        if self._subscribers:
            self._deliver()
        return event

    async def sync(self) -> None:
        """Wait until everything that was appended before this call is on disk.

        All who wait at a time share one write to disk; it runs in a thread.
        Cancelling the caller lets it end first.

        Raises:
            StoreError: the disk refuses, or the file is gone. What is on disk is
                unknown then, so that nothing more is written: resume the run.
        """
        wanted = self._size
        while self._synced < wanted:
            if self._syncing is not None:
                await self._syncing.wait()
                continue
            done = self._syncing = anyio.Event()
            try:
                covered = self._size
                await anyio.to_thread.run_sync(self._sync_now)
                self._synced = max(self._synced, covered)
            finally:
                self._syncing = None
                done.set()

    def subscribe(self, callback: Callable[[Event], None]) -> None:
        """Call `callback` with each event from now on, in order, after it is written.

        It is called by whoever appends, and may append itself; it must not block.
        """
        self._subscribers.append(callback)

    def close(self) -> None:
        """Bring everything to disk and close; a second call does nothing.

        Raises:
            StoreError: the disk refuses.
        """
        if self._handle is None:
            return
        try:
            if not self._broken and self._synced < self._size:
                self._sync_now()
        finally:
            self._drop()

    def _drop(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _open(self, flags: int) -> None:
        self._handle = os.open(
            self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | flags, 0o644
        )
        if not lock_log(self._handle):
            self._drop()
            raise RunBusy(f"the run `{self.run_id}` is in use by another process")
        if flags:
            sync_folder(self.path.parent)

    def _mend(self) -> None:
        """Cut off a torn last line and find the last `seq`, with what it carries."""
        lost = 0  # records behind the last whole one
        with self.path.open("rb") as file:
            lines = _lines_from_end(file)
            start, tail = next(lines)
            found = records_of(tail)
            self._cut(start, tail, found.end)
            for _, line in lines:
                if found.events:
                    break
                found = records_of(line)
                lost += bool(found.why)
        if found.events:
            newest = found.events[-1]
            self._seq = newest.seq + lost
            self._began -= newest.worked_s or self._derived()
        self._size = os.fstat(self._fd).st_size

    def _derived(self) -> float:
        """Return the seconds at work in a log whose events do not carry them."""
        work = WorkTime()
        for event in read_events(self.path):
            work.apply(event)
        return work.seconds

    def _cut(self, start: int, line: bytes, end: int) -> None:
        """Keep the whole records of an unfinished last line, `end` bytes of it."""
        if not line:
            return
        os.ftruncate(self._fd, start + end)
        if end:
            os.write(self._fd, b"\n")

    @property
    def _fd(self) -> int:
        if self._handle is None:
            raise StoreError(f"the log `{self.path}` is closed")
        return self._handle

    def _agent(self, agent: str) -> bytes:
        encoded = self._agents[agent] = dump(agent)
        return encoded

    def _encode(self, data: dict[str, Any]) -> bytes:
        encoded = dump(data)
        if len(encoded) <= MAX_INLINE_BYTES and b'"$artifact"' not in encoded:
            return encoded
        inline: dict[str, Any] = {}
        for name, value in data.items():
            field = dump(value)
            # What only looks like a reference is stored apart too, or a reader
            # would follow it.
            is_forged = isinstance(value, dict) and REF in value
            if len(field) > MAX_INLINE_BYTES or is_forged:
                ref = self._artifacts.put(field, "json")
                inline[name] = {REF: ref, "bytes": len(field)}
            else:
                inline[name] = value
        return dump(inline)

    def _write(self, line: bytes) -> None:
        handle = self._fd
        if self._broken:
            raise StoreError(self._broken)
        try:
            # A file that was deleted takes writes without a word.
            if os.fstat(handle).st_nlink == 0:
                raise FileNotFoundError(2, "deleted")
            written = os.write(handle, line)
            while written < len(line):
                written += os.write(handle, line[written:])
        except OSError as error:
            try:
                os.ftruncate(handle, self._size)
            except OSError:
                self._broken = f"the log `{self.path}` ends in half a line: resume"
            raise store_error("write the log", self.path, error) from error
        self._size += len(line)

    def _sync_now(self) -> None:
        if self._broken:
            raise StoreError(self._broken)
        try:
            _sync_data(self._fd)
            # It may have been deleted, or moved away with all that belongs to it.
            if not os.path.samestat(os.fstat(self._fd), self.path.stat()):
                raise FileNotFoundError(2, "moved")
        except OSError as error:
            # After a failed sync the system may have dropped what it held.
            self._broken = f"cannot sync the log `{self.path}`: {reason(error)}"
            raise StoreError(self._broken) from error

    def _deliver(self) -> None:
        """Hand out what waits, in order, unless someone is at it already."""
        while True:
            with self._lock:
                if self._delivering or not self._waiting:
                    return
                event = self._waiting.popleft()
                self._delivering = True
            try:
                for callback in self._subscribers:
                    callback(event)
            finally:
                self._delivering = False


def _lines_from_end(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Yield offset and content of each line, the last first, without its newline.

    The first is what follows the last newline, mostly nothing.
    """
    position = end = file.seek(0, os.SEEK_END)
    held: list[bytes] = []  # of the line that is not whole yet, the last part first
    while position > 0:
        step = min(_CHUNK_BYTES, position)
        position -= step
        file.seek(position)
        first, *lines = file.read(step).split(b"\n")
        while lines:
            held.append(lines.pop())
            line = b"".join(reversed(held))
            yield end - len(line), line
            end -= len(line) + 1
            held.clear()
        held.append(first)
    yield 0, b"".join(reversed(held))
