"""What is said of a run at the end of a command that ran it, or waited for it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

from orchestrator.cli.output import safe_lines
from orchestrator.errors import StoreError

__all__ = ["say", "tell_end"]


def tell_end(
    state: str, folder: Path, *, report: str, reason: str, mode: str | None
) -> None:
    """Print the report on stdout, and on stderr what the run came to.

    Args:
        state: of the run.
        folder: the run's.
        report: Markdown, or "".
        reason: why it is not done, or "".
        mode: of the view; `quiet` says nothing of a run that is done.
    """
    if mode != "json" and report:
        print(safe_lines(report.rstrip()))
    sys.stdout.flush()
    if mode != "quiet" or state != "done":
        say(f"{state}: {folder}" + (f" ({safe_lines(reason)})" if reason else ""))
    if mode != "quiet" and state == "partial":
        _hint(folder)


def say(text: str) -> None:
    """Print a line on stderr; a full disk behind it ends no run."""
    with suppress(OSError):
        print(text, file=sys.stderr)


def _hint(path: Path) -> None:
    """Say which command does what a partial run lacks, if one does."""
    from orchestrator.cli.tables import next_step  # noqa: PLC0415 - rarely needed
    from orchestrator.inspection.reading import load_run  # noqa: PLC0415
    from orchestrator.store.layout import RunFolder  # noqa: PLC0415

    with suppress(StoreError):  # the report is out; its log may be gone
        folder = RunFolder(path)
        if step := next_step(load_run(folder), folder.handle):
            say(f"hint: for what is missing, `{step}`")
