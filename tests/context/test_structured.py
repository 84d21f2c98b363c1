"""JSON is shown by its structure, within a limit, and says what is missing."""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.structured import Abridged, abridge, parse, pick
from orchestrator.context.tokens import estimate

REF = "art_0123456789ab"
ORDERS = {
    "total": 400,
    "next": None,
    "orders": [
        {
            "id": 10**20 + n,
            "state": "paid",
            "note": "words " * 200,
            "lines": [{"sku": f"S-{n}-{k}", "cents": k * 100} for k in range(8)],
        }
        for n in range(400)
    ],
}


def shown(content: Any, *, limit_tokens: int = 1000, **options: Any) -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    found = abridge(text, limit_tokens=limit_tokens, count=estimate, ref=REF, **options)
    assert found is not None
    assert estimate(found.text) <= limit_tokens
    return found.text


def test_lists_show_their_length_and_their_first_five() -> None:
    text = shown({"ids": list(range(1000, 1400))})
    assert all(str(n) in text for n in range(1000, 1005))
    assert "1005" not in text
    assert "[400 items in all; ask for one by its number]" in text
    assert text.endswith(
        f'[shortened: ids (400 items). A part: read_ref("{REF}", fields=["…"]); '
        f'all: read_ref("{REF}")]'
    )


@pytest.mark.parametrize("limit", [150, 300, 1000, 4000])
def test_what_is_large_is_shortened_until_it_fits(limit: int) -> None:
    text = shown(ORDERS, limit_tokens=limit)
    assert '"total": 400' in text
    assert "400 items" in text


def test_numbers_keep_their_value_whatever_their_length() -> None:
    assert str(10**20) in shown(ORDERS, limit_tokens=4000)


def test_only_the_named_parts_are_shown_and_the_others_are_listed() -> None:
    text = shown(ORDERS, fields=["total", "orders.state", "orders.lines.sku"])
    assert text.startswith("total: 400\norders.state: [\n")
    assert "words" not in text
    assert "not shown: next, orders.id, orders.note, orders.lines.cents" in text


def test_named_parts_are_shown_below_the_limit_too() -> None:
    text = shown({"a": 1, "b": 2, "c": [3]}, fields=["b", "not there"])
    assert text.startswith("b: 2\n[not shown: a, c. A part:")


def test_where_no_named_part_is_there_all_is_shown() -> None:
    text = json.dumps({"a": 1})
    found = abridge(
        text, limit_tokens=100, count=estimate, ref=REF, fields=["zeppelin"]
    )
    assert found == Abridged(text, is_whole=True)


def test_lines_of_json_are_one_list() -> None:
    text = "\n".join(json.dumps({"n": n, "text": "t" * 50}) for n in range(900)) + "\n"
    assert "900 items in all" in shown(text)
    assert shown(text, fields=["n"]).startswith("n: [\n  0,\n  1,")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "12",
        '"text"',
        "[cleared] of all",
        "{not json}",
        "[1\n[2",
        "[" * 9000,
    ],
)
def test_what_is_no_json_is_left_to_others(text: str) -> None:
    assert parse(text) is None
    assert abridge(text, limit_tokens=10, count=estimate, ref=REF) is None


def test_what_cannot_fit_is_left_to_others() -> None:
    assert abridge(json.dumps(ORDERS), limit_tokens=20, count=estimate, ref=REF) is None


def test_two_million_characters_on_one_line_are_no_matter() -> None:
    row = {"id": 1, "tags": ["a", "b"], "text": "some words of a note"}
    text = json.dumps([row] * 33_000)
    assert len(text) > 2_000_000

    began = perf_counter()
    shown(text)
    assert perf_counter() - began < 1.5  # 0.05 s on an idle machine


def test_a_part_that_is_not_there_is_told_with_what_is() -> None:
    with pytest.raises(LookupError, match='no field "x" in `orders`: a list of 400'):
        pick(ORDERS, "orders.x")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@settings(max_examples=40, deadline=None)
@given(JSON, st.integers(60, 400), st.lists(st.text(max_size=5), max_size=2))
def test_any_json_is_within_its_limit(value: Any, limit: int, fields: Any) -> None:
    text = json.dumps(value)
    found = abridge(text, limit_tokens=limit, count=estimate, ref=REF, fields=fields)
    if found is not None:
        assert estimate(found.text) <= limit
        assert found.is_whole == (found.text == text)
