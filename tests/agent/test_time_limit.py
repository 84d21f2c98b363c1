"""The minutes of an agent end its tools too; every call has one result all the same."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from agent_bench import DONE, AgentBench, Echo, WriteArgs, last_user, results_in, use

from orchestrator.agent.spec import Outcome
from orchestrator.errors import LimitReached
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import FakeClock, ScriptedModel, Step, call
from orchestrator.tools.base import Effects, ToolContext
from orchestrator.tools.step import STOPPED

ONE_MINUTE = AgentLimits(minutes=1)
LEFT_S = 0.06
"""Time that its calls have: the clock of the test jumps to the end of the minute, of
which a fifth is kept for the last call. That is real time, and more than enough."""
THREE = [use("t1", text="slow"), use("t2", text="quick"), use("t3", text="slow")]


async def says_or_waits(text: str) -> str:
    if text == "slow":
        await anyio.sleep_forever()
    return text


async def says_or_lasts(clock: FakeClock, text: str) -> str:
    """As above; the test's clock moves on by the time that passes."""
    try:
        return await says_or_waits(text)
    finally:
        if text == "slow":
            with anyio.CancelScope(shield=True):
                await clock.advance(LEFT_S)


class Endless(Echo):
    """A tool without a time limit of its own, as joins are."""

    timeout_s: ClassVar[float] = float("inf")


class Deed:
    """A tool with effects that is cut, and needs so long to end."""

    name: ClassVar[str] = "deed"
    description: ClassVar[str] = "Does something."
    Args: ClassVar[type[WriteArgs]] = WriteArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 60

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def run(self, args: WriteArgs, context: ToolContext) -> str:
        await anyio.sleep(self._seconds)
        return "done"


def bench_of(folder: Path, *tools: Any) -> AgentBench:
    return AgentBench(folder, tools, clock=FakeClock(auto=False))


async def late(bench: AgentBench, *steps: Step) -> Outcome:
    """Play an agent whose first reply comes when its minute is nearly over."""
    left = iter(steps)

    async def play(_request: ModelRequest) -> Step:
        step = next(left)
        if step is steps[0]:
            await clock_of(bench).advance(48 - LEFT_S)
        return step

    return await bench.run(play, limits=ONE_MINUTE)


def clock_of(bench: AgentBench) -> FakeClock:
    assert isinstance(bench.clock, FakeClock)
    return bench.clock


def ended(bench: AgentBench) -> Counter[str]:
    return Counter(event.data["call"] for event in bench.events("tool.ended"))


async def test_calls_end_with_the_minutes_and_the_last_call_is_made(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Endless(says_or_waits))

    with anyio.fail_after(4):
        outcome = await late(bench, THREE, DONE)

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    results = results_in(bench.requests[1])
    assert list(results.items()) == [("t1", STOPPED), ("t2", "quick"), ("t3", STOPPED)]
    assert "minutes" in text_of(last_user(bench.requests[1])[-1:])
    errors = {each.data["call"]: each.data for each in bench.events("tool.ended")}
    assert [errors[name]["is_error"] for name in ("t1", "t2", "t3")] == [
        True,
        False,
        True,
    ]
    assert set(ended(bench).values()) == {1}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        pytest.param(2 * LEFT_S, "done", id="ends in time"),
        pytest.param(9, UNKNOWN, id="is lost", marks=pytest.mark.slow),
    ],
)
async def test_a_call_with_effects_has_a_moment_to_end(
    tmp_path: Path, seconds: float, told: str
) -> None:
    bench = bench_of(tmp_path, Deed(seconds))

    outcome = await late(bench, use("t1", "deed", path="a"), DONE)

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    assert results_in(bench.requests[1]) == {"t1": told}


async def test_what_is_handed_in_beside_a_call_that_is_cut_is_taken(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Echo(says_or_waits))

    outcome = await late(bench, [*THREE, DONE])

    assert (outcome.kind, outcome.value) == ("submitted", "All is well.")
    assert len(bench.requests) == 1


async def test_a_hand_in_sent_back_when_the_time_is_up_is_asked_for_once_more(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Echo(says_or_waits))
    back = use("t9", "finish", report="BACK")

    outcome = await late(bench, [*THREE, back], DONE)

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    assert list(results_in(bench.requests[1])) == ["t1", "t2", "t3", "t9"]
    assert results_in(bench.requests[1])["t9"] == "mend it"


async def test_a_crash_at_any_record_of_a_cut_step_leads_to_the_same_end(
    tmp_path: Path,
) -> None:
    def play(request: ModelRequest) -> Step:
        newest = last_user(request)
        return DONE if "[last_call]" in text_of(newest) else THREE

    whole = bench_of(tmp_path)
    whole.tools = [Echo(partial(says_or_lasts, clock_of(whole)))]
    await late(whole, THREE, DONE)
    sent = whole.requests[-1].messages[-1]["content"]
    kinds = [event.kind for event in whole.events()]
    lines = whole.path.read_bytes().splitlines(keepends=True)
    first = kinds.index("tool.started") + 1
    last = kinds.index("model.requested", first)
    assert last - first >= 7

    for seq in range(first, last + 1):
        (tmp_path / f"{seq}").mkdir()
        bench = bench_of(tmp_path / f"{seq}")
        bench.tools = [Echo(partial(says_or_lasts, clock_of(bench)))]
        bench.path.write_bytes(b"".join(lines))
        bench.cut(seq)
        with anyio.fail_after(4):
            outcome = await bench.resume(play)

        assert (outcome.kind, outcome.limit) == ("submitted", "minutes"), seq
        again = bench.requests[-1].messages[-1]["content"]
        assert [_shape(block) for block in again] == [_shape(block) for block in sent]
        assert set(ended(bench).values()) == {1}, seq


def _shape(block: Any) -> tuple[str, ...]:
    if block["type"] == "text":  # the figures may differ
        return ("text", text_of([block])[:11])
    return ("result", block["tool_use_id"], text_of(block["content"]))


async def test_nothing_runs_that_is_to_run_after_the_time(tmp_path: Path) -> None:
    echo = Echo(says_or_waits)
    bench = bench_of(tmp_path, echo)
    await late(bench, THREE, DONE)
    started = [event.seq for event in bench.events("tool.started")]
    bench.cut(started[0] - 1)
    echo.calls.clear()

    rebuilt = bench.left()
    rebuilt.state.carried_s = 48
    model = ScriptedModel([DONE])
    outcome = await bench.agent(model, rebuilt.spec, rebuilt=rebuilt).run()

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    assert not echo.calls
    assert set(results_in(model.requests[0]).values()) == {STOPPED}


async def test_results_that_came_before_a_tool_told_of_a_limit_are_kept(
    tmp_path: Path,
) -> None:
    gate = anyio.Event()

    async def does(text: str) -> str:
        if text == "quick":
            gate.set()
            return text
        await gate.wait()
        raise LimitReached("usd", 1, 1)

    bench = bench_of(tmp_path, Echo(does))
    step = [use("t1", text="tells"), use("t2", text="quick")]

    outcome = await bench.run([step, DONE])

    assert (outcome.kind, outcome.limit) == ("submitted", "usd")
    assert results_in(bench.requests[1])["t2"] == "quick"
    assert ended(bench) == Counter({"t1": 1, "t2": 1, bench_hand_in(bench): 1})


def bench_hand_in(bench: AgentBench) -> str:
    [named] = [e for e in bench.events("tool.ended") if e.data["name"] == "finish"]
    return str(named.data["call"])


async def test_calls_without_a_limit_of_the_agent_end_by_their_own(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Echo(says_or_waits))

    outcome = await bench.run([call("echo", text="quick"), DONE])

    assert (outcome.kind, outcome.limit) == ("submitted", "")
