"""The commands that show how runs stand: `runs`, `show`, `notes`."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

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
from orchestrator.cli.tables import run_table
from orchestrator.errors import StoreError
from orchestrator.inspection.following import follow_text
from orchestrator.inspection.reading import (
    summarize,
)
from orchestrator.store.layout import RunFolder, find_run, list_runs

__all__ = ["notes", "runs", "show"]

DEFAULT_LIST = 20
MAX_LISTED = 20


@click.command()
@click.option("--all", "is_all", is_flag=True, help="All of them, not the newest 20.")
@runs_dir_option
@json_option
def runs(is_all: bool, runs_dir: Path, as_json: bool) -> None:
    """List runs, newest first: state, age, agents, tokens, dollars."""
    folders = list_runs(runs_dir)
    found = [summarize(each) for each in folders[: None if is_all else DEFAULT_LIST]]
    if as_json:
        print_json([run.to_dict() for run in found])
        return
    if not found:
        print(
            f"no runs in {safe(str(runs_dir))}; start one with "
            "`orchestrate run TASK.yaml`",
            file=sys.stderr,
        )
        return
    now, whole = datetime.now(UTC), not is_terminal()
    for line in run_table(found, now=now, style=Style(), whole_ids=whole):
        print(line)
    if len(folders) > len(found):
        older = len(folders) - len(found)
        print(f"{older} older ones: --all lists them", file=sys.stderr)


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
            print_json({"run": folder.path.name, "path": None, "text": ""})
        print(safe(message), file=sys.stderr)
        return
    texts = follow_text(folder, folder.progress) if follow else iter([text or ""])
    for count, newer in enumerate(texts):
        if count and not as_json:
            rule = f"── {clock_time(datetime.now(UTC))} "
            print("\n" + rule + "─" * (terminal_width() - len(rule)))
        _print_notes(folder, newer, as_json=as_json)
    if summarize(folder).state == "crashed":
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


def _print_notes(folder: RunFolder, text: str, *, as_json: bool) -> None:
    if as_json:
        value = {"run": folder.path.name, "path": str(folder.progress), "text": text}
        print_json(value)
    elif is_terminal():
        for line in rendered_notes(text, style=Style()):
            print(line)
    else:
        print(safe_lines(text), end="" if text.endswith("\n") else "\n")
    sys.stdout.flush()
