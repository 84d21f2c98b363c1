"""The command `wait`: until a run ends, whoever works on it."""

from __future__ import annotations

from pathlib import Path

import click

from orchestrator.cli.following import follow
from orchestrator.cli.live import Mode
from orchestrator.cli.options import runs_dir_option, view_options
from orchestrator.store.layout import find_run

__all__ = ["wait"]


@click.command()
@click.argument("run")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait no longer than this; exit with 124 if the run is not over then.",
)
@runs_dir_option
@view_options
def wait(run: str, timeout: float | None, runs_dir: Path, mode: Mode | None) -> int:
    """Wait until RUN ends, print its report, and exit as the run did.

    Ctrl-C ends the waiting and not the run. A run that is paused is waited for; one
    that nobody works on is told as it is.
    """
    return follow(find_run(runs_dir, run), mode, timeout_s=timeout)
