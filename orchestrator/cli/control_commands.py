"""The commands that halt a live run, through its `control/` folder: `stop`, `pause`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from orchestrator.cli.options import runs_dir_option
from orchestrator.cli.output import safe
from orchestrator.cli.workers import (
    READ_S,
    WAIT_S,
    too_late,
    waited,
    way_on,
    worker,
    works,
)
from orchestrator.ids import LEAD
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.store.control import PAUSE, STOP, Request, send
from orchestrator.store.layout import RunFolder, find_run

__all__ = ["pause", "pause_run", "stop", "stop_agent", "stop_run"]


@click.command()
@click.argument("run")
@click.option("--agent", metavar="AGENT", help="Only this subagent; the run goes on.")
@runs_dir_option
def stop(run: str, agent: str | None, runs_dir: Path) -> None:
    """Stop RUN as one Ctrl-C would: what is finished is kept, `resume` goes on.

    One that is paused ends too.

    With --agent that subagent alone ends, for good; the lead is told, and gets what
    the subagent has so far.
    """
    folder = find_run(runs_dir, run)
    print(safe(stop_run(folder) if agent is None else stop_agent(folder, agent)))


@click.command()
@click.argument("run")
@runs_dir_option
def pause(run: str, runs_dir: Path) -> None:
    """Pause RUN: nothing more is sent, what is under way comes in and is recorded.

    Its process waits, and its time stands still. `resume` lets it go on, `steer` tells
    its lead something before that, and `stop` ends it; if it dies, nothing is lost.
    """
    print(safe(pause_run(find_run(runs_dir, run))))


def pause_run(folder: RunFolder, *, wait_s: float = WAIT_S) -> str:
    """Ask whoever works on a run to pause it, and return what came of it, in a line.

    Args:
        folder: the run's.
        wait_s: how long to wait until all has come in.

    Raises:
        ClickException: nobody works on it.
        OrchestratorError: the process does not take the request.
    """
    by, view = worker(folder), load_run(folder)
    if view.state == "paused":
        return f"paused already: {folder.path}{way_on(view, folder)}"
    request = send(folder.control, Request(PAUSE, by))

    def rests() -> bool:
        return not works(folder, by) or load_run(folder).state == "paused"

    if waited(rests, wait_s, poll_s=READ_S):
        view = load_run(folder)
        return f"{view.state}: {folder.path}{way_on(view, folder)}"
    if request.exists():
        raise too_late(folder, by, wait_s)
    return (
        f"{folder.path} is being paused: what is under way comes in first; "
        f"`orchestrate show {folder.handle}` tells when it is"
    )


def stop_run(folder: RunFolder, *, wait_s: float = WAIT_S) -> str:
    """Ask whoever works on a run to stop, and return what it ended as, in a line.

    Args:
        folder: the run's.
        wait_s: how long to wait for the end.

    Raises:
        ClickException: nobody works on it.
        OrchestratorError: it has not ended in time.
    """
    by = worker(folder)
    send(folder.control, Request(STOP, by))
    if not waited(lambda: not works(folder, by), wait_s):
        raise too_late(folder, by, wait_s)
    if not folder.path.exists():
        return f"stopped before it had begun: {folder.id}; nothing was spent"
    view = load_run(folder)
    return f"{view.state}: {folder.path}{way_on(view, folder)}"


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
    by = worker(folder)
    _check_at_work(folder, agent)
    began = time.monotonic()
    request = send(folder.control, Request(STOP, by, agent))
    is_taken = waited(lambda: not request.exists() or not works(folder, by), wait_s)
    if not is_taken:
        raise too_late(folder, by, wait_s)
    left = wait_s - (time.monotonic() - began)

    def has_come_of_it() -> bool:
        view = load_run(folder)
        is_over = view.agent(agent).state == "ended" or view.state == "paused"
        return is_over or not works(folder, by)

    over = waited(has_come_of_it, left, poll_s=READ_S)
    view = load_run(folder)
    if view.state == "paused" and works(folder, by):
        return f"`{agent}` ends as soon as run {folder.id} goes on: it is paused"
    return _came_of(view, folder, agent, is_over=over)


def _came_of(view: RunView, folder: RunFolder, agent: str, *, is_over: bool) -> str:
    """Return what became of a subagent that was to stop.

    Args:
        view: its run.
        folder: the run's.
        agent: its id.
        is_over: it, or its run, ended in time.

    Raises:
        ClickException: it ended by itself.
    """
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
    if is_over:
        return f"{view.state}: {folder.path}; `{agent}` was stopped with its run"
    return f"`{agent}` was told to stop and is ending (run {folder.id})"


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
