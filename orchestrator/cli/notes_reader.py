"""The command that shows the notes of a run: `notes`."""

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
from orchestrator.events.base import moment
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.inspection.following import follow_text
from orchestrator.inspection.noted import NotedSection, noted_sections
from orchestrator.inspection.reading import text_of
from orchestrator.inspection.run_list import quick_summary
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.notes_back import read_back

__all__ = ["notes"]


@click.command()
@click.argument("run")
@click.option("--follow", "-f", is_flag=True, help="Show them again when they change.")
@runs_dir_option
@json_option
def notes(run: str, follow: bool, runs_dir: Path, as_json: bool) -> None:
    """Show the notes of RUN (progress.md): goal, plan, facts, what is next.

    On a terminal they are set for reading, and sections that a person changed say so;
    piped, the file comes as it is.
    """
    folder = find_run(runs_dir, run)
    text = text_of(folder.progress)
    if text is None and not follow:
        message = f"no notes yet in {folder.path.name}"
        if as_json:
            named = {"v": FIGURES_VERSION, "run": folder.path.name}
            print_json({**named, "path": None, "text": "", "sections": []})
        print(safe(message), file=sys.stderr)
        return
    texts = iter([text or ""])
    if follow:
        texts = follow_text(
            folder, folder.progress, is_whole=lambda newer: read_back(newer).is_whole
        )
    for count, newer in enumerate(texts):
        if count and not as_json:
            rule = f"── {clock_time(datetime.now(UTC))} "
            print("\n" + rule + "─" * (terminal_width() - len(rule)))
        _print(folder, newer, as_json=as_json, is_line=follow)
    if quick_summary(folder).state == "crashed":
        print(
            f"note: the run is crashed, nobody works on it; the notes are those of its "
            f"last moment (`orchestrate resume {safe(folder.handle)}` goes on)",
            file=sys.stderr,
        )


def _print(folder: RunFolder, text: str, *, as_json: bool, is_line: bool) -> None:
    if as_json:
        sections = [each.to_dict() for each in noted_sections(folder, text)]
        value = {"run": folder.path.name, "path": str(folder.progress), "text": text}
        named = {"v": FIGURES_VERSION, **value}
        print_json({**named, "sections": sections}, is_line=is_line)
    elif is_terminal():
        remarks = {
            each.section: _remark(each)
            for each in noted_sections(folder, text)
            if each.by == "person"
        }
        for line in rendered_notes(text, style=Style(), remarks=remarks):
            print(line)
    else:
        print(safe_lines(text), end="" if text.endswith("\n") else "\n")
    sys.stdout.flush()


def _remark(section: NotedSection) -> str:
    if not section.is_logged:
        return "changed by a person, not taken in yet"
    return f"changed by a person, {clock_time(moment(section.at), with_date=True)}"
