"""The user's own prices: they win over the kept table, and must make sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SpecError
from orchestrator.models.base import Usage
from orchestrator.models.price_file import price_book
from orchestrator.models.pricing import Price, Rates, price_of

MILLION = 1_000_000


def book(folder: Path, text: str, model: str) -> Price | None:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return price_book(path)(model)


def test_without_a_file_the_kept_table_holds() -> None:
    assert price_book(None) is price_of


def test_own_prices_win_and_others_stay(tmp_path: Path) -> None:
    text = "claude-sonnet-5-5: {input: 1.8, output: 9, cache_read: 0.09}\n"

    own = book(tmp_path, text, "claude-sonnet-5-5")
    other = book(tmp_path, text, "claude-haiku-5-5")

    assert own is not None
    assert own.bands == (Rates(1.8, 9, 1.8 * 1.25, 1.8 * 2, 0.09),)
    assert other == price_of("claude-haiku-5-5")
    assert book(tmp_path, text, "nobody-knows-it") is None


def test_what_is_free_is_known_and_free(tmp_path: Path) -> None:
    price = book(tmp_path, '"qwen*": {input: 0, output: 0}\n', "qwen3:8b")

    assert price is not None
    assert price.usd(Usage(input_tokens=MILLION, output_tokens=MILLION)) == 0
    assert price.upper_bound(MILLION, MILLION) == 0


def test_an_exact_id_wins_then_the_longest_pattern(tmp_path: Path) -> None:
    text = """\
"*": {input: 1, output: 1}
"big-*": {input: 2, output: 2}
big-one: {input: 3, output: 3}
"""

    found = [book(tmp_path, text, name) for name in ("small", "big-two", "big-one")]

    assert [each.bands[0].input for each in found if each] == [1, 2, 3]


def test_the_offline_model_stays_free(tmp_path: Path) -> None:
    price = book(tmp_path, '"*": {input: 1, output: 1}\n', "offline")

    assert price == price_of("offline")


def test_bands_source_and_date(tmp_path: Path) -> None:
    text = """\
long:
  input: 1
  output: 2
  cache_write_5m: 1.5
  cache_write_1h: 3
  cache_read: 0
  bands:
    - {over_tokens: 1000, input: 10, output: 20}
  date: 2026-11-01
  source: our contract
"""

    price = book(tmp_path, text, "long")

    assert price is not None
    assert price.bands == (
        Rates(1, 2, 1.5, 3, 0),
        Rates(10, 20, 12.5, 20, 10, over_tokens=1000),
    )
    assert (price.date, price.source) == (
        "2026-11-01",
        f"our contract ({tmp_path / 'prices.yaml'})",
    )
    assert price.usd(Usage(input_tokens=1000)) == pytest.approx(1000 / MILLION)
    assert price.usd(Usage(input_tokens=1001)) == pytest.approx(10_010 / MILLION)


def test_a_cheaper_band_above_lowers_no_bound(tmp_path: Path) -> None:
    text = "m: {input: 10, output: 9, bands: [{over_tokens: 9, input: 1, output: 1}]}\n"

    price = book(tmp_path, text, "m")

    assert price is not None
    shorter = price.usd(Usage(cache_write_5m_tokens=9, output_tokens=5))
    assert shorter <= price.upper_bound(12, 5)


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        pytest.param("- a\n", 1, "", "must map models to prices, found", id="list"),
        pytest.param("m:\n", 1, "m", "found nothing", id="empty"),
        pytest.param("m: 3\n", 1, "m", "must be `input`, `output`", id="number"),
        pytest.param("m:\n  input: 1\n", 1, "m.output", "is missing", id="missing"),
        pytest.param(
            "m:\n  input: 1\n  ouput: 1\n", 3, "m.ouput", "unknown", id="misspelt"
        ),
        pytest.param(
            "m:\n  input: -1\n  output: 1\n",
            2,
            "m.input",
            "must be 0.0 or more, found the number -1",
            id="negative",
        ),
        pytest.param(
            "m:\n  input: yes\n  output: 1\n",
            2,
            "m.input",
            "must be a number",
            id="bool",
        ),
        pytest.param(
            "m:\n  input: cheap\n  output: 1\n",
            2,
            "m.input",
            "must be a number, found",
            id="text",
        ),
        pytest.param(
            "m:\n  input: 1\n  output: 1\n  bands:\n    - {input: 1, output: 1}\n",
            5,
            "m.bands.0.over_tokens",
            "is missing",
            id="band without a start",
        ),
        pytest.param(
            "m:\n  input: 1\n  output: 1\n  bands:\n"
            "    - {over_tokens: 9, input: 1, output: 1}\n"
            "    - {over_tokens: 9, input: 1, output: 1}\n",
            4,
            "m.bands",
            "must grow",
            id="bands out of order",
        ),
        pytest.param(
            "m:\n  input: 1\n  output: 1\n  date: soon\n",
            4,
            "m.date",
            "must be a day, as in 2026-11-30",
            id="date",
        ),
    ],
)
def test_what_makes_no_sense_is_named_with_file_line_and_field(
    tmp_path: Path, text: str, line: int, field: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        book(tmp_path, text, "m")

    error = caught.value
    assert error.file == str(tmp_path / "prices.yaml")
    assert (error.line, error.field) == (line, field)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no such price file"):
        price_book(tmp_path / "gone.yaml")
