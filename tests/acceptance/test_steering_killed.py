"""Killed anywhere around a steer or a pause, a run tells the lead each thing once.

`KILL_MOMENTS` says how many runs there are: a fifth of it, for each test.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import FakeEndpoint
from kill_bench import (
    KillBench,
    Left,
    Scar,
    Struck,
    Whole,
    Zygote,
    records_of,
)
from kill_checks import faults
from person import Person
from steered_runs import HEARD, Reading, lay_work, said_in, told_in

from orchestrator.ids import sha256
from orchestrator.store.control import STEER, pending
from orchestrator.store.layout import RunFolder

MOMENTS = max(int(os.environ.get("KILL_MOMENTS", "8")) // 5, 6)
SHARDS = 2
MAX_ATTEMPTS = 12

pytestmark = pytest.mark.kill


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    folder = tmp_path_factory.mktemp("steered")
    lay_work(folder)
    reading = Reading(steps=10, pause_s=0.02)
    with Zygote(folder) as zygote, FakeEndpoint(reading) as endpoint:
        yield KillBench(folder, zygote, endpoint, Plain(reading))  # type: ignore[arg-type]


@dataclass
class Plain:
    """What the bench wants to know of an endpoint's script."""

    policy: Reading
    arrived: list[float] = field(default_factory=list)


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_each_thing_is_told_once_whatever_dies_when(
    bench: KillBench, shard: int
) -> None:
    tally: Counter[str] = Counter()
    for seed in range(shard, MOMENTS, SHARDS):
        place = bench.new_place(f"seed{seed}")
        person = Person(random.Random(seed), place)
        scars, left = _to_its_end(bench, place, person)
        assert left.folder is not None
        run = RunFolder(left.folder)
        where = f"seed {seed} in {place}"

        assert left.said["state"] == "done", (where, left.said)
        said = [text.partition("\n\n")[2] for _, text in told_in(run)]
        told = [text.rpartition("\n\n")[0] for text in said]
        late = len(pending(run.control))  # the lead had handed in
        assert told == person.said[: len(person.said) - late], where
        heard = said_in(left.bodies[-1]).split(HEARD)[1:]
        assert len(heard) == len(told), where
        records = records_of(left.log)
        taken = [each["data"].get("request") for each in records if _is_said(each)]
        assert len(taken) == len({*taken}) == len(told), where
        answered = Counter(
            each["data"]["turn"] for each in records if each["kind"] == "model.answered"
        )
        assert set(answered.values()) == {1}, where
        assert bench.endpoint.violations == [], where
        tally.update(kills=len(scars), pauses=person.pauses, told=len(told), late=late)
    sys.stdout.write(f"{dict(tally)}\n")


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_paused_and_killed_at_any_moment_a_run_ends_the_same_and_pays_once(
    plain: KillBench, whole: Whole, shard: int
) -> None:
    tally: Counter[str] = Counter()
    for seed in range(shard, MOMENTS, SHARDS):
        place = plain.new_place(f"seed{seed}")
        person = Person(random.Random(3000 + seed), place, most=0, share=0.03)
        scars, left = _to_its_end(plain, place, person)
        struck = Struck(seed, place, scars or [Scar(0, b"", 0)], left)

        found = faults(struck, whole, plain.endpoint)
        # The very requests of a run that nobody disturbed, to the byte.
        sent = set(map(sha256, left.bodies))
        found += [f"a request of its own: {each}" for each in sent - whole.bodies]
        found += [f"refused: {each}" for each in plain.policy.violations]
        assert not found, "\n".join([str(struck), *found])
        tally.update(kills=len(scars), pauses=person.pauses)
    sys.stdout.write(f"{dict(tally)}\n")


def _is_said(record: dict[str, Any]) -> bool:
    is_received = record["kind"] == "control.received"
    return is_received and bool(record["data"]["action"] == STEER)


def _to_its_end(
    bench: KillBench, place: Path, person: Person
) -> tuple[list[Scar], Left]:
    """Let it run, and go on with it after each kill; return those, and its end."""
    scars: list[Scar] = []
    for _ in range(MAX_ATTEMPTS):
        left = bench.attempt(place, 60, until=person)
        if isinstance(left, Scar):
            scars.append(left)
        elif left.said.get("state") == "done":
            return scars, left
    raise AssertionError(f"{place} does not come to its end")
