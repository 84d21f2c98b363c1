"""Model calls: reserved before, booked after, written down on both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent_bench import PRICE, AgentBench

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.usage import spent_in
from orchestrator.errors import LimitReached, ModelError, StoreError
from orchestrator.ids import sha256
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Retry, Usage
from orchestrator.models.governor import Governor
from orchestrator.testing import ScriptedModel, Step, call, fail, hang, reply

DONE = call("finish", report="All is well.")
BROKEN = ModelError("transient", "cut off", begun=True)


def priced(folder: Path, **limits: Any) -> AgentBench:
    return AgentBench(folder, price=PRICE, **limits)


async def ask(bench: AgentBench, *script: Step, **changes: Any) -> Reply:
    bench.model = ScriptedModel(script)
    agent = bench.agent(bench.model, bench.spec(**changes))
    return await agent.caller.ask(agent.state)


async def test_the_intent_names_the_bytes_that_leave(bench: AgentBench) -> None:
    await ask(bench, "hello")

    [asked] = bench.events("model.requested")
    [request] = bench.requests
    assert asked.data["sha256"] == sha256(request.body)
    assert asked.data["bytes"] == len(request.body)
    assert asked.data["max_output_tokens"] == request.max_output_tokens
    assert asked.data["reserved_usd"] is None


async def test_what_is_reserved_covers_what_a_call_can_cost(tmp_path: Path) -> None:
    bench = priced(tmp_path)

    await ask(bench, "hello")

    [asked] = [event.data for event in bench.events("model.requested")]
    context = asked["reserved_tokens"] - asked["max_output_tokens"]
    assert context > asked["estimated_tokens"]  # an estimate may be too low
    dearest = PRICE.upper_bound(context, asked["max_output_tokens"])
    assert asked["reserved_usd"] == dearest


async def test_what_was_used_is_booked_and_nothing_stays_reserved(
    tmp_path: Path,
) -> None:
    bench = priced(tmp_path)
    usage = Usage(input_tokens=100, cache_read_tokens=900, output_tokens=10)

    await ask(bench, reply("hello", usage=usage))

    assert bench.budget.spent == Amount(PRICE.usd(usage), 110)
    assert bench.budget.reserved == NOTHING


async def test_unknown_usage_is_booked_as_reserved(tmp_path: Path) -> None:
    bench = priced(tmp_path)

    await ask(bench, reply("hello", usage=Usage(output_tokens=1, known=False)))

    [asked] = [event.data for event in bench.events("model.requested")]
    reserved = Amount(asked["reserved_usd"], asked["reserved_tokens"])
    assert bench.budget.spent == reserved


async def test_an_error_before_any_answer_costs_nothing(tmp_path: Path) -> None:
    bench = priced(tmp_path)

    with pytest.raises(ModelError):
        await ask(bench, fail("overloaded"))

    assert (bench.budget.spent, bench.budget.reserved) == (NOTHING, NOTHING)
    [failed] = bench.events("model.failed")
    assert failed.data["error"] == "overloaded"


async def test_a_reply_that_broke_off_is_booked_as_reserved(tmp_path: Path) -> None:
    bench = priced(tmp_path)

    with pytest.raises(ModelError):
        await ask(bench, BROKEN)

    assert bench.budget.spent.tokens > 2000
    assert bench.events("model.failed")[0].data["begun"]


async def test_a_call_given_up_is_booked_as_reserved(tmp_path: Path) -> None:
    bench = priced(tmp_path)

    scope = anyio.CancelScope()

    def give_up(_request: ModelRequest) -> Step:
        scope.cancel()
        return hang()

    bench.model = ScriptedModel(give_up)
    agent = bench.agent(bench.model, bench.spec())
    with scope:
        await agent.caller.ask(agent.state)

    assert bench.budget.spent.tokens > 2000
    assert bench.budget.reserved == NOTHING


class InLine:
    """A model whose requests wait in line for ever, or after a try that broke off."""

    def __init__(self, scope: anyio.CancelScope, *, has_tried: bool) -> None:
        self.scope, self.has_tried = scope, has_tried

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        if self.has_tried:
            on_retry(Retry(1, "transient", "cut off", 1.0, begun=True))
        with request.while_waiting():
            self.scope.cancel()
            await anyio.sleep_forever()
        raise AssertionError("nobody waits any more")

    async def aclose(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize("tries", [0, 1])
async def test_a_request_that_is_given_up_in_line_costs_what_was_tried(
    tmp_path: Path, tries: int
) -> None:
    bench = priced(tmp_path)
    scope = anyio.CancelScope()
    agent = bench.agent(InLine(scope, has_tried=bool(tries)), bench.spec())

    with scope:
        await agent.caller.ask(agent.state)

    [asked] = [event.data for event in bench.events("model.requested")]
    spent = Amount(asked["reserved_usd"] * tries, asked["reserved_tokens"] * tries)
    assert (bench.budget.spent, bench.budget.reserved) == (spent, NOTHING)
    assert bench.events("model.failed")[0].data["error"] == "not_sent"
    assert spent_in(bench.events()) == spent


async def test_a_call_that_never_left_costs_nothing(tmp_path: Path) -> None:
    bench = priced(tmp_path)
    agent = bench.agent(bench.model, bench.spec())
    bench.log.close()

    with pytest.raises(StoreError):
        await agent.caller.ask(agent.state)

    assert (bench.budget.spent, bench.budget.reserved) == (NOTHING, NOTHING)
    assert bench.requests == []


async def test_every_try_that_broke_off_is_booked(tmp_path: Path) -> None:
    bench = priced(tmp_path)
    bench.model = ScriptedModel([BROKEN, fail("overloaded"), BROKEN, "hello"])
    agent = bench.agent(Governor(bench.model, bench.clock), bench.spec())

    await agent.caller.ask(agent.state)

    [asked] = [event.data for event in bench.events("model.requested")]
    tokens = asked["reserved_tokens"]
    assert 2 * tokens < bench.budget.spent.tokens < 3 * tokens
    tries = [event.data["begun"] for event in bench.events("model.retried")]
    assert tries == [True, False, True]


async def test_tries_do_not_pass_the_limit_either(tmp_path: Path) -> None:
    bench = priced(tmp_path, tokens=12_000)
    bench.model = ScriptedModel([BROKEN] * 16)
    agent = bench.agent(Governor(bench.model, bench.clock), bench.spec())

    with pytest.raises(LimitReached):
        await agent.caller.ask(agent.state)

    assert 0 < len(bench.requests) < 8
    assert bench.budget.spent.tokens <= 12_000
    assert bench.budget.reserved == NOTHING
    assert spent_in(bench.events()) == bench.budget.spent
    assert len(bench.events("model.failed")) == 1


async def test_the_output_is_lowered_where_the_whole_does_not_fit(
    bench: AgentBench,
) -> None:
    bench.budget.tokens = 9000

    await ask(bench, "hello", max_output_tokens=8000)

    assert bench.requests[0].max_output_tokens == 2000


async def test_a_turn_that_does_not_fit_is_no_turn(bench: AgentBench) -> None:
    bench.budget.tokens = 100
    agent = bench.agent(bench.model, bench.spec())

    with pytest.raises(LimitReached):
        await agent.caller.ask(agent.state)

    assert agent.state.turns == 0
    assert bench.events("model.requested") == []


class Slow:
    """A model whose first answer waits until it is told to come."""

    def __init__(self) -> None:
        self.go, self.came = anyio.Event(), anyio.Event()
        self.asked = 0

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        self.asked += 1
        self.came.set()
        await self.go.wait()
        usage = Usage(input_tokens=100, output_tokens=5)
        return Reply([{"type": "text", "text": "ok"}], "end_turn", usage)

    async def aclose(self) -> None:
        self.go.set()


async def test_a_call_waits_for_what_calls_of_others_may_give_back(
    bench: AgentBench,
) -> None:
    bench.budget.tokens = 12_000
    model = Slow()
    one, other = (bench.agent(model, bench.spec(name)) for name in ("a1", "a2"))

    async with anyio.create_task_group() as group:
        group.start_soon(one.caller.ask, one.state)
        await model.came.wait()
        group.start_soon(other.caller.ask, other.state)
        await anyio.wait_all_tasks_blocked()
        assert other.state.turns == 0
        waiting = model.asked
        model.go.set()

    assert (waiting, model.asked) == (1, 2)


async def test_a_call_does_not_wait_for_what_will_never_fit(bench: AgentBench) -> None:
    bench.budget.tokens = 8000
    model = Slow()
    one, other = (bench.agent(model, bench.spec(name)) for name in ("a1", "a2"))
    other.caller.budget.tokens = 100

    async with anyio.create_task_group() as group:
        group.start_soon(one.caller.ask, one.state)
        await model.came.wait()
        with pytest.raises(LimitReached):
            await other.caller.ask(other.state)
        model.go.set()
