"""Options that several commands share, and how they find a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.settings import Settings

__all__ = ["json_option", "runs_dir_option"]

F = TypeVar("F", bound=Callable[..., Any])


def runs_dir_option(command: F) -> F:
    """Add `--runs-dir`, given to the command as `runs_dir: Path`."""
    return click.option(
        "--runs-dir",
        type=click.Path(path_type=Path),
        default=lambda: Settings.load(os.environ).runs_dir,
        metavar="DIR",
        help="Where runs are kept (default ./runs; also ORCHESTRATE_RUNS_DIR).",
    )(command)


def json_option(command: F) -> F:
    """Add `--json`, given to the command as `as_json: bool`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print JSON, for other programs."
    )(command)
