"""Undo the compression of a body, never beyond a limit."""

from __future__ import annotations

import zlib
from typing import Final

from orchestrator.errors import ToolError

__all__ = ["ACCEPTED", "Inflater", "inflater"]

ACCEPTED: Final = "gzip, deflate"
"""What a server is told; the rest would need a library, and saves little."""

_EITHER: Final = 32 + zlib.MAX_WBITS  # gzip, or deflate as it should be
_BARE: Final = -zlib.MAX_WBITS  # deflate as some servers send it
_MEMBER: Final = b"\x1f\x8b"
_GZIP: Final = frozenset({"gzip", "x-gzip"})


class Inflater:
    """Takes a body as it comes, and gives it back as it was.

    One that is not compressed passes as it is. What is held at any time is bounded by
    what is asked for, however much a few bytes may stand for.
    """

    def __init__(self, kind: str = "") -> None:
        """Take nothing yet.

        Args:
            kind: `gzip`, `deflate`, or "" for what is not compressed.
        """
        self._stream = zlib.decompressobj(_EITHER) if kind else None
        self._may_be_bare = kind == "deflate"

    def feed(self, data: bytes, most: int) -> bytes:
        """Return what `data` stands for, at most `most` bytes of it.

        Args:
            data: the next part.
            most: more than 0.

        Raises:
            ToolError: the data is damaged.
        """
        if self._stream is None:
            return data[:most]
        try:
            return self._inflated(data, most)
        except zlib.error as error:
            raise ToolError(
                f"the body is damaged: it cannot be decompressed ({error})"
            ) from error

    def _inflated(self, data: bytes, most: int) -> bytes:
        parts: list[bytes] = []
        while data and most > 0 and not (self._stream and self._stream.eof):
            part, data = self._next(data, most)
            parts.append(part)
            most -= len(part)
        return b"".join(parts)

    def _next(self, data: bytes, most: int) -> tuple[bytes, bytes]:
        """Return the next part, and what is left to be read of `data`."""
        stream = self._stream
        assert stream is not None  # noqa: S101 - for the type checker
        try:
            part = stream.decompress(data, most)
        except zlib.error:
            if not self._may_be_bare:
                raise
            stream = self._stream = zlib.decompressobj(_BARE)
            part = stream.decompress(data, most)
        self._may_be_bare = False
        if not stream.eof:
            return part, stream.unconsumed_tail
        # Gzip may have several members; anything else behind it is no part of the body.
        left = stream.unused_data if stream.unused_data.startswith(_MEMBER) else b""
        self._stream = zlib.decompressobj(_EITHER) if left else stream
        return part, left


def inflater(encoding: str) -> Inflater:
    """Return what undoes a `Content-Encoding`.

    Raises:
        ToolError: it is one that was not asked for.
    """
    named = [each.strip().lower() for each in encoding.split(",")]
    kinds = [each for each in named if each not in ("", "identity")]
    if not kinds:
        return Inflater()
    if len(kinds) > 1 or kinds[0] not in _GZIP | {"deflate"}:
        raise ToolError(
            f"the server sends the body compressed as `{encoding[:40]}`; only gzip and "
            "deflate can be read"
        )
    return Inflater("deflate" if kinds[0] == "deflate" else "gzip")
