"""What one turn of an agent takes of the processor, early and late in a long run.

    python tests/benchmarks/turn_cost.py [TURNS]

A model that answers at once makes one call a turn whose result has some 2,700 tokens.
What is left is the program's own work: the loop, the log, the checks, the view, and
what keeps the context small. The figure of a turn is the mean of the turns around it
in which nothing was cleared; clears are told apart.
"""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
import time
from pathlib import Path

import anyio
import anyio.lowlevel
from agent_bench import DONE, AgentBench, Echo, use
from stopwatch import print_table

from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.pricing import Price, Rates
from orchestrator.spec.limits import AgentLimits

TURNS = 320
AROUND = 12
RESULT = "def handler(request, state):  # ticket OPS-20917, 4,250 EUR\n" * 130
PRICE = Price("m", (Rates(3, 15, 3.75, 6, 0.3),), "of a benchmark")


class Instant:
    """A model that answers at once: one call a turn, then the report."""

    def __init__(self, turns: int) -> None:
        self.at: list[float] = []
        self._turns = turns

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        self.at.append(time.process_time())
        await anyio.lowlevel.checkpoint()
        done, sent = len(self.at), len(request.body) // 4
        asked = use(f"t{done}", text=f"part {done}") if done < self._turns else DONE
        return Reply([asked], "tool_use", Usage(sent, output_tokens=60))

    async def aclose(self) -> None:
        return


async def played(folder: Path, turns: int, window: int) -> tuple[list[float], int]:
    """Return CPU seconds of each turn in order, and how many clears there were."""
    bench = AgentBench(
        folder, tools=[Echo(lambda _: RESULT)], price=PRICE, window=window
    )
    model = Instant(turns)
    limits = AgentLimits(turns=turns + 10, minutes=60)
    await bench.agent(model, bench.spec(limits=limits)).run()
    taken = [after - before for before, after in itertools.pairwise(model.at)]
    return taken, len(bench.events("context.cleared"))


def main(turns: int = TURNS) -> None:
    """Print the table."""
    rows = []
    for window in (200_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            taken, clears = anyio.run(played, Path(folder), turns, window)
        for turn in (10, 100, 300):
            if turn < len(taken):
                near = taken[max(turn - AROUND, 2) : turn + AROUND]
                figures = (statistics.median(near) * 1e3, max(near) * 1e3)
                name = f"window {window:,}, turn {turn}"
                rows.append((name, *(f"{each:.2f}" for each in figures)))
        mean = sum(taken) * 1e3 / len(taken)
        rows.append((f"window {window:,}, {clears} clears", f"{mean:.2f}", ""))
    print_table("Turns of one agent", ("", "ms CPU", "dearest near it"), rows)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
