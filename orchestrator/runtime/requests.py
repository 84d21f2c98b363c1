"""What people ask of one run: files in its `control/` folder, and its handle."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import structlog

from orchestrator.errors import StoreError
from orchestrator.events import ControlReceived, Event
from orchestrator.ids import sha256
from orchestrator.messages import clean_text
from orchestrator.runtime.live import Live
from orchestrator.store.control import (
    MAX_TEXT_BYTES,
    STEER,
    Request,
    pending,
    read_request,
    remove,
)
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import Holder, holder

__all__ = [
    "MAX_TAKEN_BYTES",
    "POLL_S",
    "Requests",
    "forget",
    "received",
    "shown",
    "taken_in",
]

POLL_S = 0.25
"""Between two looks; one of an empty folder costs some ten microseconds."""
MAX_NAME_CHARS = 64
_OURS = re.compile(r"\d{20}-[0-9a-f]{8}\.json")
_KEY_CHARS = 16
MAX_TAKEN_BYTES = 2 * MAX_TEXT_BYTES
"""Of words to the lead: those who say them keep to half of it, but placeholders are
longer than what they stand for."""

Take = Callable[[Request, str], Awaitable[bool]]
"""Acts on a request and the name of its file, which is in the log then where it must
not be taken twice; returns False to leave it where it is."""

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class Requests:
    """Hands out requests to the process that works on a run, each one once.

    Attributes:
        folder: the run's; this process holds its lock.
        live: the handle of the run.
    """

    folder: RunFolder
    live: Live
    _me: Holder | None = field(init=False)
    _passed_over: set[str] = field(default_factory=set)
    """Names that this process leaves alone: they cannot be removed, or recorded."""
    _looking: anyio.Lock = field(default_factory=anyio.Lock)

    def __post_init__(self) -> None:
        self._me = holder(self.folder.lock)

    async def look(self, take: Take) -> None:
        """Take what is there; what is wrong or for another process is removed."""
        async with self._looking:
            while self.live.asked and await self._taken(take, self.live.asked[0]):
                self.live.asked.popleft()
            for path in pending(self.folder.control):
                if path.name in self._passed_over:
                    continue
                if await self._is_done(path, take):
                    remove(path)
                    if path.is_symlink() or path.exists():
                        self._passed_over.add(path.name)

    async def _is_done(self, path: Path, take: Take) -> bool:
        """Return whether the file of a request is not needed any more."""
        key = key_of(path.name)
        if key in self.live.taken:
            return True  # the process died before it removed it
        try:
            request = read_request(path)
        except StoreError as error:
            logger.warning("control.unreadable", error=str(error))
            return True
        if request.action != STEER and (
            request.holder is None or request.holder != self._me
        ):
            return True  # of an earlier process, or for one
        is_taken = await self._taken(take, request, key)
        if is_taken is None:
            self._passed_over.add(path.name)
        return bool(is_taken)

    async def _taken(self, take: Take, request: Request, key: str = "") -> bool | None:
        """Return whether a request was taken; None: the disk refused to record it."""
        try:
            return await take(request, key)
        except StoreError as error:  # words that cannot be recorded are not told
            logger.warning("control.unrecorded", error=str(error))
            return None


def forget(folder: RunFolder) -> None:
    """Remove what was asked of this process, which lets go of the run."""
    me = holder(folder.lock)
    for path in pending(folder.control):
        try:
            request = read_request(path)
        except StoreError:
            continue
        if request.action != STEER and request.holder == me:
            remove(path)


def received(
    request: Request, name: str, redact: Callable[[str], str]
) -> ControlReceived | None:
    """Return the event of words to the lead; None: there are none.

    Args:
        request: with the words.
        name: what the log calls it, or "".
        redact: as the run does it.
    """
    text = redact(clean_text(request.text)).strip()
    if not text:
        logger.warning("control.empty", action=request.action)
        return None
    if len(text.encode()) > MAX_TAKEN_BYTES:
        text = text.encode()[:MAX_TAKEN_BYTES].decode(errors="ignore") + " …"
    return ControlReceived(STEER, "", text=text, request=name)


def key_of(name: str) -> str:
    """Return what the log calls a request, by the name of its file.

    A file that was made by hand may be called anything, a secret too.
    """
    return name if _OURS.fullmatch(name) else sha256(name.encode())[:_KEY_CHARS]


def taken_in(events: Iterable[Event]) -> set[str]:
    """Return the names of the requests that these events tell of."""
    told = (each for each in events if each.kind == ControlReceived.KIND)
    return {str(each.data.get("request") or "") for each in told} - {""}


def shown(text: str) -> str:
    """Return a word of a request as diagnostics show it."""
    return clean_text(text)[:MAX_NAME_CHARS]
