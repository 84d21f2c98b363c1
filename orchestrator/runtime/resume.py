"""Going on with a run of an earlier process, from its log alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio.to_thread
import orjson
import structlog

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.rebuild import AgentPast, AgentRecords, agent_past
from orchestrator.agent.replay import Remake, no_remake
from orchestrator.errors import SpecError, StoreError
from orchestrator.events import (
    Event,
    RunReopened,
    RunResumed,
    RunStarted,
    SubagentAccepted,
    parse,
)
from orchestrator.ids import LEAD
from orchestrator.runtime.again import prepared_again
from orchestrator.runtime.costs import models_used, price_changes
from orchestrator.runtime.history import History
from orchestrator.runtime.host import Host
from orchestrator.runtime.inputs import changed_inputs
from orchestrator.runtime.live import Live
from orchestrator.runtime.parked import when
from orchestrator.runtime.past import Past, parked_until, state_of
from orchestrator.runtime.reopening import (
    check_covers_used,
    check_partial,
    check_raised,
    keep_earlier,
    new_limits,
    reopening,
    used_of,
)
from orchestrator.runtime.requests import taken_in
from orchestrator.runtime.result import RunResult
from orchestrator.runtime.run import work
from orchestrator.runtime.session import (
    Session,
    opened,
    prices,
    started,
    versions,
)
from orchestrator.runtime.snapshots import read_history
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.disk import remove_halves
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import is_held
from orchestrator.store.reading import read_events_of
from orchestrator.subagents.dispatch import Dispatcher
from orchestrator.subagents.handover import write_missing
from orchestrator.subagents.muster import mustered

__all__ = ["go_on", "read_past"]

FINISHED = ("done", "failed", "partial")
MAX_DAMAGE = 5

logger = structlog.get_logger(__name__)


def read_past(
    folder: RunFolder,
    host: Host,
    overrides: Mapping[str, str] | None = None,
    *,
    question: str = "",
) -> Past:
    """Read a run that is to go on; nothing is written.

    Args:
        folder: the run's.
        host: what the process offers.
        overrides: limits that change, as `limits.usd` → value.
        question: a further one to a finished run; "": the run goes on where it is.

    Raises:
        SpecError: the state it is in does not allow that, it died before it had
            begun, a limit is still in its way, or its task cannot be read.
        StoreError: its log cannot be read.
    """
    history = read_history(folder) if folder.events.exists() else History()
    events = history.kept_events(folder) if history.kept else []
    first = next((each for each in events if each.kind == RunStarted.KIND), None)
    if first is None:
        _check_is_new(folder, history)
    state = state_of(events)
    _check_state(folder, state, question)
    for key in overrides or {}:
        if not key.startswith("limits."):
            raise SpecError(
                f"`{key}` cannot change any more; only limits can, as in "
                "`--set limits.usd=5`"
            )
    begun = parse(first, RunStarted) if first else None
    changed = {**_raised_before(events, begun), **(overrides or {})}
    prepared = prepared_again(folder, host, changed, begun)
    check_covers_used(overrides or {}, prepared, used_of(history))
    if question:
        check_raised(folder, events, prepared, history, command="ask")
    elif state == "partial":
        check_partial(folder, events, prepared, history)
    notices = (
        *_damage(history),
        *_gone(history, folder),
        *changed_inputs(folder),
        *_early(events, host),
        *price_changes(
            events, models_used(prepared.models, prepared.profiles), host.price
        ),
    )
    return Past(
        folder=folder,
        prepared=prepared,
        started=begun,
        history=history,
        events=events,
        overrides=overrides or {},
        state=state,
        question=question,
        notices=notices,
    )


def _check_state(folder: RunFolder, state: str, question: str) -> None:
    if question and state not in FINISHED:
        if is_held(folder):
            raise SpecError(
                f"run `{folder.id}` is at work; a question can be asked once it has "
                f"finished (`orchestrate show {folder.handle}`)"
            )
        raise SpecError(
            f"run `{folder.id}` is not finished; `orchestrate resume {folder.handle}` "
            "goes on with it, and a question can be asked afterwards"
        )
    if not question and state in ("done", "failed"):
        raise SpecError(
            f"run `{folder.id}` is {state}; only a run that was stopped, killed, "
            "paused, parked or is partial can be resumed (`orchestrate ask` puts a "
            "further question to it)"
        )


def _check_is_new(folder: RunFolder, history: History) -> None:
    """Raise an error unless a run without a known start can begin, or go on."""
    if not folder.task.is_file():
        raise SpecError(
            f"run `{folder.id}` died before it had begun, so that nothing was spent; "
            "start its task again with `orchestrate run`"
        )
    if not history.last_seq and folder.run_json.exists():
        raise StoreError(
            f"`{folder.events}` is gone or empty; without it the run cannot go on"
        )


def _raised_before(events: Sequence[Event], begun: RunStarted | None) -> dict[str, str]:
    """Return the limits that earlier resumes changed, as overrides."""
    limits = begun.limits if begun else {}
    for event in events:
        if event.kind in (RunResumed.KIND, RunReopened.KIND):
            limits = {**limits, **(event.data.get("limits") or {})}
    first = begun.limits if begun else {}
    return {
        f"limits.{name}": orjson.dumps(value).decode()
        for name, value in limits.items()
        if value != first.get(name)
    }


def _damage(history: History) -> Iterator[str]:
    for each in history.damage[:MAX_DAMAGE]:
        yield f"the log is damaged, {each}; the rest of it is used"
    more = len(history.damage) - MAX_DAMAGE
    if more > 0:
        yield f"the log is damaged in {more} more places"


def _gone(history: History, folder: RunFolder) -> Iterator[str]:
    """Yield a line if texts that agents saw are not there any more."""
    there = {path.stem for path in folder.artifacts.glob("art_*")}
    gone = {
        seen.path
        for files in history.sightings.seen.values()
        for versions in files.values()
        for seen in versions
        if seen.artifact and seen.artifact not in there
    }
    if gone:
        files = "1 file" if len(gone) == 1 else f"{len(gone)} files"
        yield (
            f"what agents saw of {files} is gone from `{folder.artifacts}`: quotes "
            f"from there cannot be confirmed (`{min(gone)}`)"
        )


def _early(events: Sequence[Event], host: Host) -> Iterator[str]:
    """Yield a line if the run is parked until later."""
    until = parked_until(events, host.clock.now())
    if until is not None:
        yield (
            f"the run is parked until {when(until)}; before that, requests will "
            "probably be refused again"
        )


async def go_on(past: Past, host: Host, live: Live) -> RunResult:
    """Go on where the log ends, until the run ends or rests.

    The caller holds the lock of the run.

    Raises:
        StoreError: the folder cannot be written.
    """
    folder = past.folder
    for each in (folder.path, folder.artifacts, *folder.agents.glob("*")):
        remove_halves(each)
    log = _open_log(folder, host)
    try:
        if log.seq != past.history.last_seq:  # another process was at work
            past = read_past(folder, host, past.overrides, question=past.question)
        live.taken |= taken_in(past.events)
        salt = secrets.token_bytes(16)
        if past.started is not None:
            salt = bytes.fromhex(past.started.salt)
        async with opened(
            past.prepared,
            host,
            folder,
            log,
            salt=salt,
            past=past,
            on_event=live.on_event,
        ) as session:
            return await _gone_on(past, session, live, salt)
    finally:
        log.close()


async def _gone_on(past: Past, session: Session, live: Live, salt: bytes) -> RunResult:
    """Go on with what is left to do."""
    more = _announce(past, session, salt)
    await session.log.sync()
    reopened = parse(more[-1], RunReopened) if more else past.reopened
    if reopened is not None:
        session = _reopened(session, reopened)
    dispatcher, lead = _taken_over(past, session, more)
    await anyio.to_thread.run_sync(
        write_missing, session.files, past.folder, dispatcher.roster
    )
    live.begun(past.folder)
    return await work(session, live, dispatcher=dispatcher, lead=lead)


def _open_log(folder: RunFolder, host: Host) -> EventLog:
    is_there = folder.events.exists()
    opened = EventLog.reopen if is_there else EventLog.create
    return opened(folder.events, folder.id, Artifacts(folder.artifacts), host.clock)


def _reopened(session: Session, reopened: RunReopened) -> Session:
    """Return the session of a run whose lead had ended and goes on."""
    folder = session.folder
    if reopened.question:
        keep_earlier(folder, reopened.earlier)
        return replace(session, question=reopened.question)
    if not folder.report.exists():
        return session
    report = folder.report.read_text(encoding="utf-8", errors="replace")
    return replace(session, earlier_report=report, earlier_result=_result_of(folder))


def _result_of(folder: RunFolder) -> object:
    """Return the result of before, or None if there is none that can be read."""
    try:
        return orjson.loads(folder.result.read_bytes())
    except (OSError, ValueError):
        return None


def _taken_over(
    past: Past, session: Session, more: list[Event]
) -> tuple[Dispatcher, AgentPast]:
    """Return the subagents as earlier processes left them, and the past of the lead.

    Args:
        past: what those did.
        session: the live run.
        more: events of the lead since.
    """
    known = len(past.history.damage)
    below = _used_below(past)

    def past_of(agent: str, remake: Remake = no_remake) -> AgentPast:
        own = past.history.events_of(past.folder, agent)
        own += [event for event in more if event.agent == agent]
        seconds = past.history.worked.of(agent)
        used = below.get(agent, NOTHING)
        records = AgentRecords(own, seconds, past.history.lost, remake, used)
        return agent_past(session.services, agent, records)

    def events_of(agent: str) -> list[Event]:
        path, artifacts = past.folder.events, session.services.artifacts
        return list(read_events_of(path, agent, artifacts, is_damaged=True))

    events, highest = [*past.events, *more], past.history.highest
    roster = mustered(events, past_of, events_of, highest=highest)
    dispatcher = Dispatcher(session.crew(), roster=roster)
    remake = partial(dispatcher.remade, delivered=past.history.delivered)
    lead = past_of(LEAD, remake)
    for each in past.history.damage[known:]:
        logger.warning("log.damaged", lost=each)
    return dispatcher, lead


def _used_below(past: Past) -> dict[str, Amount]:
    """Return subagent → what those that it sent, and theirs, have used."""
    parents = {
        event.data["id"]: event.agent
        for event in past.events
        if event.kind == SubagentAccepted.KIND
    }
    used: dict[str, Amount] = {}
    for agent, parent in parents.items():
        amount, above = past.history.spent.of(agent), parent
        while above in parents:
            used[above] = used.get(above, NOTHING) + amount
            above = parents[above]
    return used


def _announce(past: Past, session: Session, salt: bytes) -> list[Event]:
    """Write down that the run goes on, and how it began if that is not known.

    Returns:
        What is new to the lead, if it had ended.
    """
    log = session.log
    more: list[Event] = []
    reopened = reopening(past, session)
    if reopened is not None:
        more.append(log.append(reopened, agent=LEAD))
    if past.started is None:
        first = log.append(started(session, salt))
        if log.newest(LEAD) == 0:
            log.link(LEAD, first.seq)
    if past.history.last_seq:
        after, limits = past.history.last_seq, new_limits(past)
        log.append(RunResumed(versions(), after, limits, prices=prices(session)))
    return more
