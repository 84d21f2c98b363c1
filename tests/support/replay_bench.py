"""A run to replay: a lead with eight subagents, all of them often compacted."""

from __future__ import annotations

import shutil
from pathlib import Path

import anyio
from long_work import careful, is_summary, lay_parts
from refund_runs import replies_in, sent
from run_bench import Ended, finish, item, submit

from orchestrator.models.base import ModelRequest
from orchestrator.testing import FakeClock, ScriptedModel, Step, call
from orchestrator.testing.steps import first_text

__all__ = ["TITLES", "Reads", "copied", "record_eight"]

TITLES = tuple(f"Part {number}" for number in range(1, 9))
READS = 7


class Reads:
    """Plays the lead and its subagents: these read page after page, and hand in."""

    def __init__(self, *titles: str, reads: int = READS) -> None:
        self.titles, self.reads = titles or TITLES, reads
        self.turns: dict[str, int] = {}

    def __call__(self, request: ModelRequest) -> Step:
        if is_summary(request):
            return careful(request)
        about = first_text(request)
        title = next((each for each in self.titles if f"# {each}\n" in about), "")
        if not title:
            return self.lead(request)
        turn = self.turns[title] = self.turns.get(title, 0) + 1
        if turn <= self.reads:
            return call("read_file", path=f"part{turn}.md")
        line = "Part 1 has the code K-1037."
        return submit(item("The code of part 1 is K-1037.", "part1.md:1", line))

    def lead(self, request: ModelRequest) -> Step:
        if not replies_in(request):
            return sent(*self.titles)
        return finish("The code is K-1037 [part1.md:1].")


def record_eight(folder: Path) -> Ended:
    """Run it, and return how it ended."""

    async def work() -> Ended:
        bench = lay_parts(folder, READS + 1)
        return await bench.run(
            ScriptedModel(Reads()),
            clock=FakeClock(),
            context_policy={"every_turns": 3},
            limits={"concurrency": 8},
        )

    return anyio.run(work)


def copied(folder: Path, to: Path) -> Path:
    """Return a copy of a run in another place."""
    shutil.copytree(folder, to / folder.name)
    return to / folder.name
