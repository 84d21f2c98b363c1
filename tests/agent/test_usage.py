"""What an agent used of its money, tokens and time counts over all processes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, last_user, use

from orchestrator.agent.budget import Amount
from orchestrator.agent.usage import Worked, spent_in
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import FakeClock


async def test_what_was_spent_before_counts(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()], price=PRICE)
    await bench.run([use("t1"), DONE])
    spent = bench.budget.spent
    bench.cut(len(bench.events()))

    agent = bench.agent(bench.model, bench.spec(), rebuilt=bench.left())

    assert agent.caller.budget.spent.tokens == spent.tokens
    assert agent.caller.budget.spent.usd == pytest.approx(spent.usd)
    assert bench.budget.spent == Amount()  # the run books it for all of them


async def test_a_call_in_flight_counts_as_reserved(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()], price=PRICE)
    await bench.run([use("t1"), DONE])
    second = bench.events("model.requested")[1]
    bench.cut(second.seq)

    before, after = spent_in(bench.events()[:-1]), spent_in(bench.events())

    assert after.tokens - before.tokens == second.data["reserved_tokens"]
    assert after.usd - before.usd == pytest.approx(second.data["reserved_usd"])


def event(kind: str, at: int, agent: str = "a1", **data: Any) -> Event:
    stamp = f"2026-11-29T12:{at // 60:02}:{at % 60:02}.000Z"
    return Event(at, stamp, "r", agent, kind, 0, data)


def asked(at: int, agent: str = "a1") -> Event:
    sizes = {"estimated_tokens": 90, "max_output_tokens": 10}
    return event("model.requested", at, agent, reserved_usd=0.5, **sizes)


def usage(**given: Any) -> dict[str, Any]:
    return asdict(Usage(**given))


@pytest.mark.parametrize(
    ("after", "spent"),
    [
        pytest.param([], Amount(0.5, 100), id="died"),
        pytest.param(
            [event("model.answered", 2, usage=usage(input_tokens=7), usd=0.1)],
            Amount(0.1, 7),
            id="answered",
        ),
        pytest.param(
            [event("model.answered", 2, usage=usage(), usd=None)],
            Amount(),
            id="answered, price unknown",
        ),
        pytest.param(
            [event("model.answered", 2, usage=usage(known=False), usd=0.1)],
            Amount(0.5, 100),
            id="usage unknown",
        ),
        pytest.param(
            [
                event(
                    "model.answered",
                    2,
                    usage=usage(input_tokens=1),
                    usd=0.1,
                    counted_usd=0.4,
                    counted_tokens=80,
                )
            ],
            Amount(0.4, 80),
            id="told too few tokens to be true",
        ),
        pytest.param([event("model.failed", 2, begun=False)], Amount(), id="refused"),
        pytest.param([event("model.failed", 2)], Amount(), id="of an older program"),
        pytest.param(
            [event("model.failed", 2, begun=True)], Amount(0.5, 100), id="broke off"
        ),
        pytest.param(
            [
                event("model.retried", 2, begun=True),
                event("model.retried", 3, begun=False),
                event("model.answered", 4, usage=usage(input_tokens=7), usd=0.1),
            ],
            Amount(0.6, 107),
            id="a try that broke off",
        ),
        pytest.param([asked(2)], Amount(1.0, 200), id="died twice"),
        pytest.param([asked(2, "a2")], Amount(1.0, 200), id="two agents"),
    ],
)
def test_calls_that_count(after: list[Event], spent: Amount) -> None:
    found = spent_in([asked(1), *after])

    assert found.tokens == spent.tokens
    assert found.usd == pytest.approx(spent.usd)


LIVES = [
    event("run.started", 0, ""),
    event("agent.started", 10, "lead"),
    event("agent.started", 20),
    event("tool.ended", 40),
    # Killed, and gone on with a minute later.
    event("run.resumed", 100, "", after=4),
    event("agent.ended", 130),
    event("agent.ended", 140, "lead"),
    event("run.ended", 150, "", seconds=90.0, state="partial"),
    event("run.resumed", 300, "", after=8),
    event("tool.ended", 310, "lead"),
]


def worked_in(events: list[Event]) -> Worked:
    worked = Worked()
    for each in events:
        worked.apply(each)
    return worked


def test_time_between_two_processes_does_not_count() -> None:
    assert worked_in(LIVES).of("a1") == 20 + 30 + 10
    assert worked_in(LIVES).of("lead") == 30 + 40 + 10
    assert worked_in(LIVES).of() == 90 + 10
    assert worked_in(LIVES[:6]).of() == 40 + 30


def test_a_subagent_that_has_delivered_is_not_at_work_any_more() -> None:
    over = event("subagent.ended", 140, "a1", id="a1")

    assert worked_in([*LIVES[:6], over, *LIVES[6:]]).of("a1") == 20 + 30


def test_a_clock_set_back_and_a_damaged_record_take_nothing_away() -> None:
    events = [event("run.started", 50, ""), event("tool.ended", 20)]

    assert worked_in(events).of() == 0
    assert worked_in([Event(0, "", "r", "", "log.damaged", 0, {})]).of() == 0


async def test_minutes_count_over_all_processes(tmp_path: Path) -> None:
    clock = FakeClock()
    bench = AgentBench(tmp_path, [Echo(lambda _text: clock.advance(60))], clock=clock)
    await bench.run([use("t1"), use("t2"), DONE])
    bench.cut(bench.events("tool.ended")[1].seq)

    await bench.resume(
        [DONE],
        limits=AgentLimits(minutes=2),
    )

    assert "[last_call]" in text_of(last_user(bench.requests[0]))
