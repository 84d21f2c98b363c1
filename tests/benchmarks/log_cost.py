"""What durability costs: an event of the log with and without waiting for the disk.

    python tests/benchmarks/log_cost.py [EVENTS] [FOLDER]

The program waits once before each request and once before each call with effects; in
between, lines are with the system already. All that wait at a time share one write.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from long_logs import long_run
from stopwatch import Cost, Watch, print_table
from store_parts import new_log

from orchestrator.events import KINDS, Payload, parse
from orchestrator.store.eventlog import EventLog
from orchestrator.store.reading import read_events

EVENTS = 3000
MANY = 50
Turn = Sequence[tuple[str, Payload]]


@dataclass(frozen=True)
class Mode:
    """One way to write the same events."""

    name: str
    tasks: int
    waits: str
    """`never`, `turn` or `event`."""


MODES = (
    Mode("no fsync", 1, "never"),
    Mode(f"once a turn, {MANY} agents", MANY, "turn"),
    Mode("once a turn, 1 agent", 1, "turn"),
    Mode(f"after each event, {MANY} agents", MANY, "event"),
    Mode("after each event, 1 agent", 1, "event"),
)


def main(events: int = EVENTS, folder: Path | None = None) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        root = Path(name)
        turns = turns_of(root, events)
        count = sum(map(len, turns))
        anyio.run(written, root / "warm-up", MODES[0], turns)
        costs = {
            mode: anyio.run(written, root / str(number), mode, turns)
            for number, mode in enumerate(MODES)
        }
        size = (root / "0" / "events.jsonl").stat().st_size
    base = costs[MODES[0]]
    print_table(
        f"The log: {count} events of {size // count} bytes on average",
        ("fsync", "µs CPU/event", "µs/event", "× CPU", "× time"),
        [
            (
                mode.name,
                f"{cost.cpu_s / count * 1e6:.1f}",
                f"{cost.wall_s / count * 1e6:.1f}",
                f"{cost.cpu_s / base.cpu_s:.1f}",
                f"{cost.wall_s / base.wall_s:.1f}",
            )
            for mode, cost in costs.items()
        ],
    )


def turns_of(root: Path, events: int) -> list[Turn]:
    """Return what a run writes, by turns: from one request up to the next."""
    (root / "run").mkdir()
    run = long_run(root / "run", events)
    found = [each for each in read_events(run.events) if each.kind in KINDS]
    turns: dict[str, list[tuple[str, Payload]]] = {}
    done: list[Turn] = []
    for event in found[:events]:
        if event.kind == "model.requested" and event.agent in turns:
            done.append(turns.pop(event.agent))
        turns.setdefault(event.agent, []).append(
            (event.agent, parse(event, KINDS[event.kind]))
        )
    return [*done, *turns.values()]


async def written(folder: Path, mode: Mode, turns: Sequence[Turn]) -> Cost:
    """Write all turns, shared out over tasks, and return what it took."""
    log = new_log(folder)
    watch = Watch()
    async with anyio.create_task_group() as group:
        for number in range(mode.tasks):
            group.start_soon(write, log, mode, turns[number :: mode.tasks])
    cost = watch.cost()
    log.close()
    return cost


async def write(log: EventLog, mode: Mode, turns: Sequence[Turn]) -> None:
    for turn in turns:
        for agent, payload in turn:
            log.append(payload, agent=agent)
            if mode.waits == "event":
                await log.sync()
        if mode.waits == "turn":
            await log.sync()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(int(given[0]) if given else EVENTS, Path(given[1]) if given[1:] else None)
