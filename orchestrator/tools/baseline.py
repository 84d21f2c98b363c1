"""What the files of a workspace were, so that it can be told what a command changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.ids import sha256
from orchestrator.security.workspace import Workspace

__all__ = [
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "UNKNOWN",
    "Baseline",
    "Difference",
    "Version",
]

MAX_FILES = 100_000
MAX_FILE_BYTES = 256 * 1024
MAX_BYTES = 32 * 1024 * 1024
"""Of all contents that are kept."""
UNKNOWN = "unknown"
"""Stands for the hash of a file that is not read."""
_MOST_HASHED_BYTES = 64 * 1024 * 1024
_LEFT_OUT = frozenset({".git", ".venv", "__pycache__", "node_modules"})

_Stamp = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Version:
    """A file as it was.

    Attributes:
        stamp: changes whenever it may have changed.
        sha256: of its bytes; `UNKNOWN` where it was not read.
        data: its bytes; None where they are not kept.
    """

    stamp: _Stamp
    sha256: str = UNKNOWN
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return self.stamp[2]


@dataclass(frozen=True, slots=True)
class Difference:
    """One file that was made (`before` is None), changed, or removed."""

    path: str
    before: Version | None
    after: Version | None


@dataclass(slots=True)
class Baseline:
    """All files of a workspace, links too, as far as they are worth telling of.

    Left out is what belongs to Git and what tools put there by the thousand.
    """

    workspace: Workspace
    is_complete: bool = False
    """False: there are too many files, and changes cannot be told."""
    _known: dict[str, Version] = field(default_factory=dict)
    _kept_bytes: int = 0

    def refresh(self) -> list[Difference]:
        """Look at all files again and return what changed since the last time.

        Only what changed is read. The first time nothing has.
        """
        found = self._stamps()
        if found is None:
            self.is_complete = False
            self._known.clear()
            self._kept_bytes = 0
            return []
        was_complete, self.is_complete = self.is_complete, True
        differences = []
        gone = self._known.keys() - found.keys()
        changed = [
            path
            for path, stamp in found.items()
            if path not in self._known or self._known[path].stamp != stamp
        ]
        for path in sorted([*gone, *changed]):
            before = self._forget(path)
            after = (
                self._read(path, found[path], hashes=was_complete)
                if path in found
                else None
            )
            if after is not None:
                self._known[path] = after
            if _differ(before, after):
                differences.append(Difference(path, before, after))
        return differences if was_complete else []

    def _stamps(self) -> dict[str, _Stamp] | None:
        found: dict[str, _Stamp] = {}
        for path, status in self._files():
            found[path] = (
                status.st_mtime_ns,
                status.st_ctime_ns,
                status.st_size,
                status.st_ino,
                status.st_mode,
            )
            if len(found) > MAX_FILES:
                return None
        return found

    def _forget(self, path: str) -> Version | None:
        version = self._known.pop(path, None)
        if version is not None and version.data is not None:
            self._kept_bytes -= len(version.data)
        return version

    def _read(self, path: str, stamp: _Stamp, *, hashes: bool) -> Version:
        """Return a version; `hashes`: of a file that is not kept, its hash is."""
        full, size = self.workspace.real_root / path, stamp[2]
        keeps = size <= MAX_FILE_BYTES and self._kept_bytes + size <= MAX_BYTES
        try:
            if stat.S_ISLNK(stamp[4]):
                return Version(stamp, sha256(os.fsencode(full.readlink())))
            if not keeps and not (hashes and size <= _MOST_HASHED_BYTES):
                return Version(stamp)
            data = _bytes(full)
        except OSError:
            return Version(stamp)
        if not keeps:
            return Version(stamp, sha256(data))
        self._kept_bytes += len(data)
        return Version(stamp, sha256(data), data)

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        todo = [(str(self.workspace.real_root), "")]
        while todo:
            folder, above = todo.pop()
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        name = f"{above}{entry.name}"
                        if entry.is_dir(follow_symlinks=False):
                            if self._tells_of(entry.name, name):
                                todo.append((entry.path, f"{name}/"))
                        elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                            yield name, entry.stat(follow_symlinks=False)
            except OSError:  # gone meanwhile
                continue

    def _tells_of(self, name: str, relative: str) -> bool:
        return name not in _LEFT_OUT and self.workspace.view(relative) != "hidden"


def _bytes(path: Path) -> bytes:
    # A link or a pipe that has taken the place of the file is not read.
    number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(number, "rb") as file:  # noqa: PTH123 - of a descriptor
        return file.read(_MOST_HASHED_BYTES)


def _differ(before: Version | None, after: Version | None) -> bool:
    """Return whether the content differs, or may do so."""
    if before is None or after is None:
        return before is not after
    if UNKNOWN in (before.sha256, after.sha256):
        return True
    return before.sha256 != after.sha256
