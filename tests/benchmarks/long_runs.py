"""What it takes to go on with a long run, and to look at one.

    python tests/benchmarks/long_runs.py [EVENTS ...]

Times are inside of the process, after imports; only the last line of each log is a
whole command. A run that goes on has eight subagents in the middle of their work.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
from long_logs import CREW, long_run
from stopwatch import Cost, Watch, median_of, print_table

from orchestrator.inspection.reading import load_run
from orchestrator.models.base import ModelRequest
from orchestrator.models.pricing import price_of
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.snapshots import Snapshots, read_history
from orchestrator.runtime.start import resume_run
from orchestrator.store.layout import RunFolder
from orchestrator.testing import ScriptedModel, Step, hang

SIZES = (1_000, 10_000, 100_000)
TIMES = 3


def main(*sizes: int) -> None:
    """Print a table for each size."""
    price_of("claude-haiku-5-5")  # loads the table of prices
    for events in sizes or SIZES:
        with tempfile.TemporaryDirectory() as name:
            report(long_run(Path(name), events))


def report(run: RunFolder) -> None:
    """Print what the run takes."""
    log = run.events.read_bytes()
    # The notes of agents lie there as in a real run, and late imports are done.
    anyio.run(to_first_request, run, log)
    rows: list[tuple[str, Cost]] = []
    rows.append(("show: read the run", median_of(TIMES, lambda: load_run(run))))
    rows.append(("resume: read, no snapshot", median_of(TIMES, lambda: _fold(run))))
    rows.append(("resume: all, no snapshot", anyio.run(to_first_request, run, log)))
    Snapshots(run).write(len(log))
    snapshot = run.snapshot.read_bytes()
    rows.append(("resume: read, snapshot", median_of(TIMES, lambda: read_history(run))))
    rows.append(("resume: all, snapshot", anyio.run(to_first_request, run, log)))
    command = [sys.executable, "-m", "orchestrator", "show", str(run.path)]
    whole = median_of(
        TIMES, lambda: subprocess.run(command, check=True, capture_output=True)
    )
    rows.append(("`orchestrate show`, whole", whole))
    events = log.count(b"\n")
    print_table(
        f"A run of {events} events: log {len(log) / 1e6:.1f} MB, snapshot "
        f"{len(snapshot) / 1e6:.2f} MB, {CREW} subagents unfinished",
        ("", "s CPU", "s", "µs/event"),
        [
            (
                name,
                # Of the other process nothing is counted here.
                f"{cost.cpu_s:.3f}" if cost is not whole else "",
                f"{cost.wall_s:.3f}",
                f"{cost.wall_s / events * 1e6:.1f}",
            )
            for name, cost in rows
        ],
    )


def _fold(run: RunFolder) -> None:
    run.snapshot.unlink(missing_ok=True)
    read_history(run)


async def to_first_request(run: RunFolder, log: bytes) -> Cost:
    """Go on up to the first request, and stop; the log stays as it is."""
    live = Live()
    costs: list[Cost] = []

    def script(_request: ModelRequest) -> Step:
        costs.append(watch.cost())
        if len(costs) == CREW:
            live.scope.cancel()
        return hang()

    host = Host.of_process(runs_dir=run.path.parent, model=ScriptedModel(script))
    watch = Watch()
    await resume_run(read_past(run, host), host, live)
    run.events.write_bytes(log)
    return costs[0]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
