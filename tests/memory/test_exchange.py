"""Entries as JSON lines: what is written is read again, what cannot be meant is not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import SpecError
from orchestrator.memory.entries import Earlier, Entry, Place, check_of
from orchestrator.memory.exchange import read_records, record_of

VALUE = "Access tokens live 15 minutes.\n\n### Why\n\n```\n## no heading\n```"
ENTRY = Entry(
    "Token lifetime",
    VALUE,
    "2026-11-29",
    0.9,
    "run-1/a2",
    (Place("auth/tokens.py", 12, 14, "77ab01cd"), Place("docs/a b.md")),
    "2026-11-30",
    (Earlier("10 minutes.", "2026-10-02"), Earlier("5 minutes.", "")),
    check_of("Token lifetime", VALUE),
)
BY_HAND = Entry("部署", "只在星期二。")


def line(entry: Entry = ENTRY, **fields: Any) -> bytes:
    record = record_of("auth.md", "Auth", "How.", entry) | fields
    return json.dumps({k: v for k, v in record.items() if v != ...}).encode()


def read(*lines: bytes) -> list[Entry]:
    return [each.entry for each in read_records(b"\n".join(lines), "x.jsonl")]


def test_what_is_written_is_read_again() -> None:
    assert read(line(), b" ", line(BY_HAND)) == [ENTRY, BY_HAND]


def test_a_topic_comes_with_it() -> None:
    (record,) = read_records(line(), "x.jsonl")

    assert (record.topic, record.title, record.description) == (
        "auth.md",
        "Auth",
        "How.",
    )


def test_only_topic_key_and_value_are_needed_and_then_it_is_a_persons() -> None:
    text = (
        b'\xef\xbb\xbf{"topic": "a/b.md", "key": "K", "value": "V\\r\\nW", "more": 1}'
    )

    (record,) = read_records(text, "x.jsonl")

    assert record.entry == Entry("K", "V\nW")
    assert record.entry.is_by_a_person
    assert record.title == "B"


@pytest.mark.parametrize("entry", [ENTRY, BY_HAND], ids=["program", "person"])
def test_whose_it_is_comes_with_it(entry: Entry) -> None:
    (found,) = read(line(entry))

    assert found.is_by_a_person == entry.is_by_a_person


def test_what_a_person_changed_stays_the_persons() -> None:
    (found,) = read(line(by_a_person=True))

    assert found.is_by_a_person
    assert found.source == "run-1/a2"


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"v": 2}, "`v` is 2; known is 1"),
        ({"topic": ...}, "`topic` is missing"),
        ({"topic": 7}, "`topic` is no text"),
        ({"topic": "../x.md"}, '`topic` is "../x.md"; a topic file'),
        ({"topic": "/x.md"}, "`topic` is"),
        ({"topic": "a/b/c/d.md"}, "`topic` is"),
        ({"topic": ".index/x.md"}, "`topic` is"),
        ({"topic": "a\\b.md"}, "`topic` is"),
        ({"topic": "auth"}, "`topic` is"),
        ({"key": " "}, "`key` is empty"),
        ({"key": "a\nb"}, "`key` has more than one line"),
        ({"key": "a\u2028b"}, "`key` has more than one line"),
        ({"key": "a ##"}, "`key` or `value` holds a line"),
        ({"value": "\n \n"}, "`value` is empty"),
        ({"value": "a\n## b\n\nc"}, "`key` or `value` holds a line `## …`"),
        ({"when": "yesterday"}, '`when` is "yesterday"; a date is `YYYY-MM-DD`'),
        ({"when": "2026-02-30"}, "`when` is"),
        ({"confidence": 2}, "`confidence` is 2; allowed is 0 to 1"),
        ({"confidence": True}, "`confidence` is true"),
        ({"confidence": "0.5"}, "`confidence` is"),
        ({"source": "", "by_a_person": False}, "`source` is missing"),
        ({"by_a_person": "no"}, "`by_a_person` is not true or false"),
        ({"evidence": "a.py"}, "`evidence` is no list of objects"),
        ({"evidence": ["a.py:1"]}, "`evidence` is no list of objects"),
        ({"evidence": [{"path": ""}]}, "`evidence[0].path` is empty"),
        ({"evidence": [{"path": "a", "first": -1}]}, "`evidence[0].first` is -1"),
        ({"evidence": [{"path": "a", "seal": "no"}]}, "`evidence[0].seal` is"),
        ({"evidence": [{"path": "a:1"}]}, "`evidence[0]` is"),
        ({"was": [{}]}, "`was[0].value` is missing"),
        ({"was": [{"value": "x", "when": "?"}]}, "`was[0].when` is"),
    ],
    ids=str,
)
def test_a_wrong_field_is_named_with_its_line(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(line(BY_HAND), line(**fields))

    assert caught.value.message.startswith(why)
    assert str(caught.value).startswith("x.jsonl:2: ")
    assert str(caught.value).endswith("; nothing was taken in")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "the line is no JSON in UTF-8"),
        (b"\xff", "the line is no JSON in UTF-8"),
        (b'{"key": "\\ud800"}', "the line is no JSON in UTF-8"),
        (b"[" * 100_000, "the line is no JSON in UTF-8"),
        (b"[]", "the line is no object"),
        (b" " * 1_000_001 + b"{}", "the line is longer than 1,000,000 bytes"),
    ],
    ids=["cut", "bytes", "surrogate", "deep", "list", "long"],
)
def test_what_is_no_object_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        read(data)


def test_a_value_that_would_be_read_as_a_field_is_refused() -> None:
    value = "a\n- when: 2026-01-01"

    assert read(line(value=value)) == [
        replace(ENTRY, value=value, check=check_of(ENTRY.key, value))
    ]
    with pytest.raises(SpecError, match="1: `value` ends in what would be taken"):
        read(line(BY_HAND, value=value))


def test_one_key_twice_is_refused() -> None:
    with pytest.raises(SpecError, match="2: `key` is that of line 1, too"):
        read(line(), line(key="token_LIFETIME", value="Other."))


@given(st.text(max_size=60), st.text(max_size=200), st.text(max_size=30))
def test_whatever_is_read_is_written_and_read_the_same(
    key: str, value: str, was: str
) -> None:
    data = line(ENTRY, key=key, value=value, was=[{"value": was, "when": ""}])
    try:
        (found,) = read_records(data, "x")
    except SpecError:
        return
    again = record_of(found.topic, found.title, found.description, found.entry)

    assert read_records(json.dumps(again).encode(), "x") == [found]
