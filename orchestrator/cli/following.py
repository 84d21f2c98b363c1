"""Following a run that another process works on, to its end."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass

from orchestrator.cli.ending import say, tell_end
from orchestrator.cli.exits import EXIT_INTERRUPTED, EXIT_TIMEOUT
from orchestrator.cli.interrupts import interruptible
from orchestrator.cli.live import Mode, open_view
from orchestrator.errors import StoreError
from orchestrator.inspection.following import follow_events
from orchestrator.inspection.reading import load_run
from orchestrator.inspection.run import RunView
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import is_held

__all__ = ["follow"]

POLL_S = 0.25
_WITH_REPORT = frozenset({"done", "partial"})


class _TimeUp(Exception):
    """The run has not ended in time."""


@dataclass(frozen=True, slots=True)
class _Pace:
    """Waits between two looks, up to a moment.

    Attributes:
        deadline: in seconds of the monotonic clock, or None.
    """

    deadline: float | None

    def __call__(self, seconds: float) -> None:
        """Wait.

        Raises:
            _TimeUp: the moment has come.
        """
        if self.deadline is not None:
            left = self.deadline - time.monotonic()
            if left <= 0:
                raise _TimeUp
            seconds = min(seconds, left)
        time.sleep(seconds)


def follow(
    folder: RunFolder,
    mode: Mode | None,
    *,
    after: int | None = None,
    timeout_s: float | None = None,
) -> int:
    """Show a run until nobody works on it any more; return its exit status.

    Ctrl-C ends this and not the run.

    Args:
        folder: the run's.
        mode: of the view; None: the tree on a terminal, else lines.
        after: events up to this `seq` are left out; None: those of before, but with
            JSON none.
        timeout_s: how long to wait for the end; None: as long as it takes.

    Raises:
        StoreError: the run cannot be read.
    """
    view = load_run(folder)
    if after is None:
        after = 0 if mode == "json" else view.last_seq
        if view.state == "paused" and is_held(folder) and mode != "quiet":
            say(f"paused: {folder.path}; `orchestrate resume {folder.handle}` goes on")
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        with interruptible(signal.SIGINT):  # the view is closed then
            if is_held(folder):
                _show(folder, mode, view, after, _Pace(deadline))
            elif mode == "json":
                _show(folder, mode, view, after, _Pace(None))
    except _TimeUp:
        state = load_run(folder).state
        say(f"{state}: {folder.path} (not over after {timeout_s:g} s)")
        return EXIT_TIMEOUT
    except KeyboardInterrupt:
        stops = f"`orchestrate stop {folder.handle}` ends it"
        say(f"the run goes on: {folder.path}; {stops}")
        return EXIT_INTERRUPTED
    return _told(folder, mode)


def _show(
    folder: RunFolder, mode: Mode | None, view: RunView, after: int, pace: _Pace
) -> None:
    out = sys.stdout
    with open_view(mode or "auto", past=lambda: view, out=out) as shown:
        for event in follow_events(folder, poll_s=POLL_S, wait=pace):
            if event.seq > after:
                shown(event)


def _told(folder: RunFolder, mode: Mode | None) -> int:
    """Say how the run ended, and return its exit status."""
    view = load_run(folder)
    report = _report(folder) if view.state in _WITH_REPORT else ""
    reason = view.reason
    if view.state == "crashed":
        reason = f"its process died; `orchestrate resume {folder.handle}` goes on"
    tell_end(view.state, folder.path, report=report, reason=reason, mode=mode)
    return EXIT_INTERRUPTED if view.exit_code is None else view.exit_code


def _report(folder: RunFolder) -> str:
    try:
        return folder.report.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise StoreError(f"cannot read `{folder.report}`: {error.strerror}") from error
