"""The ways into a run for one process: a task begins, or a run goes on.

The process keeps the run until it is over, is parked or is interrupted: while it is
paused, it waits.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.ids import LEAD, run_id
from orchestrator.runtime.host import Host
from orchestrator.runtime.inputs import write_inputs
from orchestrator.runtime.live import Live
from orchestrator.runtime.past import Past
from orchestrator.runtime.pausing import until_over
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.requests import forget
from orchestrator.runtime.result import RunResult
from orchestrator.runtime.resume import go_on
from orchestrator.runtime.run import work
from orchestrator.runtime.session import opened, started
from orchestrator.spec.task import Task
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder, create
from orchestrator.store.lock import RunLock

__all__ = ["Origin", "resume_run", "start"]


@dataclass(frozen=True, slots=True)
class Origin:
    """What tells one run from another: its id, and what keys its placeholders."""

    run: str
    salt: bytes


async def start(
    prepared: Prepared,
    host: Host,
    live: Live | None = None,
    *,
    origin: Origin | None = None,
) -> RunResult:
    """Run a task in a new folder and return what it came to.

    Args:
        prepared: the task and all that it names.
        host: what the process offers.
        live: the handle.
        origin: of the run that this one does again; None: it is a run of its own.

    Raises:
        SpecError: an MCP server of the task cannot be started, or commands could
            change earlier runs; nothing was spent.
        StoreError: the runs folder cannot be written; nothing was spent.
    """
    live = live or Live()
    _check_place(prepared.task, host.runs_dir)
    if origin is None:
        origin = Origin(_free_id(prepared.task.name, host), secrets.token_bytes(16))
    folder = create(host.runs_dir, origin.run)
    try:
        with RunLock(folder.lock):
            try:
                result = await _begun(prepared, host, folder, live, origin.salt)
                return await until_over(result, host, live)
            finally:
                forget(folder)
    finally:
        if not live.has_begun:  # nothing was spent: nothing is left behind
            shutil.rmtree(folder.path, ignore_errors=True)


async def resume_run(past: Past, host: Host, live: Live | None = None) -> RunResult:
    """Go on where the log ends: finished work is taken from it, never paid again.

    Raises:
        RunBusy: another process writes this run.
        StoreError: the folder cannot be written.
    """
    live = live or Live()
    with RunLock(past.folder.lock):
        try:
            return await until_over(await go_on(past, host, live), host, live)
        finally:
            forget(past.folder)


async def _begun(
    prepared: Prepared, host: Host, folder: RunFolder, live: Live, salt: bytes
) -> RunResult:
    """Begin in a folder that is new and locked; return how it ends, or rests."""
    artifacts = Artifacts(folder.artifacts)
    log = EventLog.create(folder.events, folder.id, artifacts, host.clock)
    try:
        async with opened(
            prepared, host, folder, log, salt=salt, on_event=live.on_event
        ) as session:
            write_inputs(session)
            log.link(LEAD, log.append(started(session, salt)).seq)
            await log.sync()
            live.begun(folder)
            return await work(session, live)
    finally:
        log.close()


def _check_place(task: Task, runs_dir: Path) -> None:
    """Refuse commands in a workspace whose top level earlier runs lie in.

    Each would have to be hidden on its own, and there may be thousands.
    """
    is_changed = {"shell", "write"} <= task.permissions.keys()
    if is_changed and runs_dir.resolve() == task.workspace.resolve():
        raise SpecError(
            "runs would lie in it directly, where commands could change earlier ones; "
            "name another folder for them with `--runs-dir`",
            field="workspace",
        )


def _free_id(name: str, host: Host) -> str:
    """Return the id of a new run; many runs of a batch begin in one second."""
    while True:
        run = run_id(name, host.clock.now(), salt=secrets.token_bytes(8))
        if not (host.runs_dir / run).exists():
            return run
