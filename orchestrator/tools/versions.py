"""The text of a file as an agent sees it, kept whole for the look-up of quotes."""

from __future__ import annotations

import codecs
import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.evidence import split_lines
from orchestrator.ids import sha256
from orchestrator.security.beneath import open_file
from orchestrator.security.workspace import Workspace
from orchestrator.tools.base import ToolContext
from orchestrator.tools.cleaning import clean

__all__ = [
    "MAX_KEPT_BYTES",
    "Version",
    "Window",
    "as_shown",
    "keep",
    "opened",
    "read_bytes",
    "read_window",
]

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


@contextmanager
def opened(workspace: Workspace, name: str) -> Iterator[BinaryIO]:
    """Open a file for reading, through no link.

    Args:
        workspace: where it is.
        name: relative to its root, resolved.

    Raises:
        ToolError: it cannot be opened, or what is done with it fails.
    """
    try:
        with open_file(workspace.real_root, name) as file:
            yield file
    except OSError as error:
        raise ToolError(f"cannot read `{name}`: {error.strerror}") from error


def read_bytes(workspace: Workspace, name: str) -> bytes:
    """Return the content of a file.

    Raises:
        ToolError: it cannot be read.
    """
    with opened(workspace, name) as file:
        return file.read()


def as_shown(text: str, context: ToolContext) -> str:
    """Return the text of a file as agents see it: cleaned and redacted, lines kept."""
    return context.redact(clean(_plain_ends(text)))


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
    fit = as_shown(text, context)
    lines = split_lines(fit)
    artifact = context.artifacts.put(fit.encode()) if fit else ""
    return Version(lines, FileSeen(name, sha256(data), artifact, len(lines)))


def read_window(
    file: BinaryIO,
    encoding: str,
    context: ToolContext,
    *,
    first_line: int,
    max_chars: int,
) -> Window:
    """Return lines of a big file from `first_line` on, in one pass over it.

    Args:
        file: from its start on.
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
    for text in _decoded(file, encoding, hashed):
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


def _decoded(file: BinaryIO, encoding: str, hashed: hashlib._Hash) -> Iterator[str]:
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder(encoding)("replace"), translate=True
    )
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
