"""What one lane makes of tries that were accepted, rejected, or never heard of."""

from __future__ import annotations

import math
import random

import anyio
from limited_service import request_for

from orchestrator.errors import ModelError
from orchestrator.models.lane import Lane
from orchestrator.models.retry import backoff_s
from orchestrator.models.storm import Evidence, Try
from orchestrator.testing import FakeClock

TOO_OFTEN = ModelError("rate_limited", "too many requests")
TOO_MUCH = ModelError("overloaded", "overloaded")


def lane_of(clock: FakeClock) -> Lane:
    return Lane(clock, 500, random.Random(3))


async def entered(lane: Lane) -> Try:
    return await lane.enter(request_for(), failing_since=math.inf)


async def test_an_answer_ends_a_row_of_storms_however_long_it_took() -> None:
    clock = FakeClock()
    lane = lane_of(clock)
    closed_s = []
    for _ in range(12):
        rejected = await entered(lane)
        lane.failed(rejected, TOO_OFTEN)
        lane.leave(rejected)
        closed_s.append(lane.opens_in_s)
        accepted = await entered(lane)
        lane.hears(accepted, {})
        await clock.sleep(40)
        lane.answered(accepted)
        lane.leave(accepted)

    assert max(closed_s) <= 1.0


async def test_rejections_that_come_late_are_weighed_when_they_come() -> None:
    clock = FakeClock()
    lane = lane_of(clock)
    taken = await entered(lane)
    lane.answered(taken)
    lane.leave(taken)
    tries = [await entered(lane) for _ in range(8)]
    lane.failed(tries[0], TOO_MUCH)
    lane.leave(tries[0])
    tries.append(await entered(lane))  # the others are not heard of yet
    for each in tries[1:]:
        lane.failed(each, TOO_MUCH)
        lane.leave(each)

    newest = await entered(lane)
    lane.failed(newest, TOO_MUCH)
    lane.leave(newest)

    await entered(lane)
    with anyio.move_on_after(0.05) as second:
        await entered(lane)
    assert second.cancelled_caught


def tried(number: int, *, is_rejected: bool = False, is_heard: bool = False) -> Try:
    left = Try(number, float(number), 1, under_way=1, waited_s=0.0, was_held=False)
    left.was_rejected, left.was_heard = is_rejected, is_heard
    left.is_pending = not (is_heard or is_rejected)
    return left


def test_each_is_weighed_once_when_it_is_known() -> None:
    evidence = Evidence()
    left = [tried(n) for n in range(1, 4)]

    assert not evidence.is_enough(left)
    for each in left:
        each.is_pending, each.was_rejected = False, True
    assert evidence.is_enough(left)
    more = [tried(n, is_heard=True) for n in range(4, 30)]
    assert not evidence.is_enough([*left, *more])


def test_what_never_reached_the_service_is_no_word_for_it() -> None:
    evidence = Evidence()
    unreached = [tried(n) for n in range(1, 30)]
    for each in unreached:
        each.is_pending = False
    few = [tried(n, is_rejected=True) for n in range(30, 33)]

    assert not any(each.was_accepted or each.seems_accepted for each in unreached)
    assert evidence.is_enough([few[0], *unreached, *few[1:]])


def test_waits_stay_bounded_however_often_it_failed() -> None:
    assert backoff_s(5000, random.Random(1)) <= 30.0
