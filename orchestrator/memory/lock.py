"""The lock of one scope: one writer at a time, over all threads and processes."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.security import beneath

__all__ = ["OWN", "Changed", "Lease", "failed", "held"]

OWN: Final = ".index"
"""Of the folder: what the program makes for itself there."""
LOCK: Final = f"{OWN}/lock"
_PAUSES_S: Final = (0.0005, 0.02)
_TRIES: Final = 20


class Changed(Exception):
    """A file was changed by somebody else between reading and writing."""


@dataclass(slots=True)
class Lease:
    """What the holder of the lock has.

    Attributes:
        root: of the scope.
        handle: of the file that is locked.
        writes: how often anybody had written before; -1: nobody knows.
    """

    root: Path
    handle: int
    writes: int
    _wrote: bool = field(default=False)

    def writing(self) -> None:
        """Say that something is about to be written, so that others look again.

        Raises:
            Changed: the folder of the lock was deleted, and others may have a new one.
        """
        if not _is_in_place(self.root, self.handle):
            raise Changed(LOCK)
        if not self._wrote:
            self._wrote = True
            self.writes += 1
            _tell(self.handle, self.writes)


@contextmanager
def held(root: Path, *, limit_s: float) -> Iterator[Lease]:
    """Hold the lock of a scope.

    Raises:
        StoreError: the folder cannot be written, or others hold the lock for longer
            than `limit_s`.
    """
    handle = _locked(root, limit_s)
    try:
        writes = _told(handle)
        _tell(handle, writes)
        yield Lease(root, handle, writes)
    finally:
        os.close(handle)  # which frees the lock


def failed(root: Path, what: str, error: OSError) -> StoreError:
    """Return what there is to say where the folder of a scope cannot be used."""
    why = "a link is in the way" if error.errno == errno.ELOOP else error.strerror
    return StoreError(f"memory at `{root}` cannot be {what}: {why}")


def _locked(root: Path, limit_s: float) -> int:
    """Return the lock, held; one that was deleted meanwhile is none."""
    for _ in range(_TRIES):
        try:
            handle = _opened(root)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise failed(root, "written", error) from error
        try:
            _acquire(root, handle, limit_s)
            if _is_in_place(root, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    raise StoreError(f"memory at `{root}`: somebody keeps deleting `{OWN}`")


def _opened(root: Path) -> int:
    root.mkdir(parents=True, exist_ok=True)
    own = root / OWN
    # Others may make the same at this moment. A link in its place is told below.
    with suppress(FileExistsError):
        own.mkdir()
    if not (own / ".gitignore").exists():
        with suppress(OSError):
            beneath.replace_file(
                root, f"{OWN}/.gitignore", b"*\n", found=None, is_derived=True
            )
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    folder = os.open(own, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        return os.open("lock", flags, 0o666, dir_fd=folder)
    finally:
        os.close(folder)


def _acquire(root: Path, handle: int, limit_s: float) -> None:
    give_up = time.monotonic() + limit_s
    pause = _PAUSES_S[0]
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > give_up:
                raise StoreError(_busy(root, handle, limit_s)) from None
        except OSError as error:
            raise failed(root, "locked", error) from error
        else:
            return
        time.sleep(pause * (0.5 + random.random()))  # noqa: S311 - no secret
        pause = min(pause * 2, _PAUSES_S[1])


def _busy(root: Path, handle: int, limit_s: float) -> str:
    told = os.pread(handle, 200, 0).decode("ascii", "replace").split()
    who = f"process {told[1]}, since {told[2]}" if len(told) == 3 else "a process"
    return (
        f"memory at `{root}` is locked by {who}: it was not free for "
        f"{limit_s:g} s; try again later"
    )


def _is_in_place(root: Path, handle: int) -> bool:
    """Return whether a lock that is open is still the one that others would open."""
    there, ours = beneath.stat_of(root, LOCK), os.fstat(handle)
    return there is not None and os.path.samestat(there, ours)


def _told(handle: int) -> int:
    """Return how often anybody wrote; -1: it cannot be said."""
    try:
        return int(os.pread(handle, 200, 0).split()[0])
    except (OSError, ValueError, IndexError):
        return -1


def _tell(handle: int, writes: int) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    told = f"{writes} {os.getpid()} {now}".encode("ascii").ljust(80) + b"\n"
    os.pwrite(handle, told, 0)
