"""Hearing what people ask of a run while its agents are at work."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import structlog

from orchestrator.errors import StoreError
from orchestrator.events import ControlReceived
from orchestrator.ids import LEAD
from orchestrator.runtime.live import Live
from orchestrator.runtime.requests import POLL_S, Requests, received, shown
from orchestrator.runtime.session import Session
from orchestrator.store.control import GO_ON, PAUSE, STEER, STOP, Request
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.dispatch import Dispatcher

__all__ = ["Control"]

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class Control:
    """Takes requests for one live run, while `watch` is at work and when told to look.

    Attributes:
        session: of the run; its log gets `control.received`.
        dispatcher: whose subagents can be cancelled.
        live: stops the whole run gently.
    """

    session: Session
    dispatcher: Dispatcher
    live: Live
    _requests: Requests = field(init=False)

    def __post_init__(self) -> None:
        self._requests = Requests(self.session.folder, self.live)

    async def watch(self) -> None:
        """Take requests until cancelled."""
        while True:
            await self._requests.look(self._take)
            await anyio.sleep(POLL_S)

    async def has_words(self) -> bool:
        """Look, and return whether a person said something the lead was not told."""
        await self._requests.look(self._take)
        return not self.session.inbox.is_empty

    async def _take(self, request: Request, name: str) -> bool:
        action, parking = request.action, self.session.services.parking
        if action == STEER:
            await self._hear(request, name)
        elif action == GO_ON:
            return not parking.is_paused  # first all comes to rest
        elif action == PAUSE:
            self._note(request)
            parking.pause()
        elif action != STOP:
            logger.warning("control.unknown", action=shown(action))
        elif self._is_known(request.to):
            self._note(request)
            self._stop(request.to)
        else:
            logger.warning("control.no_such_agent", agent=shown(request.to))
        return True

    async def _hear(self, request: Request, name: str) -> None:
        """Take down words to the lead; they are on disk before they can be lost.

        Raises:
            StoreError: they cannot be recorded.
        """
        log = self.session.log
        event = received(request, name, self.session.services.redact)
        if event is not None:
            log.append(event, cause=log.newest(LEAD))
            self.live.taken.add(name)
            await log.sync()

    def _is_known(self, to: str) -> bool:
        return to == "" or to in self.dispatcher.roster.at_work

    def _stop(self, agent: str) -> None:
        if agent:
            self.dispatcher.roster.stop(agent, BY_A_PERSON)
        else:
            self.live.stop()

    def _note(self, request: Request) -> None:
        log = self.session.log
        try:
            event = ControlReceived(request.action, request.to)
            log.append(event, cause=log.newest(request.to or LEAD))
        except StoreError as error:  # a disk in trouble keeps nobody from stopping
            logger.warning("control.unrecorded", error=str(error))
