"""Each fault at each place of a run: how it ends, what it costs, what is kept.

| fault | once |
|---|---|
| no whole answer | `done`; the same request once more, and no other is changed |
| a slip of the model | `done`; one request more |
| odd, but right | `done`; no request more |
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from fake_endpoint import FakeEndpoint
from fault_bench import CALLS, FILES, PLACES, FaultPolicy, serving
from faults import HARMLESS, REPLIES, WIRE, Fault
from run_bench import Ended, RunBench

MODEL = "claude-haiku-5-5"


def every(faults: Mapping[str, Fault]) -> list[Any]:
    """Each fault at each place; beside those that take time, one in seven is quick.

    So each fault and each place are among the quick ones.
    """
    cases = []
    for row, name in enumerate(faults):
        for column, place in enumerate(PLACES):
            is_slow = bool(faults[name].limits) or (row + column) % len(PLACES)
            marks = [pytest.mark.slow] if is_slow else []
            cases.append(
                pytest.param(faults[name], place, marks=marks, id=f"{name}, {place}")
            )
    return cases


def asked(endpoint: FakeEndpoint) -> set[bytes]:
    """All requests that differ, whatever ids the messages before them had."""
    return {
        orjson.dumps({k: v for k, v in each.items() if k != "diagnostics"})
        for each in endpoint.requests
    }


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> set[bytes]:
    """The requests of a run without a fault."""

    async def run() -> set[bytes]:
        bench = RunBench(tmp_path_factory.mktemp("usual"), FILES)
        async with serving(bench, FaultPolicy()) as (endpoint, here):
            result = await here.run(bench.task(model=MODEL))
        assert (result.state, result.missing) == ("done", [])
        assert len(endpoint.requests) == CALLS
        return asked(endpoint)

    return anyio.run(run)


async def passes(
    bench: RunBench, fault: Fault, place: str, *, costs: int
) -> tuple[FakeEndpoint, Ended]:
    """Run with a fault that comes once; check what holds for all of them."""
    policy = FaultPolicy(fault, PLACES[place])
    async with serving(bench, policy) as (endpoint, here):
        task = bench.task(model=MODEL, limits=dict(fault.limits))
        result = await here.run(task)

    assert policy.met == 1
    assert endpoint.violations == []
    assert (result.state, result.exit_code, result.missing) == ("done", 0, [])
    assert len(endpoint.requests) == CALLS + costs
    ended = Ended(result, here)
    worked = [each for each in ended.events("tool.ended") if not each.data["is_error"]]
    assert len(worked) == CALLS
    return endpoint, ended


@pytest.mark.parametrize(("fault", "place"), every(WIRE))
async def test_what_is_no_answer_costs_a_retry_and_nothing_else(
    bench: RunBench, usual: set[bytes], fault: Fault, place: str
) -> None:
    endpoint, ended = await passes(bench, fault, place, costs=1)

    assert asked(endpoint) == usual
    assert len(ended.events("model.retried")) == 1


@pytest.mark.parametrize(("fault", "place"), every(REPLIES))
async def test_a_slip_of_the_model_costs_a_request(
    bench: RunBench, fault: Fault, place: str
) -> None:
    await passes(bench, fault, place, costs=1)


@pytest.mark.parametrize(("fault", "place"), every(HARMLESS))
async def test_what_is_odd_but_right_costs_nothing(
    bench: RunBench, fault: Fault, place: str
) -> None:
    await passes(bench, fault, place, costs=0)
