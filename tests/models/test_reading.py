"""What one try may have cost, though nothing of an answer has come."""

from __future__ import annotations

import pytest

from orchestrator.errors import ModelError
from orchestrator.models.base import ModelRequest
from orchestrator.models.reading import BEGINS_S, Reading

REQUEST = ModelRequest("m", [], [], [], 1000, b"{}")


class Time:
    """Seconds that pass when they are told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.mark.parametrize(
    ("detail", "seconds", "begun"),
    [
        pytest.param("connection", 0.05, False, id="turned away at once"),
        pytest.param("connection", BEGINS_S, True, id="closed after a while"),
        pytest.param("http_504", 60, True, id="a gateway that waited in vain"),
        pytest.param("http_502", 0.05, False, id="a gateway that stands alone"),
        pytest.param("http_502", 3, True, id="a gateway that lost its answer"),
        pytest.param("empty_answer", 3, True, id="nothing, late"),
        pytest.param("unreached", 10, False, id="nobody there"),
        pytest.param("overloaded_error", 60, False, id="told to come again"),
    ],
)
async def test_who_is_silent_and_breaks_off_late_may_have_answered(
    detail: str, seconds: float, begun: bool
) -> None:
    time = Time()
    reading, error = (
        Reading(REQUEST, now=time),
        ModelError("transient", "", None, detail),
    )

    time.seconds = seconds
    reading.note(error)

    assert error.begun == begun


@pytest.mark.parametrize(("seconds", "begun"), [(0.02, False), (0.06, True)])
async def test_an_endpoint_that_is_quick_to_answer_is_quick_to_have_begun(
    seconds: float, begun: bool
) -> None:
    time = Time()
    quick = Reading(REQUEST, now=time)
    time.seconds = 0.1
    least_s = quick.least_s()
    reading, error = (
        Reading(REQUEST, begins_s=least_s, now=time),
        ModelError("transient", "", None, "connection"),
    )

    time.seconds += seconds
    reading.note(error)

    assert error.begun == begun
