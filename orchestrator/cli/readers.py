"""The commands `runs`, a list, and `notes`, the notes of the lead."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.notes_text import rendered_notes
from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    clock_time,
    is_terminal,
    print_json,
    safe,
    safe_lines,
    terminal_width,
)
from orchestrator.cli.run_table import run_table, totals_line
from orchestrator.cli.when import moment_of
from orchestrator.errors import StoreError
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.inspection.following import follow_text
from orchestrator.inspection.run_list import ORDERS, Wanted, listed, quick_summary
from orchestrator.store.layout import RunFolder, find_run, list_runs

__all__ = ["notes", "runs"]

DEFAULT_LIST = 20


@click.command()
@click.option(
    "--state", "states", multiple=True, help="`done`, `crashed`, …; repeatable."
)
@click.option("--task", default="", metavar="TEXT", help="Whose task's name has it.")
@click.option(
    "--since", metavar="WHEN", help="Begun since: `2h`, `20:15`, `2026-11-29 20:15`."
)
@click.option(
    "--sort",
    "order",
    type=click.Choice([*ORDERS]),
    help="Of all runs, those with the most; else the newest first.",
)
@click.option("-n", "most", type=click.IntRange(1), help="So many; 20 if not said.")
@click.option("--all", "is_all", is_flag=True, help="All of them.")
@runs_dir_option
@json_option
def runs(
    states: tuple[str, ...],
    task: str,
    since: str | None,
    runs_dir: Path,
    as_json: bool,
    **bounds: Any,  # noqa: ANN401 - click gives them
) -> None:
    """List runs, newest first: state, age, agents, tokens, dollars, and their sums."""
    begun = moment_of(since, field="--since") if since else None
    wanted = Wanted(frozenset(states), task, begun)
    most = None if bounds["is_all"] else bounds["most"] or DEFAULT_LIST
    found = listed(list_runs(runs_dir), wanted, most=most, order=bounds["order"] or "")
    if as_json:
        print_json({"v": FIGURES_VERSION, **found.to_dict()})
        return
    if not found.runs and wanted != Wanted():
        print(f"no such run in {safe(str(runs_dir))}", file=sys.stderr)
        return
    if not found.runs:
        print(
            f"no runs in {safe(str(runs_dir))}; start one with "
            "`orchestrate run TASK.yaml`",
            file=sys.stderr,
        )
        return
    now, whole = datetime.now(UTC), not is_terminal()
    for line in run_table(found.runs, now=now, style=Style(), whole_ids=whole):
        print(line)
    if len(found.runs) > 1:
        print(totals_line(found.totals, style=Style()))
    if found.more:
        which = "more" if bounds["order"] or wanted != Wanted() else "older ones"
        print(f"{found.more} {which}: --all lists them", file=sys.stderr)


@click.command()
@click.argument("run")
@click.option("--follow", "-f", is_flag=True, help="Show them again when they change.")
@runs_dir_option
@json_option
def notes(run: str, follow: bool, runs_dir: Path, as_json: bool) -> None:
    """Show the notes of RUN (progress.md): goal, plan, facts, what is next.

    On a terminal they are set for reading; piped, the file comes as it is.
    """
    folder = find_run(runs_dir, run)
    text = _notes_text(folder)
    if text is None and not follow:
        message = f"no notes yet in {folder.path.name}"
        if as_json:
            print_json(
                {
                    "v": FIGURES_VERSION,
                    "run": folder.path.name,
                    "path": None,
                    "text": "",
                }
            )
        print(safe(message), file=sys.stderr)
        return
    texts = follow_text(folder, folder.progress) if follow else iter([text or ""])
    for count, newer in enumerate(texts):
        if count and not as_json:
            rule = f"── {clock_time(datetime.now(UTC))} "
            print("\n" + rule + "─" * (terminal_width() - len(rule)))
        _print_notes(folder, newer, as_json=as_json, is_followed=follow)
    if quick_summary(folder).state == "crashed":
        print(
            f"note: the run is crashed, nobody works on it; the notes are those of its "
            f"last moment (`orchestrate resume {safe(folder.handle)}` goes on)",
            file=sys.stderr,
        )


def _notes_text(folder: RunFolder) -> str | None:
    try:
        return folder.progress.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(
            f"cannot read `{folder.progress}`: {error.strerror}"
        ) from error


def _print_notes(
    folder: RunFolder, text: str, *, as_json: bool, is_followed: bool
) -> None:
    if as_json:
        value = {"run": folder.path.name, "path": str(folder.progress), "text": text}
        print_json({"v": FIGURES_VERSION, **value}, is_line=is_followed)
    elif is_terminal():
        for line in rendered_notes(text, style=Style()):
            print(line)
    else:
        print(safe_lines(text), end="" if text.endswith("\n") else "\n")
    sys.stdout.flush()
