"""The gate: who is let through, which errors close it, what it does to time limits."""

from __future__ import annotations

import math

import anyio
import pytest

from orchestrator.agent.parking import Parking
from orchestrator.agent.pulse import Pulse
from orchestrator.errors import ModelError, ModelErrorKind, NotSent

QUOTA = ModelError("quota_exhausted", "no credit")
REFUSED = ModelError("auth", "the key is not valid", detail="authentication_error")
DOWN = ModelError("transient", "cannot reach it", is_down=True)
PASSING = ModelError("overloaded", "Overloaded")


def closed() -> Parking:
    parking = Parking()
    assert parking.takes(QUOTA, 7)
    return parking


@pytest.mark.parametrize(
    ("error", "was_answered", "parks"),
    [
        pytest.param(QUOTA, False, True, id="a quota"),
        pytest.param(DOWN, False, True, id="an endpoint that is down"),
        pytest.param(REFUSED, True, True, id="a key in mid run"),
        pytest.param(REFUSED, False, False, id="a key from the start"),
        pytest.param(
            ModelError("auth", "Forbidden", detail="http_403"),
            True,
            False,
            id="one request that a proxy forbids",
        ),
        pytest.param(PASSING, True, False, id="tries that are over for one request"),
        *(
            pytest.param(ModelError(kind, "no"), True, False, id=kind)
            for kind in ("too_long", "refused", "thinking_bound", "invalid", "cut")
        ),
    ],
)
async def test_a_run_is_parked_by_what_is_nobodys_failure(
    error: ModelError, was_answered: bool, parks: bool
) -> None:
    parking = Parking(was_answered=was_answered)

    assert parking.takes(error) is parks
    assert (parking.why is error) is parks


async def test_an_answer_shows_that_the_key_was_good() -> None:
    parking = Parking()
    parking.answered()

    assert parking.takes(REFUSED)


async def test_the_first_error_counts_and_the_event_that_tells_of_it() -> None:
    parking = Parking()
    assert parking.takes(QUOTA)  # heard of before it is on record
    assert parking.takes(DOWN, 8)
    assert parking.takes(QUOTA, 9)

    assert (parking.why, parking.cause) == (QUOTA, 9)
    assert await parking.closed() is QUOTA


@pytest.mark.parametrize(
    ("kind", "waits"),
    [("rate_limited", True), ("transient", True), ("invalid", False)],
)
async def test_what_may_pass_ends_nobody_in_a_parked_run(
    kind: ModelErrorKind, waits: bool
) -> None:
    assert closed().takes(ModelError(kind, "told")) is waits


async def test_an_open_gate_lets_all_pass() -> None:
    await Parking().passed(Pulse())


async def test_who_waits_at_the_gate_is_ended_by_no_limit_of_time() -> None:
    pulse = Pulse(stall_s=0.001)
    with anyio.CancelScope() as limit:
        limit.deadline = anyio.current_time() + 3600
        pulse.limit = limit
        with anyio.move_on_after(0.05) as patience, pulse.watching():
            await closed().passed(pulse)

        assert patience.cancelled_caught
        assert limit.deadline == math.inf
    assert not pulse.has_stopped


async def test_nothing_leaves_once_the_run_is_parked() -> None:
    parking = closed()

    with pytest.raises(NotSent), parking.sending():
        pytest.fail("it was sent")
    assert parking.under_way == 0


async def test_a_request_in_line_does_not_leave_when_its_turn_comes() -> None:
    parking = Parking()
    with parking.sending() as sending:
        assert parking.under_way == 1
        with sending.waiting():
            assert parking.under_way == 0
        assert parking.under_way == 1
        with pytest.raises(NotSent), sending.waiting():
            parking.takes(QUOTA)
        assert parking.under_way == 0
    assert parking.takes(NotSent("not sent"))


async def test_a_wait_that_is_given_up_says_so_and_not_that_it_was_parked() -> None:
    parking = Parking()
    with anyio.CancelScope() as scope, parking.sending() as sending, sending.waiting():
        parking.takes(QUOTA)
        scope.cancel()
        await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert parking.under_way == 0
