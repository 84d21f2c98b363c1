"""A paused run: its process keeps it, hears what people ask, and goes on with it.

What it goes on by is the log alone, as after a crash, so that a process that dies while
its run is paused loses nothing. The log is opened for each entry and closed again: time
does not pass for the run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import anyio
import anyio.to_thread
import structlog

from orchestrator.errors import SpecError, StoreError
from orchestrator.events import (
    ControlReceived,
    Event,
    Payload,
    RunEnded,
    SubagentAccepted,
)
from orchestrator.ids import LEAD
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.notes_file import EditLog
from orchestrator.runtime.past import Past
from orchestrator.runtime.progress import Progress
from orchestrator.runtime.requests import POLL_S, Requests, received, shown
from orchestrator.runtime.result import EXIT_CODES, RunResult
from orchestrator.runtime.resume import go_on, read_past
from orchestrator.runtime.snapshots import read_history
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.control import GO_ON, PAUSE, STEER, STOP, Request
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder

__all__ = ["until_over"]

logger = structlog.get_logger(__name__)


async def until_over(result: RunResult, host: Host, live: Live) -> RunResult:
    """Return how a run ends: while it is paused, wait, and then go on with it.

    Cancelling the caller, or the run, interrupts a run that is paused.

    Args:
        result: of what the process did up to now.
        host: what the process offers.
        live: the handle.

    Raises:
        StoreError: the run folder cannot be read or written.
    """
    while result.state == "paused" and live.keeps_paused:
        live.renew()
        rest = _Rest(RunFolder(result.folder), host, live)
        try:
            with live.scope:
                await rest.watch()
        except anyio.get_cancelled_exc_class():
            await rest.interrupted(result)
            raise
        if rest.goes_on is None:
            return await rest.interrupted(result)
        live.renew()
        result = await go_on(rest.goes_on, host, live)
    return result


@dataclass(slots=True)
class _Rest:
    """The time in which a run is paused.

    Attributes:
        folder: the run's.
        host: what the process offers.
        live: the handle.
        goes_on: the run as it is to go on, once a person wants it to.
    """

    folder: RunFolder
    host: Host
    live: Live
    goes_on: Past | None = None
    _requests: Requests = field(init=False)

    def __post_init__(self) -> None:
        self._requests = Requests(self.folder, self.live)

    async def watch(self) -> None:
        """Take requests until one lets the run go on, or cancelled.

        Raises:
            StoreError: the run folder was removed.
        """
        while True:
            await self._requests.look(self._take)
            if self.goes_on is not None:
                return
            if not self.folder.events.exists():
                raise StoreError(f"the run `{self.folder.path}` is gone")
            await anyio.sleep(POLL_S)

    async def interrupted(self, result: RunResult) -> RunResult:
        """Write down that the run was stopped, whoever cancels meanwhile.

        Raises:
            StoreError: the run folder cannot be written.
        """
        handle = self.folder.handle
        reason = f"stopped; `orchestrate resume {handle}` goes on"
        code = EXIT_CODES["interrupted"]
        ended = RunEnded("interrupted", code, reason, [], round(result.seconds, 3))
        with anyio.CancelScope(shield=True):
            await self._end(ended)
        return replace(result, state="interrupted", exit_code=code, reason=reason)

    async def _take(self, request: Request, name: str) -> bool:
        if self.goes_on is not None or self.live.scope.cancel_called:
            return False  # it is for what comes next
        action = request.action
        if action == GO_ON:
            await self._go_on(request.limits)
        elif action == STEER:
            event = received(request, name, self.live.redact)
            if event is not None:
                await self._record(event)
                self.live.taken.add(name)
        elif action == STOP:
            await self._stop(request.to)
        elif action != PAUSE:
            logger.warning("control.unknown", action=shown(action))
        return True

    async def _go_on(self, limits: Mapping[str, str]) -> None:
        try:
            past = await self._past(limits)
        except SpecError as error:  # who asked has seen to it; the run stays paused
            logger.warning("control.refused", error=str(error))
            return
        await self._record(ControlReceived(GO_ON, ""))
        self.goes_on = past

    async def _stop(self, agent: str) -> None:
        """Stop the run, or let a subagent end as soon as it goes on.

        Raises:
            StoreError: that a subagent is to end cannot be recorded.
        """
        if agent:
            left = await anyio.to_thread.run_sync(self._left)
            if agent not in left:
                logger.warning("control.no_such_agent", agent=shown(agent))
                return
        try:
            await self._record(ControlReceived(STOP, agent))
        except StoreError as error:  # a disk in trouble keeps nobody from stopping
            if agent:
                raise
            logger.warning("control.unrecorded", error=str(error))
        if not agent:
            self.live.stop()

    def _left(self) -> set[str]:
        """Return the subagents that are not over."""
        history = read_history(self.folder)
        sent = {
            event.data["id"]
            for event in history.kept_events(self.folder)
            if event.kind == SubagentAccepted.KIND
        }
        return sent - history.over

    async def _past(self, limits: Mapping[str, str]) -> Past:
        """Read the run as it is to go on; it may have a long log.

        Raises:
            SpecError: it cannot go on with these limits.
            StoreError: its log cannot be read.
        """
        return await anyio.to_thread.run_sync(read_past, self.folder, self.host, limits)

    async def _record(self, payload: Payload) -> None:
        """Write an event; it is on disk when this returns.

        Raises:
            StoreError: the disk refuses.
        """
        event = await anyio.to_thread.run_sync(self._append, payload)
        if self.live.on_event is not None:
            self.live.on_event(event)

    async def _end(self, ended: RunEnded) -> None:
        """Write the end down, and bring the notes to it that people may have changed.

        Raises:
            StoreError: the disk refuses.
        """
        folder, clock = self.folder, self.host.clock
        log = await anyio.to_thread.run_sync(self._opened)
        try:
            history = await anyio.to_thread.run_sync(read_history, folder)
            events = await anyio.to_thread.run_sync(history.kept_events, folder)
            edits = EditLog(log, Artifacts(folder.artifacts), self.live.redact)
            progress = Progress(folder, clock, edits)
            progress.restore(events, history)
            for agent, seq in history.newest.items():
                log.link(agent, seq)
            log.subscribe(progress.follow)
            if self.live.on_event is not None:
                log.subscribe(self.live.on_event)
            await progress.settle()
            log.append(ended, cause=log.newest(LEAD))
            await progress.settle()
            await log.sync()
        finally:
            log.close()

    def _opened(self) -> EventLog:
        folder = self.folder
        artifacts = Artifacts(folder.artifacts)
        return EventLog.reopen(folder.events, folder.id, artifacts, self.host.clock)

    def _append(self, payload: Payload) -> Event:
        log = self._opened()
        try:
            return log.append(payload, cause=log.seq)
        finally:
            log.close()
