"""Each fault at each place of a run: how it ends, what it costs, what is kept.

| what | lead, first | lead, later | subagent | further question |
|---|---|---|---|---|
| no whole answer, once | done: the same request once more, no other one changed ||||
| a slip of the model, once | done: one request more ||||
| odd but right, once | done: no request more ||||
| nobody is answered any more | parked; resumed, done: nothing is asked twice ||||
| the money is used up | the same ||||
| the key is refused | failed | the same as without money |||
| one agent alone gets nowhere | failed or partial | partial, the findings are kept |||

With the last one a further question may be answered by another agent: done. Nowhere a
request of a wrong shape leaves, and everywhere there is a bound to their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from fake_endpoint import FakeEndpoint
from fault_bench import CALLS, FILES, PLACES, FaultPolicy, left_by
from faults import CLOSED, DOWN, HARMLESS, REPLIES, WIRE, WRONG, Fault
from run_bench import Ended, RunBench
from serving import serving
from stalls import watched

from orchestrator.models.retry import MOST_TRIES
from orchestrator.runtime.result import RunResult

MODEL = "claude-haiku-5-5"
KEY = ("401", "403", "key told inside")
SILENT = {"silence_s": 0.2}


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
        async with serving(bench.runs, FaultPolicy()) as (endpoint, here):
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
    async with watched() as stalls, serving(bench.runs, policy) as (endpoint, here):
        task = bench.task(model=MODEL, limits=dict(fault.limits))
        result = await here.run(task)

    assert policy.met == 1
    assert endpoint.violations == []
    assert (result.state, result.exit_code, result.missing) == ("done", 0, [])
    ended = left_by(result)
    more = len(endpoint.requests) - CALLS - costs
    if fault.limits and stalls.lost_s > fault.limits["silence_s"] / 2:
        # The machine stood still for a part of that: its own silence, told in the log.
        assert 0 <= more == len(ended.events("model.retried")) - 1
    else:
        assert more == 0
    worked = [each for each in ended.events("tool.ended") if not each.data["is_error"]]
    assert len(worked) == CALLS
    return endpoint, ended


@pytest.mark.parametrize(("fault", "place"), every(WIRE))
async def test_what_is_no_answer_costs_a_retry_and_nothing_else(
    bench: RunBench, usual: set[bytes], fault: Fault, place: str
) -> None:
    endpoint, ended = await passes(bench, fault, place, costs=1)

    assert asked(endpoint) == usual
    assert len(ended.events("model.retried")) == len(endpoint.requests) - CALLS


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


# ---- what stays ----------------------------------------------------------------------


async def goes_wrong(
    bench: RunBench, policy: FaultPolicy, **limits: float
) -> tuple[FakeEndpoint, RunResult]:
    """Run with a fault that stays."""
    async with serving(bench.runs, policy) as (endpoint, here):
        result = await here.run(bench.task(model=MODEL, limits=limits))
    assert endpoint.violations == []
    return endpoint, result


async def parks_and_goes_on(bench: RunBench, policy: FaultPolicy) -> None:
    """Run until it is parked, go on once all is well: nothing is asked twice."""
    limits = SILENT if policy.fault and policy.fault.limits else {}
    first, result = await goes_wrong(bench, policy, **limits)

    assert (result.state, result.exit_code) == ("parked", 75)
    assert "orchestrate resume" in result.reason

    policy.fault = None
    async with serving(bench.runs, policy) as (second, here):
        result = await here.resume(result.folder)

    assert second.violations == []
    assert (result.state, result.missing) == ("done", [])
    ended = left_by(result)
    again = len(ended.events("model.retried")) + len(ended.events("model.failed"))
    repeated = len(first.requests) + len(second.requests) - policy.met - CALLS
    assert len(ended.events("model.answered")) == CALLS
    # A machine that stalls for a moment adds a silence of its own, and says so.
    assert 0 <= repeated <= max(again - policy.met, 0)


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "place"), every(DOWN))
async def test_where_nobody_is_answered_any_more_the_run_is_parked(
    bench: RunBench, fault: Fault, place: str
) -> None:
    policy = FaultPolicy(fault, PLACES[place], "all")

    await parks_and_goes_on(bench, policy)

    assert policy.met <= 3 * MOST_TRIES


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "place"), every(CLOSED))
async def test_where_key_or_money_are_gone_the_run_is_parked_at_once(
    bench: RunBench, fault: Fault, place: str
) -> None:
    policy = FaultPolicy(fault, PLACES[place], "all")
    is_of_key = fault in [CLOSED[name] for name in KEY]

    if is_of_key and place == "lead, first":
        _, result = await goes_wrong(bench, policy)
        assert (result.state, result.exit_code) == ("failed", 1)
    else:
        await parks_and_goes_on(bench, policy)

    # The other subagent may have been under way.
    assert policy.met <= 2


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "place"), every(WRONG))
async def test_what_one_agent_cannot_get_over_costs_that_agent_alone(
    bench: RunBench, fault: Fault, place: str
) -> None:
    policy = FaultPolicy(fault, PLACES[place], "one")

    endpoint, result = await goes_wrong(bench, policy)

    assert policy.met <= 12
    assert len(endpoint.requests) - policy.met <= CALLS + 1
    told = (result.state, result.exit_code)
    if place == "lead, first":
        assert told in {("failed", 1), ("partial", 3)}
        assert result.reason
        assert not endpoint.requests_of("# First")
        return
    if place == "further question" and told == ("done", 0):
        assert endpoint.requests_of("# First: ")
        return
    assert told == ("partial", 3)
    kept = (result.folder / "agents/a2/findings.md").read_text()
    assert "Second: it takes as long as line 1 says" in kept
    if PLACES[place][0] == "First":
        assert any("(First)" in each for each in result.missing)
        assert not any("(Second)" in each for each in result.missing)
        assert result.report.startswith("It takes 14 days")
    else:
        assert "First: it takes as long as line 1 says. [a1#1]" in result.report
        assert "Second: it takes as long as line 1 says. [a2#1]" in result.report
