"""How fast requests leave once some were rejected."""

from __future__ import annotations

import math

import pytest

from orchestrator.models.pace import IN_VAIN, LONG, SHARE, Pace

TWO = 2 * SHARE


def left_until(pace: Pace, now: float, end: float) -> tuple[int, float]:
    """Let as many leave as the pace allows; return how many, and the time then."""
    count = 0
    while now < end:
        now += pace.wait_s(now)
        pace.left(now, was_held=True)
        count += 1
    return count, now


def test_nothing_is_held_back_before_a_rejection() -> None:
    pace = Pace()

    for _ in range(1000):
        assert pace.wait_s(5) == 0
        pace.left(5, was_held=False)


@pytest.mark.parametrize(
    ("accepted", "per_s"), [(2, TWO), (10, 10 * SHARE), (0, SHARE)]
)
def test_it_begins_a_little_below_what_was_accepted(
    accepted: int, per_s: float
) -> None:
    pace = Pace()

    pace.rejected(10, accepted=accepted)

    pace.left(10, was_held=True)
    assert pace.per_s == pytest.approx(per_s)
    assert pace.wait_s(10) == pytest.approx(1 / per_s)


def test_a_pace_that_is_too_fast_falls_quickly() -> None:
    pace = Pace()
    pace.rejected(0, accepted=20)
    paces = []

    for now in range(1, 9):
        pace.rejected(now, accepted=2)
        paces.append(pace.per_s)

    assert paces == sorted(paces, reverse=True)
    assert paces[-1] < 6


def test_where_slowing_down_does_not_help_it_is_given_up() -> None:
    pace = Pace()
    for now in range(IN_VAIN):
        pace.rejected(now, accepted=10, is_sure=False)

    assert not pace.is_learnt
    pace.rejected(20, accepted=10, is_sure=False)
    assert not pace.is_learnt  # the next one by chance teaches nothing either
    pace.rejected(21, accepted=10)
    assert pace.is_learnt


def test_doubtful_rejections_far_apart_are_no_row() -> None:
    pace = Pace()
    pace.rejected(0, accepted=10)
    for _ in range(2 * IN_VAIN):
        for _ in range(LONG):
            pace.left(1, was_held=False)
        pace.rejected(1, accepted=10, is_sure=False)

    assert pace.is_learnt


def test_it_is_never_slower_than_one_in_twenty_seconds() -> None:
    pace = Pace()

    for now in range(200):
        pace.rejected(now, accepted=0)

    assert pace.per_s == pytest.approx(0.05)


def test_where_it_really_went_slower_it_falls_to_that() -> None:
    pace = Pace()
    pace.rejected(0, accepted=4)
    _, now = left_until(pace, 3, 4.5)  # two were saved up, and two came back

    pace.rejected(now, accepted=3)

    assert 1.5 <= pace.per_s <= 3.8 * 0.85


def test_it_grows_slowly_at_first_and_then_faster() -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=1.5)
    grown = []

    now = 0.0
    for end in range(30, 121, 10):
        _, now = left_until(pace, now, end)
        grown.append(pace.per_s / TWO)

    assert grown[0] <= 1.03
    assert grown[2] <= 1.1
    assert grown[-1] > 10  # a limit that was lifted is found to be gone


def test_what_is_not_held_back_does_not_make_it_grow() -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=1.5)

    for now in range(0, 600, 5):
        pace.left(now, was_held=False)

    assert pace.per_s == pytest.approx(TWO)


def test_after_a_quarter_of_an_hour_without_a_rejection_it_is_forgotten() -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=1.5)

    pace.left(901, was_held=True)

    assert math.isinf(pace.per_s)


def test_one_that_grew_too_far_falls_back_to_where_it_went_well() -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=1.5)
    _, now = left_until(pace, 0, 31)
    assert pace.per_s > TWO

    pace.rejected(now, accepted=2, told_s=1.5)

    assert pace.per_s == pytest.approx(TWO)


def test_a_ceiling_that_is_met_again_is_tried_less_often() -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=1.5)
    now, tries = 0.0, []

    for _ in range(4):
        began, ceiling = now, pace.per_s
        while pace.per_s <= ceiling:
            _, now = left_until(pace, now, now + 1)
        tries.append(now - began)
        pace.rejected(now, accepted=2, told_s=1.5)

    assert tries[0] < tries[-1]
    assert tries[-1] >= 100


@pytest.mark.parametrize(
    ("told_s", "quiet_s"), [(0, 15), (0.2, 15), (1, 20), (3, 60), (60, 120)]
)
def test_the_dearer_a_rejection_the_later_it_grows(
    told_s: float, quiet_s: float
) -> None:
    pace = Pace()
    pace.rejected(0, accepted=2, told_s=told_s)

    _, now = left_until(pace, 0, quiet_s - 2)
    assert pace.per_s == pytest.approx(TWO)
    left_until(pace, now, quiet_s + 2)
    assert pace.per_s == pytest.approx(TWO * 1.03)


def test_those_that_waited_for_a_told_time_are_spread() -> None:
    pace = Pace()
    pace.spread(4, 2)

    gaps = []
    for now in range(0, 60, 10):
        pace.left(now, was_held=False)
        gaps.append(pace.wait_s(now))

    assert gaps == [0.5, 0.5, 0.5, 0.5, 0, 0]
