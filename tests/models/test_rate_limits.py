"""Many agents behind one limit, in virtual time: what it takes beside the limit itself.

No request leaves before a told time, all agents end, and the limit is used.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from limited_service import (
    Bucket,
    Fixed,
    Limit,
    Service,
    Sliding,
    Taken,
    Unlimited,
    fan_out,
    most_within,
)

from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock

AGENTS, CALLS = 8, 12
ALL = AGENTS * CALLS + 2
"""The lead's own two included."""


@dataclass
class Ended:
    """A fan-out that is over."""

    taken: Taken
    service: Service

    @property
    def share_rejected(self) -> float:
        return len(self.service.rejected) / len(self.service.asked)


async def played(
    limit: Limit,
    *,
    agents: int = AGENTS,
    calls: int = CALLS,
    most_at_once: int = 500,
    **told: Any,
) -> Ended:
    clock = FakeClock()
    service = Service(clock, limit, **told)
    governor = Governor(service, clock, most_at_once=most_at_once, rng=random.Random(3))
    taken = await fan_out(governor, clock, agents=agents, calls=calls)
    assert service.early == []
    assert taken.failed == []
    assert taken.ended == agents * calls + 2
    return Ended(taken, service)


TWO_A_SECOND = [
    pytest.param(lambda: Bucket(2, 2), id="bucket"),
    pytest.param(lambda: Sliding(2), id="sliding window"),
    pytest.param(lambda: Fixed(2), id="fixed window"),
]


@pytest.mark.parametrize("limit", TWO_A_SECOND)
@pytest.mark.parametrize("told_s", [1.0, 3.0, "exact"])
@pytest.mark.parametrize("call_s", [0.05, 0.5])
async def test_two_a_second_take_hardly_longer_than_the_limit_itself(
    limit: Callable[[], Limit], told_s: float | str, call_s: float
) -> None:
    ended = await played(limit(), told_s=told_s, call_s=call_s)

    itself_s = (ALL - 2) / 2 + 3 * call_s
    assert ended.taken.seconds <= 1.15 * itself_s
    assert ended.share_rejected <= 0.10
    assert max(ended.taken.tries) <= 4


@pytest.mark.parametrize("limit", TWO_A_SECOND)
async def test_long_calls_under_two_a_second_too(limit: Callable[[], Limit]) -> None:
    ended = await played(limit(), told_s=1.0, call_s=3, jitter=0.4)

    assert ended.taken.seconds <= 1.15 * ((ALL - 2) / 2 + 3 * 3)
    assert ended.share_rejected <= 0.10


@pytest.mark.parametrize("limit", TWO_A_SECOND)
async def test_a_rate_limit_that_tells_no_time_is_found_as_well(
    limit: Callable[[], Limit],
) -> None:
    ended = await played(limit(), told_s=None, call_s=0.5)

    assert ended.taken.seconds <= 1.25 * (ALL - 2) / 2
    assert ended.share_rejected <= 0.15


@pytest.mark.parametrize("limit", TWO_A_SECOND)
async def test_requests_that_come_a_little_late_do_not_slow_it_down(
    limit: Callable[[], Limit],
) -> None:
    ended = await played(limit(), told_s=3.0, call_s=0.05, trip_jitter_s=0.06)

    assert ended.taken.seconds <= 1.15 * ((ALL - 2) / 2 + 3 * 0.05)


async def test_a_few_rejections_do_not_hide_what_the_many_after_them_show() -> None:
    ended = await played(Sliding(8), calls=4, told_s=0.3, call_s=0.02)

    # Two as the eight begin, all eight when the told time is over, one try or two.
    assert len(ended.service.rejected) <= 12


@pytest.mark.parametrize("counted", ["requests", "input-tokens"])
async def test_headers_that_are_not_kept_hold_back_once_and_no_more(
    counted: str,
) -> None:
    told = {"limit": "50", "remaining": "0", "reset": "2999-01-01T00:00:00Z"}
    headers = {f"anthropic-ratelimit-{counted}-{k}": v for k, v in told.items()}
    ended = await played(Unlimited(), call_s=0.5, headers=headers)

    assert ended.taken.seconds <= 60 + 1.1 * (CALLS + 2) * 0.51


@dataclass
class Chance:
    """Rejects some requests, whatever came before them."""

    share: float
    rng: random.Random

    def takes(self, now: float) -> bool:
        return self.rng.random() >= self.share

    def opens_in_s(self, now: float) -> float:
        return 0.0


@pytest.mark.parametrize("told_s", [0.5, 1.0])
@pytest.mark.parametrize("call_s", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
async def test_rejections_by_chance_cost_the_time_that_was_told_and_little_more(
    told_s: float, call_s: float, seed: int
) -> None:
    limit = Chance(0.05, random.Random(seed))
    ended = await played(limit, told_s=told_s, call_s=call_s)

    itself_s = (CALLS + 2) * (call_s + 0.01)
    closed_s = len(ended.service.rejected) * told_s
    assert ended.taken.seconds <= 1.5 * (itself_s + closed_s)


@pytest.mark.parametrize("seed", range(3))
async def test_chance_that_tells_no_time_does_not_lengthen_the_waits(seed: int) -> None:
    limit = Chance(0.05, random.Random(seed))
    ended = await played(limit, agents=50, told_s=None, call_s=0.5)

    # It rejects one of nearly all rounds of 50: half a second for each.
    assert ended.taken.seconds <= len(ended.service.rejected) * 0.5 + 14 * 0.51


@pytest.mark.parametrize("seed", range(3))
async def test_overload_by_chance_does_not_narrow_a_fan_out(seed: int) -> None:
    limit = Chance(0.05, random.Random(seed))
    ended = await played(limit, agents=50, told_s=None, kind="overloaded", call_s=2)

    assert ended.service.most_under_way == 50
    assert ended.taken.seconds <= 1.2 * 14 * 2.01


@pytest.mark.parametrize("told_s", [1.0, 3.0])
async def test_a_limit_that_is_hardly_passed_is_found_too(told_s: float) -> None:
    ended = await played(Sliding(14), calls=40, told_s=told_s, call_s=0.5, jitter=0.3)

    assert ended.taken.seconds <= 1.4 * 320 / 14
    assert ended.share_rejected <= 0.05


async def test_long_calls_of_many_are_no_reason_to_think_a_limit_one_of_room() -> None:
    ended = await played(
        Bucket(2, 2), agents=200, calls=2, told_s=None, call_s=20, jitter=0.3
    )

    assert ended.taken.seconds <= 1.15 * (402 / 2 + 3 * 20)


@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(lambda: Bucket(50 / 60, 50), id="bucket"),
        pytest.param(lambda: Sliding(50, 60), id="sliding window"),
        pytest.param(lambda: Fixed(50, 60), id="fixed window"),
    ],
)
@pytest.mark.parametrize(("agents", "calls"), [(8, 25), (40, 10)])
async def test_fifty_a_minute_are_used_to_the_full(
    limit: Callable[[], Limit], agents: int, calls: int
) -> None:
    ended = await played(
        limit(), agents=agents, calls=calls, told_s="exact", call_s=0.5
    )

    asked = agents * calls + 2
    itself_s = (asked - 50) / 50 * 60
    assert ended.taken.seconds <= 1.10 * itself_s + 60  # a window may have to end
    assert ended.share_rejected <= 0.22  # all that wait leave at each told time
    assert max(ended.taken.tries) <= 5


@pytest.mark.parametrize("told_s", [None, 1.0])
async def test_a_bound_on_what_is_under_way_is_found(told_s: float | None) -> None:
    ended = await played(Unlimited(), at_once=4, told_s=told_s, call_s=3)

    assert ended.taken.seconds <= 1.25 * ALL / 4 * 3
    assert ended.share_rejected <= 0.15
    assert ended.service.most_under_way == 4


async def test_a_bound_that_is_named_so_is_met_at_once() -> None:
    ended = await played(
        Unlimited(), at_once=4, told_s=1.0, call_s=0.5, message="concurrency limit"
    )

    assert ended.taken.seconds <= 1.5 * ALL / 4 * 0.5
    assert ended.share_rejected <= 0.15


async def test_a_wide_fan_out_meets_its_limit_once_and_goes_on_evenly() -> None:
    ended = await played(
        Bucket(20, 20), agents=200, calls=5, told_s=1.0, call_s=2, jitter=0.3
    )

    assert ended.taken.seconds <= 1.20 * 1002 / 20
    later = [at for at in ended.service.asked if at > 10]
    assert most_within(later, 1.0) <= 24
    assert len([at for at in ended.service.rejected if at > 10]) <= 10


async def test_a_wide_fan_out_without_a_limit_is_not_held_back() -> None:
    ended = await played(Unlimited(), agents=200, calls=5, call_s=2)

    assert ended.taken.seconds <= 7 * (2 + 0.02)
    assert ended.service.most_under_way == 200


async def test_no_more_are_under_way_than_the_setting_allows() -> None:
    ended = await played(Unlimited(), agents=50, calls=4, call_s=2, most_at_once=10)

    assert ended.service.most_under_way == 10
    assert ended.taken.seconds <= 1.05 * (50 * 4 / 10 + 2) * 2.01


@dataclass
class Overloaded:
    """Takes nothing from 5 to 25 and from 60 to 70 seconds."""

    def takes(self, now: float) -> bool:
        return not (5 < now < 25 or 60 < now < 70)

    def opens_in_s(self, now: float) -> float:
        return 1.0


@pytest.mark.parametrize("told_s", [None, 5.0])
async def test_phases_of_overload_are_outlived(told_s: float | None) -> None:
    ended = await played(
        Overloaded(), told_s=told_s, kind="overloaded", call_s=3, jitter=0.4
    )

    assert ended.taken.seconds <= 1.5 * (14 * 3 + 30)
    assert max(ended.taken.tries) <= 8


async def test_agents_that_met_a_limit_together_do_not_come_back_together() -> None:
    ended = await played(Bucket(2, 2), told_s=3.0)

    first = min(ended.service.rejected)
    after = [at for at in ended.service.asked if first + 2.9 < at < first + 10]
    assert len(after) > 10
    assert all(b - a > 0.3 for a, b in pairwise(after))


async def test_a_limit_that_was_lifted_is_found_to_be_gone() -> None:
    @dataclass
    class Lifted:
        before: Bucket

        def takes(self, now: float) -> bool:
            return now > 60 or self.before.takes(now)

        def opens_in_s(self, now: float) -> float:
            return self.before.opens_in_s(now)

    ended = await played(Lifted(Bucket(2, 2)), agents=8, calls=200, told_s=1.0)

    assert ended.taken.seconds < 240  # 800 with the limit


@dataclass
class Rejecting:
    """Takes one in fifty not, whatever the pace."""

    rng: random.Random

    def takes(self, now: float) -> bool:
        return self.rng.random() >= 0.02

    def opens_in_s(self, now: float) -> float:
        return 1.0


async def test_a_rejection_now_and_then_hardly_slows_a_run_down() -> None:
    ended = await played(Rejecting(random.Random(1)), told_s=1.0, call_s=3, jitter=0.4)

    assert ended.taken.seconds <= 1.25 * 14 * 3
