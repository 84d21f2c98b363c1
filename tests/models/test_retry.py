"""Trying again: how often, how long, for what, and what is said when it ends."""

from __future__ import annotations

import math
import random

import pytest
from limited_service import request_for

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.models.base import Retry
from orchestrator.models.governor import Governor
from orchestrator.models.retry import Patience
from orchestrator.testing import FakeClock, ScriptedModel, Step, fail, say

OUTAGE_S = 300.0
NEVER = -math.inf


class Tried:
    """A governed model over a script, and what it told."""

    def __init__(self, *steps: Step, outage_s: float = OUTAGE_S) -> None:
        self.clock = FakeClock()
        self.inner = ScriptedModel(list(steps))
        self.retries: list[Retry] = []
        self.model = Governor(self.inner, self.clock, rng=random.Random(7))
        self.request = request_for(outage_s=outage_s)

    async def run(self) -> str:
        reply = await self.model.complete(self.request, on_retry=self.retries.append)
        return str(reply.content[0]["text"])

    async def fails(self) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await self.run()
        return caught.value


async def test_a_failure_that_passes_is_not_seen_by_the_caller() -> None:
    tried = Tried(fail("transient"), fail("overloaded"), say("done"))

    assert await tried.run() == "done"
    assert [retry.attempt for retry in tried.retries] == [1, 2]
    assert [retry.error for retry in tried.retries] == ["transient", "overloaded"]


@pytest.mark.parametrize("kind", ["transient", "overloaded", "rate_limited"])
async def test_waits_double_up_to_a_cap_and_are_spread(kind: ModelErrorKind) -> None:
    tried = Tried(*[fail(kind) for _ in range(9)], say("done"), outage_s=900)

    await tried.run()

    for retry, whole in zip(
        tried.retries, [0.5, 1, 2, 4, 8, 16, 30, 30, 30], strict=True
    ):
        assert 0.75 * whole <= retry.wait_s <= whole
    assert sum(retry.wait_s for retry in tried.retries) == pytest.approx(
        tried.clock.monotonic(), rel=0.05
    )


async def test_many_that_fail_at_once_do_not_come_back_at_once() -> None:
    waits = set()
    for seed in range(8):
        patience = Patience(OUTAGE_S, random.Random(seed))
        error = ModelError("transient", "reset")
        waits.add(round(patience.wait_s(error, now=0, answered=NEVER), 6))

    assert len(waits) == 8


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "transient"])
async def test_no_request_goes_out_before_the_told_time(kind: ModelErrorKind) -> None:
    tried = Tried(fail(kind, retry_after_s=3), say("done"))

    await tried.run()

    assert tried.clock.monotonic() == pytest.approx(3)


async def test_a_told_wait_of_zero_is_believed_once() -> None:
    tried = Tried(*[fail("overloaded", retry_after_s=0) for _ in range(3)], say("done"))

    await tried.run()

    assert tried.retries[0].wait_s == 0
    assert tried.retries[1].wait_s >= 0.75
    assert tried.retries[2].wait_s >= 1.5


async def test_a_told_wait_beyond_the_outage_is_raised_with_its_time() -> None:
    tried = Tried(fail("rate_limited", retry_after_s=3600), say("never"))

    error = await tried.fails()

    assert error.retry_after_s == 3600
    assert error.is_down
    assert tried.clock.slept == []
    assert tried.retries == []


@pytest.mark.parametrize(
    "kind", ["quota_exhausted", "too_long", "thinking_bound", "invalid", "auth", "cut"]
)
async def test_what_will_not_pass_is_not_tried_again(kind: ModelErrorKind) -> None:
    tried = Tried(fail(kind, "told why", retry_after_s=1), say("never"))

    error = await tried.fails()

    assert error.message == "told why"
    assert not error.is_down
    assert len(tried.inner.requests) == 1
    assert tried.retries == []


@pytest.mark.parametrize("told_s", [-1, 0, 1])
async def test_tries_are_bounded_in_number(told_s: float) -> None:
    failure = fail("rate_limited", retry_after_s=told_s)
    tried = Tried(*[failure for _ in range(50)], outage_s=9999)

    error = await tried.fails()

    assert len(tried.inner.requests) == 16
    assert error.is_down  # nobody had an answer


async def test_tries_are_bounded_in_time_and_the_last_is_at_its_end() -> None:
    tried = Tried(*[fail("transient", "reset") for _ in range(50)], outage_s=60)

    error = await tried.fails()

    assert tried.clock.monotonic() == pytest.approx(60)
    assert error.is_down
    assert error.message == "nobody answered for 60 s (`limits.outage_s`): reset"


async def test_tries_that_may_be_billed_are_few() -> None:
    tried = Tried(
        *[ModelError("transient", "reset", begun=True) for _ in range(50)],
    )

    await tried.fails()

    assert len(tried.inner.requests) == 5


async def test_an_answer_that_breaks_thrice_at_one_place_is_the_last() -> None:
    halves = ["a", "b", "b", "b", "b"]
    tried = Tried(
        *[ModelError("transient", "it broke", begun=True, half=half) for half in halves]
    )

    error = await tried.fails()

    assert len(tried.inner.requests) == 4
    told = "the answer broke off 3 times, each time at the same place: it broke"
    assert error.message == told
    assert not error.is_down  # the endpoint answers; it is this request


async def test_broken_answers_without_a_digest_are_not_taken_for_the_same() -> None:
    tried = Tried(
        *[ModelError("transient", "it broke", begun=True) for _ in range(4)],
        say("done"),
    )

    assert await tried.run() == "done"


def test_the_time_of_an_outage_begins_anew_with_each_answer_of_others() -> None:
    patience = Patience(10, random.Random(1))
    error = ModelError("transient", "reset")

    patience.wait_s(error, now=0, answered=NEVER)
    assert patience.wait_s(error, now=15, answered=14) > 0
    with pytest.raises(ModelError) as caught:
        patience.wait_s(error, now=25, answered=14)

    assert caught.value.is_down  # by now nobody had one for so long


@pytest.mark.parametrize(
    ("answered", "is_down"),
    [
        pytest.param(0.1, True, id="it was on its way at the first failure"),
        pytest.param(1.1, False, id="this request is the matter"),
    ],
)
def test_tries_that_are_over_are_an_outage_unless_others_get_answers(
    answered: float, is_down: bool
) -> None:
    patience = Patience(300, random.Random(1))
    error = ModelError("transient", "reset", begun=True)

    for now in range(4):
        patience.wait_s(error, now=now, answered=answered)
    with pytest.raises(ModelError) as caught:
        patience.wait_s(error, now=4, answered=answered)

    assert caught.value.is_down is is_down


async def test_a_request_is_repeated_unchanged() -> None:
    tried = Tried(fail("transient"), say("done"))

    await tried.run()

    first, second = tried.inner.requests
    assert first == second


async def test_closing_closes_the_model_inside() -> None:
    tried = Tried()

    await tried.model.aclose()

    assert tried.inner.is_closed


def test_no_request_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="`most_at_once` must be 1 or more"):
        Governor(ScriptedModel([]), FakeClock(), most_at_once=0)
