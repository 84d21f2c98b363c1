"""What the reading commands take on long logs, in processor time without the start.

    python tests/benchmarks/reading_cost.py [EVENTS …]

Each row is a command as it is typed; `read all` parses every record and does nothing
with it. What the commands print goes nowhere.
"""

from __future__ import annotations

import io
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from long_logs import long_run
from real_runs import offline_run
from stopwatch import median_of, print_table

from orchestrator.cli.main import main as command
from orchestrator.inspection.reading import RunSummary, summarize
from orchestrator.inspection.run_list import quick_summary
from orchestrator.store.layout import RunFolder, list_runs
from orchestrator.store.reading import read_events

SIZES = (1000, 100_000)
TIMES = 3
RUNS = 1000
ROWS: tuple[tuple[str, ...], ...] = (
    ("show",),
    ("show", "--by", "tool"),
    ("show", "--agent", "a5"),
    ("logs",),
    ("logs", "-n", "50"),
    ("logs", "-n", "50", "--follow"),
    ("logs", "--agent", "a5"),
    ("logs", "--kind", "subagent"),
    ("logs", "--errors"),
    ("logs", "--grep", "refund"),
    ("logs", "--cause", "300"),
    ("transcript", "a5"),
    ("context", "--agent", "a5"),
)
MEASURED_FOR_MEMORY = ("logs", "logs --agent a5", "logs -n 50", "transcript a5", "show")


class _Nowhere(io.StringIO):
    """Takes what is written and keeps nothing."""

    def write(self, text: str) -> int:
        return len(text)


def main(*sizes: int) -> None:
    """Print the tables."""
    for size in sizes or SIZES:
        with tempfile.TemporaryDirectory() as name:
            run = long_run(Path(name), size)
            _print(run)
    with tempfile.TemporaryDirectory() as name:
        _print_list(Path(name))


def _print_list(folder: Path) -> None:
    """Print what a list of many runs takes, with their logs and without."""
    one = offline_run(folder)
    many = folder / "many"
    for number in range(RUNS):
        copy = many / f"20261129-{number // 3600:02}{number // 60 % 60:02}00-x-{number}"
        copy.mkdir(parents=True)
        for path in (one.events, one.run_json, one.task):
            (copy / path.name).hardlink_to(path)
    folders = list_runs(many)
    ways = (("from run.json", quick_summary), ("from the log", summarize))
    costs = {
        name: median_of(1, partial(_each, way, folders)).cpu_s for name, way in ways
    }
    print_table(
        f"Listing {RUNS} runs",
        ("", "ms CPU"),
        [(name, f"{cpu_s * 1000:.0f}") for name, cpu_s in costs.items()],
    )


def _each(
    summary: Callable[[RunFolder], RunSummary], folders: Sequence[RunFolder]
) -> list[RunSummary]:
    return [summary(each) for each in folders]


def _print(run: RunFolder) -> None:
    events = sum(1 for _ in read_events(run.events))
    size = run.events.stat().st_size
    base = median_of(TIMES, lambda: sum(1 for _ in read_events(run.events)))
    rows = [("read all", f"{base.cpu_s * 1000:.0f}", "1.00", "-")]
    for row in ROWS:
        cost = median_of(TIMES, partial(_run, run, row))
        named = " ".join(row)
        peak = f"{_peak(run, row) / 1e6:.1f}" if named in MEASURED_FOR_MEMORY else "-"
        rows.append(
            (named, f"{cost.cpu_s * 1000:.0f}", f"{cost.cpu_s / base.cpu_s:.2f}", peak)
        )
    print_table(
        f"Reading {events} events, {size / 1e6:.0f} MB",
        ("", "ms CPU", "× read all", "MB at most"),
        rows,
    )


def _run(run: RunFolder, row: tuple[str, ...]) -> None:
    name, *rest = row
    with redirect_stdout(_Nowhere()), redirect_stderr(_Nowhere()):
        status = command([name, str(run.path), *rest])
    if status:
        raise RuntimeError(f"`{' '.join(row)}` gave {status}")


def _peak(run: RunFolder, row: tuple[str, ...]) -> int:
    """Return the most memory that was in use at a time, in bytes."""
    tracemalloc.start()
    try:
        _run(run, row)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
