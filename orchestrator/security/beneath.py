"""Open, list and replace what lies below a folder, so that no link can lead out of it.

A path is walked name by name, each opened in the folder before it and never through a
link. So what is swapped in between the judging of a path and its use is refused. Paths
here are relative, with forward slashes, resolved already: they hold no `..`.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = [
    "entries",
    "is_file",
    "is_there",
    "move",
    "open_file",
    "remove_file",
    "remove_folder",
    "replace_file",
    "stat_of",
]

# Folders are walked through without being read, where the system knows how.
_WALK = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without waiting for whoever may write to a pipe, and without taking a terminal.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o777
_TRIES = 8


def open_file(root: Path, relative: str) -> BinaryIO:
    """Open an ordinary file below `root` for reading, unbuffered.

    Raises:
        OSError: there is none, a link is in the way, or it is no ordinary file.
    """
    *above, name = _names(relative)
    folder = _walk(root, above)
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        _refuse_special(handle)
    except OSError:
        os.close(handle)
        raise
    return open(handle, "rb", buffering=0)  # noqa: PTH123 - a descriptor, no path


def is_file(root: Path, relative: str) -> bool:
    """Return whether an ordinary file is there, and no link in the way."""
    return stat.S_ISREG(_mode(root, relative))


def is_there(root: Path, relative: str) -> bool:
    """Return whether anything is there, and no link in the way."""
    return _mode(root, relative) > 0


@contextmanager
def entries(root: Path, relative: str) -> Iterator[Iterator[os.DirEntry[str]]]:
    """Give the entries of a folder below `root`; their `path` is only their name.

    Raises:
        OSError: there is no such folder, or a link is in the way.
    """
    folder = _walk(root, _names(relative), _LIST)
    try:
        with os.scandir(folder) as found:
            yield found
    finally:
        os.close(folder)


def stat_of(root: Path, relative: str) -> os.stat_result | None:
    """Return what is there, links not followed; None: nothing that can be reached."""
    *above, name = _names(relative)
    try:
        folder = _walk(root, above)
        try:
            return _stat(folder, name)
        finally:
            os.close(folder)
    except OSError:
        return None


def replace_file(
    root: Path,
    relative: str,
    data: bytes,
    *,
    found: os.stat_result | None,
    is_derived: bool = False,
) -> None:
    """Give a file below `root` a new content: after a crash it has the old or the new.

    Missing folders are made. The file keeps its mode and, where that is possible, its
    owner; another name of the same file keeps the old content. Where it fails, nothing
    is left behind.

    Args:
        root: the folder.
        relative: the file.
        data: all of the new content.
        found: the file as it was when it was read; None: there was none.
        is_derived: it can be made again, so that nobody waits for the disk: after the
            machine went down, not only the process, it may be empty.

    Raises:
        OSError: as the system says; ESTALE: it is not as it was found any more.
    """
    *above, name = _names(relative)
    with _made_folders(root, above) as folder:
        _replace(folder, name, data, found, is_derived=is_derived)


def remove_file(root: Path, relative: str, *, found: os.stat_result) -> None:
    """Take a file below `root` away.

    Args:
        root: the folder.
        relative: the file.
        found: the file as it was when it was read.

    Raises:
        OSError: as the system says; ESTALE: it is not as it was found any more.
    """
    *above, name = _names(relative)
    folder = _walk(root, above)
    try:
        _refuse_changed(folder, name, found)
        os.unlink(name, dir_fd=folder)
        _sync(folder)
    finally:
        os.close(folder)


def remove_folder(root: Path, relative: str) -> None:
    """Take an empty folder below `root` away.

    Raises:
        OSError: as the system says; ENOTEMPTY: something is in it.
    """
    *above, name = _names(relative)
    folder = _walk(root, above)
    try:
        os.rmdir(name, dir_fd=folder)
        _sync(folder)
    finally:
        os.close(folder)


def move(root: Path, old: str, new: str) -> None:
    """Give a file or folder below `root` another name there; nothing is replaced.

    Missing folders are made. Where it fails, they are removed again.

    Raises:
        OSError: as the system says; EEXIST: there is something of the new name.
    """
    *above_old, old_name = _names(old)
    *above_new, new_name = _names(new)
    before = _walk(root, above_old)
    try:
        with _made_folders(root, above_new) as after:
            if _stat(after, new_name) is not None:
                raise FileExistsError(errno.EEXIST, "there is something of that name")
            os.rename(old_name, new_name, src_dir_fd=before, dst_dir_fd=after)
            _sync(after)
        _sync(before)
    finally:
        os.close(before)


@contextmanager
def _made_folders(root: Path, names: Sequence[str]) -> Iterator[int]:
    """Give a folder, made if it is missing; removed again where the work fails."""
    made: list[int] = []
    try:
        folder = _walk(root, names, made=made)
        try:
            yield folder
        finally:
            os.close(folder)
    except BaseException:
        for depth in reversed(made):
            _remove_empty(root, names[:depth], names[depth])
        raise


def _names(relative: str) -> list[str]:
    names = [name for name in relative.split("/") if name not in ("", ".")]
    if ".." in names:
        raise OSError(errno.EINVAL, "the path is not resolved")
    return names


def _walk(
    root: Path,
    names: Sequence[str],
    flags: int = _WALK,
    *,
    made: list[int] | None = None,
) -> int:
    """Return a descriptor of a folder; the caller closes it.

    Args:
        root: where to begin.
        names: of the folders, one in the other.
        flags: to open the last one with.
        made: missing folders are made, and their places in `names` added here.
    """
    folder = os.open(root, _WALK if names else flags)
    for depth, name in enumerate(names, 1):
        above = folder
        how = flags if depth == len(names) else _WALK
        try:
            try:
                folder = os.open(name, how, dir_fd=above)
            except FileNotFoundError:
                if made is None:
                    raise
                os.mkdir(name, dir_fd=above)
                made.append(depth - 1)
                _sync(above)
                folder = os.open(name, how, dir_fd=above)
        finally:
            os.close(above)
    return folder


def _replace(
    folder: int,
    name: str,
    data: bytes,
    found: os.stat_result | None,
    *,
    is_derived: bool,
) -> None:
    beside = _write_beside(folder, name, data, found, is_derived=is_derived)
    try:
        _refuse_changed(folder, name, found)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    if not is_derived:
        _sync(folder)


def _write_beside(
    folder: int,
    name: str,
    data: bytes,
    found: os.stat_result | None,
    *,
    is_derived: bool,
) -> str:
    """Write a new hidden file beside `name`, bring it to disk and return its name."""
    beside, handle = _create_beside(folder, name)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor, no path
            if found is not None:
                with suppress(OSError):  # only an administrator may give files away
                    os.fchown(handle, found.st_uid, found.st_gid)
                os.fchmod(handle, found.st_mode & _MODE)
            file.write(data)
            file.flush()
            if not is_derived:
                os.fsync(handle)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside, dir_fd=folder)
        raise
    return beside


def _create_beside(folder: int, name: str) -> tuple[str, int]:
    stem = name[:50]  # no character takes more than four bytes of the 255
    for _ in range(_TRIES):
        beside = f".{stem}.{secrets.token_hex(6)}.tmp"
        with suppress(FileExistsError):
            return beside, os.open(beside, _CREATE, 0o666, dir_fd=folder)
    raise FileExistsError(errno.EEXIST, "no free name for a temporary file")


def _mode(root: Path, relative: str) -> int:
    """Return type and mode of an entry; 0: nothing is there that can be reached."""
    found = stat_of(root, relative)
    return found.st_mode if found is not None else 0


def _refuse_special(handle: int) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, "it is no ordinary file")


def _refuse_changed(folder: int, name: str, found: os.stat_result | None) -> None:
    if _mark(_stat(folder, name)) != _mark(found):
        raise OSError(errno.ESTALE, "it changed meanwhile")


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _mark(found: os.stat_result | None) -> tuple[int, ...]:
    """Return what tells one state of a file from another; () where there is none."""
    if found is None:
        return ()
    return found.st_dev, found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns


def _sync(folder: int) -> None:
    """Bring the names in a folder to disk, where it may be read."""
    with suppress(OSError):
        handle = os.open(".", _LIST, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_empty(root: Path, above: Sequence[str], name: str) -> None:
    with suppress(OSError):
        folder = _walk(root, above)
        try:
            os.rmdir(name, dir_fd=folder)
        finally:
            os.close(folder)
