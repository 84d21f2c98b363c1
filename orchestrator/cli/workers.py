"""The process that works on a run, as other processes see it."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from orchestrator.errors import OrchestratorError
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import Holder, holder, is_held

__all__ = ["READ_S", "WAIT_S", "too_late", "waited", "way_on", "worker", "works"]

WAIT_S = 30.0
"""How long the process has to end what it is at."""
POLL_S = 0.1
READ_S = 0.5
"""Between two readings of the log, which may be long."""
STARTING_S = 0.3
"""A process that takes the lock has written its number long before."""


def worker(folder: RunFolder) -> Holder:
    """Return the process that works on a run.

    Raises:
        ClickException: there is none.
    """
    found: list[Holder] = []

    def is_known() -> bool:
        by = holder(folder.lock) if is_held(folder) else None
        found[:] = [by] if by else []
        return bool(found) or not is_held(folder)

    waited(is_known, STARTING_S)
    if found:
        return found[0]
    if is_held(folder):
        raise click.ClickException(
            f"a process works on run `{folder.id}`, but `{folder.lock}` does not say "
            "which; end that process with Ctrl-C or SIGTERM"
        )
    view = load_run(folder)
    raise click.ClickException(
        f"nobody works on run `{folder.id}`, it is {view.state}{way_on(view, folder)}"
    )


def works(folder: RunFolder, by: Holder) -> bool:
    """Return whether that process still works on a run."""
    return is_held(folder) and holder(folder.lock) in (by, None)


def way_on(view: RunView, folder: RunFolder) -> str:
    """Return `; `, and the command that goes on with a run, or "" where none does."""
    if view.state == "partial":  # mostly a limit has to be raised
        return f"; `orchestrate show {folder.handle}` tells how to go on"
    resume = f"; `orchestrate resume {folder.handle}` goes on"
    return resume if view.is_resumable else ""


def waited(
    is_over: Callable[[], bool], limit_s: float, *, poll_s: float = POLL_S
) -> bool:
    """Wait until `is_over`, and return whether it was so in time."""
    deadline = time.monotonic() + limit_s
    while not is_over():
        if time.monotonic() >= deadline:
            return False
        time.sleep(poll_s)
    return True


def too_late(folder: RunFolder, by: Holder, wait_s: float) -> OrchestratorError:
    """Return the error of a process that does not do what it was asked for in time."""
    return OrchestratorError(
        f"process {by.pid} still works on run `{folder.id}` after {wait_s:g} s; the "
        f"request waits for it. `orchestrate show {folder.handle}` tells how it "
        f"stands, `kill -9 {by.pid}` ends it; `orchestrate resume` goes on in any case"
    )
