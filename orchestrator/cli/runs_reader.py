"""The command `runs`: which there are, how they stand, what they cost in all."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from orchestrator.cli.options import json_option, runs_dir_option
from orchestrator.cli.output import (
    Style,
    is_terminal,
    print_json,
    safe,
)
from orchestrator.cli.run_table import run_table, totals_line
from orchestrator.cli.when import moment_of
from orchestrator.inspection.figures import FIGURES_VERSION
from orchestrator.inspection.run_list import ORDERS, Wanted, listed
from orchestrator.inspection.states import STATES
from orchestrator.store.layout import list_runs

__all__ = ["runs"]

DEFAULT_LIST = 20


@click.command()
@click.option(
    "--state",
    "states",
    multiple=True,
    type=click.Choice(STATES),
    help="In which they are; repeatable.",
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
