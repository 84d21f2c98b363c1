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
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from long_logs import long_run
from stopwatch import median_of, print_table

from orchestrator.cli.main import main as command
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events

SIZES = (1000, 100_000)
TIMES = 3
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


def _print(run: RunFolder) -> None:
    events = sum(1 for _ in read_events(run.events))
    size = run.events.stat().st_size
    base = median_of(TIMES, lambda: sum(1 for _ in read_events(run.events)))
    rows = [("read all", f"{base.cpu_s * 1000:.0f}", "1.00", "-")]
    for row in ROWS:
        cost = median_of(TIMES, lambda row=row: _run(run, row))  # type: ignore[misc]
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
