"""Requests to a run: small files in its `control/` folder.

Each is addressed to whoever holds the lock of the run, so that one that nobody took in
time means nothing to a later process. Words to the lead are for whoever goes on with
the run: they wait until somebody does.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from orchestrator.errors import StoreError
from orchestrator.messages import clean_text
from orchestrator.store.disk import store_error, write_derived
from orchestrator.store.lock import Holder

__all__ = [
    "GO_ON",
    "MAX_TEXT_BYTES",
    "PAUSE",
    "STEER",
    "STOP",
    "Request",
    "pending",
    "read_request",
    "remove",
    "send",
]

STOP = "stop"
"""The action: end gently, an agent or the whole run."""
STEER = "steer"
"""The action: tell the lead something, at its next step."""
PAUSE = "pause"
"""The action: send nothing more, and wait."""
GO_ON = "go_on"
"""The action: go on after a pause."""

MAX_TEXT_BYTES = 12_000
"""Longest text for the lead: some 3,000 tokens. What is longer belongs in a file."""
MAX_REQUEST_BYTES = 65_536
"""Of a file: a text that placeholders have made longer, escaped, and the rest."""
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks of a run.

    Attributes:
        action: `stop`, `steer`, `pause` or `go_on`; later versions may know more.
        holder: the process that is asked; None: whichever goes on with the run.
        to: the agent it is about; "" for the whole run.
        text: words to the lead, without secrets.
        limits: those that change as a paused run goes on, as `limits.usd` → value.
    """

    action: str
    holder: Holder | None
    to: str = ""
    text: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)


def send(folder: Path, request: Request) -> Path:
    """Put `request` into the folder, whole or not at all, and return its file.

    The file goes away when it is taken. The folder is made if it is missing. Words to
    the lead are on disk when this returns, since they may have to wait for long.

    Raises:
        StoreError: it could not be written.
    """
    # Names sort by time, so that requests are taken in the order they were made.
    name = f"{time.time_ns():020d}-{secrets.token_hex(4)}{_SUFFIX}"
    path = folder / name
    whole = {**asdict(request), "text": clean_text(request.text)}
    data = orjson.dumps(whole) + b"\n"
    write_derived(path, data, within=folder.parent, sync=request.action == STEER)
    return path


def pending(folder: Path) -> list[Path]:
    """Return the files of requests, oldest first; none where the folder is missing."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - asked often, and mostly empty
    except OSError:
        return []
    return [
        folder / name
        for name in sorted(names)
        if name.endswith(_SUFFIX) and not name.startswith(".")
    ]


def read_request(path: Path) -> Request:
    """Return the request in a file.

    Raises:
        StoreError: it cannot be read, or is no request.
    """
    try:
        data = _content(path)
        found = orjson.loads(data)
        by = found["holder"]
        return Request(
            action=str(found["action"]),
            holder=Holder(int(by["pid"]), str(by["since"])) if by else None,
            to=str(found.get("to", "")),
            text=str(found.get("text", "")),
            limits={
                str(name): str(value)
                for name, value in (found.get("limits") or {}).items()
            },
        )
    except OSError as error:
        raise store_error("read the request", path, error) from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StoreError(f"`{path}` is not a request") from error


def remove(path: Path) -> None:
    """Remove a request that was taken, or that means nothing; gone is fine too."""
    with suppress(OSError):
        path.unlink()


def _content(path: Path) -> bytes:
    """Return the bytes of a small plain file.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is something else; opening that might wait.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(path, flags)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_REQUEST_BYTES:
            raise ValueError(f"`{path}` is not a small file")
        return os.read(handle, MAX_REQUEST_BYTES)
    finally:
        os.close(handle)
