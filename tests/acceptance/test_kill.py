"""Killed anywhere, a run goes on: nothing is lost, and nothing is paid for twice.

`KILL_MOMENTS` says how many moments there are, in all; `make kill-test` takes 200.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from kill_bench import KillBench, Struck, Whole, kill_bench
from kill_checks import faults, faults_of_effects
from kill_policy import KillPolicy, Slow

from orchestrator.ids import sha256

MOMENTS = int(os.environ.get("KILL_MOMENTS", "20"))
SHARDS = 4
"""Parts that the moments are dealt out to, for several processes."""

pytestmark = pytest.mark.kill


def seeds(shard: int) -> range:
    return range(shard, MOMENTS, SHARDS)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    with kill_bench(tmp_path_factory.mktemp("plain"), Slow(KillPolicy())) as bench:
        yield bench


@pytest.fixture(scope="module")
def whole(plain: KillBench) -> Whole:
    return plain.whole()


@pytest.fixture(scope="module")
def entering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    folder, policy = tmp_path_factory.mktemp("entering"), KillPolicy(has_effects=True)
    with kill_bench(folder, Slow(policy), has_effects=True) as bench:
        yield bench


@pytest.fixture(scope="module")
def whole_entering(entering: KillBench) -> Whole:
    return entering.whole()


def conclude(struck: Struck, found: list[str]) -> None:
    assert not found, "\n".join([str(struck), *found])
    shutil.rmtree(struck.place)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_killed_at_any_moment_a_run_ends_the_same_and_pays_once(
    plain: KillBench, whole: Whole, shard: int
) -> None:
    for seed in seeds(shard):
        struck = plain.strike(seed, whole.seconds)

        found = faults(struck, whole, plain.endpoint)
        # The very requests of a run that nobody disturbed, to the byte.
        sent = set(map(sha256, struck.left.bodies))
        found += [f"a request of its own: {each}" for each in sent - whole.bodies]
        found += [f"refused: {each}" for each in plain.policy.violations]
        conclude(struck, found)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_an_effect_is_never_made_twice_unless_the_model_was_told(
    entering: KillBench, whole_entering: Whole, shard: int
) -> None:
    policy = entering.policy
    assert isinstance(policy, KillPolicy)
    for seed in seeds(shard):
        struck = entering.strike(1000 + seed, whole_entering.seconds)

        found = faults(struck, whole_entering, entering.endpoint)
        found += faults_of_effects(struck, policy)
        found += [f"refused: {each}" for each in policy.violations]
        conclude(struck, found)
