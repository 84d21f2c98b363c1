"""A file that the program writes anew while people edit it: no edit of theirs is lost.

The new file takes the name and the old one gives it up in one step of the system, so
that whatever stood there at that moment is still there, under a hidden name. It is
looked at before it is removed, and stays as long as anybody has it open for writing: an
editor that writes in place, into what it has opened, is heard, too.

Where the system cannot exchange two names, the old file is moved away first; then the
new one takes the name only if nobody else has taken it meanwhile.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import signal
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from orchestrator.errors import StoreError
from orchestrator.store.disk import store_error, write_new

__all__ = ["MAX_READ_BYTES", "Content", "Stamp", "SwappedFile"]

MAX_READ_BYTES = 1 << 20
"""Of what a person left; more is no notes."""
KEPT_S = 60.0
"""How long an old file is kept where the system does not tell who has it open."""
TICK_NS = 2_500_000_000
"""The clock of a file system may tick in steps of two seconds, and mostly in some
thousandths of one."""
BACKDATED_NS = 3_000_000_000
"""What the program writes is dated back by more than that, so that whatever is written
later has another date."""
MOST_TRIES = 100
MOST_KEPT = 1000
_SUFFIX: Final = ".old"
_EXCHANGE: Final = 2
_HERE: Final = -100
_CANNOT: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM})


Exchange = Callable[[Path, Path], bool]


class Stamp(NamedTuple):
    """What tells one content of a file from another without reading it."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class Content(NamedTuple):
    """What was read of a file."""

    stamp: Stamp
    data: bytes
    """At most `MAX_READ_BYTES`, and one more where there is more."""
    is_open: bool | None
    """Whether anybody has it open for writing; None: the system does not tell."""
    is_fresh: bool
    """It was written a moment ago, and may be again without another stamp: the clock
    of a file system ticks."""


class SwappedFile:
    """One such file, of which this process is the only one to write it as a program."""

    def __init__(self, path: Path, *, exchange: Exchange | None = None) -> None:
        """Touch nothing yet.

        Args:
            path: the file.
            exchange: exchanges two names in one step, and returns False where it
                cannot; None: the system's way, if it has one.
        """
        self.path = path
        self._exchange = exchange or _exchanged
        self._prefix = f".{path.name}."

    def stamp(self, path: Path | None = None) -> Stamp | None:
        """Return the stamp of a regular file, by default of this one; None: no such.

        Raises:
            StoreError: something else is in its place: a folder, a link, a pipe.
        """
        path = path or self.path
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise store_error("look at", path, error) from error
        if stat.S_ISLNK(found.st_mode) or stat.S_ISREG(found.st_mode):
            return _stamp_of(found)
        raise StoreError(f"cannot write `{path}`: it is not a file; move it away")

    def read(self, path: Path | None = None) -> Content | None:
        """Return the content of a regular file; None: there is none that can be read.

        A link is not followed: what it leads to is not a part of the run.

        Raises:
            StoreError: it cannot be read.
        """
        path = path or self.path
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            handle = os.open(path, flags)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                return None
            raise store_error("read", path, error) from error
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None
            # The stamp is older than what is read: a change meanwhile shows later.
            return Content(
                _stamp_of(found),
                _read(handle, MAX_READ_BYTES + 1),
                _is_open_for_writing(handle),
                abs(time.time_ns() - found.st_mtime_ns) < TICK_NS,
            )
        except OSError as error:
            raise store_error("read", path, error) from error
        finally:
            os.close(handle)

    def write_beside(self, data: bytes) -> tuple[Path, Stamp]:
        """Write a new file that is to take the name; return it and its stamp.

        Raises:
            StoreError: it could not be written; nothing is left behind.
        """
        beside = self.path.with_name(f"{self._prefix}{secrets.token_hex(6)}{_SUFFIX}")
        try:
            return beside, write_new(beside, data, then=_backdated)
        except OSError as error:
            raise store_error("write", self.path, error) from error

    def swap(self, beside: Path) -> list[Path]:
        """Let `beside` take the name, and return where the old file is then.

        Returns:
            The old file under a hidden name; none if there was none, and more where
            others gave the name to files of theirs at the same time.

        Raises:
            StoreError: the new file could not take the name; it is removed.
        """
        old: list[Path] = []
        try:
            for _ in range(MOST_TRIES):
                if self._exchange(beside, self.path):
                    return [*old, beside]
                # There is no file to be exchanged, or the system cannot do it.
                old += self._moved_away()
                try:
                    _named(beside, self.path)
                except FileExistsError:  # somebody was faster: that is kept as well
                    continue
                return old
            raise FileExistsError(errno.EEXIST, "others write it all the time")
        except OSError as error:
            with suppress(OSError):
                beside.unlink()
            raise store_error("write", self.path, error) from error

    def old_files(self) -> list[Path]:
        """Return the old files that are still there, oldest first."""
        found: list[tuple[int, Path]] = []
        with suppress(OSError):
            for path in self.path.parent.iterdir():
                if path.name.startswith(self._prefix) and path.name.endswith(_SUFFIX):
                    with suppress(OSError):
                        found.append((path.lstat().st_ctime_ns, path))
        return [path for _, path in sorted(found)]

    def drop(self, path: Path, seen: Stamp | None, *, age_s: float) -> bool:
        """Remove an old file, unless it has changed or somebody may still write it.

        Args:
            path: the old file.
            seen: its stamp when it was read last; None: it cannot be read.
            age_s: seconds since it gave up the name.

        Returns:
            Whether it is gone.
        """
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with suppress(OSError):
            if seen is not None and not path.is_symlink():
                handle = os.open(path, flags)
                try:
                    is_open = _is_open_for_writing(handle)
                    is_changed = _stamp_of(os.fstat(handle)) != seen
                finally:
                    os.close(handle)
                if is_changed or is_open or (is_open is None and age_s < KEPT_S):
                    return False
            path.unlink()
        return not path.exists()

    def set_aside(self, path: Path) -> Path:
        """Give a file, with its content, a name beside it that people find as well.

        Done a second time, it does nothing.

        Args:
            path: this file or an old one.

        Returns:
            `progress.kept-1.md` for `progress.md`, or the next that is free.

        Raises:
            StoreError: it cannot be.
        """
        name = self.path
        try:
            for number in range(1, MOST_KEPT):
                target = name.with_name(f"{name.stem}.kept-{number}{name.suffix}")
                with suppress(FileExistsError):
                    os.link(path, target, follow_symlinks=False)
                    return target
                if os.path.samestat(path.lstat(), target.lstat()):
                    return target
            raise FileExistsError(errno.EEXIST, "too many are kept")
        except OSError as error:
            raise store_error("keep", path, error) from error

    def _moved_away(self) -> list[Path]:
        old = self.path.with_name(f"{self._prefix}{secrets.token_hex(6)}{_SUFFIX}")
        try:
            self.path.rename(old)
        except FileNotFoundError:
            return []
        return [old]


def _named(beside: Path, path: Path) -> None:
    """Give a file a name that nobody has.

    Raises:
        FileExistsError: somebody has it.
        OSError: as the system says.
    """
    try:
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _CANNOT:
            raise
        beside.rename(path)  # a file system without a second name for a file
    else:
        beside.unlink()


def _backdated(handle: int) -> Stamp:
    now = time.time_ns() - BACKDATED_NS
    os.utime(handle, ns=(now, now))
    return _stamp_of(os.fstat(handle))


def _stamp_of(found: os.stat_result) -> Stamp:
    return Stamp(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _read(handle: int, most: int) -> bytes:
    parts: list[bytes] = []
    while most > 0 and (part := os.read(handle, most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _is_open_for_writing(handle: int) -> bool | None:
    """Return whether a file is open for writing anywhere; None: nobody knows.

    A lease to read is given only where it is not. It is given back at once.
    """
    try:
        # Who opens the file just then waits for that, and the signal that tells of it
        # is one that nobody minds.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except (AttributeError, OSError) as error:
        return True if getattr(error, "errno", 0) == errno.EAGAIN else None
    with suppress(OSError):
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


@cache
def _rename() -> Callable[..., int] | None:
    """Return the system's `renameat2`, or None where it has none."""
    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return found if callable(found) else None


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names; return False where there is nothing to, or no way to do it.

    Raises:
        OSError: as the system says.
    """
    rename = _rename()
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code == errno.ENOENT and one.exists():
        return False
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code))
