"""The folder of one scope: what is read and written in it, and by whom at a time.

Whoever writes holds the lock, works on what is on the disk at that moment, and replaces
whole files. Readers hold nothing: each file they see is the old one or the new.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from orchestrator.errors import StoreError
from orchestrator.security import beneath

__all__ = [
    "INDEX_PAGE",
    "LOCK_S",
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "OWN",
    "Changed",
    "Folder",
    "Lease",
    "Listing",
    "Stamp",
    "Text",
]

INDEX_PAGE: Final = "MEMORY.md"
OWN: Final = ".index"
"""Of the folder: what the program makes for itself there."""
MAX_FILE_BYTES: Final = 200_000
MAX_FILES: Final = 2_000
MAX_DEPTH: Final = 2
"""Folders that a topic file may lie in, one in the other."""
LOCK_S: Final = 10.0
_MOST_OWN_BYTES: Final = 20_000_000
_PAUSES_S: Final = (0.0005, 0.02)
_LEFT_AFTER_S: Final = 60.0
_LEFT: Final = re.compile(r"\..{1,50}\.[0-9a-f]{12}\.tmp", re.DOTALL)
_FULL: Final = f"there are over {MAX_FILES:,} topic files; take some away by hand"

Stamp = tuple[int, ...]
"""What tells one state of a file from another: time in ns, size, inode."""


class Changed(Exception):
    """A file was changed by somebody else between reading and writing."""


@dataclass(frozen=True, slots=True)
class Text:
    """A file as it was read.

    Attributes:
        text: what it holds; bytes that are no UTF-8 come back as they were.
        found: as it was then; None: there is none.
        is_cut: it is too large, and only its beginning was read.
    """

    text: str
    found: os.stat_result | None
    is_cut: bool = False

    @property
    def stamp(self) -> Stamp:
        """Return its stamp; () where there is none."""
        return () if self.found is None else _stamp(self.found)


@dataclass(frozen=True, slots=True)
class Listing:
    """The topic files of a scope.

    Attributes:
        files: path → stamp, by path.
        is_cut: there are more.
    """

    files: dict[str, Stamp]
    is_cut: bool = False


@dataclass(slots=True)
class Lease:
    """What the holder of the lock has.

    Attributes:
        writes: how often anybody had written before; -1: nobody knows.
    """

    handle: int
    writes: int
    _wrote: bool = field(default=False)

    def writing(self) -> None:
        """Say that something is about to be written, so that others look again."""
        if not self._wrote:
            self._wrote = True
            self.writes += 1
            _tell(self.handle, self.writes)


@dataclass(frozen=True, slots=True)
class Folder:
    """One scope on disk. Safe to use from many threads and processes."""

    root: Path

    def listed(self) -> Listing:
        """Return the topic files that are there, without links and hidden ones.

        Raises:
            StoreError: the folder cannot be read.
        """
        found: list[tuple[str, Stamp]] = []
        try:
            _list(self.root, "", found)
        except FileNotFoundError:
            return Listing({})
        except OSError as error:
            raise self._error("read", error) from error
        found.sort()
        return Listing(dict(found[:MAX_FILES]), len(found) > MAX_FILES)

    def read(self, path: str) -> Text:
        """Return a file; an empty text without `found` where there is none.

        Raises:
            StoreError: it cannot be read.
        """
        most = MAX_FILE_BYTES if not path.startswith(OWN) else _MOST_OWN_BYTES
        if path == INDEX_PAGE:
            most = _MOST_OWN_BYTES
        try:
            with beneath.open_file(self.root, path) as file:
                found = os.fstat(file.fileno())
                data = b"".join(_chunks(file.fileno(), most + 1))
        except (FileNotFoundError, NotADirectoryError):
            return Text("", None)
        except OSError as error:
            raise self._error(f"read at `{path}`", error) from error
        is_cut = len(data) > most
        if is_cut:
            data = data[: data.rfind(b"\n", 0, most) + 1]
        return Text(data.decode("utf-8", "surrogateescape"), found, is_cut)

    def lines_of(self, path: str) -> int:
        """Return how many lines a file has, however large it is; 0 without one."""
        try:
            with beneath.open_file(self.root, path) as file:
                return sum(c.count(b"\n") for c in _chunks(file.fileno(), 1 << 40))
        except OSError:
            return 0

    def is_there(self, path: str) -> bool:
        """Return whether anything is there: a file, a folder, a link."""
        return beneath.stat_of(self.root, path) is not None

    def write(
        self, lease: Lease, path: str, text: str, *, before: Text, derived: bool = False
    ) -> Text:
        """Give a file a new text, and return it as if it had been read again.

        Args:
            lease: of the lock.
            path: of the file.
            text: all of it.
            before: as it was read under this lock.
            derived: nobody waits for the disk.

        Raises:
            Changed: somebody else changed it meanwhile.
            StoreError: it cannot be written.
        """
        lease.writing()
        data = text.encode("utf-8", "surrogateescape")
        try:
            beneath.replace_file(
                self.root, path, data, found=before.found, is_derived=derived
            )
            after = beneath.stat_of(self.root, path)
        except OSError as error:
            raise self._failed(path, error) from error
        return Text(text, after)

    def remove(self, lease: Lease, path: str, *, before: Text) -> None:
        """Take a file away, and the folders that are empty then.

        Raises:
            Changed: somebody else changed it meanwhile.
            StoreError: it cannot be removed.
        """
        if before.found is None:
            return
        lease.writing()
        try:
            beneath.remove_file(self.root, path, found=before.found)
        except OSError as error:
            raise self._failed(path, error) from error
        self._remove_empty(path)

    def move(self, lease: Lease, old: str, new: str) -> None:
        """Give a file or folder another name; nothing is replaced.

        Raises:
            FileExistsError: there is something of that name.
            StoreError: it cannot be moved.
        """
        lease.writing()
        try:
            beneath.move(self.root, old, new)
        except FileExistsError:
            raise
        except OSError as error:
            raise self._error(f"changed at `{old}`", error) from error
        self._remove_empty(old)

    @contextmanager
    def lock(self, *, limit_s: float = LOCK_S) -> Iterator[Lease]:
        """Hold the lock of the scope: one holder at a time, over all processes.

        Raises:
            StoreError: the folder cannot be written, or others hold the lock for longer
                than `limit_s`.
        """
        try:
            handle = self._open_lock()
        except OSError as error:
            raise self._error("written", error) from error
        try:
            self._acquire(handle, limit_s)
            writes = _told(handle)
            _tell(handle, writes)
            yield Lease(handle, writes)
        finally:
            os.close(handle)  # which frees the lock

    def clear_left(self, *, all_of_them: bool = False) -> None:
        """Remove what killed writers left half-written; call it under the lock.

        Args:
            all_of_them: those of this minute, too.
        """
        newest = time.time() - (0 if all_of_them else _LEFT_AFTER_S)
        folders = {path.rpartition("/")[0] for path in self.listed().files}
        for folder in {"", OWN, *folders}:
            with suppress(OSError), beneath.entries(self.root, folder) as found:
                left = [
                    f"{folder}/{each.name}"
                    for each in found
                    if _LEFT.fullmatch(each.name)
                    and each.stat(follow_symlinks=False).st_mtime <= newest
                ]
                for path in left:
                    if (there := beneath.stat_of(self.root, path)) is not None:
                        beneath.remove_file(self.root, path, found=there)

    def problem(self) -> str:
        """Return why the folder cannot be written, or "". Nothing is made."""
        for folder in (self.root, *self.root.parents):
            try:
                mode = os.lstat(folder).st_mode
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                return f"memory cannot be reached at `{self.root}`: {error.strerror}"
            is_link = stat.S_ISLNK(mode) and folder == self.root
            if is_link or not folder.is_dir():
                what = "a link" if is_link else "no folder"
                return f"memory cannot lie at `{self.root}`: `{folder}` is {what}"
            if not os.access(folder, os.W_OK | os.X_OK):
                is_fixed = os.statvfs(folder).f_flag & os.ST_RDONLY
                why = (
                    "the file system is read-only" if is_fixed else "permission denied"
                )
                return f"memory cannot be written at `{self.root}`: {why}"
            return ""
        return ""

    def _open_lock(self) -> int:
        self.root.mkdir(parents=True, exist_ok=True)
        own = self.root / OWN
        # Others may make the same at this moment. A link in its place is told below.
        with suppress(FileExistsError):
            own.mkdir()
        if not (own / ".gitignore").exists():
            with suppress(OSError):
                beneath.replace_file(
                    self.root, f"{OWN}/.gitignore", b"*\n", found=None, is_derived=True
                )
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        folder = os.open(own, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            return os.open("lock", flags, 0o666, dir_fd=folder)
        finally:
            os.close(folder)

    def _acquire(self, handle: int, limit_s: float) -> None:
        give_up = time.monotonic() + limit_s
        pause = _PAUSES_S[0]
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > give_up:
                    raise StoreError(self._busy(handle, limit_s)) from None
            except OSError as error:
                raise self._error("locked", error) from error
            else:
                return
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311 - no secret
            pause = min(pause * 2, _PAUSES_S[1])

    def _busy(self, handle: int, limit_s: float) -> str:
        told = os.pread(handle, 200, 0).decode("ascii", "replace").split()
        who = f"process {told[1]}, since {told[2]}" if len(told) == 3 else "a process"
        return (
            f"memory at `{self.root}` is locked by {who}: it was not free for "
            f"{limit_s:g} s; try again later"
        )

    def _failed(self, path: str, error: OSError) -> Exception:
        if error.errno in (errno.ESTALE, errno.ENOENT):
            return Changed(path)
        return self._error(f"written at `{path}`", error)

    def _error(self, what: str, error: OSError) -> StoreError:
        why = "a link is in the way" if error.errno == errno.ELOOP else error.strerror
        return StoreError(f"memory at `{self.root}` cannot be {what}: {why}")

    def _remove_empty(self, path: str) -> None:
        while "/" in path:
            path = path.rpartition("/")[0]
            try:
                beneath.remove_folder(self.root, path)
            except OSError:
                return


def _list(root: Path, folder: str, found: list[tuple[str, Stamp]]) -> None:
    below: list[str] = []
    with beneath.entries(root, folder) as entries:
        for each in entries:
            name = each.name
            if name.startswith("."):
                continue
            path = f"{folder}/{name}" if folder else name
            if name.endswith(".md") and each.is_file(follow_symlinks=False):
                if path != INDEX_PAGE:
                    found.append((path, _stamp(each.stat(follow_symlinks=False))))
            elif path.count("/") < MAX_DEPTH and each.is_dir(follow_symlinks=False):
                below.append(path)
    for path in below:
        with suppress(FileNotFoundError, NotADirectoryError):
            _list(root, path, found)


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_mtime_ns, found.st_size, found.st_ino


def _chunks(handle: int, most: int) -> Iterator[bytes]:
    while most > 0 and (chunk := os.read(handle, min(most, 1 << 20))):
        most -= len(chunk)
        yield chunk


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
