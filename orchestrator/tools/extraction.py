"""The text of files that do not hold it as such: documents, and other encodings.

`read_file` and `grep` both take it from here, so that they number the same lines and
keep the same artifact. A version of a file is read once in a run; reading goes on in
the background when nobody can wait for it any longer.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.ids import sha256
from orchestrator.store.artifacts import Artifacts
from orchestrator.tools.base import ToolContext
from orchestrator.tools.decoding import decode, encoding_of
from orchestrator.tools.documents import Extracted, extract, is_installed
from orchestrator.tools.threads import stop_if_abandoned
from orchestrator.tools.versions import keep

__all__ = ["MAX_DOCUMENT_BYTES", "TEXT", "Kept", "StillReading", "kept_text", "plain"]

MAX_DOCUMENT_BYTES = 50_000_000
TEXT = "text"
"""The kind of a file that is text, in whatever encoding."""

_POLL_S = 0.1


class StillReading(ToolError):
    """A document takes longer than the caller can wait; it is still being read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A text that is stored, and what to say about it.

    Attributes:
        seen: the version of the file, with the artifact of its text.
        note: said behind the line count, with its own comma.
    """

    seen: FileSeen
    note: str


@dataclass(slots=True)
class _Reading:
    """The text of one content, in the making or made."""

    done: threading.Event = field(default_factory=threading.Event)
    is_whole: bool = False
    found: Extracted | None = None
    problem: str = ""
    kept: Kept | None = None


# A reading belongs to a run, whose artifacts hold it.
_readings: WeakKeyDictionary[Artifacts, dict[tuple[str, str], _Reading]] = (
    WeakKeyDictionary()
)
_guard = threading.Lock()


def kept_text(
    name: str, kind: str, data: bytes, context: ToolContext, *, limit_s: float
) -> Kept | None:
    """Return the stored text of a file, or None where its bytes are to be shown.

    Args:
        name: relative to the workspace.
        kind: `pdf`, `docx`, `html` or `TEXT`.
        data: the whole file.
        context: of the call.
        limit_s: how long to wait.

    Raises:
        StillReading: it takes longer than that.
        ToolError: the library is not installed, or the document cannot be read.
        StoreError: the text cannot be stored.
    """
    if kind == "html" and not is_installed(kind):
        return None
    if kind not in ("html", TEXT) and not is_installed(kind):
        extract(kind, data, None)  # says what is missing
    digest = sha256(data)
    with _guard:
        readings = _readings.setdefault(context.artifacts, {})
        reading = readings.get((kind, digest))
        if reading is None:
            reading = readings[kind, digest] = _Reading()
            # A thread of its own, since no library can be told to stop.
            threading.Thread(
                target=_read, args=(reading, kind, data), daemon=True
            ).start()
    _wait(reading, kind, limit_s)
    if reading.problem or not reading.is_whole:
        raise ToolError(reading.problem or f"this {kind.upper()} file cannot be read")
    if reading.kept is None and (found := reading.found) is not None:
        version = keep(name, data, found.text, context)
        reading.kept = Kept(version.seen, found.note)
        reading.found = None
    kept = reading.kept
    if kept is None:
        return None
    seen = FileSeen(name, digest, kept.seen.artifact, kept.seen.lines)
    return Kept(seen, kept.note)


def plain(data: bytes) -> Extracted | None:
    """Return a file as text, or None if it is binary."""
    encoding = encoding_of(data)
    if encoding is None:
        return None
    is_usual = encoding in ("utf-8", "utf-8-sig")
    note = "" if is_usual else f", decoded from {encoding}"
    return Extracted(data.decode(encoding, "replace"), note)


def _read(reading: _Reading, kind: str, data: bytes) -> None:
    try:
        if kind == TEXT:
            found = plain(data)
            reading.found = found if found is not None and found.note else None
        else:
            decoded = decode(data) if kind == "html" else None
            reading.found = extract(kind, data, decoded)
        reading.is_whole = True
    except ToolError as error:
        reading.problem = str(error)
    finally:
        reading.done.set()


def _wait(reading: _Reading, kind: str, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not reading.done.wait(max(min(_POLL_S, deadline - time.monotonic()), 0)):
        stop_if_abandoned()
        if time.monotonic() > deadline:
            raise StillReading(
                f"this {kind.upper()} file takes long to read; it goes on in the "
                "background, so try again later, or go on without it and say so"
            )
