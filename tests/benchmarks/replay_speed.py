"""How fast a run is replayed: events a second, beside reading them and the run itself.

    python tests/benchmarks/replay_speed.py [SUBAGENTS [READS]]

The run is one of a scripted model that answers at once, so that what it takes is the
program's own work; a replay does that work again, with every request compared.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import anyio
from long_work import lay_parts
from replay_bench import Reads
from run_bench import Ended
from stopwatch import Cost, Watch, print_table

from orchestrator.runtime.replaying.record import read_record
from orchestrator.runtime.replaying.replay import replay
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, ScriptedModel

SUBAGENTS, READS = 40, 12


async def recorded(folder: Path, subagents: int, reads: int) -> Ended:
    """Run it."""
    titles = [f"Part {number}" for number in range(1, subagents + 1)]
    bench = lay_parts(folder, reads)
    limits = {"subagents": subagents, "concurrency": subagents, "tokens": 10**9}
    model = ScriptedModel(Reads(*titles, reads=reads))
    return await bench.run(model, clock=FakeClock(), limits=limits)


def main(subagents: int = SUBAGENTS, reads: int = READS) -> None:
    """Print the table."""
    costs: dict[str, Cost] = {}
    with tempfile.TemporaryDirectory() as name:
        watch = Watch()
        ended = anyio.run(recorded, Path(name), subagents, reads)
        costs["the run itself"] = watch.cost()
        folder = RunFolder(ended.folder)
        watch = Watch()
        events = len(read_record(folder).events)
        costs["its log, read"] = watch.cost()
        watch = Watch()
        found = replay(folder)
        costs["its replay"] = watch.cost()
    whole = costs["the run itself"].cpu_s
    print_table(
        f"{events:,} events, {found.requests:,} requests; "
        f"{found.same:,} of them the same in the replay",
        ("", "wall s", "CPU s", "events/s", "x the run's CPU"),
        [
            (
                what,
                f"{cost.wall_s:.2f}",
                f"{cost.cpu_s:.2f}",
                f"{events / cost.wall_s:,.0f}",
                f"{cost.cpu_s / whole:.2f}",
            )
            for what, cost in costs.items()
        ],
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
