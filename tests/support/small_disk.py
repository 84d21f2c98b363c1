"""A small disk that fills up, and can be made read-only, in the middle of a run.

It is a real tmpfs where the machine lets us mount one. Elsewhere the system is asked to
let no file of this process grow any more, which the program meets in the same places.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

__all__ = ["SmallDisk", "small_disk"]

SIZE_BYTES = 6 << 20
PAGE = 4096


class SmallDisk(Protocol):
    """A disk that a test is in command of.

    Attributes:
        root: its topmost folder.
        full: what the program says when it is full.
        closed: what the program says when it is read-only.
    """

    root: Path
    full: str
    closed: str

    def fill(self) -> None:
        """Leave no room for anything."""

    def free(self) -> None:
        """Give the room back."""

    def close(self) -> None:
        """Make it read-only, but for files that are open already."""

    def open(self) -> None:
        """Make it writable again."""


@contextmanager
def small_disk(root: Path) -> Iterator[SmallDisk]:
    """Put a small disk at `root`, a new folder."""
    root.mkdir()
    if _mount("-t", "tmpfs", "-o", f"size={SIZE_BYTES}", "tmpfs", str(root)):
        try:
            yield _Tmpfs(root)
        finally:
            while root.is_mount():  # twice, where a test ended with it closed
                subprocess.run(["umount", "--lazy", root], check=True)
    else:
        limited = _Limited(root)
        try:
            yield limited
        finally:
            limited.free()


def _mount(*arguments: str) -> bool:
    if os.geteuid() != 0:
        return False
    with suppress(FileNotFoundError):
        done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
        return done.returncode == 0
    return False


class _Tmpfs:
    """A file of zeros takes up what room there is."""

    full = "the disk is full; free some space"
    closed = "the file system is read-only"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self) -> None:
        handle = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            for size in (1 << 20, 1 << 16, PAGE, 1):
                with suppress(OSError):
                    while True:
                        os.write(handle, b"\0" * size)
        finally:
            os.close(handle)

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        # The mount itself is kept from it by a file that is open for writing.
        assert _mount("--bind", str(self.root), str(self.root))
        assert _mount("-o", "remount,bind,ro", str(self.root))

    def open(self) -> None:
        subprocess.run(["umount", "--lazy", self.root], check=True)


class _Limited:
    """No file may grow beyond nothing: existing ones stay, none gets longer."""

    full = closed = "the file-size limit of this process is reached"

    def __init__(self, root: Path) -> None:
        self.root = root
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, self._before[1]))

    def free(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)

    close, open = fill, free
