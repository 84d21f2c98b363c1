"""Agents are told to wrap up once, in time, and never where nothing can be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, last_user

from orchestrator.agent.budget import Amount, Budget
from orchestrator.agent.wrapping_up import Use, due
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import FakeClock, Step, call, reply

SIZE = 1000
"""Tokens that each call of these tests counts, if not said otherwise."""


@pytest.mark.parametrize(
    ("use", "is_told"),
    [
        pytest.param(Use("usd", 1, used=0.84, left=0.16), False, id="84 %"),
        pytest.param(Use("usd", 1, used=0.85, left=0.15), True, id="85 %"),
        pytest.param(
            Use("usd", 1, used=0.51, left=0.09), True, id="last calls aside, 85 %"
        ),
        pytest.param(
            Use("usd", 1, used=0.6, left=0.4, call=0.19), False, id="two more fit"
        ),
        pytest.param(
            Use("usd", 1, used=0.6, left=0.4, call=0.21), True, id="one more fits"
        ),
        pytest.param(
            Use("usd", 1, used=0.3, left=0.4, call=0.21), False, id="hardly begun"
        ),
        pytest.param(Use("usd", 1, used=0.9, left=0.1, call=0.2), False, id="over"),
        pytest.param(Use("turns", 20, used=20, left=0, call=1), False, id="last turn"),
    ],
)
def test_when_a_limit_is_near(use: Use, is_told: bool) -> None:
    assert (due([use], None) is not None) is is_told


def test_the_tightest_limit_is_named() -> None:
    turns, usd = Use("turns", 10, 8.7, 1.3), Use("usd", 1, 0.97, 0.03)

    assert due([turns, usd], None) == usd


def test_nothing_is_said_where_another_limit_leaves_only_the_last_call() -> None:
    near, over = Use("usd", 1, 0.9, 0.1), Use("turns", 10, 9, 0, 1)

    assert due([near, over], None) is None


@pytest.mark.parametrize(
    ("told", "is_told"),
    [
        pytest.param(("usd", 1.0), False, id="the same"),
        pytest.param(("usd", 0.5), True, id="raised since"),
        pytest.param(("turns", 9.0), True, id="gone since"),
    ],
)
def test_nothing_is_said_twice_unless_the_limit_was_raised(
    told: tuple[str, float], is_told: bool
) -> None:
    assert (due([Use("usd", 1, 0.9, 0.1)], told) is not None) is is_told


def steps(request: ModelRequest) -> Step:
    """Echo on, and hand in at the last call."""
    if "[last_call]" in text_of(last_user(request)):
        return DONE
    asked = call("echo", text=str(len(request.messages)))
    known = sum(message["role"] == "assistant" for message in request.messages)
    usage = Usage(
        cache_read_tokens=500 + known * 20, input_tokens=SIZE, output_tokens=20
    )
    return reply(asked, usage=usage)


def told(bench: AgentBench) -> list[str]:
    """The words with which the agent was told, in the requests that held them first."""
    texts = [text_of(last_user(each)) for each in bench.requests]
    return [text for text in texts if "[wrap_up_lead]" in text]


LIMITS: list[Any] = [
    pytest.param(AgentLimits(turns=12), {}, "turns", id="turns"),
    pytest.param(AgentLimits(minutes=10), {}, "minutes", id="minutes"),
    pytest.param(AgentLimits(tokens=40_000), {}, "tokens", id="its own tokens"),
    pytest.param(AgentLimits(), {"tokens": 40_000}, "tokens", id="tokens of the run"),
    pytest.param(AgentLimits(), {"usd": 0.08}, "usd", id="dollars of the run"),
]


@pytest.mark.parametrize(("limits", "of_run", "name"), LIMITS)
async def test_an_agent_is_told_once_before_its_last_call(
    tmp_path: Path, limits: AgentLimits, of_run: dict[str, Any], name: str
) -> None:
    clock = FakeClock()
    echo = Echo(lambda _text: clock.advance(20))
    bench = AgentBench(tmp_path, [echo], price=PRICE, clock=clock, **of_run)

    await bench.run(steps, limits=limits)

    [text] = told(bench)
    assert "'tool': 'finish'" in text
    assert "[last_call]" not in text
    [added] = [e for e in bench.events("text.added") if e.data["reason"] == "wrap_up"]
    [over] = bench.events("limit.reached")
    assert added.data["limit"] == over.data["limit"] == name
    assert added.seq < over.seq
    assert "[wrap_up_lead]" not in text_of(last_user(bench.requests[1]))


async def test_it_is_told_in_time_to_do_something(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])

    await bench.run(steps, limits=AgentLimits(turns=20))

    turn = next(
        place
        for place, each in enumerate(bench.requests)
        if "[wrap_up_lead]" in text_of(last_user(each))
    )
    assert turn == 17  # 17 of 19 answers are given: 85 % and more
    assert "2 of 20 answers" in told(bench)[0]


async def test_what_is_only_set_aside_for_others_tells_nobody(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()], tokens=100_000)
    other = Budget(parent=bench.budget)
    other.reserve("a9", Amount(0.0, 80_000))

    await bench.run([call("echo"), call("echo", text="b"), DONE])

    assert told(bench) == []


async def test_a_subagent_is_told_in_its_own_words(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])

    await bench.run(steps, limits=AgentLimits(turns=6), role="subagent")

    texts = [text_of(last_user(each)) for each in bench.requests]
    [text] = [each for each in texts if "[wrap_up_subagent]" in each]
    assert "'tool': 'submit_findings'" in text


async def test_after_a_raise_it_is_told_again(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run(steps, limits=AgentLimits(turns=8))

    await bench.resume(steps, limits=AgentLimits(turns=30))

    assert len(told(bench)) == 1
    added = [e.data for e in bench.events("text.added")]
    warned = [each["allowed"] for each in added if each["reason"] == "wrap_up"]
    assert warned == [8, 30]


async def test_after_a_crash_it_is_not_told_again(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])
    await bench.run(steps, limits=AgentLimits(turns=8))
    before = [each.body for each in bench.requests]
    [added] = [e for e in bench.events("text.added") if e.data["reason"] == "wrap_up"]
    bench.cut(added.seq)
    done = len(bench.events("model.answered"))

    await bench.resume(steps)

    assert [each.body for each in bench.requests] == before[done:]


@pytest.mark.parametrize(
    ("allowed", "told"),
    [
        pytest.param(30, "2.2 of 30 minutes", id="of a task"),
        pytest.param(26.987412, "2.2 of 27 minutes", id="what was left of one"),
        pytest.param(5.51, "2.2 of 5.5 minutes", id="a part"),
        pytest.param(0.0137534, "2.2 of 0.014 minutes", id="a moment"),
    ],
)
def test_minutes_are_told_no_finer_than_they_count(allowed: float, told: str) -> None:
    assert Use("minutes", allowed, used=1.0, left=2.21).in_words == told
