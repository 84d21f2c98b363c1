"""Runs that are killed at one moment that matters, each a fault others have had."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from explore_policy import ExplorePolicy
from fake_endpoint import tool_use
from kill_bench import (
    PATIENCE_S,
    KillBench,
    Left,
    Scar,
    Struck,
    kill_bench,
    records_of,
)
from kill_checks import faults, in_flight
from kill_effects import RAISES, STAYS
from kill_policy import UNKNOWN, Slow, title_of

from orchestrator.ids import sha256
from orchestrator.messages import Block, text_of

pytestmark = pytest.mark.kill

Until = Callable[[list[dict[str, Any]]], bool]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KillBench]:
    slow = Slow(ExplorePolicy(parts=3))
    with kill_bench(tmp_path_factory.mktemp("cases"), slow, has_effects=True) as bench:
        yield bench


@dataclass
class OneStep(ExplorePolicy):
    """The lead makes these calls in its first step, and reports after it."""

    first: Sequence[Block] = field(default_factory=list)

    def _lead(self, asked: dict[str, Any], done: int) -> list[Block]:
        if done == 0:
            return list(self.first)
        return [tool_use("toolu_end", "finish", report="It is done.")]


def killed(bench: KillBench, policy: ExplorePolicy, until: Until) -> tuple[Scar, Left]:
    """A run by `policy`, killed as soon as `until` holds, and gone on with."""
    bench.plays(Slow(policy, 0.05, 0.05))
    place = bench.new_place("case")
    scar = bench.attempt(place, PATIENCE_S, until)
    assert isinstance(scar, Scar), scar.said
    left = bench.to_its_end(place)
    assert left.said.get("state") == "done", left.said
    assert bench.endpoint.violations == policy.violations == []
    return scar, left


def kinds(records: list[dict[str, Any]]) -> Counter[str]:
    return Counter(each["kind"] for each in records)


def results(left: Left) -> dict[str, str]:
    """Call id → what the last request says of it."""
    return {
        block["tool_use_id"]: text_of([block])
        for message in orjson.loads(left.bodies[-1])["messages"]
        for block in message["content"]
        if block["type"] == "tool_result"
    }


@pytest.mark.slow
def test_of_a_step_that_is_killed_only_reads_that_had_not_ended_run_again(
    bench: KillBench,
) -> None:
    calls = [
        tool_use("t1", "enter", key="one"),
        tool_use("t2", "enter", key=f"{STAYS}-two"),
        tool_use("t3", "look", key=f"{STAYS}-three"),
        tool_use("t4", "look", key="four"),
    ]

    scar, left = killed(
        bench, OneStep(first=calls), lambda log: kinds(log)["tool.ended"] == 2
    )

    assert Counter(line.split()[1] for line in left.lines) == {
        "t1": 1,
        "t2": 1,
        "t3": 2,
        "t4": 1,
    }
    told = results(left)
    assert told["t1"] == "one is there."
    assert UNKNOWN in told["t2"]
    assert told["t3"] == f"{STAYS}-three is there."
    assert told["t4"] == "four is there."
    assert len(left.bodies) == 2
    assert scar.arrived == 1


def test_a_step_in_which_a_call_broke_is_not_made_again(bench: KillBench) -> None:
    calls = [
        tool_use("t1", "enter", key="one"),
        tool_use("t2", "look", key="two"),
        tool_use("t3", "enter", key=f"{RAISES}-three"),
    ]

    scar, left = killed(
        bench, OneStep(first=calls), lambda log: kinds(log)["model.requested"] == 2
    )

    assert kinds(records_of(scar.log))["tool.ended"] == 3
    assert sorted(line.split()[1] for line in left.lines) == ["t1", "t2", "t3"]
    told = results(left)
    assert [told["t1"], told["t2"]] == ["one is there.", "two is there."]
    assert "`enter` failed with RuntimeError: made to break." in told["t3"]
    assert sha256(left.bodies[-1]) == in_flight(scar.log)["lead"]


@dataclass
class OneIsQuick(ExplorePolicy):
    """The first worker hands in after its first reading."""

    def _worker(self, asked: dict[str, Any], done: int) -> list[Block]:
        is_over = title_of(asked) == "Part 1" and done == 1
        return super()._worker(asked, self.calls - 1 if is_over else done)


def test_of_three_subagents_the_finished_one_is_used_and_two_go_on(
    bench: KillBench,
) -> None:
    policy = OneIsQuick(parts=3, calls=5)

    scar, left = killed(
        bench,
        policy,
        lambda log: kinds(log)["subagent.ended"] == 1 and _asking(log) == 2,
    )

    before, after = left.bodies[: scar.arrived], left.bodies[scar.arrived :]
    asked = Counter(title_of(orjson.loads(body)) for body in after)
    assert asked["Part 1"] == 0
    assert asked["lead"] == 1
    flying = in_flight(scar.log)
    assert set(flying) == {"a2", "a3"}
    assert Counter(map(sha256, before + after)).most_common(3)[2][1] == 1
    assert set(list(dict.fromkeys(map(sha256, after)))[:2]) == set(flying.values())
    ended = kinds(records_of(left.log))
    assert ended["subagent.accepted"] == ended["subagent.ended"] == 3
    assert ended["agent.started"] == 1 + 3
    [told] = results(left).values()
    assert all(f"[a{number}#1]" in told for number in (1, 2, 3))


@pytest.mark.slow
def test_with_eight_subagents_at_work_only_calls_in_flight_are_repeated(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    slow = Slow(ExplorePolicy(parts=8, calls=12), 0.05, 0.05)
    with kill_bench(tmp_path, slow) as bench:
        whole = bench.whole(runs=1)
        place = bench.new_place("killed")
        scar = bench.attempt(
            place,
            PATIENCE_S,
            lambda log: (
                48 <= kinds(log)["model.answered"] <= len(bench.endpoint.bodies) - 6
            ),
        )
        assert isinstance(scar, Scar), scar.said
        struck = Struck(0, place, [scar], bench.to_its_end(place))

    assert faults(struck, whole, bench.endpoint) == []
    repeated = len(struck.left.bodies) - len(set(map(sha256, struck.left.bodies)))
    flying = len(in_flight(scar.log))
    assert 0 < repeated <= flying <= 9
    seconds = struck.left.to_first_s
    assert seconds is not None
    record_property("calls_repeated", repeated)
    record_property("resume_to_first_request_s", round(seconds, 4))
    sys.stdout.write(
        f"{len(whole.bodies)} calls, killed with {flying} in flight: {repeated} "
        f"repeated; from resume to its first request {seconds * 1000:.0f} ms\n"
    )


def _asking(log: list[dict[str, Any]]) -> int:
    """How many requests have no answer yet."""
    seen = kinds(log)
    return seen["model.requested"] - seen["model.answered"]
