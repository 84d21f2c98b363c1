"""A model call that makes no progress is ended; one that gets on is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, use

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.pulse import STEPS, Pulse
from orchestrator.agent.spec import AgentSpec
from orchestrator.errors import ModelError
from orchestrator.events import AgentStarted, parse
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Retry, unwatched
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import ScriptedModel, Step, hang

STALL_S = 0.12
BRIEFLY_S = 0.02


class Slow:
    """A model whose first answer takes `pieces` pieces to come, each after a moment."""

    def __init__(self, pieces: int, each: Callable[[ModelRequest, OnRetry], None]):
        self._pieces, self._each = pieces, each
        self._inner = ScriptedModel([DONE])

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        for _ in range(self._pieces):
            await anyio.sleep(BRIEFLY_S)
            self._each(request, on_retry)
        return await self._inner.complete(request, on_retry=on_retry)

    async def aclose(self) -> None:
        await self._inner.aclose()


async def test_a_call_without_progress_ends_with_a_last_call(bench: AgentBench) -> None:
    outcome = await bench.run([hang(), DONE], stall_s=STALL_S)

    assert (outcome.kind, outcome.limit) == ("submitted", "stall_s")
    [reached] = bench.events("limit.reached")
    assert reached.data["allowed"] == STALL_S
    assert reached.data["used"] >= STALL_S
    assert "stall_s" in text_of(bench.requests[-1].messages[-1]["content"])


async def test_a_last_call_that_stalls_too_ends_the_agent(bench: AgentBench) -> None:
    with anyio.fail_after(5):
        outcome = await bench.run([hang(), hang()], stall_s=STALL_S)

    assert (outcome.kind, outcome.limit) == ("limit", "stall_s")
    assert "no answer within 0.12 s" in outcome.reason


async def test_each_piece_of_an_answer_is_progress(bench: AgentBench) -> None:
    model = Slow(8, lambda request, _: request.on_progress())

    outcome = await bench.run_with(model, stall_s=STALL_S)

    assert (outcome.kind, outcome.limit) == ("submitted", "")


async def test_a_model_that_never_tells_of_progress_has_the_whole_time(
    bench: AgentBench,
) -> None:
    silent = Slow(8, lambda *_: None)

    stalled = await bench.run_with(silent, stall_s=STALL_S)
    whole = await bench.run_with(Slow(1, lambda *_: None), stall_s=STALL_S)

    assert (stalled.limit, whole.limit) == ("stall_s", "")


async def test_waits_that_are_told_and_retries_are_no_stall(bench: AgentBench) -> None:
    def retried(_request: ModelRequest, on_retry: OnRetry) -> None:
        on_retry(Retry(1, "rate_limited", "wait", wait_s=BRIEFLY_S))

    outcome = await bench.run_with(Slow(8, retried), stall_s=STALL_S)

    assert (outcome.kind, outcome.limit) == ("submitted", "")
    assert len(bench.events("model.retried")) == 8


async def test_waiting_for_what_others_have_set_aside_is_no_stall(
    tmp_path: Path,
) -> None:
    bench = AgentBench(tmp_path, usd=0.1, price=PRICE)
    others = bench.budget.reserve("other", Amount(0.0999, 10))
    ended: list[str] = []

    async with anyio.create_task_group() as group:

        async def work() -> None:
            outcome = await bench.run([DONE], stall_s=STALL_S)
            ended.append(outcome.limit)

        group.start_soon(work)
        await anyio.sleep(STALL_S * 2)
        assert not ended
        bench.budget.settle(others, NOTHING)

    assert ended == [""]


async def test_an_agent_without_the_limit_waits_on(bench: AgentBench) -> None:
    with anyio.move_on_after(STALL_S * 2):
        await bench.run([hang(), DONE])

    assert not bench.events("limit.reached")


async def test_time_in_tools_is_no_stall(bench: AgentBench) -> None:
    async def slow(_text: str) -> str:
        await anyio.sleep(STALL_S * 2)
        return "done"

    bench.tools = [Echo(slow)]
    outcome = await bench.run([use("t1"), DONE], stall_s=STALL_S)

    assert (outcome.kind, outcome.limit) == ("submitted", "")


async def test_the_time_limit_counts_where_it_comes_first(bench: AgentBench) -> None:
    limits = AgentLimits(minutes=0.05 / 60)

    outcome = await bench.run([hang(), DONE], limits=limits, stall_s=30)

    assert outcome.limit == "minutes"


async def test_a_stalled_call_is_paid_as_reserved(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, price=PRICE)

    await bench.run([hang(), ModelError("overloaded", "no")], stall_s=STALL_S)

    [asked, _] = bench.events("model.requested")
    assert bench.budget.spent.usd == pytest.approx(asked.data["reserved_usd"])


@pytest.mark.parametrize("stall_s", [None, 7.5])
def test_the_log_keeps_the_limit(bench: AgentBench, stall_s: float | None) -> None:
    spec = bench.spec(stall_s=stall_s)
    event = bench.log.append(spec.started(), agent=spec.id)

    assert AgentSpec.from_event(spec.id, parse(event, AgentStarted)) == spec
    assert ("stall_s" in event.data["settings"]) == (stall_s is not None)


async def test_a_beat_that_may_not_move_the_deadline_never_ends_a_call_early() -> None:
    pulse = Pulse(STALL_S)
    with pulse.watching():
        await anyio.sleep(STALL_S / STEPS / 2)
        began = anyio.current_time()
        pulse.beat()
        await anyio.sleep_forever()

    assert pulse.has_stopped
    assert anyio.current_time() - began >= STALL_S
    assert pulse.idle_s >= STALL_S


async def test_thousands_of_beats_move_the_deadline_a_few_times() -> None:
    pulse = Pulse(300)
    with pulse.watching():
        deadlines = set()
        for _ in range(5000):
            pulse.beat()
            deadlines.add(pulse._scope.deadline)

    assert len(deadlines) == 1


async def test_whoever_watches_a_call_is_no_part_of_what_a_test_keeps(
    bench: AgentBench,
) -> None:
    watched: list[Any] = []

    def play(request: ModelRequest) -> Step:
        watched.append(request.on_progress)
        request.on_progress()
        return DONE

    await bench.run(play)

    [kept] = bench.requests
    assert watched != [unwatched]
    assert kept.on_progress is unwatched
