"""The list of runs as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from orchestrator.cli.output import (
    Style,
    age,
    cut,
    dollars,
    pad,
    safe,
    state_color,
    terminal_width,
    width,
)
from orchestrator.events.base import moment
from orchestrator.events.phrases import count_phrase, duration, tokens
from orchestrator.inspection.reading import RunSummary
from orchestrator.inspection.states import AT_REST

__all__ = ["run_table", "totals_line"]

_RUN_FIGURES_COLUMNS = 46
"""State, age, agents, tokens, usd and the blanks before each."""


def run_table(
    runs: Sequence[RunSummary], *, now: datetime, style: Style, whole_ids: bool
) -> Iterator[str]:
    """Yield the list of runs, a heading first.

    Args:
        runs: in the order wanted.
        now: for their ages.
        style: colours.
        whole_ids: never cut an id, whatever the width; a cut one still begins with
            its time, and the start of an id is enough for every command.
    """
    id_columns = max([len("run"), *(len(run.id) for run in runs)])
    if not whole_ids:
        id_columns = min(id_columns, terminal_width() - _RUN_FIGURES_COLUMNS)
    task_columns = max([len("task"), *(width(safe(run.task)) for run in runs)])
    room = terminal_width() - id_columns - _RUN_FIGURES_COLUMNS - 2
    has_task = room >= 4
    task_columns = min(task_columns, room)

    def line(run: str, task: str, state: str, *rest: str) -> str:
        named = [pad(run, id_columns), *([pad(task, task_columns)] if has_task else [])]
        figures = [
            pad(text, columns, right=True)
            for text, columns in zip(rest, (8, 6, 7, 7), strict=True)
        ]
        shown = style(pad(state, 11), state_color(state))
        return "  ".join([*named, shown]) + " " + " ".join(figures)

    yield style(line("run", "task", "state", "age", "agents", "tokens", "usd"), "bold")
    for run in runs:
        started = moment(run.started)
        yield line(
            safe(run.id),
            safe(run.task),
            safe(run.state),
            age(started, now) if started else "?",
            str(run.agents),
            tokens(run.tokens),
            dollars(run.usd),
        )
        if run.state in AT_REST:
            at = moment(run.resume_at)
            until = f"until {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC: " if at else ""
            text = cut(until + safe(run.reason), terminal_width() - 2)
            yield style("  " + text, "dim")


def totals_line(totals: dict[str, Any], *, style: Style) -> str:
    """Return the sums of a list of runs, in one line."""
    states = ", ".join(
        f"{count} {safe(state)}" for state, count in totals["by_state"].items()
    )
    price = "? usd" if totals["usd"] is None else f"{dollars(totals['usd'])} usd"
    also = "" if totals["usd_is_whole"] else " at least"
    return style(
        f"{count_phrase(totals['runs'], 'run')} ({states}): "
        f"{tokens(totals['tokens'])} tokens, {price}{also}, "
        f"{duration(totals['seconds'])} at work",
        "dim",
    )
