"""The text of a file as an agent sees it, kept whole for the look-up of quotes."""

from __future__ import annotations

import codecs
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.evidence import split_lines
from orchestrator.ids import sha256
from orchestrator.tools.base import ToolContext
from orchestrator.tools.cleaning import clean

__all__ = ["MAX_KEPT_BYTES", "Version", "Window", "keep", "read_bytes"]

MAX_KEPT_BYTES = 5_000_000
"""A bigger file is read in windows, and no copy of it is kept."""

_CHUNK_BYTES = 1 << 20
# Redaction looks at whole keys; a window starts early enough to hold their first line.
_LEAD_LINES = 100


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a file: cleaned, redacted, in lines, and stored."""

    lines: list[str]
    seen: FileSeen


@dataclass(frozen=True, slots=True)
class Window:
    """Some lines of a big file.

    Attributes:
        lines: cleaned and redacted.
        before: number of lines before them.
        total: lines of the whole file.
        sha256: of its bytes.
    """

    lines: list[str]
    before: int
    total: int
    sha256: str


def read_bytes(path: Path, name: str) -> bytes:
    """Return the content of a file.

    Raises:
        ToolError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ToolError(f"cannot read `{name}`: {error.strerror}") from error


def keep(name: str, data: bytes, text: str, context: ToolContext) -> Version:
    """Store the version of a file that is about to be shown.

    Args:
        name: relative to the workspace.
        data: its bytes on disk.
        text: what it says, decoded or extracted.
        context: of the call.

    Raises:
        StoreError: it cannot be stored.
    """
    fit = context.redact(clean(_plain_ends(text)))
    lines = split_lines(fit)
    artifact = context.artifacts.put(fit.encode()) if fit else ""
    return Version(lines, FileSeen(name, sha256(data), artifact, len(lines)))


def read_window(
    path: Path, encoding: str, context: ToolContext, *, first_line: int, max_chars: int
) -> Window:
    """Return lines of a big file from `first_line` on, in one pass over it.

    Args:
        path: an ordinary file.
        encoding: Python name; what does not fit becomes U+FFFD.
        context: of the call.
        first_line: from 1.
        max_chars: roughly how much to return.

    Raises:
        OSError: it cannot be read.
    """
    start = max(first_line - 1 - _LEAD_LINES, 0)
    hashed = hashlib.sha256()
    parts: list[str] = []
    held = newlines = 0
    last = "\n"
    for text in _decoded(path, encoding, hashed):
        last = text[-1:] or last
        found = text.count("\n")
        if newlines + found >= start and held < max_chars:
            offset = _after_newlines(text, start - newlines)
            parts.append(text[offset : offset + max_chars - held])
            held += len(parts[-1])
        newlines += found
    total = newlines + (last != "\n")
    lines = split_lines(context.redact(clean("".join(parts))))
    if held >= max_chars and len(lines) > 1:
        lines.pop()  # not whole
    return Window(lines, start, total, hashed.hexdigest())


def _decoded(path: Path, encoding: str, hashed: hashlib._Hash) -> Iterator[str]:
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)("replace"), translate=True
    )
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            hashed.update(chunk)
            yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


def _after_newlines(text: str, wanted: int) -> int:
    offset = 0
    for _ in range(wanted):
        offset = text.index("\n", offset) + 1
    return offset


def _plain_ends(text: str) -> str:
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")
