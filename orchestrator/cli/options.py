"""What several commands share in how they are given options and texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.settings import Settings

__all__ = [
    "TextCommand",
    "json_option",
    "limits_option",
    "runs_dir_option",
    "view_options",
]

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


def view_options(command: F) -> F:
    """Add `--plain`, `--json` and `--quiet`, given as `mode`."""
    for flag, text in (
        ("quiet", "Print nothing but the report."),
        ("json", "Print events as JSON lines on stdout instead of the report."),
        ("plain", "Print one line per event instead of the live view."),
    ):
        command = click.option(f"--{flag}", "mode", flag_value=flag, help=text)(command)
    return command


limits_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="limits.NAME=VALUE",
    help="Raise a limit, e.g. limits.usd=5; may be repeated.",
)


class TextCommand(click.Command):
    """A command whose text may be a list: `- Where?` is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take what begins like an item of a list for text, up to a `--`."""
        if "--" in args:
            return super().parse_args(ctx, args)
        texts = [each for each in args if each[:2] in ("- ", "-\t", "-\n")]
        rest = [each for each in args if each not in texts]
        return super().parse_args(ctx, [*rest, "--", *texts] if texts else rest)
