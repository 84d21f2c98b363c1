"""What the snapshots of a live run cost it, beside writing its log.

python tests/benchmarks/snapshot_cost.py [EVENTS]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from long_logs import long_run
from stopwatch import Cost, Watch, print_table
from store_parts import new_log

from orchestrator.events import KINDS, parse
from orchestrator.runtime.snapshots import SNAPSHOT_BYTES, Snapshots
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events

EVENTS = 20_000


def main(events: int = EVENTS, every_bytes: int = SNAPSHOT_BYTES) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "run").mkdir()
        run = long_run(Path(name) / "run", events)
        appended, count = appending(run, Path(name) / "copy")
        snapshots, written = following(run, every_bytes)
        size = run.snapshot.stat().st_size if written else 0
    print_table(
        f"{written} snapshots in a run of {count} events, one every "
        f"{every_bytes / 1e6:.1f} MB; the last has {size / 1e3:.0f} kB",
        ("", "µs CPU/event", "× log"),
        [
            (name, f"{cost.cpu_s / count * 1e6:.1f}", f"{cost.cpu_s / base:.2f}")
            for base in [appended.cpu_s]
            for name, cost in (
                ("the log, no fsync", appended),
                ("snapshots", snapshots),
            )
        ],
    )


def appending(run: RunFolder, folder: Path) -> tuple[Cost, int]:
    """Write the same events once more; return what it took and how many there are."""
    payloads = [
        (event.agent, parse(event, KINDS[event.kind]))
        for event in read_events(run.events)
        if event.kind in KINDS
    ]
    log = new_log(folder)
    watch = Watch()
    for agent, payload in payloads:
        log.append(payload, agent=agent)
    cost = watch.cost()
    log.close()
    return cost, len(payloads)


def following(run: RunFolder, every_bytes: int) -> tuple[Cost, int]:
    """Write all snapshots of a run that grows; return what it took and how many."""
    snapshots = Snapshots(run, every_bytes=every_bytes)
    written, watch = 0, Watch()
    for size in range(every_bytes, run.events.stat().st_size, every_bytes):
        if snapshots.is_due(size):
            snapshots.write(size)
            written += 1
    return watch.cost(), written


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
