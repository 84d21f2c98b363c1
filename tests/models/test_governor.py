"""One governor for all: gate, order, headers, what is told when it ends."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from fake_endpoint import FakeEndpoint, refused, stream, text
from limited_service import request_for

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Retry, Usage
from orchestrator.models.governor import Governor
from orchestrator.runtime.host import ModelPool
from orchestrator.testing import FakeClock, ScriptedModel, fail

DONE = Reply([{"type": "text", "text": "ok"}], "end_turn", Usage(10, 0, 0, 0, 5))


class Service:
    """Answers each request as `says` tells for it; keeps when each came."""

    def __init__(self, clock: FakeClock, *says: ModelError | None) -> None:
        self.clock, self.says = clock, list(says)
        self.asked: list[tuple[float, str]] = []
        self.headers: dict[str, str] = {}
        self.call_s = 1.0
        self.always: dict[str, ModelError] = {}
        """Who asks → what each of its requests gets."""

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        self.asked.append((self.clock.monotonic(), str(request.system[0])))
        said = self.always.get(request.system[0]["text"])
        if said is None and self.says:
            said = self.says.pop(0)
        await self.clock.sleep(0.01)
        request.on_headers(self.headers)
        if said is not None:
            raise said
        await self.clock.sleep(self.call_s)
        return DONE

    async def aclose(self) -> None:
        pass

    @property
    def times(self) -> list[float]:
        return [round(at, 2) for at, _ in self.asked]


class Bench:
    def __init__(self, *says: ModelError | None, most_at_once: int = 500) -> None:
        self.clock = FakeClock()
        self.service = Service(self.clock, *says)
        self.model = Governor(
            self.service,
            self.clock,
            most_at_once=most_at_once,
            rng=random.Random(1),
        )
        self.replies: list[Reply] = []
        self.errors: list[ModelError] = []
        self.retries: list[Retry] = []

    async def ask(self, name: str = "x", model: str = "m", **fields: Any) -> None:
        request = replace(request_for(model), system=[{"text": name}], **fields)
        try:
            reply = await self.model.complete(request, on_retry=self.retries.append)
        except ModelError as error:
            self.errors.append(error)
        else:
            self.replies.append(reply)

    async def ask_all(self, count: int, **fields: Any) -> None:
        async with anyio.create_task_group() as group:
            for number in range(count):
                group.start_soon(lambda name: self.ask(name, **fields), str(number))


def limited(
    told_s: float | None = None, kind: ModelErrorKind = "rate_limited"
) -> ModelError:
    return ModelError(kind, "too many", told_s)


# ---- the gate -----------------------------------------------------------------------


async def test_a_told_time_holds_for_requests_of_all() -> None:
    bench = Bench(limited(5))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first")
        await bench.clock.sleep(2)
        group.start_soon(bench.ask, "second")

    assert bench.service.times[0] == 0
    assert min(bench.service.times[1:]) == 5.01


async def test_another_model_is_not_held() -> None:
    bench = Bench(limited(5))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first", "m")
        await bench.clock.sleep(2)
        group.start_soon(bench.ask, "second", "other")

    assert bench.service.times == [0, 2, 5.01]


@pytest.mark.parametrize("kind", ["overloaded", "transient"])
async def test_without_a_told_time_a_fault_of_one_holds_nobody_else(
    kind: ModelErrorKind,
) -> None:
    bench = Bench(limited(None, kind))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first")
        await bench.clock.sleep(0.1)
        group.start_soon(bench.ask, "second")

    assert bench.service.times[:2] == [0, 0.1]


async def test_a_rejection_without_a_told_time_holds_all_for_a_backoff() -> None:
    bench = Bench(limited(None))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first")
        await bench.clock.sleep(0.1)
        group.start_soon(bench.ask, "second")

    assert 0.375 <= bench.service.times[1] <= 0.51


async def test_whoever_cannot_wait_so_long_ends_without_a_request() -> None:
    bench = Bench(limited(200))

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "patient")
        await bench.clock.sleep(10)
        await bench.ask("hasty", outage_s=60)

    [error] = bench.errors
    assert error.is_down
    assert not error.begun
    assert error.retry_after_s == pytest.approx(190.01)
    assert [name for _, name in bench.service.asked] == ["{'text': 'patient'}"] * 2


async def test_an_absurd_time_is_told_as_it_came_and_believed_for_a_day() -> None:
    bench = Bench(limited(4_294_967))

    await bench.ask()
    await bench.ask()
    await bench.clock.sleep(86_400)
    await bench.ask()

    assert [error.retry_after_s for error in bench.errors] == [
        4_294_967,
        pytest.approx(86_400),
    ]
    assert all(error.is_down for error in bench.errors)
    assert len(bench.replies) == 1


async def test_times_are_told_to_the_callers_and_not_counted_as_the_try() -> None:
    bench = Bench(limited(5), limited(7))

    await bench.ask()

    assert [round(retry.wait_s, 2) for retry in bench.retries] == [5, 7]
    assert bench.replies[0].queued_s == pytest.approx(12)


# ---- the queue ----------------------------------------------------------------------


async def test_first_come_first_served() -> None:
    bench = Bench(most_at_once=1)

    await bench.ask_all(5)

    assert [name for _, name in bench.service.asked] == [
        f"{{'text': '{number}'}}" for number in range(5)
    ]
    assert [round(reply.queued_s, 2) for reply in bench.replies] == [
        0,
        1.01,
        2.02,
        3.03,
        4.04,
    ]


@pytest.mark.parametrize("leaver", [1, 2, 4])
async def test_a_waiter_that_gives_up_leaves_no_hole(leaver: int) -> None:
    bench = Bench(most_at_once=1)
    scope = anyio.CancelScope()

    async def gives_up() -> None:
        with scope:
            await bench.ask("leaver")

    async with anyio.create_task_group() as group:
        for number in range(5):
            if number == leaver:
                group.start_soon(gives_up)
            else:
                group.start_soon(bench.ask, str(number))
            await anyio.lowlevel.checkpoint()
        await bench.clock.sleep(0.5)
        scope.cancel()

    assert len(bench.replies) == 4
    assert bench.service.times == [0, 1.01, 2.02, 3.03]


async def test_one_that_is_cancelled_as_it_may_leave_gives_its_place_back() -> None:
    bench = Bench(most_at_once=1)
    scope = anyio.CancelScope()

    async def gives_up() -> None:
        with scope:
            await bench.ask("leaver")

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first")
        await anyio.lowlevel.checkpoint()
        group.start_soon(gives_up)
        await bench.clock.sleep(1.01)
        scope.cancel()
        group.start_soon(bench.ask, "last")

    assert len(bench.replies) == 2


async def test_a_try_that_is_cancelled_gives_its_place_back() -> None:
    bench = Bench(most_at_once=1)

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(bench.ask)
            await bench.clock.sleep(0.5)
            scope.cancel()
    await bench.ask()

    assert len(bench.replies) == 1


async def test_all_waits_are_excused_and_no_try_is() -> None:
    bench = Bench(limited(3), ModelError("transient", "reset"))
    waited: list[tuple[float, float]] = []

    @contextmanager
    def waiting() -> Iterator[None]:
        began = bench.clock.monotonic()
        yield
        waited.append((began, bench.clock.monotonic()))

    await bench.ask(while_waiting=waiting)

    told, backoff = (span for span in waited if span[1] > span[0])
    assert told == pytest.approx((0.01, 3.01))
    assert backoff[0] == pytest.approx(3.02)
    assert bench.clock.monotonic() == pytest.approx(backoff[1] + 1.01)


# ---- headers ------------------------------------------------------------------------


def told_left(counted: str, limit: int, remaining: int, full_at: str) -> dict[str, str]:
    start = f"anthropic-ratelimit-{counted}-"
    return {
        f"{start}limit": str(limit),
        f"{start}remaining": str(remaining),
        f"{start}reset": full_at,
    }


async def test_requests_leave_as_fast_as_the_headers_say() -> None:
    bench = Bench()
    # 10 of 10 are used, and back within 20 seconds: one in two.
    bench.service.headers = told_left("requests", 10, 0, "2026-11-29T12:00:20Z")
    await bench.ask()
    bench.service.headers = {}

    await bench.ask_all(4)

    gaps = [b - a for a, b in pairwise(bench.service.times[1:])]
    assert gaps == pytest.approx([2, 2, 2], abs=0.02)
    assert bench.retries == []


async def test_tokens_count_what_no_cache_holds() -> None:
    bench = Bench()
    headers = told_left("input-tokens", 6000, 3000, "2026-11-29T12:00:30Z")
    bench.service.headers = headers  # 100 a second
    await bench.ask()
    bench.service.headers = {}
    began = bench.clock.monotonic()

    await bench.ask(uncached_tokens=3000)
    await bench.ask(uncached_tokens=500)
    await bench.ask(uncached_tokens=0)

    times = [at - began for at in bench.service.times[1:]]
    assert times == pytest.approx([0, 4, 5], abs=0.1)


async def test_headers_count_when_the_answer_begins() -> None:
    bench = Bench()
    bench.service.call_s = 100
    bench.service.headers = told_left("requests", 10, 0, "2026-11-29T12:00:20Z")

    async with anyio.create_task_group() as group:
        group.start_soon(bench.ask, "first")
        await bench.clock.sleep(1)
        group.start_soon(bench.ask, "second")

    assert bench.service.times == pytest.approx([0, 2], abs=0.1)


async def test_headers_hold_nobody_back_for_longer_than_a_minute() -> None:
    bench = Bench()
    bench.service.headers = told_left("requests", 10, 0, "2026-11-30T12:00:00Z")

    await bench.ask()
    await bench.ask()

    assert bench.service.times == pytest.approx([0, 61], abs=0.1)


async def test_headers_full_of_garbage_change_nothing() -> None:
    bench = Bench()
    bench.service.headers = told_left("requests", -3, 0, "never")

    await bench.ask()
    await bench.ask()

    assert bench.service.times == [0, 1.01]


# ---- the ends -----------------------------------------------------------------------


async def test_a_call_that_alone_fails_ends_alone() -> None:
    bench = Bench(most_at_once=500)
    bench.service.always["poison"] = ModelError("transient", "cannot do this one")

    async def works() -> None:
        for _ in range(500):
            await bench.ask("good")

    async with anyio.create_task_group() as group:
        group.start_soon(works)
        group.start_soon(bench.ask, "poison")

    [error] = bench.errors
    assert not error.is_down
    assert len(bench.retries) == 15
    assert len(bench.replies) == 500


async def test_where_nobody_gets_an_answer_everybody_is_told_that_it_is_down() -> None:
    bench = Bench(*[ModelError("transient", "no route") for _ in range(999)])

    await bench.ask_all(5, outage_s=60)

    assert len(bench.errors) == 5
    assert all(error.is_down for error in bench.errors)
    assert bench.clock.monotonic() == pytest.approx(60, abs=1)


async def test_tries_are_bounded_where_every_one_is_rejected() -> None:
    bench = Bench(*[limited(1) for _ in range(999)])

    await bench.ask_all(8, outage_s=300)

    assert len(bench.errors) == 8
    assert all(error.is_down for error in bench.errors)
    assert len(bench.service.asked) <= 8 * 16
    assert bench.clock.monotonic() <= 301


async def test_a_waiter_ends_too_when_nobody_had_an_answer_for_so_long() -> None:
    bench = Bench(*[limited(50) for _ in range(999)])

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: bench.ask("lead", outage_s=900))
        await bench.clock.sleep(1)
        group.start_soon(lambda: bench.ask("hasty", outage_s=60))

    hasty, _ = bench.errors
    assert hasty.is_down
    assert hasty.message == "nobody answered for 60 s (`limits.outage_s`): too many"


@pytest.mark.parametrize("kind", ["quota_exhausted", "auth"])
async def test_whoever_listens_is_told_of_a_key_that_is_refused(
    kind: ModelErrorKind,
) -> None:
    bench = Bench(limited(None, kind), None, limited(None, kind))
    told: list[ModelError] = []

    ends = bench.model.on_closed(told.append)
    await bench.ask()
    await bench.ask()
    ends()
    await bench.ask()

    assert [error.kind for error in bench.errors] == [kind, kind]
    assert told == bench.errors[:1]
    assert len(bench.replies) == 1  # nothing is closed here: that is for the runs


async def test_other_ends_are_not_told() -> None:
    bench = Bench(limited(None, "invalid"), limited(9999))
    told: list[ModelError] = []
    bench.model.on_closed(told.append)

    await bench.ask()
    await bench.ask()

    assert len(bench.errors) == 2
    assert told == []


# ---- the pool -----------------------------------------------------------------------


async def test_all_runs_of_a_process_share_one_governor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-tests")
    pool = ModelPool(None, FakeClock())

    first, second = pool.open("claude-haiku-5-5"), pool.open("claude-sonnet-5-5")

    assert first is second
    assert isinstance(first, Governor)
    assert not isinstance(pool.open("offline"), Governor)
    await pool.aclose()


async def test_the_pool_tells_every_run_of_a_key_that_is_refused() -> None:
    clock = FakeClock()
    model = Governor(ScriptedModel([fail("auth")] * 3), clock)
    pool = ModelPool(model, clock)
    one: list[ModelError] = []
    other: list[ModelError] = []
    ends = pool.on_closed(one.append)
    pool.on_closed(other.append)

    with pytest.raises(ModelError):
        await pool.open("m").complete(request_for(), on_retry=lambda _: None)
    ends()
    with pytest.raises(ModelError):
        await pool.open("m").complete(request_for(), on_retry=lambda _: None)

    assert (len(one), len(other)) == (1, 2)
    await pool.aclose()
    with pytest.raises(ModelError):
        await model.complete(request_for(), on_retry=lambda _: None)
    assert len(other) == 2


# ---- over the wire ------------------------------------------------------------------


def in_seconds(clock: FakeClock, seconds: float) -> str:
    return format_datetime(clock.now() + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize(
    ("told", "least_s", "most_s"),
    [
        pytest.param(3, 3, 3.01, id="a date 3 s ahead"),
        pytest.param(-60, 0, 0.001, id="a date that is past"),
        pytest.param("-5", 0, 0.001, id="negative"),
        pytest.param("0", 0, 0.001, id="zero"),
        pytest.param("2.5", 2.5, 2.51, id="a fraction"),
        pytest.param("abc", 0.375, 0.51, id="garbage: own backoff"),
        pytest.param("nan", 0.375, 0.51, id="no number: own backoff"),
        pytest.param(None, 0.375, 0.51, id="nothing told: own backoff"),
    ],
)
async def test_retry_after_is_obeyed_in_all_its_forms(
    status: int, told: str | int | None, least_s: float, most_s: float
) -> None:
    clock = FakeClock()
    text_told = in_seconds(clock, told) if isinstance(told, int) else told
    headers: Mapping[str, str] = {} if text_told is None else {"retry-after": text_told}
    retries: list[Retry] = []
    script = [refused(status, "x_error", headers=dict(headers)), stream(text("done"))]
    request = request_for("claude-haiku-5-5")
    body = (
        b'{"model":"claude-haiku-5-5","max_tokens":100,"stream":true,'
        b'"messages":[{"role":"user","content":"go"}]}'
    )
    async with FakeEndpoint(script) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url, clock=clock)
        governor = Governor(model, clock)
        await governor.complete(replace(request, body=body), on_retry=retries.append)
        await governor.aclose()

    assert all(seconds >= 0 for seconds in clock.slept)
    assert least_s <= clock.monotonic() <= most_s
    assert least_s <= retries[0].wait_s <= most_s
