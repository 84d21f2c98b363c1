"""A fan-out that does not fit the budget is cut down or refused, with the figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from refund_runs import FILES, QUOTE, READ, sent
from run_bench import RunBench, finish, in_turn, submit

from orchestrator.messages import Block
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.testing import Step, reply

REPORT = finish("It takes 14 days [a1#1].")
COST = 20_000
"""Tokens that a subagent of these tests uses."""


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


def worker() -> list[Step]:
    half = Usage(input_tokens=COST // 2 - 100, output_tokens=100)
    return [reply(READ, usage=half), reply(submit(QUOTE), usage=half)]


async def test_what_the_budget_cannot_pay_is_refused_with_figures(
    bench: RunBench,
) -> None:
    titles = [f"Case {n}" for n in range(1, 9)]
    small = Usage(input_tokens=1000, output_tokens=50)

    def lead(step: Block) -> Step:
        return reply(step, usage=small)

    ended = await bench.play(
        [
            lead(sent("First")),
            lead(sent(*titles)),
            lead(REPORT),
        ],
        {title: worker() for title in ("First", *titles)},
        limits={"tokens": 90_000},
    )

    _, told = ended.results("delegate")
    refused = ended.events("brief.refused")
    taken = len(ended.events("subagent.accepted")) - 1
    assert 0 < taken < len(titles)
    assert [e.data["title"] for e in refused] == titles[taken:]
    assert all(e.data["no_budget"] for e in refused)
    assert "20k tokens" in told or "20,000 tokens" in told
    assert f"{taken} of {len(titles)}" in told
    assert ended.result.state == "partial"
    [missing] = [m for m in ended.result.missing if "budget" in m]
    assert "found no room in what is left of the budget: “Case" in missing
    spent = sum(
        e.data["usage"]["input_tokens"] + e.data["usage"]["output_tokens"]
        for e in ended.events("model.answered")
    )
    assert spent <= 90_000


@pytest.mark.parametrize("at_once", [2, 24])
async def test_a_wide_fan_out_whose_real_use_fits_is_done(
    bench: RunBench, at_once: int
) -> None:
    titles = [f"Case {n}" for n in range(1, 25)]
    small = Usage(input_tokens=1000, output_tokens=50)

    ended = await bench.play(
        [reply(sent(*titles), usage=small), reply(REPORT, usage=small)],
        {
            title: [reply(READ, usage=small), reply(submit(QUOTE), usage=small)]
            for title in titles
        },
        limits={"tokens": 250_000, "concurrency": at_once},
    )

    # All that they might use together is more than that.
    assert ended.result.state == "done", ended.result.missing
    assert ended.events("limit.reached") == []
    assert len(ended.events("subagent.ended")) == len(titles)


async def test_what_many_briefs_would_bring_leaves_room_for_the_first_ones(
    bench: RunBench,
) -> None:
    titles = [f"Case {n}" for n in range(1, 31)]
    small = Usage(input_tokens=1000, output_tokens=50)
    few = [reply(READ, usage=small), reply(submit(QUOTE), usage=small)]
    ended = await bench.play(
        [reply(sent(*titles), usage=small), reply(REPORT, usage=small)],
        dict.fromkeys(titles, few),
        limits={"tokens": 60_000},
    )

    taken = [event.data["title"] for event in ended.events("subagent.accepted")]
    assert len(taken) >= 3
    assert taken == titles[: len(taken)]
    assert {event.data["outcome"] for event in ended.events("subagent.ended")} == {
        "submitted"
    }


async def test_nothing_is_said_where_everything_fits(bench: RunBench) -> None:
    def second(_request: ModelRequest) -> Step:
        return sent("Second")

    ended = await bench.play(
        in_turn(sent("First"), second, REPORT),
        {"First": worker(), "Second": worker()},
    )

    assert ended.result.state == "done"
    for told in ended.results("delegate"):
        assert told.startswith("agent | title | status")
