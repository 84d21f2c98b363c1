"""Killed anywhere, a run goes on: nothing is lost, and nothing is paid for twice.

`KILL_MOMENTS` says how many moments there are, in all; `make kill-test` takes 200. Runs
that direct take longer, and are killed at fewer.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from kill_bench import KillBench, Struck, Whole, kill_bench, records_of
from kill_checks import faults, faults_of_directing, faults_of_effects, in_flight
from kill_directing import directing_bench
from kill_policy import KillPolicy, Slow

from orchestrator.ids import sha256

MOMENTS = int(os.environ.get("KILL_MOMENTS", "8"))
DIRECTED = max(MOMENTS * 2 // 5, 1)
SHARDS = 4
"""Parts that the moments are dealt out to, for several processes."""

pytestmark = pytest.mark.kill


def seeds(shard: int, moments: int = MOMENTS) -> range:
    return range(shard, moments, SHARDS)


@pytest.fixture(scope="module")
def entering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    folder, policy = tmp_path_factory.mktemp("entering"), KillPolicy(has_effects=True)
    with kill_bench(folder, Slow(policy), has_effects=True) as bench:
        yield bench


@pytest.fixture(scope="module")
def whole_entering(entering: KillBench) -> Whole:
    return entering.whole()


@pytest.fixture(scope="module")
def directing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    with directing_bench(tmp_path_factory.mktemp("directing")) as bench:
        yield bench


@pytest.fixture(scope="module")
def whole_directing(directing: KillBench) -> Whole:
    return directing.whole()


class Tally(Counter[str]):
    """What the moments of one test came to, for the reader of its report."""

    def conclude(self, struck: Struck, found: list[str]) -> None:
        """Take in one moment; it fails if anything was found."""
        assert not found, "\n".join([str(struck), *found])
        shutil.rmtree(struck.place)
        bodies = struck.left.bodies
        logs = [records_of(scar.log) for scar in struck.scars]
        self["moments"] += 1
        self["kills"] += len(logs)
        self["kills before the run had begun"] += sum(not log for log in logs)
        self["calls in flight at a kill"] += sum(
            len(in_flight(scar.log)) for scar in struck.scars
        )
        self["calls"] += len(set(bodies))
        self["calls that were repeated"] += len(bodies) - len(set(bodies))

    def tell(self) -> None:
        told = ", ".join(f"{number} {what}" for what, number in self.items())
        sys.stdout.write(f"{told}\n")


@pytest.mark.parametrize("shard", range(SHARDS))
def test_killed_at_any_moment_a_run_ends_the_same_and_pays_once(
    plain: KillBench, whole: Whole, shard: int
) -> None:
    tally = Tally()
    for seed in seeds(shard):
        struck = plain.strike(seed, whole.seconds)

        found = faults(struck, whole, plain.endpoint)
        # The very requests of a run that nobody disturbed, to the byte.
        sent = set(map(sha256, struck.left.bodies))
        found += [f"a request of its own: {each}" for each in sent - whole.bodies]
        found += [f"refused: {each}" for each in plain.policy.violations]
        tally.conclude(struck, found)
    tally.tell()


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_an_effect_is_never_made_twice_unless_the_model_was_told(
    entering: KillBench, whole_entering: Whole, shard: int
) -> None:
    policy = entering.policy
    assert isinstance(policy, KillPolicy)
    tally = Tally()
    for seed in seeds(shard):
        struck = entering.strike(1000 + seed, whole_entering.seconds)

        found = faults(struck, whole_entering, entering.endpoint)
        found += faults_of_effects(struck, policy)
        found += [f"refused: {each}" for each in policy.violations]
        tally.conclude(struck, found)
    tally.tell()


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_killed_at_any_moment_each_result_arrives_once_and_is_paid_once(
    directing: KillBench, whole_directing: Whole, shard: int
) -> None:
    tally = Tally()
    for seed in seeds(shard, DIRECTED):
        struck = directing.strike(2000 + seed, whole_directing.seconds)

        found = faults_of_directing(struck, directing.endpoint)
        found += [f"refused: {each}" for each in directing.policy.violations]
        tally.conclude(struck, found)
    tally.tell()
