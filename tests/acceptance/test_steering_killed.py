"""Killed anywhere around a steer or a pause, a run tells the lead each thing once.

`KILL_MOMENTS` says how many runs there are, in all; `make kill-test` takes 200.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_endpoint import FakeEndpoint
from kill_bench import KillBench, Left, Zygote, records_of
from steered_runs import HEARD, Reading, lay_work, said_in, told_in

from orchestrator.store.control import GO_ON, PAUSE, STEER, Request, pending, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder

MOMENTS = int(os.environ.get("KILL_MOMENTS", "8"))
SHARDS = 2
MAX_ATTEMPTS = 12

pytestmark = pytest.mark.kill


@dataclass
class Person:
    """Says things, pauses and lets go on, and kills, at moments of the log.

    Attributes:
        chance: chooses the moments.
        place: where the run is.
        said: the words, in order.
        kills: how often it may still kill.
    """

    chance: random.Random
    place: Path
    said: list[str] = field(default_factory=list)
    kills: int = 2
    seen: int = 0
    left: int = 0

    def __call__(self, records: list[dict[str, Any]]) -> bool:
        """Act on what is new in the log; return whether to kill now."""
        if len(records) == self.seen:
            if self.left:  # a moment after the last act
                self.left -= 1
                return self.left == 0
            return False
        self.seen = len(records)
        last = records[-1]
        is_paused = (last["kind"], last["data"].get("state")) == ("run.ended", "paused")
        if last["kind"] == "run.ended" and not is_paused:
            self.left = 0
            return False
        if is_paused or self.chance.random() < 0.15:
            self._acts(is_paused=is_paused)
            if self.kills and self.chance.random() < 0.5:
                self.kills -= 1
                self.left = self.chance.randint(1, 150)  # looks, of two milliseconds
        return False

    def _acts(self, *, is_paused: bool) -> None:
        [path] = (self.place / "runs").glob("2*")
        run = RunFolder(path)
        if len(self.said) < 6 and self.chance.random() < 0.7:
            words = f"Word number {len(self.said)}, please."
            send(run.control, Request(STEER, None, text=words))
            self.said.append(words)
        elif not is_paused:
            send(run.control, Request(PAUSE, holder(run.lock)))
        if is_paused:
            send(run.control, Request(GO_ON, holder(run.lock)))


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
    for seed in range(shard, MOMENTS, SHARDS):
        place = bench.new_place(f"seed{seed}")
        person = Person(random.Random(seed), place)
        left = _to_its_end(bench, place, person)
        assert left.folder is not None
        run = RunFolder(left.folder)
        where = f"seed {seed} in {place}"

        assert left.said["state"] == "done", (where, left.said)
        told = [text.partition("\n\n")[2] for _, text in told_in(run)]
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


def _is_said(record: dict[str, Any]) -> bool:
    is_received = record["kind"] == "control.received"
    return is_received and bool(record["data"]["action"] == STEER)


def _to_its_end(bench: KillBench, place: Path, person: Person) -> Left:
    for _ in range(MAX_ATTEMPTS):
        left = bench.attempt(place, 60, until=person)
        if isinstance(left, Left) and left.said.get("state") == "done":
            return left
    raise AssertionError(f"{place} does not come to its end")
