"""Hearing what people ask of a live run, through its `control/` folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import structlog

from orchestrator.errors import StoreError
from orchestrator.events import ControlReceived
from orchestrator.ids import LEAD
from orchestrator.messages import clean_text
from orchestrator.store.control import STOP, Request, pending, read_request, remove
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import Holder, holder
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.dispatch import Dispatcher

__all__ = ["Control"]

POLL_S = 0.25
"""Between two looks; one of an empty folder costs some ten microseconds."""
MAX_NAME_CHARS = 64

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class Control:
    """Takes requests for one live run while `watch` is at work.

    Attributes:
        folder: the run's; this process holds its lock.
        log: gets `control.received`.
        dispatcher: whose subagents can be cancelled.
        stop: stops the whole run gently.
    """

    folder: RunFolder
    log: EventLog
    dispatcher: Dispatcher
    stop: Callable[[], object]
    _passed_over: set[str] = field(default_factory=set)
    """Names that mean nothing and cannot be removed."""

    async def watch(self) -> None:
        """Take requests until cancelled; what is left for this process goes then."""
        me = holder(self.folder.lock)
        try:
            while me is not None:
                self.look(me)
                await anyio.sleep(POLL_S)
        finally:
            for path in pending(self.folder.control):
                if _is_for(path, me):
                    remove(path)

    def look(self, me: Holder) -> None:
        """Take what is there; what is wrong or for another process is removed."""
        for path in pending(self.folder.control):
            if path.name in self._passed_over:
                continue
            self._take(path, me)
            remove(path)
            if path.is_symlink() or path.exists():
                self._passed_over.add(path.name)

    def _take(self, path: Path, me: Holder) -> None:
        try:
            request = read_request(path)
        except StoreError as error:
            logger.warning("control.unreadable", error=str(error))
            return
        if request.holder != me:
            return  # of an earlier process, or for one
        if request.action != STOP:
            logger.warning("control.unknown", action=_shown(request.action))
        elif self._is_known(request.to):
            self._note(request)
            self._stop(request.to)
        else:
            logger.warning("control.no_such_agent", agent=_shown(request.to))

    def _is_known(self, to: str) -> bool:
        return to == "" or to in self.dispatcher.roster.at_work

    def _stop(self, agent: str) -> None:
        if agent:
            self.dispatcher.roster.stop(agent, BY_A_PERSON)
        else:
            self.stop()

    def _note(self, request: Request) -> None:
        try:
            event = ControlReceived(request.action, request.to)
            self.log.append(event, cause=self.log.newest(request.to or LEAD))
        except StoreError as error:  # a disk in trouble keeps nobody from stopping
            logger.warning("control.unrecorded", error=str(error))


def _is_for(path: Path, me: Holder | None) -> bool:
    try:
        return read_request(path).holder == me
    except StoreError:
        return False


def _shown(text: str) -> str:
    return clean_text(text)[:MAX_NAME_CHARS]
