"""A subagent whose model says nothing any more is ended; the others are left alone."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from run_bench import (
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    last_results,
    submit,
)

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, hang
from orchestrator.testing.steps import Script

PAPER = "refunds.md"
LINE = "A refund for a lost parcel takes nine working days in all.\n"
QUICK = ("parcels", "letters", "crates")
LIMITS = {"stall_s": 1.0}

pytestmark = pytest.mark.slow


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {PAPER: LINE})


def reads_and_submits() -> Script:
    claim = item("Nine working days.", f"{PAPER}:1", LINE.strip())
    return in_turn(call("read_file", path=PAPER), submit(claim))


def lead(told: list[str]) -> Script:
    def reports(request: ModelRequest) -> Step:
        told.append(last_results(request))
        return finish("It takes nine working days [a1#1].")

    briefs = [brief(title) for title in (*QUICK[:1], "stamps", *QUICK[1:])]
    return in_turn(delegate(*briefs), reports)


async def test_one_that_stalls_costs_its_siblings_nothing(bench: RunBench) -> None:
    told: list[str] = []
    workers = {title: reads_and_submits() for title in QUICK}

    with anyio.fail_after(60):
        ended = await bench.play(
            lead(told),
            {
                **workers,
                "stamps": in_turn(call("read_file", path=PAPER), hang(), hang()),
            },
            limits=LIMITS,
        )

    assert ended.result.state == "partial"
    assert "a2" in ended.result.reason
    assert "stall_s" in ended.result.reason
    [findings] = told
    assert findings.count("Nine working days.") == len(QUICK)
    assert "stall_s" in findings
    outcomes = {e.agent: e.data["outcome"] for e in ended.events("subagent.ended")}
    assert outcomes == {
        "a1": "submitted",
        "a2": "limit",
        "a3": "submitted",
        "a4": "submitted",
    }


async def test_one_that_stalls_once_hands_in_what_it_has(bench: RunBench) -> None:
    told: list[str] = []
    workers = {title: reads_and_submits() for title in QUICK}
    claim = item("Nine working days.", f"{PAPER}:1", LINE.strip())
    stalls = in_turn(
        call("read_file", path=PAPER), hang(), submit(claim, status="partial")
    )

    with anyio.fail_after(60):
        ended = await bench.play(
            lead(told), {**workers, "stamps": stalls}, limits=LIMITS
        )

    assert told[0].count("Nine working days.") == len(QUICK) + 1
    assert ended.result.state == "partial"
    [asked] = ended.events("text.added", "a2")
    assert "stall_s" in asked.data["text"]


async def test_the_lead_may_think_as_long_as_it_likes(bench: RunBench) -> None:
    async def slow(request: ModelRequest) -> Step:
        await anyio.sleep(LIMITS["stall_s"] * 1.2)
        return finish("Nobody was asked.")

    ended = await bench.play(slow, {}, limits=LIMITS)

    assert not ended.events("limit.reached")
    [started] = ended.events("agent.started")
    assert "stall_s" not in started.data["settings"]
    assert "Nobody was asked." in text_of(ended.text("report.md"))
