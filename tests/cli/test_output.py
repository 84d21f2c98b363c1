"""Text made safe and fitted into columns."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import orjson
import pytest

from orchestrator.cli.output import (
    _NARROW,
    Style,
    age,
    cut,
    dollars,
    fill,
    json_text,
    label,
    pad,
    safe,
    safe_lines,
    width,
)

NOW = datetime(2026, 11, 29, 20, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "␛[31mred␛[0m", id="colour"),
        pytest.param("\x1b]0;title\x07", "␛]0;title␇", id="window title"),
        pytest.param("\x9b31m", "<U+009B>31m", id="C1 control"),
        pytest.param("a\rb", "a␍b", id="carriage return"),
        pytest.param("a\x00b\x7f", "a␀b␡", id="NUL and DEL"),
        pytest.param("x\u202egnp", "x<U+202E>gnp", id="bidi override"),
        pytest.param("x\u2066y", "x<U+2066>y", id="bidi isolate"),
        pytest.param("x\ud800y", "x<U+D800>y", id="lone surrogate"),
        pytest.param("tag\U000e0041", "tag<U+E0041>", id="tag character"),
        pytest.param("a\tb\r\nc", "a\tb\nc", id="tabs and line ends stay"),
        pytest.param("中文 é 👩‍💻", "中文 é 👩‍💻", id="letters and emoji stay"),
    ],
)
def test_nothing_that_a_terminal_obeys_gets_through(text: str, shown: str) -> None:
    assert safe_lines(text) == shown


def test_safe_text_is_one_line() -> None:
    assert safe("  a\n b\u2028c ") == "a b c"


def test_json_has_the_same_value_with_controls_escaped() -> None:
    value = {"text": "\x1b[0m \x9b \u202e \U000e0041 é\n"}

    text = json_text(value)

    assert not any(mark in text for mark in "\x1b\x9b\u202e\U000e0041")
    assert orjson.loads(text) == value


def test_wide_characters_count_two_columns() -> None:
    assert (width("中文"), width("e\u0301"), width("abc")) == (4, 1, 3)


@pytest.mark.parametrize(
    ("columns", "shown"), [(9, "中文字符"), (7, "中文字…"), (2, "…"), (0, "")]
)
def test_a_cut_text_never_takes_more_columns_than_it_may(
    columns: int, shown: str
) -> None:
    assert cut("中文字符", columns) == shown
    assert width(shown) <= columns


def test_padding_is_exact_for_wide_characters() -> None:
    assert pad("中文", 6) == "中文  "
    assert pad("7", 3, right=True) == "  7"


@pytest.mark.parametrize("word", ["word ", "中文字符"])
def test_filled_lines_fit_the_window(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    lines = fill(word * 40, indent="    ", first="- ").splitlines()

    assert all(width(line) <= 60 for line in lines)
    assert lines[0].startswith("- ")
    assert all(line.startswith("    ") for line in lines[1:])
    assert "".join("".join(lines)[2:].split()) == (word * 40).replace(" ", "")


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (None, "?"),
        (0, "0"),
        (0.0003, "0.0003"),
        (0.0312, "0.031"),
        (0.0996, "0.10"),
        (12.5, "12.50"),
    ],
)
def test_small_dollars_have_more_digits(usd: float | None, shown: str) -> None:
    assert dollars(usd) == shown


def test_ages_are_in_one_unit() -> None:
    spans = [(5, "just now"), (200, "3 min"), (7300, "2 h"), (200_000, "2 d")]

    for seconds, shown in spans:
        assert age(NOW - timedelta(seconds=seconds), NOW) == shown


def test_style_without_colour_leaves_text_alone() -> None:
    assert Style(is_on=False)("x", "red") == "x"
    assert Style(is_on=True)("x", "red", "") == "\x1b[31mx\x1b[0m"


def test_the_quick_way_to_a_width_is_right() -> None:
    found = [chr(code) for code in range(0x3000) if _NARROW.fullmatch(chr(code))]
    narrow = [char for char in found if unicodedata.category(char) != "Cn"]

    assert len(narrow) > 1000
    for char in narrow:
        assert not unicodedata.combining(char)
        assert unicodedata.category(char) not in ("Cc", "Cf", "Mn", "Me")
        assert unicodedata.east_asian_width(char) not in "WF"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  a\n b ", "a b"),
        ("\x1b[2J", "␛[2J"),
        ("👨‍👩‍👧👍🏽", "👨👩👧👍"),
        ("a\u200bb\ufeffc\u00add", "abcd"),
        ("Z" + "\u0301" * 50 + "y", "Z\u0301\u0301y"),
        ("\u0301a", "a"),
        ("中文 é", "中文 é"),
        ("x" * 900, "x" * 500),
    ],
)
def test_a_label_takes_the_same_room_everywhere(text: str, shown: str) -> None:
    assert label(text) == shown
