"""The commands that show how runs stand: `runs`, `show`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from orchestrator.cli.changes_text import (
    Found,
    change_lines,
    changed_phrase,
    changes_json,
    cut_off_phrase,
)
from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    fill,
    is_terminal,
    pad,
    print_json,
    safe,
    safe_lines,
)
from orchestrator.cli.tables import agent_table, run_table, summary_lines
from orchestrator.events.phrases import count_phrase, quoted
from orchestrator.inspection.changes import diffs_of
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.reading import (
    load_run,
    summarize,
)
from orchestrator.inspection.run import RunView
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder, find_run, list_runs

__all__ = ["runs", "show"]

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


# `\b` keeps the lines that follow it as they are.
SHOW_HELP = """Show how RUN stands: its agents, what it cost, what is missing and why.

RUN is an id, the start of one, a path, or `last`.

\b
in, out    tokens sent to and written by the model
cache      share of what was sent that came from the cache
explored   tokens of everything the agent's tools read
back       tokens it handed back to its parent
"""


@click.command(help=SHOW_HELP)
@click.argument("run")
@click.option("--changes", is_flag=True, help="What it changed in files, as a diff.")
@runs_dir_option
@json_option
def show(run: str, changes: bool, runs_dir: Path, as_json: bool) -> None:
    """Show how a run stands."""
    folder = find_run(runs_dir, run)
    view = load_run(folder)
    found = tuple(diffs_of(view.changes, Artifacts(folder.artifacts).read_text))
    if changes:
        _print_changes(folder, found, view.changes.cut_off, as_json=as_json)
    else:
        _print_state(folder, view, found, as_json=as_json)


def _print_changes(
    folder: RunFolder, found: Found, cut_off: Sequence[str], *, as_json: bool
) -> None:
    if as_json:
        told = {"cut_off": list(cut_off), **changes_json(found, with_diff=True)}
        print_json({"run": folder.path.name, **told})
        return
    for line in change_lines(found, style=Style()) if found else ():
        print(line)
    if not found and not cut_off:
        name = safe(folder.path.name)
        print(f"no files were changed in {name}", file=sys.stderr)
    if cut_off:
        print(cut_off_phrase(cut_off), file=sys.stderr)


def _print_state(
    folder: RunFolder, view: RunView, found: Found, *, as_json: bool
) -> None:
    now = datetime.now(UTC) if view.is_running else None
    files = {
        "folder": folder.path,
        "report": folder.report,
        "result": folder.result,
        "notes": folder.progress,
    }
    there = {name: str(path) for name, path in files.items() if path.exists()}
    earlier = [str(path) for path in folder.earlier_reports()]
    if as_json:
        state = {**run_figures(view, now), "files": there, "earlier_reports": earlier}
        print_json({**state, "files_changed": changes_json(found, with_diff=False)})
        return
    style = Style()
    for line in summary_lines(view, handle=folder.handle, now=now, style=style):
        print(line)
    print()
    for line in agent_table(view, now=now, style=style):
        print(line)
    for index, line in enumerate(_remarks(view)):
        print(line if index else "\n" + line)
    print()
    if found:
        print(f"files changed: {changed_phrase(found)}; see --changes\n")
    if cut_off := view.changes.cut_off:
        print(f"{cut_off_phrase(cut_off)}\n")
    for name, place in there.items():
        print(pad(name, 12) + safe(place))
    if "report" not in there:
        print(pad("report", 12) + ("not yet" if view.is_running else "none"))
    for index, place in enumerate(earlier):
        print(pad("" if index else "earlier", 12) + safe(place))


def _remarks(view: RunView) -> Iterator[str]:
    for wrong in view.wrong_citations[:MAX_LISTED]:
        yield fill(safe(f"wrong citation: {wrong}"), indent="  ", first="! ")
    if refused := view.refused_briefs:  # why is in the log, in words for the model
        verb = "was" if len(refused) == 1 else "were"
        text = f"{count_phrase(len(refused), 'brief')} {verb} refused: "
        more = ", …" if len(refused) > 1 else ""
        yield fill(safe(text + quoted(refused[0][0]) + more), indent="  ", first="! ")
    for agent, limit in view.limits_reached[:MAX_LISTED]:
        who = f"agent {agent}" if agent else "the run"
        yield f"! {safe(who)} reached its limit `{safe(limit)}`"
    if view.damaged:
        lost = count_phrase(view.damaged, "damaged record")
        yield f"! {lost} of the log passed over: figures may be too low"
    if view.unknown:
        kinds = ", ".join(f"{kind} ({n})" for kind, n in view.unknown.items())
        yield fill(
            safe(f"events of kinds this version does not know: {kinds}"),
            indent="  ",
            first="! ",
        )
    if view.traceback:
        yield "! a bug in the program:\n" + safe_lines(view.traceback.rstrip())
