"""The output of a command as it comes: its start and its end are kept."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["KEPT_BYTES", "Kept"]

KEPT_BYTES = 256 * 1024
"""Of the start, and of the end, of each stream."""
# A cut is moved to the next line end within this distance.
_LINE_BYTES = 8 * 1024


@dataclass(slots=True)
class Kept:
    """One stream, bounded.

    Attributes:
        total: bytes that have come.
    """

    total: int = 0
    _head: bytearray = field(default_factory=bytearray)
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.total += len(chunk)
        room = KEPT_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        self._tail += chunk
        if len(self._tail) > 2 * KEPT_BYTES:
            del self._tail[:-KEPT_BYTES]

    def text(self) -> str:
        """Return what is kept; bytes that are no UTF-8 become U+FFFD.

        Cut at line ends, so that no secret is cut in two where lines have a length.
        """
        head, tail = bytes(self._head), bytes(self._tail[-KEPT_BYTES:])
        if len(head) + len(tail) == self.total:
            return (head + tail).decode("utf-8", "replace")
        end = head.rfind(b"\n", -_LINE_BYTES) + 1 or len(head)
        start = tail.find(b"\n", 0, _LINE_BYTES) + 1
        head, tail = head[:end], tail[start:]
        left_out = self.total - len(head) - len(tail)
        return (
            head.decode("utf-8", "replace").removesuffix("\n")
            + f"\n[{left_out:,} bytes left out here]\n"
            + tail.decode("utf-8", "replace")
        )
