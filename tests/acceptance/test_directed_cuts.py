"""A directed run that is cut off anywhere goes on: each result arrives exactly once."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from directed_bench import SCENES, Whole, events_of, faults, whole_run

from orchestrator.events import Event

pytestmark = pytest.mark.slow

SHARDS = 8
TWICE = 24
"""Runs that are cut off, gone on with, and cut off once more."""

NUMBER = 12
"""Places that are tried often."""


@pytest.fixture(scope="module")
def directed(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return whole_run(SCENES["all ways"], tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module", params=list(SCENES))
def whole(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Whole:
    return whole_run(SCENES[request.param], tmp_path_factory.mktemp("whole"))


def test_the_run_that_is_cut_off_directs_in_all_ways(directed: Whole) -> None:
    events = directed.events

    kinds = {event.kind for event in events}
    assert {"subagent.asked", "brief.reused", "limit.reached"} <= kinds
    late = [e.data["delivers"] for e in events if e.kind == "text.added"]
    assert sum(map(bool, late)) >= 2
    delivered = {each for e in events for each in e.data.get("delivers", ())}
    assert {"a1", "a1/1", "a1/2"} <= delivered
    held = [e.agent for e in events if e.data.get("unfinished")]
    assert held[-1:] == ["lead"]
    assert len(set(held)) == 3
    cancelled = [
        (e.data["id"], e.data["reason"])
        for e in events
        if e.kind == "subagent.ended" and e.data["outcome"] == "cancelled"
    ]
    reasons = " ".join(reason for _, reason in cancelled)
    assert reasons.count("cancelled it: ") == 2
    assert reasons.count("ended before it did") == 2


def places(events: tuple[Event, ...]) -> Iterator[int]:
    """Numbers of the first records of each kind that a result is on its way behind."""
    seen: set[tuple[object, ...]] = set()
    for number, event in enumerate(events[:-1], 1):
        data = event.data
        is_delivery = bool(data.get("delivers"))
        is_telling = event.kind.startswith(("subagent.", "control.", "agent.ended"))
        is_left = "ended before it did" in data.get("reason", "")
        about = event.kind, data.get("outcome"), bool(data.get("question")), is_left
        if about not in seen and (is_telling or is_delivery):
            seen.add(about)
            yield number


@pytest.mark.parametrize("number", range(NUMBER))
async def test_cut_off_where_results_are_on_their_way_each_arrives_once(
    directed: Whole, tmp_path: Path, number: int
) -> None:
    records = list(places(directed.events))
    assert len(records) == NUMBER
    record = records[number]
    run = directed.cut(tmp_path, record, torn=bool(number % 2))

    found = await faults(directed, run)

    assert found == [], directed.events[record - 1]


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_cut_off_after_any_event_each_result_arrives_once(
    whole: Whole, tmp_path: Path, shard: int
) -> None:
    for records in range(2 + shard, len(whole.lines) - 1, SHARDS):
        run = whole.cut(tmp_path / str(records), records, torn=records % 3 == 0)

        found = await faults(whole, run, hastily=records // SHARDS % 2 == 0)

        assert found == [], (records, whole.events[records - 1])


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
async def test_cut_off_twice_each_result_arrives_once(
    whole: Whole, tmp_path: Path, shard: int
) -> None:
    for seed in range(shard, TWICE, SHARDS):
        dice = random.Random(seed)
        to = tmp_path / str(seed)
        first = dice.randrange(2, len(whole.lines) - 1)
        run = whole.cut(to, first)
        assert await faults(whole, run, hastily=bool(seed % 2)) == [], seed
        lines = (run / "events.jsonl").read_bytes().splitlines(keepends=True)
        second = dice.randrange(first + 1, len(lines) - 1)
        again = whole.copy(to / "again", b"".join(lines[:second]))

        found = await faults(whole, again, hastily=bool(seed % 3))

        assert found == [], (seed, first, second, events_of(again)[second - 1])
