"""The first of many alike requests goes ahead; the others find its cache."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent_bench import DONE, PRICE, AgentBench

from orchestrator.agent.budget import NOTHING
from orchestrator.agent.build import Services, head_of
from orchestrator.agent.head_start import FOLLOWS, HeadStart
from orchestrator.clock import SystemClock
from orchestrator.errors import ModelError
from orchestrator.messages import text_block, text_of
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest, OnRetry, Reply, caches_prompts
from orchestrator.models.governor import Governor
from orchestrator.models.offline import OfflineModel
from orchestrator.testing import ScriptedModel

HEAD = b"a head"
LONG = [text_block("You are a test. " * 400)]
"""Long enough to be cached."""
TURNS = 20


async def settle() -> None:
    """Let all others do what they can."""
    for _ in range(TURNS):
        await anyio.lowlevel.checkpoint()


@dataclass
class Fan:
    """Requests with one head, each in a task; `out` names those that may leave."""

    start: HeadStart = field(default_factory=HeadStart)
    out: list[str] = field(default_factory=list)
    answers: dict[str, anyio.Event] = field(
        default_factory=lambda: defaultdict(anyio.Event)
    )
    scopes: dict[str, anyio.CancelScope] = field(
        default_factory=lambda: defaultdict(anyio.CancelScope)
    )

    def answer(self, name: str) -> Callable[[], None]:
        return self.answers[name].set

    def cancel(self, name: str) -> Callable[[], None]:
        return self.scopes[name].cancel

    async def request(self, name: str) -> None:
        with self.scopes[name], await self.start.wait(HEAD) as turn:
            self.start.sent(HEAD)
            self.out.append(name)
            await self.answers[name].wait()
            turn.begun()
            await anyio.sleep_forever()


async def play(fan: Fan, names: str, *then: Callable[[], Any]) -> list[list[str]]:
    """Start requests, do each thing in turn, and return who was out after each."""
    seen: list[list[str]] = []
    async with anyio.create_task_group() as group:
        for name in names:
            group.start_soon(fan.request, name)
            await settle()
        seen.append([*fan.out])
        for each in then:
            made = each()
            if hasattr(made, "__await__"):
                await made
            await settle()
            seen.append([*fan.out])
        group.cancel_scope.cancel()
    return seen


async def test_the_others_follow_once_the_answer_to_the_first_begins() -> None:
    fan = Fan()

    before, after = await play(fan, "abc", fan.answer("a"))

    assert before == ["a"]
    assert after == ["a", "b", "c"]


async def test_a_late_one_does_not_wait_where_the_head_is_known() -> None:
    fan = Fan()

    [_, after] = await play(fan, "a", fan.answer("a"))
    [alone] = await play(fan, "b")

    assert (after, alone) == (["a"], ["a", "b"])


async def test_nobody_waits_longer_than_the_bound() -> None:
    fan = Fan(HeadStart(wait_s=0.1))

    before, after = await play(fan, "abc", lambda: anyio.sleep(0.15))

    assert before == ["a"]
    assert after == ["a", "b", "c"]


async def test_one_that_ends_without_an_answer_hands_on_the_lead() -> None:
    fan = Fan()

    seen = await play(
        fan,
        "abcd",
        fan.cancel("a"),
        fan.answer("b"),
    )

    assert seen == [["a"], ["a", "b"], ["a", "b", "c", "d"]]


async def test_leads_that_fail_one_after_the_other_keep_nobody_for_longer() -> None:
    fan = Fan(HeadStart(wait_s=0.06))

    seen = await play(
        fan,
        "abcd",
        lambda: anyio.sleep(0.04),
        fan.cancel("a"),
        lambda: anyio.sleep(0.04),
    )

    assert seen[2] == ["a", "b"]
    assert sorted(seen[3]) == ["a", "b", "c", "d"]


async def test_one_that_waits_may_be_cancelled() -> None:
    fan = Fan()

    seen = await play(
        fan,
        "abc",
        fan.cancel("b"),
        fan.answer("a"),
    )

    assert seen == [["a"], ["a"], ["a", "c"]]


async def test_heads_do_not_wait_for_each_other() -> None:
    start = HeadStart()

    first = await start.wait(b"one")
    with anyio.fail_after(1):
        second = await start.wait(b"other")

    assert FOLLOWS not in (first, second)


async def test_a_head_is_cold_again_when_nothing_used_it_for_long() -> None:
    start = HeadStart(lifetime_s=0.03)
    with await start.wait(HEAD) as first:
        first.begun()
    assert await start.wait(HEAD) is FOLLOWS

    await anyio.sleep(0.02)
    start.sent(HEAD)
    await anyio.sleep(0.02)
    assert await start.wait(HEAD) is FOLLOWS

    await anyio.sleep(0.04)
    assert await start.wait(HEAD) is not FOLLOWS


async def test_one_that_fails_after_its_time_leaves_what_others_sent_alone() -> None:
    start = HeadStart(wait_s=0.01)
    with await start.wait(HEAD):
        assert await start.wait(HEAD) is FOLLOWS

    assert await start.wait(HEAD) is FOLLOWS


async def test_a_model_says_whether_it_caches_through_all_that_wraps_it() -> None:
    own = AnthropicModel(api_key="any", base_url="http://127.0.0.1:9")
    clock = SystemClock()

    assert caches_prompts(Governor(own, clock))
    assert not caches_prompts(Governor(ScriptedModel([]), clock))
    assert not caches_prompts(OfflineModel())
    await own.aclose()


class Caching:
    """A model that caches; its answers begin and end when the test says so."""

    def __init__(self, *, caches: bool = True, fails: str = "") -> None:
        self.caches_prompts = caches
        self.sent: list[str] = []
        self.goes_on = anyio.Event()
        self._fails = fails
        self._news = anyio.Event()

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        name = text_of(request.messages[0]["content"]).removeprefix("# Objective of ")
        self.sent.append(name)
        self._news.set()
        if name == self._fails:
            raise ModelError("invalid", "no")
        await self.goes_on.wait()
        request.on_progress()
        return await ScriptedModel([DONE]).complete(request, on_retry=on_retry)

    async def until_sent(self, number: int) -> None:
        while len(self.sent) < number:
            self._news = anyio.Event()
            await self._news.wait()

    async def aclose(self) -> None:
        pass


class Bench(AgentBench):
    """Agents of one run: they share what is known of heads."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shared = super().services

    @property
    def services(self) -> Services:
        return self.shared

    async def fan_out(
        self, opened: Caching, *, out: int, agents: int = 3, **changes: Any
    ) -> list[str]:
        """Run agents side by side, and return how they ended.

        `first` is who was out before any answer began; `out` are waited for.
        """
        self.opened = opened
        kinds: dict[str, str] = {}

        async def work(agent: str) -> None:
            spec = self.spec(agent, **changes)
            kinds[agent] = (await self.agent(opened, spec).run()).kind

        names = [f"a{n}" for n in range(1, agents + 1)]
        with anyio.fail_after(4):
            async with anyio.create_task_group() as group:
                for name in names:
                    group.start_soon(work, name)
                await opened.until_sent(out)
                await anyio.sleep(0.02)
                self.first = [*opened.sent]
                opened.goes_on.set()
        return [kinds[name] for name in names]


async def test_in_a_fan_out_one_request_leaves_before_the_others(
    tmp_path: Path,
) -> None:
    bench, model = Bench(tmp_path, price=PRICE), Caching()

    kinds = await bench.fan_out(model, out=1, system=LONG)

    assert kinds == ["submitted"] * 3
    assert (bench.first, model.sent) == (["a1"], ["a1", "a2", "a3"])


async def test_one_that_fails_at_once_keeps_nobody_waiting(tmp_path: Path) -> None:
    bench, model = Bench(tmp_path), Caching(fails="a1")

    kinds = await bench.fan_out(model, out=2, system=LONG)

    assert kinds == ["failed", "submitted", "submitted"]
    assert (bench.first, model.sent) == (["a1", "a2"], ["a1", "a2", "a3"])


async def test_one_without_budget_keeps_nobody_waiting(tmp_path: Path) -> None:
    bench, model = Bench(tmp_path, tokens=1000), Caching()

    kinds = await bench.fan_out(model, out=0, system=LONG)

    assert kinds == ["limit"] * 3


async def test_a_wait_for_the_one_ahead_is_no_stall(tmp_path: Path) -> None:
    bench, model = Bench(tmp_path), Caching()
    ahead = await bench.services.head_start.wait(head(bench))
    agent = bench.agent(model, bench.spec("a1", system=LONG, stall_s=0.1))
    limits: list[str] = []

    async def work() -> None:
        limits.append((await agent.run()).limit)

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await anyio.sleep(0.15)
        assert not model.sent
        model.goes_on.set()
        ahead.begun()

    assert limits == [""]


async def test_nothing_is_set_aside_while_an_agent_waits(tmp_path: Path) -> None:
    bench, model = Bench(tmp_path, price=PRICE), Caching()
    await bench.services.head_start.wait(head(bench))
    agent = bench.agent(model, bench.spec("a1", system=LONG))

    async with anyio.create_task_group() as group:
        group.start_soon(agent.run)
        await settle()
        assert bench.budget.reserved == NOTHING
        group.cancel_scope.cancel()

    assert not model.sent


def head(bench: Bench) -> bytes:
    return head_of(bench.services, bench.spec("a1", system=LONG)).data


@pytest.mark.parametrize(
    ("caches", "changes"),
    [
        pytest.param(False, {"system": LONG}, id="a model that does not cache"),
        pytest.param(True, {}, id="a short head"),
        pytest.param(
            True, {"system": LONG, "model": "claude-haiku-4-5"}, id="short for it"
        ),
    ],
)
async def test_nobody_waits_where_nothing_is_cached(
    tmp_path: Path, caches: bool, changes: dict[str, Any]
) -> None:
    bench, model = Bench(tmp_path), Caching(caches=caches)

    await bench.fan_out(model, out=3, **changes)

    assert bench.first == ["a1", "a2", "a3"]


async def test_later_requests_of_an_agent_never_wait(tmp_path: Path) -> None:
    bench, model = Bench(tmp_path), Caching()
    await bench.services.head_start.wait(head(bench))
    agent = bench.agent(model, bench.spec("a1", system=LONG))
    agent.state.answered("msg_1")
    model.goes_on.set()

    with anyio.fail_after(2):
        outcome = await agent.run()

    assert outcome.kind == "submitted"
