from __future__ import annotations

from dataclasses import replace

import pytest
from context_samples import NUMBERS, layout_of, numbers_of, with_items

from orchestrator.context.ladder import (
    Clear,
    Compact,
    Nothing,
    decide,
    rent_of,
    tail_of,
)
from orchestrator.context.layout import Layout
from orchestrator.context.numbers import Numbers
from orchestrator.context.schedule import best_clear, cost_usd
from orchestrator.models.pricing import Rates

RATES = Rates(3.0, 15.0, 3.75, 6.0, 0.3)
FREE = Rates(0, 0, 0, 0, 0)
BANDS = (
    Rates(0.1, 0.5, 0.125, 0.2, 0.01),
    Rates(0.5, 2.5, 0.625, 1.0, 0.05, over_tokens=100_000),
)
SMALL = numbers_of(
    soft_tokens=12_000, hard_tokens=15_000, tail_tokens=5000, summary_tokens=2000
)
SHORT = layout_of(*[3000] * 3)


def decided(
    layout: Layout, numbers: Numbers = NUMBERS, *, rent_usd: float = 0.0
) -> Nothing | Clear | Compact:
    return decide(layout, numbers, rates=RATES, rent_usd=rent_usd)


def test_a_request_with_nothing_to_clear_goes_out_as_it_is() -> None:
    assert decided(SHORT) == Nothing()


def test_results_are_cleared_once_their_rent_has_reached_the_cost() -> None:
    layout = layout_of(*[3000] * 6)
    cost = cost_usd(best_clear(layout, keep_results=3), RATES)
    rent = rent_of(layout, NUMBERS, RATES)

    before = decided(layout, rent_usd=cost - rent - 1e-6)
    after = decided(layout, rent_usd=cost - rent + 1e-6)

    assert before == Nothing(predicts_clear=True)
    assert isinstance(after, Clear)
    assert (after.calls, after.why) == (("c1", "c2", "c3"), "rent")
    assert after.freed_tokens == 3 * 2910
    assert after.rent_usd == pytest.approx(cost + 1e-6)
    assert after.cost_usd == cost


def test_a_clear_that_comes_later_than_the_next_turn_is_not_predicted() -> None:
    assert decided(layout_of(*[3000] * 4)) == Nothing()


def test_a_clear_that_only_saves_money_spares_three_that_fit_the_tail() -> None:
    one = numbers_of(keep_results=1, tail_tokens=7000)
    at_mark = numbers_of(keep_results=1, tail_tokens=7000, soft_tokens=9000)
    layout = layout_of(*[2000] * 6, total_tokens=20_000)

    paid = decided(layout, one, rent_usd=1.0)
    large = decided(layout_of(*[3000] * 6), one, rent_usd=1.0)
    marked = decided(layout, at_mark)

    assert isinstance(paid, Clear)
    assert isinstance(large, Clear)
    assert isinstance(marked, Clear)
    assert paid.calls == ("c1", "c2", "c3")
    assert large.calls == ("c1", "c2", "c3", "c4")
    assert marked.calls == ("c1", "c2", "c3", "c4", "c5")


def test_a_small_request_is_left_alone_however_long_it_is_carried() -> None:
    small = layout_of(*[2000] * 6, total_tokens=16_000)
    narrow = numbers_of(soft_tokens=60_000)

    assert isinstance(decided(small, rent_usd=1.0), Nothing)
    assert isinstance(decided(small, narrow, rent_usd=1.0), Clear)


def test_a_prediction_comes_true_whatever_the_next_result_is() -> None:
    sizes, rent, predicted = [3000] * 4, 0.0, False
    for size in [40, 8000, 200, 3000, 3000, 90, 1000, 5000]:
        sizes.append(size)
        found = decided(layout_of(*sizes), rent_usd=rent)
        assert isinstance(found, Clear) is predicted
        if not isinstance(found, Nothing):
            break
        rent += rent_of(layout_of(*sizes), NUMBERS, RATES)
        predicted = found.predicts_clear
    assert predicted


def test_at_the_soft_mark_all_that_may_go_is_cleared() -> None:
    found = decided(layout_of(*[2000] * 6), SMALL)

    assert isinstance(found, Clear)
    assert (found.why, found.calls) == ("soft", ("c1", "c2", "c3"))


def test_a_clear_at_the_soft_mark_that_frees_next_to_nothing_is_not_made() -> None:
    layout = layout_of(600, *[4000] * 3)

    assert layout.total_tokens > 12_000
    assert isinstance(decided(layout, SMALL), Nothing)


def test_between_the_marks_a_clear_frees_more_than_it_writes_again() -> None:
    numbers = numbers_of(soft_tokens=12_000, hard_tokens=20_000)

    assert isinstance(decided(layout_of(*[3000] * 4), numbers), Nothing)
    assert isinstance(decided(layout_of(3000, 3000, 900, 900, 3000), numbers), Clear)
    above_hard = layout_of(3000, 7000, 7000, 3000)
    assert isinstance(decided(above_hard, numbers), Clear)
    assert isinstance(decided(layout_of(900, 9000, 9000, 3000), numbers), Nothing)


def test_the_soft_mark_is_seen_a_turn_ahead() -> None:
    numbers = numbers_of(soft_tokens=12_000, hard_tokens=50_000)

    ahead, far = (
        decide(layout_of(*sizes), numbers, rates=FREE, rent_usd=0.0)
        for sizes in ((5000, 5000, 500, 500), (5000, 4500, 100, 100))
    )
    assert ahead == Nothing(predicts_clear=True)
    assert far == Nothing()


def test_a_price_band_is_not_entered_where_a_clear_prevents_it() -> None:
    def found(layout: Layout) -> Nothing | Clear | Compact:
        numbers = numbers_of(soft_tokens=None, hard_tokens=None)
        return decide(layout, numbers, rates=BANDS[0], bands=BANDS, rent_usd=0.0)

    above = found(layout_of(200, *[32_150] * 3))
    below = found(layout_of(200, *[31_000] * 3))
    hopeless = found(layout_of(200, *[40_000] * 3))

    assert isinstance(above, Clear)
    assert (above.why, above.calls) == ("band", ("c1",))
    assert isinstance(below, Nothing)
    assert hopeless == Nothing()


def test_where_nothing_costs_anything_only_marks_count() -> None:
    layout = layout_of(*[2000] * 6)

    for rates in (FREE, FREE):
        assert decide(layout, NUMBERS, rates=rates, rent_usd=0.0) == Nothing()
    at_mark = decide(layout, SMALL, rates=FREE, rent_usd=0.0)

    assert isinstance(at_mark, Clear)
    assert at_mark.rent_usd == at_mark.cost_usd == rent_of(layout, SMALL, FREE) == 0


def test_unknown_prices_have_the_usual_ratios() -> None:
    usual = Rates(7.0, 0, 1.25 * 7, 0, 0.1 * 7)
    layout = layout_of(*[3000] * 7)

    rents = [rent_of(layout, NUMBERS, rates) for rates in (None, usual)]
    assert rents[1] == pytest.approx(7 * rents[0])
    for share in (0.5, 2.0):
        found = [
            decide(layout, NUMBERS, rates=rates, rent_usd=share * rent)
            for rates, rent in zip((None, usual), rents, strict=True)
        ]
        assert type(found[0]) is type(found[1])


def test_without_marks_a_request_of_any_size_goes_out() -> None:
    numbers = numbers_of(soft_tokens=None, hard_tokens=None, window_tokens=None)

    assert decided(layout_of(*[10**6] * 3), numbers) == Nothing()


def test_above_the_hard_mark_steps_are_compacted_where_a_clear_is_not_enough() -> None:
    pinned = {f"c{n}": {"label": "critical"} for n in range(1, 6)}
    layout = layout_of(*[2000] * 8)

    assert isinstance(decided(layout, SMALL), Clear)
    found = decided(with_items(layout, **pinned), SMALL)
    assert found == Compact("hard", keep_steps=2)


def test_above_the_soft_mark_a_natural_break_is_taken() -> None:
    layout = layout_of(*[2800] * 4, *[1000] * 2)
    pinned = with_items(layout, **{f"c{n}": {"label": "critical"} for n in range(1, 5)})

    assert decided(pinned, SMALL) == Nothing()
    assert decided(replace(pinned, at_break=True), SMALL) == Compact(
        "break", keep_steps=2
    )


def test_a_break_below_the_soft_mark_is_none() -> None:
    layout = layout_of(*[2000] * 3, at_break=True)

    assert decided(layout, SMALL) == Nothing()


def test_a_compaction_every_so_many_turns() -> None:
    numbers = numbers_of(every_turns=5)
    steps = [1000] * 8

    early = decided(layout_of(*steps, turns_since_compaction=4), numbers)
    due = decided(layout_of(*steps, turns_since_compaction=5), numbers)

    assert not isinstance(early, Compact)
    assert due == Compact("every_turns", keep_steps=3)


def test_a_futile_compaction_is_not_tried() -> None:
    layout = layout_of(500, 400, 100, fixed_tokens=20_000, total_tokens=21_300)

    assert isinstance(decided(layout, SMALL), Nothing)


@pytest.mark.parametrize(
    ("compacted_to", "is_tried"),
    [
        pytest.param(None, True, id="never tried"),
        pytest.param(15_700, True, id="a step has come since"),
        pytest.param(17_000, False, id="less than a step has come since"),
        pytest.param(17_800, False, id="just now"),
    ],
)
def test_compaction_is_tried_again_only_after_growth(
    compacted_to: int | None, is_tried: bool
) -> None:
    layout = layout_of(
        *[2000] * 8, total_tokens=17_800, compacted_to_tokens=compacted_to
    )
    pinned = with_items(layout, **{f"c{n}": {"label": "critical"} for n in range(1, 6)})

    assert isinstance(decided(pinned, SMALL), Compact) is is_tried


def test_a_message_that_never_fits_brings_a_bounded_number_of_attempts() -> None:
    """Fault 20: hard mark 8k, one message of 10k that stays."""
    numbers = numbers_of(
        soft_tokens=6000, hard_tokens=8000, tail_tokens=2000, summary_tokens=1000
    )
    attempts, compacted_to, steps = 0, None, []
    for _turn in range(60):
        steps.append(100)
        layout = Layout(
            10_000,
            (),
            10_000 + sum(steps),
            tuple(steps),
            compacted_to_tokens=compacted_to,
        )
        found = decided(layout, numbers)
        if isinstance(found, Compact):
            attempts += 1
            steps = steps[-found.keep_steps :]
            compacted_to = 10_000 + sum(steps)

    assert 1 <= attempts <= 8


@pytest.mark.parametrize(
    ("sizes", "keep"),
    [
        pytest.param((100, 100, 100, 100), 3, id="as many as are kept"),
        pytest.param((100, 4000, 900, 100), 2, id="as many as fit"),
        pytest.param((100, 100, 9000), 1, id="one always"),
        pytest.param((100,), 1, id="all"),
        pytest.param((), 1, id="none there"),
    ],
)
def test_the_tail_is_the_newest_steps_that_fit(
    sizes: tuple[int, ...], keep: int
) -> None:
    assert tail_of(layout_of(*sizes), SMALL) == keep


WINDOW = numbers_of(policy="window", last_steps=8)


def test_a_window_of_steps_gives_way_by_a_quarter() -> None:
    assert decided(layout_of(*[3000] * 8), WINDOW) == Nothing()
    assert decided(layout_of(*[3000] * 9), WINDOW) == Compact("window", 6)


def test_a_window_of_one_step_keeps_one() -> None:
    one = numbers_of(policy="window", last_steps=1)

    assert decided(layout_of(3000, 3000), one) == Compact("window", 1)


def test_a_window_keeps_fewer_steps_where_they_are_too_long() -> None:
    assert decided(layout_of(*[40_000] * 5), WINDOW) == Compact("window", 2)


BUDGET = numbers_of(policy="budget", soft_tokens=12_000, hard_tokens=15_000)


def test_a_budget_keeps_the_newest_steps_that_fit() -> None:
    assert decided(layout_of(*[1900] * 7), BUDGET) == Nothing()
    assert decided(layout_of(*[1900] * 8), BUDGET) == Compact("budget", 5)


def test_a_budget_keeps_the_newest_step_however_long() -> None:
    assert decided(layout_of(1900, 90_000), BUDGET) == Nothing()
    assert decided(layout_of(5000, 30_000), BUDGET) == Compact("budget", 1)


def test_plain_policies_have_no_marks_where_the_window_is_unknown() -> None:
    for policy in ("window", "budget"):
        numbers = numbers_of(policy=policy, soft_tokens=None, hard_tokens=None)
        assert decided(layout_of(*[90_000] * 9), numbers) == Nothing()


def test_plain_policies_pay_no_rent() -> None:
    assert rent_of(layout_of(*[3000] * 9), BUDGET, RATES) == 0
