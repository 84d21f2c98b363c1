"""Requests of an agent against a strict cache: each finds all that was there before."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo
from cache_model import CacheModel, CachingModel, Served, size_up_to

from orchestrator.agent.hooks import Hooks
from orchestrator.agent.spec import Outcome
from orchestrator.clock import Clock
from orchestrator.messages import Block, encode, text_block
from orchestrator.models.base import ModelRequest, OnRetry, Reply
from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.policy import ContextPolicy
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, reply, think

SYSTEM = [text_block("You are a test. " * 400)]
"""Long enough to be cached."""


NUMBERS = itertools.count()


class Slow:
    """A model that takes some seconds of the fake clock for each answer."""

    caches_prompts = True

    def __init__(self, inner: CachingModel, clock: FakeClock, *waits: float) -> None:
        self._inner, self._clock = inner, clock
        self._waits = iter(waits)

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        began = self._clock.monotonic()
        made = await self._inner.complete(request, on_retry=on_retry)
        await self._clock.advance(next(self._waits, 0.0))
        return Reply(
            **{
                name: getattr(made, name)
                for name in Reply.__slots__
                if name != "seconds"
            },
            seconds=self._clock.monotonic() - began,
        )

    async def aclose(self) -> None:
        pass


@dataclass
class Played:
    """What an agent sent, and what the log says of it."""

    bench: AgentBench
    model: CachingModel
    clock: FakeClock
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def served(self) -> list[Served]:
        return [served for _body, served in self.model.served]

    def alarms(self) -> list[dict[str, Any]]:
        return [each.data for each in self.bench.events("cache.missed")]


UNEDITED = ContextPolicy(policy="budget")
"""Nobody knows the window here, so that nothing is ever too much."""


def bench_of(
    folder: Path, clock: Clock, policy: ContextPolicy = UNEDITED
) -> AgentBench:
    return AgentBench(folder, (Echo(),), price=PRICE, clock=clock, policy=policy)


async def play(
    folder: Path,
    script: Iterable[Step],
    *,
    hooks: Hooks | None = None,
    waits: tuple[float, ...] = (),
    cache: CacheModel | None = None,
    policy: ContextPolicy = UNEDITED,
    **changes: Any,
) -> Played:
    clock = FakeClock(datetime(2026, 11, 30, tzinfo=UTC))
    bench = bench_of(folder, clock, policy)
    model = CachingModel(ScriptedModel(list(script)), clock, cache)
    played = Played(bench, model, clock)
    given = {"system": SYSTEM, **changes}
    more = {} if hooks is None else {"hooks": hooks}
    ended = await bench.run_with(Slow(model, clock, *waits), **more, **given)
    played.outcomes.append(ended)
    return played


def echo(number: int = 1, size: int = 300) -> Sequence[Block]:
    """Calls that were never made before."""
    return [call("echo", text=f"{next(NUMBERS)} " * size) for _ in range(number)]


def texts(count: int) -> Hooks:
    return Hooks(after_turn=lambda _results: [f"Text {n}." for n in range(count)])


THOUGHT = think("What next? " * 20)
CASES: dict[str, tuple[list[Step], dict[str, Any]]] = {
    "a call a turn": ([*(echo() for _ in range(6)), DONE], {}),
    "thirty calls a turn": ([*(echo(30) for _ in range(3)), DONE], {}),
    "thirty calls with thinking": (
        [*([THOUGHT, *echo(30)] for _ in range(3)), DONE],
        {},
    ),
    "texts after thirty results": (
        [*(echo(30) for _ in range(3)), DONE],
        {"hooks": texts(25)},
    ),
    "a reply cut, asked again": (
        [echo(30), reply("It is", is_cut=True), echo(30), DONE],
        {},
    ),
    "an empty reply": ([echo(30), [], echo(30), [], DONE], {}),
    "a pause": (
        [echo(30), reply("Let me see.", stop_reason="pause_turn"), echo(30), DONE],
        {},
    ),
    "a call cut": (
        [echo(), reply("So:", *echo(2), is_cut=True), echo(30), DONE],
        {},
    ),
    "text alone": ([echo(30), "I am done.", DONE], {}),
    "the last call": (
        [echo(30), echo(30), echo(30), DONE],
        {"limits": AgentLimits(turns=4)},
    ),
}


def check(served: list[Served]) -> None:
    """Each reads what the one before it had read or written, and writes the rest."""
    assert served[0].written == served[0].sent
    for before, after in itertools.pairwise(served):
        assert after.read == before.read + before.written
        assert after.fresh == 0
        assert after.marks <= 4


@pytest.mark.parametrize("case", CASES)
async def test_each_request_reads_everything_before_it(
    tmp_path: Path, case: str
) -> None:
    script, changes = CASES[case]

    played = await play(tmp_path, script, **changes)

    assert len(played.served) == len(script)
    check(played.served)
    assert played.alarms() == []


async def test_a_clear_costs_what_is_behind_the_stubs_before_and_nothing_later(
    tmp_path: Path,
) -> None:
    script: list[Step] = [*(echo(1, 1000) for _ in range(40)), DONE]

    played = await play(tmp_path, script, policy=ContextPolicy())

    asked = {each.data["turn"]: each for each in played.bench.events("model.requested")}
    clears = played.bench.events("context.cleared")
    stubs = {each.data["turn"]: [*each.data["stubs"]][-1] for each in clears}
    assert len(asked) == len(played.served)
    assert len(stubs) > 2
    newest, reads = "", played.served[0].written
    for turn, (body, served) in enumerate(played.model.served[1:], start=2):
        if turn in stubs:
            # What was new before a clear was not written: nothing would have read it.
            assert asked[turn - 1].data["newest_unwritten"]
            reads = size_up_to(body, newest) if newest else played.served[0].written
            newest = stubs[turn]
        assert served.read == reads
        if turn + 1 in stubs:
            assert served.written == 0
        else:
            assert served.fresh == 0
        reads += served.written
    assert played.alarms() == []


async def test_most_of_a_long_conversation_is_read(tmp_path: Path) -> None:
    played = await play(tmp_path, [*(echo(3) for _ in range(20)), DONE])

    read = sum(each.read for each in played.served)
    assert read / sum(each.sent for each in played.served) > 0.9


@pytest.mark.parametrize("cut", range(2, 10))
async def test_a_resumed_agent_sends_the_same_bytes_and_reads_what_was_there(
    tmp_path: Path, cut: int
) -> None:
    script: list[Step] = [echo(30), [], echo(30), "Done?", echo(2), DONE]
    first = await play(tmp_path, script)
    asked = first.bench.events("model.requested")
    answered = first.bench.events("model.answered")
    # Cut behind an answer, or behind a request whose answer never came.
    last = [each for pair in zip(asked, answered, strict=True) for each in pair][cut]
    done = sum(each.seq <= last.seq for each in answered)
    first.bench.cut(last.seq)

    rebuilt = first.bench.left()
    model = CachingModel(ScriptedModel(script[done:]), first.clock, first.model.cache)
    outcome = await first.bench.agent(model, rebuilt.spec, rebuilt=rebuilt).run()

    again = [e for e in first.bench.events("model.requested") if e.seq > last.seq]
    assert outcome.kind == "submitted"
    assert again[0].data["sha256"] == asked[done].data["sha256"]
    assert encode(model.served[0][0]) == encode(first.model.served[done][0])
    both = [*first.served[:done], *(served for _body, served in model.served)]
    for before, after in itertools.pairwise(both):
        assert after.read >= before.read + before.written
    assert first.alarms() == []


async def test_a_request_after_the_lifetime_is_told_as_such(tmp_path: Path) -> None:
    played = await play(
        tmp_path, [*(echo(4) for _ in range(3)), DONE], waits=(5, 301, 5)
    )

    [alarm] = played.alarms()
    before, late = played.served[1:3]
    assert alarm == {
        "turn": 3,
        "expected": before.read + before.written,
        "read": 0,
        "cause": "expired",
        "detail": "",
        "reported": "",
    }
    assert late.read == 0


async def test_a_conversation_too_short_to_be_cached_has_no_marks(
    tmp_path: Path,
) -> None:
    played = await play(tmp_path, [echo(1, 1), DONE], system=[text_block("Short.")])

    assert [each.marks for each in played.served] == [0, 0]
    assert played.alarms() == []


async def test_an_endpoint_without_a_cache_is_told_once(tmp_path: Path) -> None:
    none = CacheModel(shortest=10**9)

    played = await play(tmp_path, [*(echo(4) for _ in range(5)), DONE], cache=none)

    [alarm] = played.alarms()
    assert (alarm["cause"], alarm["read"]) == ("not_cached", 0)


async def test_a_resumed_run_does_not_tell_it_again(tmp_path: Path) -> None:
    none = CacheModel(shortest=10**9)
    script: list[Step] = [*(echo(4) for _ in range(5)), DONE]
    played = await play(tmp_path, script, cache=none)
    played.bench.cut(played.bench.events("model.answered")[2].seq)

    rebuilt = played.bench.left()
    model = CachingModel(ScriptedModel(script[3:]), played.clock, none)
    await played.bench.agent(model, rebuilt.spec, rebuilt=rebuilt).run()

    assert len(played.alarms()) == 1


async def test_a_resumed_run_knows_of_which_model_it_was_told(tmp_path: Path) -> None:
    clock, none = FakeClock(), CacheModel(shortest=10**9)
    bench = AgentBench(tmp_path, (Echo(),), fallback="another-one", clock=clock)
    script: list[Step] = [
        *(echo(4) for _ in range(5)),
        reply(stop_reason="refusal"),
        DONE,
    ]
    model = CachingModel(ScriptedModel(script), clock, none)
    await bench.run_with(model, system=SYSTEM)
    [told] = bench.events("cache.missed")
    [replaced] = bench.events("model.replaced")
    assert told.seq < replaced.seq

    rebuilt = bench.left()
    agent = bench.agent(model, rebuilt.spec, rebuilt=rebuilt)

    assert agent.state.form.model == bench.fallback
    assert agent.caller.caching.use.without == {rebuilt.spec.model}


class Forgetful(CacheModel):
    """Loses everything before the request with so many messages."""

    def receive(self, body: dict[str, Any], at: float) -> Served:
        if len(body["messages"]) == 7:
            self.evict()
        return super().receive(body, at)


async def test_a_fall_of_which_nothing_is_known_is_told_too(tmp_path: Path) -> None:
    script: list[Step] = [*(echo(4) for _ in range(5)), DONE]

    played = await play(tmp_path, script, cache=Forgetful())

    [alarm] = played.alarms()
    before = played.served[2]
    assert (alarm["turn"], alarm["read"], alarm["cause"]) == (4, 0, "unknown")
    assert alarm["expected"] == before.read + before.written


async def test_thinking_that_is_left_out_costs_what_is_behind_the_first_message(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    bench = bench_of(tmp_path, clock)

    def drops(request: ModelRequest) -> Step:
        if len(request.messages) == 7:
            agent.state.shown.drop_thinking()
            return echo(12)  # a thought here would be bound to those that are gone
        return DONE if len(request.messages) > 9 else [THOUGHT, *echo(12)]

    model = CachingModel(ScriptedModel(drops), clock)
    first = [text_block("Read this. " * 600)]
    agent = bench.agent(model, bench.spec(system=SYSTEM, first=first))
    await agent.run()

    [alarm] = [each.data for each in bench.events("cache.missed")]
    served = [each for _body, each in model.served]
    assert (alarm["cause"], alarm["detail"]) == (
        "prefix_changed",
        "thinking is left out",
    )
    assert served[4].read == served[0].written
