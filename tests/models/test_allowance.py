"""What headers say is left, and what is made of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from orchestrator.models.allowance import Allowance, Bucket, allowances

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def headers(counted: str = "requests", **told: str) -> dict[str, str]:
    return {
        f"anthropic-ratelimit-{counted}-{name}": text for name, text in told.items()
    }


def test_all_four_limits_are_read() -> None:
    told = {"x-other": "1"}
    for place, counted in enumerate(
        ("requests", "tokens", "input-tokens", "output-tokens"), 1
    ):
        told |= headers(
            counted,
            limit=f"{place}000",
            remaining=f"{place}00",
            reset="2026-11-30T12:00:30Z",
        )

    found = allowances(told, NOW)

    assert found == {
        "requests": Allowance(1000, 100, 30),
        "tokens": Allowance(2000, 200, 30),
        "input-tokens": Allowance(3000, 300, 30),
        "output-tokens": Allowance(4000, 400, 30),
    }


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"limit": "50"},
        {"remaining": "3"},
        {"limit": "many", "remaining": "3"},
        {"limit": "0", "remaining": "0"},
        {"limit": "-5", "remaining": "3"},
        {"limit": "50", "remaining": "nan"},
        {"limit": "inf", "remaining": "3"},
        {"limit": "1e-322", "remaining": "0"},
        {"limit": "1e300", "remaining": "0"},
    ],
    ids=str,
)
def test_garbage_is_no_limit(told: dict[str, str]) -> None:
    assert allowances(headers(**told), NOW) == {}


@pytest.mark.parametrize(
    ("reset", "full_in_s"),
    [
        ("2026-11-30T12:01:00Z", 60),
        ("2026-11-30T13:00:30+01:00", 30),
        ("2026-11-30T12:00:10", 10),
        ("2026-11-30T11:00:00Z", 0),
        ("soon", None),
        ("", None),
    ],
)
def test_a_moment_becomes_seconds(reset: str, full_in_s: float | None) -> None:
    told = headers(limit="50", remaining="20", reset=reset)

    assert allowances(told, NOW)["requests"].full_in_s == full_in_s


def test_more_than_fits_is_a_full_bucket() -> None:
    found = allowances(headers(limit="50", remaining="60"), NOW)

    assert found["requests"].remaining == 50


@pytest.mark.parametrize(
    ("allowance", "per_s"),
    [
        pytest.param(Allowance(50, 20, 60), 0.5, id="as told"),
        pytest.param(Allowance(60, 20, 0), 1, id="full already"),
        pytest.param(Allowance(60, 60, 30), 1, id="nothing to come back"),
        pytest.param(Allowance(60, 0, None), 1, id="no moment told"),
    ],
)
def test_how_fast_it_comes_back(allowance: Allowance, per_s: float) -> None:
    assert allowance.per_s == per_s


def test_what_is_left_may_leave_at_once_and_then_as_it_comes_back() -> None:
    bucket = Bucket(Allowance(50, 2, 96), 0)  # one in two seconds

    bucket.take(1, 0)
    assert bucket.wait_s(1, 0) == 0
    bucket.take(1, 0)
    assert bucket.wait_s(1, 0) == 2
    assert bucket.wait_s(1, 1.5) == 0.5
    assert bucket.wait_s(1, 2) == 0


def test_it_is_never_fuller_than_full() -> None:
    bucket = Bucket(Allowance(3, 1, 2), 0)

    for _ in range(3):
        assert bucket.wait_s(1, 1000) == 0
        bucket.take(1, 1000)

    assert bucket.wait_s(1, 1000) == 1


def test_what_never_fits_waits_for_a_full_bucket() -> None:
    bucket = Bucket(Allowance(1000, 500, 50), 0)

    assert bucket.wait_s(5000, 0) == 50


def test_the_newest_word_counts_less_what_is_on_its_way() -> None:
    bucket = Bucket(Allowance(100, 0, 100), 0)

    bucket.told(Allowance(100, 40, 60), 5, pending=39)
    assert bucket.wait_s(1, 5) == 0
    bucket.take(1, 5)
    assert bucket.wait_s(1, 5) == 1
