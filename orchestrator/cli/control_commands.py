"""The commands that act on a live run, through its `control/` folder: `stop`."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import click

from orchestrator.cli.options import runs_dir_option
from orchestrator.cli.output import safe
from orchestrator.errors import OrchestratorError
from orchestrator.ids import LEAD
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.reading import load_run
from orchestrator.store.control import STOP, Request, send
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.lock import Holder, holder, is_held

__all__ = ["stop", "stop_agent", "stop_run"]

WAIT_S = 30.0
"""How long the process has to end what it is at."""
POLL_S = 0.1
READ_S = 0.5
"""Between two readings of the log, which may be long."""
STARTING_S = 0.3
"""A process that takes the lock has written its number long before."""


@click.command()
@click.argument("run")
@click.option("--agent", metavar="AGENT", help="Only this subagent; the run goes on.")
@runs_dir_option
def stop(run: str, agent: str | None, runs_dir: Path) -> None:
    """Stop RUN as one Ctrl-C would: what is finished is kept, `resume` goes on.

    With --agent that subagent alone ends, for good; the lead is told, and gets what
    the subagent has so far.
    """
    folder = find_run(runs_dir, run)
    print(safe(stop_run(folder) if agent is None else stop_agent(folder, agent)))


def stop_run(folder: RunFolder, *, wait_s: float = WAIT_S) -> str:
    """Ask whoever works on a run to stop, and return what it ended as, in a line.

    Args:
        folder: the run's.
        wait_s: how long to wait for the end.

    Raises:
        ClickException: nobody works on it.
        OrchestratorError: it has not ended in time.
    """
    by = _worker(folder)
    send(folder.control, Request(STOP, by))
    if not _waited(lambda: not _works(folder, by), wait_s):
        raise _too_late(folder, by, wait_s)
    if not folder.path.exists():
        return f"stopped before it had begun: {folder.id}; nothing was spent"
    view = load_run(folder)
    after = (
        f"; `orchestrate resume {folder.handle}` goes on" if view.is_resumable else ""
    )
    return f"{view.state}: {folder.path}{after}"


def stop_agent(folder: RunFolder, agent: str, *, wait_s: float = WAIT_S) -> str:
    """Ask whoever works on a run to stop one subagent; return what came of it.

    Args:
        folder: the run's.
        agent: id of the subagent.
        wait_s: how long to wait for its end.

    Raises:
        ClickException: nobody works on the run, or there is no such agent at work.
        OrchestratorError: the process does not take the request.
    """
    by = _worker(folder)
    _check_at_work(folder, agent)
    began = time.monotonic()
    request = send(folder.control, Request(STOP, by, agent))
    is_taken = _waited(lambda: not request.exists() or not _works(folder, by), wait_s)
    if not is_taken:
        raise _too_late(folder, by, wait_s)
    left = wait_s - (time.monotonic() - began)
    over = _waited(
        lambda: _agent(folder, agent).state == "ended" or not _works(folder, by),
        left,
        poll_s=READ_S,
    )
    view = load_run(folder)
    found = view.agents[agent]
    newest = found.answers.all[-1]  # it may have been at work on a further question
    outcome = newest.outcome if newest.is_over else found.outcome
    if outcome == "cancelled":
        return f"cancelled: {agent} (run {folder.id} is {view.state})"
    if found.state == "ended":
        raise click.ClickException(
            f"`{agent}` ended by itself before it could be stopped "
            f"({newest.word if newest.is_over else found.label})"
        )
    if over:
        return f"{view.state}: {folder.path}; `{agent}` was stopped with its run"
    return f"`{agent}` was told to stop and is ending (run {folder.id})"


def _worker(folder: RunFolder) -> Holder:
    """Return the process that works on a run.

    Raises:
        ClickException: there is none.
    """
    found: list[Holder] = []

    def is_known() -> bool:
        by = holder(folder.lock) if is_held(folder) else None
        found[:] = [by] if by else []
        return bool(found) or not is_held(folder)

    _waited(is_known, STARTING_S)
    if found:
        return found[0]
    if is_held(folder):
        raise click.ClickException(
            f"a process works on run `{folder.id}`, but `{folder.lock}` does not say "
            "which; end that process with Ctrl-C or SIGTERM"
        )
    view = load_run(folder)
    after = (
        f"; `orchestrate resume {folder.handle}` goes on" if view.is_resumable else ""
    )
    raise click.ClickException(
        f"nobody works on run `{folder.id}`, it is {view.state}{after}"
    )


def _check_at_work(folder: RunFolder, agent: str) -> None:
    view = load_run(folder)
    if agent == LEAD:
        raise click.ClickException(
            "`lead` is the run itself; leave --agent out to stop all of it"
        )
    found = view.agents.get(agent)
    if found is None or found.role != "subagent":
        at_work = [each.id for each in view.subagents if each.state != "ended"]
        there = ", ".join(at_work) or "none"
        raise click.ClickException(
            f"run `{folder.id}` has no subagent `{agent}`; at work: {there}"
        )
    if found.state == "ended":
        raise click.ClickException(f"`{agent}` has ended already ({found.label})")


def _agent(folder: RunFolder, agent: str) -> AgentView:
    return load_run(folder).agent(agent)


def _works(folder: RunFolder, by: Holder) -> bool:
    return is_held(folder) and holder(folder.lock) in (by, None)


def _waited(
    is_over: Callable[[], bool], limit_s: float, *, poll_s: float = POLL_S
) -> bool:
    """Wait until `is_over`, and return whether it was so in time."""
    deadline = time.monotonic() + limit_s
    while not is_over():
        if time.monotonic() >= deadline:
            return False
        time.sleep(poll_s)
    return True


def _too_late(folder: RunFolder, by: Holder, wait_s: float) -> OrchestratorError:
    return OrchestratorError(
        f"process {by.pid} still works on run `{folder.id}` after {wait_s:g} s; the "
        f"request waits for it. `orchestrate show {folder.handle}` tells how it "
        f"stands, `kill -9 {by.pid}` ends it; `orchestrate resume` goes on in any case"
    )
