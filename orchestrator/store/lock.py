"""One writer per run folder, also across processes."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from orchestrator.errors import RunBusy
from orchestrator.store.disk import store_error
from orchestrator.store.layout import RunFolder

__all__ = ["Holder", "RunLock", "holder", "is_held", "lock_log"]

# A reader that looks whether the lock is held takes it for a few microseconds; a
# writer that starts in that moment tries again.
_TRIES = 10
_BETWEEN_S = 0.01


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as written in its file."""

    pid: int
    since: str
    """RFC 3339, UTC."""


class RunLock:
    """The lock of a run. The system frees it when the process ends, however it ends.

    Use it as a context manager, or call `acquire` and `release`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def acquire(self) -> None:
        """Take the lock; taking it twice does nothing.

        Raises:
            RunBusy: another process has it, or another `RunLock` of this one.
            StoreError: the file cannot be written.
        """
        if self._handle is not None:
            return
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_BETWEEN_S)
            try:
                self._handle = _try_lock(self.path)
            except OSError as error:
                raise store_error("lock", self.path, error) from error
            if self._handle is not None:
                return
        by = holder(self.path)
        who = f"process {by.pid}, since {by.since}" if by else "another process"
        raise RunBusy(f"the run `{self.path.parent.name}` is in use by {who}")

    def release(self) -> None:
        """Give the lock back; a second call does nothing."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        with suppress(OSError):
            os.ftruncate(handle, 0)
        os.close(handle)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()


def lock_log(handle: int) -> bool:
    """Lock an open log for its one writer; return False if another has it.

    The lock file may be deleted while a run is live; this lock stays with the log.

    Raises:
        OSError: the file system has no locks.
    """
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_BETWEEN_S)
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    return False


def is_held(folder: RunFolder) -> bool:
    """Return whether a live process holds the lock of a run, or its log.

    It does not disturb a writer: not one that holds it, nor one that is starting.
    """
    return _is_locked(folder.lock) or _is_locked(folder.events)


def _is_locked(path: Path) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        # On a file system without locks nobody can hold one.
        return isinstance(error, BlockingIOError)
    else:
        return False
    finally:
        os.close(handle)


def holder(path: Path) -> Holder | None:
    """Return who wrote itself into the lock file; ask `is_held` if it still lives."""
    try:
        found = orjson.loads(path.read_bytes())
        return Holder(pid=int(found["pid"]), since=str(found["since"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _try_lock(path: Path) -> int | None:
    """Return the locked file's handle, or None if another has the lock."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    is_ours = False
    try:
        if _lock_now(handle, path):
            now = datetime.now(UTC).isoformat(timespec="seconds")
            line = orjson.dumps({"pid": os.getpid(), "since": now[:19] + "Z"})
            os.ftruncate(handle, 0)
            os.pwrite(handle, line, 0)
            is_ours = True
    finally:
        if not is_ours:
            os.close(handle)
    return handle if is_ours else None


def _lock_now(handle: int, path: Path) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # A file that was replaced meanwhile locks nobody out.
        return os.fstat(handle).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False
