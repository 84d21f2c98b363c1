"""Going on with a run of an earlier process, from its log alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.agent.past import run_seconds, spent_in
from orchestrator.agent.rebuild import rebuild
from orchestrator.errors import SpecError, StoreError
from orchestrator.events import (
    Event,
    LimitReachedEvent,
    ReportSubmitted,
    RunEnded,
    RunResumed,
    RunStarted,
    parse,
)
from orchestrator.runtime.host import Host
from orchestrator.runtime.lead import LEAD
from orchestrator.runtime.prepare import Prepared, prepare
from orchestrator.runtime.result import RunResult
from orchestrator.runtime.run import Live, work
from orchestrator.runtime.session import open_session, versions
from orchestrator.spec.loader import load_task
from orchestrator.spec.task import ModelChoice
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog, read_events
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock
from orchestrator.subagents.dispatch import Dispatcher

__all__ = ["Past", "reopen", "resume_run"]

CLOSED = frozenset({"done", "failed"})
"""States that cannot be gone on with."""


@dataclass(frozen=True, slots=True)
class Past:
    """A run as its log tells it.

    Attributes:
        folder: its folder.
        prepared: its task and what that names, limits changed as asked for.
        started: how it began.
        events: all of its log.
        overrides: the limits that change.
    """

    folder: RunFolder
    prepared: Prepared
    started: RunStarted
    events: Sequence[Event]
    overrides: Mapping[str, str]

    @property
    def has_report(self) -> bool:
        """Return whether a report is there that a raised limit does not reopen."""
        stopped = any(
            event.kind == LimitReachedEvent.KIND and event.agent == LEAD
            for event in self.events
        )
        return not stopped and any(
            event.kind == ReportSubmitted.KIND and event.data["accepted"]
            for event in self.events
        )

    @property
    def last_seq(self) -> int:
        """Return `seq` of the last event that was read."""
        return max(event.seq for event in self.events)


def reopen(
    folder: RunFolder, host: Host, overrides: Mapping[str, str] | None = None
) -> Past:
    """Read a run that is to go on; nothing is written.

    Args:
        folder: the run's.
        host: what the process offers.
        overrides: limits that change, as `limits.usd` → value.

    Raises:
        SpecError: it is over, or its task cannot be read.
        StoreError: its log cannot be read or holds no start.
    """
    events = list(read_events(folder.events, Artifacts(folder.artifacts)))
    first = next((each for each in events if each.kind == RunStarted.KIND), None)
    if first is None:
        raise StoreError(f"`{folder.events}` does not hold the start of a run")
    state = _state(events)
    if state in CLOSED:
        raise SpecError(
            f"run `{folder.id}` is {state}; only a run that was stopped, killed or is "
            "partial can be resumed"
        )
    started = parse(first, RunStarted)
    changed = dict(overrides or {})
    for key in changed:
        if not key.startswith("limits."):
            raise SpecError(
                f"`{key}` cannot change on resume; only limits can, as in "
                "`--set limits.usd=5`"
            )
    # The models are those it began with, whatever the defaults are by now.
    models = ModelChoice(
        lead=started.models["lead"], subagents=started.models["subagents"]
    )
    task = load_task(folder.task, changed)
    prepared = prepare(
        task.model_copy(update={"model": models}),
        settings=host.settings,
        env=host.env,
        price_of=host.price,
        task_folder=folder.inputs,
        needs_credentials=not host.brings_model,
    )
    return Past(folder, prepared, started, events, changed)


async def resume_run(past: Past, host: Host, live: Live | None = None) -> RunResult:
    """Go on where the log ends: finished work is taken from it, never paid again.

    Raises:
        RunBusy: another process writes this run.
        StoreError: the folder cannot be written.
    """
    live = live or Live()
    folder = past.folder
    with RunLock(folder.lock):
        artifacts = Artifacts(folder.artifacts)
        log = EventLog.reopen(folder.events, folder.id, artifacts, host.clock)
        try:
            if log.seq != past.last_seq:  # another process went on in between
                past = reopen(folder, host, past.overrides)
            session = open_session(
                past.prepared,
                host,
                folder,
                log,
                salt=bytes.fromhex(past.started.salt),
                past=past.events,
                on_event=live.on_event,
            )
            session.progress.carried_s = run_seconds(past.events)
            session.services.budget.book(spent_in(past.events))
            limits = session.prepared.task.limits.model_dump()
            new = {**limits, "usd": past.prepared.usd} if past.overrides else {}
            log.append(RunResumed(versions(), log.seq, new))
            await log.sync()
            dispatcher = Dispatcher(session.crew(), past=past.events)
            return await work(
                session,
                live,
                dispatcher=dispatcher,
                lead=rebuild(session.services, LEAD, past.events),
            )
        finally:
            log.close()


def _state(events: Sequence[Event]) -> str:
    """Return the state that the log ends in."""
    state = "running"
    for event in events:
        if event.kind == RunEnded.KIND:
            state = event.data["state"]
        elif event.kind == RunResumed.KIND:
            state = "running"
    return state
