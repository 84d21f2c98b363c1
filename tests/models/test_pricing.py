"""Dollars of calls."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price, Rates, price_of

MILLION = 1_000_000

# Anthropic's price pages, November 2026, in dollars per million tokens.
PUBLISHED = [
    # id, input, output, 5m write, 1h write, read
    ("claude-opus-5-5", 4, 20, 5, 8, 0.20),
    ("claude-sonnet-5-5", 2, 10, 2.50, 4, 0.10),
    ("claude-haiku-5-5", 0.10, 0.50, 0.125, 0.20, 0.01),
    ("claude-fable-5", 10, 50, 12.50, 20, 1),
    ("claude-opus-5", 5, 25, 6.25, 10, 0.50),
    ("claude-sonnet-5", 2, 10, 2.50, 4, 0.20),
    ("claude-opus-4-8", 5, 25, 6.25, 10, 0.50),
    ("claude-opus-4-7", 5, 25, 6.25, 10, 0.50),
    ("claude-opus-4-6", 5, 25, 6.25, 10, 0.50),
    ("claude-opus-4-5", 5, 25, 6.25, 10, 0.50),
    ("claude-mythos-5", 10, 50, 12.50, 20, 1),
    ("claude-sonnet-4-6", 3, 15, 3.75, 6, 0.30),
    ("claude-haiku-4-5", 1, 5, 1.25, 2, 0.10),
]


def known(model: str) -> Price:
    price = price_of(model)
    assert price is not None
    return price


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row[0])
def test_the_kept_table_agrees_with_the_published_prices(
    row: tuple[str, float, float, float, float, float],
) -> None:
    model, plain, output, write_5m, write_1h, read = row

    assert known(model).bands[0] == Rates(plain, output, write_5m, write_1h, read)


@pytest.mark.parametrize(
    ("model", "plain", "output"),
    [
        ("claude-fable-5-2", 8, 40),
        ("claude-mythos-5-2", 8, 40),
        ("claude-fable-5-1", 10, 50),
        ("claude-mythos-5-1", 10, 50),
    ],
)
def test_models_without_published_cache_prices_have_the_others(
    model: str, plain: float, output: float
) -> None:
    rates = known(model).bands[0]

    assert (rates.input, rates.output) == (plain, output)


def test_the_whole_prompt_decides_the_band_cached_or_not() -> None:
    price = known("claude-haiku-5-5")
    below = Usage(input_tokens=20_000, cache_read_tokens=80_000, output_tokens=1000)
    above = Usage(input_tokens=20_001, cache_read_tokens=80_000, output_tokens=1000)

    assert price.usd(below) == pytest.approx(
        (20_000 * 0.10 + 80_000 * 0.01 + 1000 * 0.50) / MILLION
    )
    assert price.usd(above) == pytest.approx(
        (20_001 * 0.50 + 80_000 * 0.05 + 1000 * 2.50) / MILLION
    )


def test_each_class_of_token_is_paid_once() -> None:
    usage = Usage(
        input_tokens=MILLION,
        cache_write_5m_tokens=MILLION,
        cache_write_1h_tokens=MILLION,
        cache_read_tokens=MILLION,
        output_tokens=MILLION,
        thinking_tokens=MILLION // 2,
    )

    assert known("claude-opus-5-5").usd(usage) == pytest.approx(4 + 5 + 8 + 0.2 + 20)


def test_the_parts_of_a_call_add_up_to_its_dollars() -> None:
    usage = Usage(
        input_tokens=1000,
        cache_write_5m_tokens=2000,
        cache_write_1h_tokens=3000,
        cache_read_tokens=90_000,
        output_tokens=400,
    )
    for model, *_ in PUBLISHED:
        price = known(model)
        parts = price.parts(usage)
        assert list(parts) == ["input", "cache_write", "cache_read", "output"]
        assert sum(parts.values()) == pytest.approx(price.usd(usage), abs=1e-7)
    assert known("claude-opus-5").parts(Usage(output_tokens=4)) == {"output": 0.0001}


def test_what_the_kept_table_lacks_says_which_price_it_has() -> None:
    source = known("claude-mythos-5").source

    assert "claude-fable-5" in source
    assert "genai-prices" in source


def test_no_reply_within_its_limits_costs_more_than_was_reserved() -> None:
    for model, *_ in PUBLISHED:
        price = known(model)
        for size in (1, 99_999, 100_000, 100_001, 900_000):
            bound = price.upper_bound(size, 5000)
            for usage in (
                Usage(input_tokens=size, output_tokens=5000),
                Usage(cache_write_5m_tokens=size, output_tokens=5000),
                Usage(cache_read_tokens=size, output_tokens=10),
            ):
                assert price.usd(usage) <= bound + 1e-12


def test_an_unknown_model_has_no_price() -> None:
    assert price_of("claude-of-nobody-9") is None
    assert price_of("qwen3:8b") is None


def test_the_offline_model_costs_nothing() -> None:
    assert known("offline").usd(Usage(input_tokens=5, output_tokens=5)) == 0


def test_a_price_says_where_it_is_from() -> None:
    price = known("claude-opus-5-5")

    assert price.source.startswith("genai-prices ")
    assert price.date >= "2026-10"


def test_importing_prices_does_not_load_the_table() -> None:
    code = (
        "import sys, orchestrator.models.pricing; "
        "sys.exit('genai_prices' in sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_price_is_read_from_a_log_whatever_was_added_to_it() -> None:
    price = known("claude-sonnet-5-5")
    told = price.told()
    later = {**told, "currency": "usd", "bands": [{**told["bands"][0], "batch": 1.0}]}

    assert Price.stored(price.model, told) == price
    assert Price.stored(price.model, later) == price


@pytest.mark.parametrize("told", [None, {}, {"bands": []}, {"bands": [{"input": 1}]}])
def test_what_is_no_price_is_not_known(told: object) -> None:
    assert Price.stored("m", told) is None
