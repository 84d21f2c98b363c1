"""Eight subagents of twelve calls each, and something wrong with one call in twenty."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from explore_policy import ExplorePolicy, lay_parts
from fake_endpoint import Answer, Block, message
from fault_bench import left_by
from faults import REPLIES, WIRE
from run_bench import Ended, RunBench
from serving import serving

PARTS = 8
CALLS = 12
USUAL = PARTS * CALLS + 2
ONE_IN = 20
QUICK = (
    "429", "429 and a time", "529", "500", "overload inside", "error inside",
    "reset before headers", "reset midway", "end midway", "half a JSON",
    "cut by the output limit", "input that is no JSON", "input that does not fit",
)  # fmt: skip
SLOW = (*QUICK, "trickle", "silence", "pings midway")


@dataclass
class Mixed(ExplorePolicy):
    """Of each twenty requests, one that is drawn by lot meets a fault drawn by lot."""

    seed: int = 0
    names: tuple[str, ...] = QUICK
    asked: int = 0
    met: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._lots = random.Random(self.seed)
        self._unlucky = -1

    def done(self, asked: dict[str, Any]) -> int:
        """Steps that came to something; the others are made again."""
        return sum(
            block["type"] == "tool_result" and not block.get("is_error")
            for each in asked["messages"]
            for block in each["content"]
        )

    def say(self, asked: dict[str, Any], content: list[Block]) -> Answer:
        place = self.asked % ONE_IN
        if place == 0:
            self._unlucky = self._lots.randrange(ONE_IN)
        self.asked += 1
        if place != self._unlucky:
            return super().say(asked, content)
        name = self._lots.choice(self.names)
        self.met[name] += 1
        if name in WIRE:
            return WIRE[name].make(message(*content))
        return self._slip(name, content)

    def _slip(self, name: str, content: list[Block]) -> Answer:
        *before, last = content
        slip = {**last, "id": f"slip_{self.asked}"}
        answer = REPLIES[name].make(message(*before, slip))
        # Only an input that is JSON is kept.
        kept = {"x": 1} if name == "input that does not fit" else {}
        super().say({}, [*before, {**slip, "input": kept}])
        return answer


async def run(
    folder: Path, policy: Mixed, **limits: float
) -> tuple[Ended, Mixed, list[str]]:
    bench = RunBench(folder)
    lay_parts(bench.root, PARTS)
    async with serving(bench.runs, policy) as (endpoint, here):
        result = await here.run(bench.task(model="claude-haiku-5-5", limits=limits))
    return left_by(result), policy, [*endpoint.violations, *policy.violations]


def check(ended: Ended, policy: Mixed, violations: list[str]) -> None:
    assert violations == []
    assert (ended.result.state, ended.result.missing) == ("done", [])
    assert sum(policy.met.values()) >= USUAL // ONE_IN
    assert policy.asked <= 1.1 * USUAL
    for number in range(1, PARTS + 1):
        told = ended.json(f"agents/a{number}/findings.json")
        assert told["status"] == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_one_call_in_twenty_goes_wrong_and_all_is_done_for_a_tenth_more(
    tmp_path: Path, seed: int
) -> None:
    check(*await run(tmp_path, Mixed(PARTS, CALLS, seed=seed)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_also_where_some_take_their_time(tmp_path: Path, seed: int) -> None:
    policy = Mixed(PARTS, CALLS, seed=seed, names=SLOW)

    check(*await run(tmp_path, policy, silence_s=1.5, call_s=3))


async def test_without_a_fault_so_many_requests_are_made(tmp_path: Path) -> None:
    policy = Mixed(2, 4, names=("529",))

    ended, policy, violations = await run(tmp_path, policy)

    assert violations == []
    assert ended.result.state == "done"
    assert policy.asked == 2 * 4 + 2 + sum(policy.met.values())
