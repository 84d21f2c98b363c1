"""Whoever ends when: each result is delivered once, and nobody waits for ever."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest
from directed_bench import AGENTS, PATIENCE_S
from directed_checks import faults_of_run
from directed_policy import FILES, DirectedPolicy
from random_plans import DEPTH, RandomPace, random_plans
from run_bench import Ended, RunBench

from orchestrator.testing import ScriptedModel

pytestmark = pytest.mark.slow

SEEDS = int(os.environ.get("RACES", "200"))
FEW = 9
SHARDS = 8
AT_ONCE = (1, 2, 8)


async def races(folder: Path, seed: int) -> tuple[Ended, list[str]]:
    """Play the plans of a seed at the pace of it, and return what is wrong then."""
    bench = RunBench(folder, FILES)
    policy = DirectedPolicy(random_plans(seed), RandomPace(seed).before)
    limits = {"depth": DEPTH, "subagents": 30, "concurrency": AT_ONCE[seed % 3]}
    with anyio.fail_after(PATIENCE_S):
        ended = await bench.run(ScriptedModel(policy), agents=AGENTS, limits=limits)
    is_done = ended.result.state == "done"
    found = faults_of_run(ended.events(), all_arrive=is_done)
    found += [f"refused: {each}" for each in policy.refused]
    if ended.result.state not in ("done", "partial"):
        found.append(f"{ended.result.state}: {ended.result.reason}")
    return ended, found


@pytest.mark.parametrize("seed", range(FEW))
async def test_at_any_pace_each_result_is_delivered_once(
    tmp_path: Path, seed: int
) -> None:
    _, found = await races(tmp_path, seed)

    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_in_two_hundred_races_each_result_is_delivered_once(
    tmp_path: Path, shard: int
) -> None:
    for seed in range(FEW + shard, FEW + SEEDS, SHARDS):
        folder = tmp_path / str(seed)
        folder.mkdir()

        _, found = await races(folder, seed)

        assert found == [], seed
