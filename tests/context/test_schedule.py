from __future__ import annotations

import pytest
from context_samples import STUB, layout_of, with_items
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.layout import Item, Label, Layout
from orchestrator.context.schedule import (
    Clearing,
    best_clear,
    cost_usd,
    is_free,
    rates_at,
    rent_usd,
    to_free,
)
from orchestrator.models.pricing import Rates

RATES = Rates(3.0, 15.0, 3.75, 6.0, 0.3)
LOW, HIGH = Rates(0.1, 0.5, 0.125, 0.2, 0.01), Rates(1, 5, 1, 2, 0.1, 100_000)
FIVE = layout_of(1000, 2000, 3000, 4000, 5000)


@pytest.mark.parametrize(
    ("layout", "calls"),
    [
        pytest.param(FIVE, ("c1", "c2"), id="all but the newest three"),
        pytest.param(layout_of(1000, 2000, 3000), (), id="too few"),
        pytest.param(layout_of(), (), id="none"),
        pytest.param(
            layout_of(1000, [10, 900], 9, 9, 9), ("c1", "c2.2"), id="not small ones"
        ),
        pytest.param(
            layout_of(1000, 2000, [300, 300, 300, 300]), ("c1", "c2"), id="not unseen"
        ),
        pytest.param(
            with_items(FIVE, c1={"label": "critical"}),
            ("c2",),
            id="not what is critical",
        ),
        pytest.param(
            with_items(FIVE, c4={"label": "critical"}),
            ("c1",),
            id="critical takes no place among the newest",
        ),
        pytest.param(
            with_items(FIVE, c1={"is_cleared": True, "tokens": STUB}),
            ("c2",),
            id="not what is cleared",
        ),
        pytest.param(
            with_items(FIVE, c3={"label": "transient"}),
            ("c1", "c3"),
            id="transient goes first and takes no place",
        ),
        pytest.param(
            with_items(FIVE, c4={"label": "transient"}),
            ("c1",),
            id="transient stays until a second reply has come",
        ),
        pytest.param(
            with_items(FIVE, c5={"label": "transient"}),
            ("c1",),
            id="transient that is not seen stays",
        ),
    ],
)
def test_what_may_go(layout: Layout, calls: tuple[str, ...]) -> None:
    assert best_clear(layout, keep_results=3).calls == calls


def test_a_clear_writes_again_the_cached_steps_behind_what_goes() -> None:
    clearing = best_clear(FIVE, keep_results=3)

    assert clearing.freed_tokens == 3000 - 2 * STUB
    assert clearing.again_tokens == 3000 + 4000 + 2 * 100
    assert clearing.newest_tokens == 4000 + 100


def test_what_is_pinned_between_results_that_go_is_written_again() -> None:
    layout = with_items(
        layout_of(1000, 700, 2000, 3000, 4000, 5000), c2={"label": "critical"}
    )

    clearing = best_clear(layout, keep_results=3)

    assert clearing.calls == ("c1", "c3")
    assert clearing.again_tokens == 700 + (3000 + 4000 + 2 * 100)


def test_kept_results_of_the_step_that_loses_some_count_too() -> None:
    layout = layout_of([1000, 1000, 500, 400], 300)

    clearing = best_clear(layout, keep_results=3)

    assert clearing.calls == ("c1.1", "c1.2")
    assert clearing.again_tokens == clearing.newest_tokens == 500 + 400


def test_steps_are_counted_from_the_first_that_is_shown() -> None:
    items = tuple(Item(f"c{n}", n, 1000, STUB, is_seen=n < 14) for n in range(10, 15))
    layout = Layout(5000, items, 10_500, (1100,) * 5, first_step=10)

    assert best_clear(layout, keep_results=3).again_tokens == 2200


def test_rent_is_the_read_price_of_what_would_go() -> None:
    clearing = Clearing(("c1",), 10_000, 6000, 3000)

    assert rent_usd(clearing, RATES) == pytest.approx(10_000 * 0.3 / 1e6)


def test_the_cost_is_the_write_of_what_stays_less_what_was_left_unwritten() -> None:
    clearing = Clearing(("c1",), 10_000, 6000, 3000)

    expected = (6000 * (3.75 - 0.3) - 3000 * (3.75 - 3.0)) / 1e6
    assert cost_usd(clearing, RATES) == pytest.approx(expected)


def test_what_is_written_once_counts_by_half_where_it_is_more() -> None:
    clearing = Clearing(("c1",), 10_000, 200, 0, 4000)

    assert cost_usd(clearing, RATES) == pytest.approx(2000 * 3.75 / 1e6)


def test_stubs_and_what_was_said_between_them_are_written_once() -> None:
    layout = layout_of(1000, 40, 2000, 3000, 4000, 5000)

    clearing = best_clear(layout, keep_results=3)

    assert clearing.calls == ("c1", "c3")
    assert clearing.between_tokens == 3 * 100 + 2 * STUB
    assert clearing.again_tokens == 40 + 2 * 100 + 3000 + 4000


@pytest.mark.parametrize(
    ("tokens", "rates"),
    [
        pytest.param(0, LOW, id="nothing"),
        pytest.param(100_000, LOW, id="up to the mark, included"),
        pytest.param(100_001, HIGH, id="above it"),
    ],
)
def test_the_whole_prompt_decides_on_the_band(tokens: int, rates: Rates) -> None:
    assert rates_at((LOW, HIGH), tokens) is rates


def test_no_bands_are_no_rates() -> None:
    assert rates_at((), 5) is None


def test_a_model_is_free_where_no_input_costs() -> None:
    assert is_free(Rates(0, 0, 0, 0, 0))
    assert not is_free(LOW)


SIX = layout_of(1000, 1000, 1000, 1000, 9, 9, 9)


@pytest.mark.parametrize(
    ("layout", "need", "calls"),
    [
        pytest.param(SIX, 900, ("c1",), id="the oldest"),
        pytest.param(SIX, 911, ("c1", "c2"), id="as many as needed"),
        pytest.param(SIX, 10**9, ("c1", "c2", "c3", "c4"), id="all where too little"),
        pytest.param(SIX, 0, (), id="nothing needed"),
        pytest.param(
            with_items(SIX, c3={"is_superseded": True}, c2={"label": "transient"}),
            900,
            ("c3",),
            id="superseded first",
        ),
        pytest.param(
            with_items(SIX, c3={"is_superseded": True}, c2={"label": "transient"}),
            1800,
            ("c2", "c3"),
            id="then transient",
        ),
    ],
)
def test_what_is_needed_is_freed(
    layout: Layout, need: int, calls: tuple[str, ...]
) -> None:
    clearing = to_free(layout, keep_results=3, need_tokens=need)

    assert clearing.calls == calls
    assert clearing.freed_tokens == len(calls) * (1000 - STUB)


LABELS: st.SearchStrategy[Label] = st.sampled_from(
    ["critical", "reference", "transient"]
)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    groups = draw(st.lists(st.lists(st.integers(0, 400), max_size=4), max_size=12))
    layout = layout_of(*groups)
    changed = {}
    for item in layout.items:
        cleared = item.is_seen and draw(st.booleans())
        tokens = {"tokens": STUB} if cleared else {}
        changed[item.call] = {
            "label": draw(LABELS),
            "is_cleared": cleared,
            "is_superseded": draw(st.booleans()),
            **tokens,
        }
    return with_items(layout, **changed)


@given(layouts(), st.integers(0, 5), st.integers(0, 2000))
def test_a_clear_never_takes_what_must_stay(
    layout: Layout, keep: int, need: int
) -> None:
    whole = best_clear(layout, keep_results=keep)
    part = to_free(layout, keep_results=keep, need_tokens=need)

    assert set(part.calls) <= set(whole.calls)
    assert part.freed_tokens >= min(need, whole.freed_tokens)
    shown = [each for each in layout.items if not each.is_cleared]
    newest = [each for each in shown if each.label == "reference"]
    for item in layout.items:
        if item.call in whole.calls:
            assert item.is_seen
            assert not item.is_cleared
            assert item.label != "critical"
            assert item.tokens > item.stub_tokens
            assert item not in (newest[-keep:] if keep else [])
    freed = sum(
        each.tokens - each.stub_tokens
        for each in layout.items
        if each.call in whole.calls
    )
    assert whole.freed_tokens == freed
    assert whole.newest_tokens <= whole.again_tokens
