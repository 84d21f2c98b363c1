"""One run at work, to its report or until it rests: everything is wired here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.to_thread
import structlog

from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.agent.spec import Outcome
from orchestrator.errors import ModelError, OrchestratorError, StoreError
from orchestrator.events import RunEnded
from orchestrator.ids import LEAD
from orchestrator.messages import encode
from orchestrator.models.redacting import redact_error
from orchestrator.runtime.control import Control
from orchestrator.runtime.leading import run_lead
from orchestrator.runtime.live import Live
from orchestrator.runtime.parked import (
    Parked,
    Paused,
    Underway,
    let_come_in,
    stamp,
)
from orchestrator.runtime.progress import MIN_INTERVAL_S
from orchestrator.runtime.result import BUG, EXIT_CODES, RunResult
from orchestrator.runtime.session import Session
from orchestrator.runtime.verdict import Bug, judged
from orchestrator.store.disk import write_atomic
from orchestrator.subagents.dispatch import Dispatcher
from orchestrator.subagents.shortfall import stopped

__all__ = ["work"]

Ending = Outcome | Bug | Parked | Paused

logger = structlog.get_logger(__name__)


async def work(
    session: Session,
    live: Live,
    *,
    dispatcher: Dispatcher | None = None,
    lead: AgentPast = NOT_BEGUN,
) -> RunResult:
    """Let the lead work to its end, and write down what came of it.

    Args:
        session: open, with `run.started` in its log.
        live: the handle.
        dispatcher: with the subagents of earlier processes, on resume.
        lead: what earlier processes did with the lead.
    """
    dispatcher = dispatcher or Dispatcher(session.crew())
    live.redact = session.services.redact
    ending: Ending | None = None
    try:
        with live.scope:
            ending = await _watched(session, live, dispatcher, lead)
    except anyio.get_cancelled_exc_class():
        # The caller is being cancelled: record it, then let go.
        await _shielded(session, dispatcher, None)
        raise
    return await _shielded(session, dispatcher, ending)


async def _watched(
    session: Session, live: Live, dispatcher: Dispatcher, lead: AgentPast
) -> Ending | None:
    """Let the lead work, with the derived files kept true meanwhile.

    Raises:
        StoreError: the run folder cannot be written.
    """
    ending: Outcome | Bug | StoreError | None = None
    underway = Underway()
    session.log.subscribe(underway.apply)
    control = Control(session, dispatcher, live)
    await session.progress.look()  # people may have changed the notes in between
    async with anyio.create_task_group() as group:
        stop = group.cancel_scope.cancel
        group.start_soon(_keep_true, session)
        group.start_soon(control.watch)
        group.start_soon(let_come_in, session, underway, stop)
        with _told_of_others(session):
            try:
                ending = await run_lead(session, dispatcher, lead, control.has_words)
            except StoreError as error:
                ending = error
            except OrchestratorError as error:
                ending = _failed(session, error)
            except Exception as error:  # noqa: BLE001 - ours: it is recorded, then told
                ending = Bug.of(error, session.services.redact)
        stop()
    if isinstance(ending, StoreError):
        raise ending
    return ending or _at_rest(session)


@contextmanager
def _told_of_others(session: Session) -> Iterator[None]:
    """Let the run be parked, too, where another one finds their key used up."""

    def closed(error: ModelError) -> None:
        redact_error(error, session.services.redact)
        session.services.parking.takes(error)

    if session.prepared.models.is_offline:
        yield
        return
    forget = session.host.pool.on_closed(closed)
    try:
        yield
    finally:
        forget()


def _failed(session: Session, error: OrchestratorError) -> Outcome | None:
    """Return the outcome of a lead that could not begin; None: the run is parked."""
    if isinstance(error, ModelError) and session.services.parking.takes(error):
        return None
    return Outcome("failed", reason=str(error))


def _at_rest(session: Session) -> Parked | Paused | None:
    """Return why the run is at rest, or None."""
    parking, handle = session.services.parking, session.folder.handle
    if parking.why is None:
        return Paused.of(handle) if parking.is_paused else None
    heard_at = parking.noticed_at or session.services.clock.now()
    return Parked.by(parking.why, heard_at, handle=handle)


async def _keep_true(session: Session) -> None:
    """Write the derived files again, a moment after something has changed."""
    while True:
        await anyio.sleep(MIN_INTERVAL_S)
        await session.progress.look()
        session.progress.write()
        size = session.log.size
        if session.snapshots.is_due(size):
            try:
                await anyio.to_thread.run_sync(session.snapshots.write, size)
            except StoreError as error:  # the log will tell, if the disk is gone
                logger.warning("snapshot.lost", error=str(error))


async def _shielded(
    session: Session, dispatcher: Dispatcher, ending: Ending | None
) -> RunResult:
    """Conclude, whoever cancels meanwhile."""
    results: list[RunResult] = []
    with anyio.CancelScope(shield=True):
        results.append(await _conclude(session, dispatcher, ending))
    return results[0]


async def _conclude(
    session: Session, dispatcher: Dispatcher, ending: Ending | None
) -> RunResult:
    """Write report, result and state; return the result of the run."""
    verdict = await anyio.to_thread.run_sync(judged, session, dispatcher, ending)
    bug = ending.trace if isinstance(ending, Bug) else ""
    folder, log = session.folder, session.log
    for each in verdict.stale:
        log.append(each)
    if verdict.report:
        write_atomic(folder.report, verdict.report.encode())
    if verdict.result is not None:
        write_atomic(folder.result, encode(verdict.result) + b"\n")
    elif verdict.report:  # none that belongs to an earlier report
        folder.result.unlink(missing_ok=True)
    exit_code = BUG if bug else EXIT_CODES[verdict.state]
    seconds = session.progress.seconds
    await session.progress.settle()  # a run that is over is not opened again
    log.append(
        RunEnded(
            state=verdict.state,
            exit_code=exit_code,
            reason=verdict.reason,
            missing=verdict.missing,
            stopped=[
                line for line in stopped(dispatcher.roster) if line in verdict.missing
            ],
            seconds=round(seconds, 3),
            traceback=bug,
            resume_at=stamp(verdict.resume_at),
        ),
        cause=log.newest(LEAD),
    )
    await session.progress.settle()
    await log.sync()
    if lost := session.files.lost:
        logger.warning(
            "files.lost", files=sorted(lost), error=next(iter(lost.values()))
        )
    return RunResult(
        id=log.run_id,
        folder=folder.path,
        state=verdict.state,
        exit_code=exit_code,
        reason=verdict.reason,
        missing=verdict.missing,
        report=verdict.report,
        result=verdict.result,
        totals=session.progress.totals,
        seconds=seconds,
        resume_at=verdict.resume_at,
    )
