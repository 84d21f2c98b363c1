"""Write files so that a crash leaves the old one or the new one, never a half."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import StoreError

__all__ = [
    "put_in_place",
    "reason",
    "remove_halves",
    "store_error",
    "sync_folder",
    "write_atomic",
    "write_beside",
    "write_derived",
    "write_new",
]

T = TypeVar("T")

_HALF = re.compile(r"\..+\.[0-9a-f]{12}\.tmp", re.DOTALL)
_REASONS = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "the disk quota is used up; free some space",
    errno.EFBIG: "the file-size limit of this process is reached; raise it",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EACCES: "no permission; choose another folder or change its permissions",
    errno.EPERM: "no permission; choose another folder or change its permissions",
    errno.ENOTDIR: "a file is where a folder is needed; move it or choose another",
    errno.EEXIST: "a file is where a folder is needed; move it or choose another",
    errno.ENOENT: "the file or its folder is gone",
    errno.EIO: "the disk reports an error; check it",
    errno.EMFILE: "too many files are open; raise the limit (`ulimit -n`)",
    errno.ENAMETOOLONG: "the name is too long; choose a shorter one",
}


def reason(error: OSError) -> str:
    """Return why `error` happened and what to do about it, in a few words."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def store_error(doing: str, path: Path, error: OSError) -> StoreError:
    """Return the error for people: `cannot write `x`: the disk is full; …`."""
    return StoreError(f"cannot {doing} `{path}`: {reason(error)}")


def sync_folder(folder: Path) -> None:
    """Bring the names in `folder` to disk, so that a new file survives a crash.

    Raises:
        OSError: as the system says.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_new(path: Path, data: bytes, *, then: Callable[[int], T]) -> T:
    """Write `data` to a file that is not there yet, and return what `then` says.

    Nothing is left behind when it fails.

    Args:
        path: the new file.
        data: all of it.
        then: called with the open file once all is written.

    Raises:
        OSError: as the system says; the file is there already, for one.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        return then(handle)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(handle)


def write_beside(path: Path, data: bytes, *, sync: bool = True) -> Path:
    """Write `data` to a new hidden file beside `path` and return that file.

    Nothing is left behind when it fails.

    Args:
        path: the file that it is for.
        data: all of it.
        sync: bring it to disk before returning.

    Raises:
        OSError: as the system says.
    """
    beside = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}.tmp")
    write_new(beside, data, then=os.fsync if sync else _nothing)
    return beside


def _nothing(_handle: int) -> None:
    """Leave it to the system when the file comes to disk."""


def put_in_place(beside: Path, path: Path) -> None:
    """Let `beside` take the name `path`; where that fails, `beside` is removed.

    Raises:
        OSError: as the system says.
    """
    try:
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise


def remove_halves(folder: Path) -> None:
    """Remove what a killed process left of files that it was writing in `folder`.

    Nobody else may be writing there. What cannot be removed stays.
    """
    with suppress(OSError):
        for path in folder.iterdir():
            if _HALF.fullmatch(path.name):
                path.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: after a crash it holds the old or the new content.

    Raises:
        StoreError: it could not be written; the old content is untouched.
    """
    _replace(path, data, sync=True)


def write_derived(
    path: Path, data: bytes, *, within: Path | None = None, sync: bool = False
) -> None:
    """Replace `path` by `data`, which can be made again from the log.

    Readers see the old or the new content; after a power cut it may be neither, so that
    nobody waits for the disk.

    Args:
        path: the file.
        data: all of it.
        within: missing folders below this one are made; it is never made itself, so
            that a run that was deleted does not come back. None: none are made.
        sync: it cannot be made again: bring it to disk all the same.

    Raises:
        StoreError: it could not be written.
    """
    if within is not None and within.is_dir():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise store_error("make", path.parent, error) from error
    _replace(path, data, sync=sync)


def _replace(path: Path, data: bytes, *, sync: bool) -> None:
    try:
        beside = write_beside(path, data, sync=sync)
        put_in_place(beside, path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        raise store_error("write", path, error) from error
