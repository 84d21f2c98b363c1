"""The history of a run on disk, so that a long log is not read from its start.

A snapshot is the history up to some offset of the log. It is derived, and proved before
it is believed: by its own checksum, and by that of everything in the log before that
offset.
"""

from __future__ import annotations

import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from orchestrator.runtime.history import History
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.disk import write_derived
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_lines

__all__ = ["SNAPSHOT_BYTES", "Snapshots", "read_history"]

SNAPSHOT_BYTES = 4 << 20
"""How much longer the log is when the next snapshot is due: some 3,000 events, which
are read in about 0.05 s."""
_CHUNK_BYTES = 1 << 20
_SEAL = b',"seal2":'
"""Its number is that of the form: what an earlier form says is not believed."""


def read_history(folder: RunFolder) -> History:
    """Return the history of a run, from its newest snapshot where that is good.

    Raises:
        StoreError: the log cannot be read.
    """
    history = _snapshot(folder) or History()
    _take_all(history, folder)
    return history


def _take_all(history: History, folder: RunFolder, *, stop: int | None = None) -> None:
    artifacts = Artifacts(folder.artifacts)
    for line in read_lines(
        folder.events,
        start=history.offset,
        after=history.lines,
        seen=history.last_seq,
        stop=stop,
    ):
        history.take(line, artifacts)


@cache
def _form() -> TypeAdapter[History]:
    return TypeAdapter(History)


def _snapshot(folder: RunFolder) -> History | None:
    """Return the snapshot, or None if there is none that fits log and program."""
    try:
        found = _form().validate_json(_opened(folder.snapshot.read_bytes()))
        fits = found.checksum == _checksum(folder.events, found.offset)
    except (OSError, ValueError):  # pydantic's is one of the latter
        return None
    return found if fits and found.program == version("orchestrator") else None


def _sealed(data: bytes) -> bytes:
    """Return a JSON object with its own checksum as its last field."""
    return data[:-1] + b"%b%d}" % (_SEAL, zlib.crc32(data))


def _opened(sealed: bytes) -> bytes:
    """Return the object that was sealed.

    Raises:
        ValueError: it is not whole.
    """
    data, _, seal = sealed.rpartition(_SEAL)
    data += b"}"
    if seal != b"%d}" % zlib.crc32(data):
        raise ValueError("the snapshot is damaged")
    return data


def _checksum(path: Path, size: int) -> int:
    """Return the CRC-32 of the first `size` bytes, or -1 if there are fewer."""
    checksum = 0
    with path.open("rb") as file:
        while size > 0:
            chunk = file.read(min(size, _CHUNK_BYTES))
            if not chunk:
                return -1
            checksum = zlib.crc32(chunk, checksum)
            size -= len(chunk)
    return checksum


class Snapshots:
    """Keeps a live run's snapshot from falling far behind its log.

    It reads back what was written, so that nothing is done for it where events are
    made, and what it says is what the log says.
    """

    def __init__(
        self,
        folder: RunFolder,
        history: History | None = None,
        *,
        every_bytes: int = SNAPSHOT_BYTES,
    ) -> None:
        """Make it.

        Args:
            folder: the run's.
            history: what is in the log already; it is taken over.
            every_bytes: how much longer the log is when the next one is due.
        """
        self._folder = folder
        self._every_bytes = every_bytes
        self._history = history or History()
        self._stored = self._history.offset

    def is_due(self, size: int) -> bool:
        """Return whether a log of `size` bytes deserves a new snapshot."""
        return size - self._stored >= self._every_bytes

    def write(self, size: int) -> None:
        """Write the snapshot of the first `size` bytes of the log; in a thread.

        Raises:
            StoreError: the log cannot be read, or the snapshot not written.
        """
        _take_all(self._history, self._folder, stop=size)
        self._stored = size
        sealed = _sealed(_form().dump_json(self._history))
        write_derived(self._folder.snapshot, sealed)
