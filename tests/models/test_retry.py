"""Trying again: how often, how long, and for what."""

from __future__ import annotations

import random

import pytest

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.models.base import ModelRequest, Retry
from orchestrator.models.retry import Retrying
from orchestrator.testing import FakeClock, ScriptedModel, Step, fail, say

REQUEST = ModelRequest(
    model="m",
    system=[],
    tools=[],
    messages=[{"role": "user", "content": "go"}],
    max_output_tokens=100,
    body=b"",
)


class Tried:
    """A retrying model over a script, and what it told."""

    def __init__(self, *steps: Step, **options: float) -> None:
        self.clock = FakeClock()
        self.inner = ScriptedModel(list(steps))
        self.retries: list[Retry] = []
        self.model = Retrying(
            self.inner,
            self.clock,
            outage_s=options.get("outage_s", 300.0),
            attempts=int(options.get("attempts", 16)),
            rng=random.Random(7),
        )

    async def run(self) -> str:
        reply = await self.model.complete(REQUEST, on_retry=self.retries.append)
        return str(reply.content[0]["text"])


async def test_a_failure_that_passes_is_not_seen_by_the_caller() -> None:
    tried = Tried(fail("transient"), fail("overloaded"), say("done"))

    assert await tried.run() == "done"
    assert [retry.attempt for retry in tried.retries] == [1, 2]
    assert [retry.error for retry in tried.retries] == ["transient", "overloaded"]


async def test_waits_double_up_to_a_cap_and_are_spread() -> None:
    tried = Tried(*[fail("transient") for _ in range(9)], say("done"))

    await tried.run()

    for wait, whole in zip(
        tried.clock.slept, [0.5, 1, 2, 4, 8, 16, 30, 30, 30], strict=True
    ):
        assert 0.75 * whole <= wait <= whole
    assert [retry.wait_s for retry in tried.retries] == tried.clock.slept


async def test_many_that_fail_at_once_do_not_come_back_at_once() -> None:
    waits = set()
    for seed in range(8):
        clock = FakeClock()
        model = Retrying(
            ScriptedModel([fail("rate_limited", retry_after_s=3), say("x")]),
            clock,
            rng=random.Random(seed),
        )
        await model.complete(REQUEST, on_retry=lambda _retry: None)
        waits.add(round(clock.slept[0], 6))

    assert len(waits) == 8


async def test_no_request_goes_out_before_the_told_time() -> None:
    tried = Tried(fail("rate_limited", retry_after_s=3), say("done"))

    await tried.run()

    assert 3 <= tried.clock.slept[0] <= 3.3


async def test_a_told_wait_of_zero_is_believed_once() -> None:
    tried = Tried(*[fail("overloaded", retry_after_s=0) for _ in range(3)], say("done"))

    await tried.run()

    assert tried.clock.slept[0] == 0
    assert tried.clock.slept[1] >= 0.75
    assert tried.clock.slept[2] >= 1.5


async def test_a_told_wait_beyond_the_outage_is_raised_with_its_time() -> None:
    tried = Tried(fail("rate_limited", retry_after_s=3600), say("never"))

    with pytest.raises(ModelError) as caught:
        await tried.run()

    assert caught.value.retry_after_s == 3600
    assert tried.clock.slept == []
    assert tried.retries == []


@pytest.mark.parametrize(
    "kind", ["quota_exhausted", "too_long", "thinking_bound", "invalid", "auth", "cut"]
)
async def test_what_will_not_pass_is_not_tried_again(kind: ModelErrorKind) -> None:
    tried = Tried(fail(kind, "told why", retry_after_s=1), say("never"))

    with pytest.raises(ModelError, match="told why"):
        await tried.run()

    assert len(tried.inner.requests) == 1
    assert tried.retries == []


async def test_tries_are_bounded_in_number() -> None:
    tried = Tried(*[fail("rate_limited", retry_after_s=0) for _ in range(50)])

    with pytest.raises(ModelError):
        await tried.run()

    assert len(tried.inner.requests) <= 16


async def test_tries_are_bounded_in_time_and_the_last_is_at_its_end() -> None:
    tried = Tried(*[fail("transient") for _ in range(50)], outage_s=60, attempts=50)

    with pytest.raises(ModelError):
        await tried.run()

    assert tried.clock.monotonic() == pytest.approx(60)


async def test_a_request_is_repeated_unchanged() -> None:
    tried = Tried(fail("transient"), say("done"))

    await tried.run()

    first, second = tried.inner.requests
    assert first == second


async def test_closing_closes_the_model_inside() -> None:
    tried = Tried()

    await tried.model.aclose()

    assert tried.inner.is_closed


def test_no_attempt_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="`attempts` must be 1 or more"):
        Tried(attempts=0)
