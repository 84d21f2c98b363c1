"""Letting a run go on that is paused, in the process that keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.cli.workers import WAIT_S, too_late, waited, worker, works
from orchestrator.errors import RunBusy
from orchestrator.inspection.reading import load_run
from orchestrator.store.control import GO_ON, Request, send
from orchestrator.store.layout import RunFolder

__all__ = ["check_is_paused", "let_go_on"]


def check_is_paused(folder: RunFolder) -> None:
    """Make sure that a run that a process works on can go on because it is paused.

    Raises:
        RunBusy: it is at work.
    """
    view = load_run(folder)
    if view.state != "paused":
        what = "is being paused" if view.said.asked == "pause" else "is at work"
        raise RunBusy(
            f"run `{folder.id}` {what} in another process; `orchestrate wait "
            f"{folder.handle}` waits for its end, `pause` and `stop` halt it"
        )


def let_go_on(
    folder: RunFolder, limits: Mapping[str, str], *, wait_s: float = WAIT_S
) -> int:
    """Let a paused run go on; return the `seq` before what comes then.

    It returns 0 where its process has died meanwhile: it can be resumed as any.

    Args:
        folder: the run's.
        limits: those that change, as `limits.usd` → value; they were checked.
        wait_s: how long its process has to take this.

    Raises:
        ClickException: nobody works on it any more.
        OrchestratorError: the process does not take the request.
    """
    by, after = worker(folder), load_run(folder).last_seq
    request = send(folder.control, Request(GO_ON, by, limits=dict(limits)))
    taken = waited(lambda: not request.exists() or not works(folder, by), wait_s)
    if not taken:
        raise too_late(folder, by, wait_s)
    return 0 if request.exists() else after
