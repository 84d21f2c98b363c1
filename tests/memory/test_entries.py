"""Topic files are read whatever they hold, and written back byte for byte."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.memory.entries import (
    Earlier,
    Entry,
    Place,
    Topic,
    changed,
    check_of,
    parse_place,
    parse_topic,
    same_key,
    topic_text,
)

AUTH = """\
# Authentication

How requests are authenticated
in this service.

## Token lifetime

Access tokens live 15 minutes; refresh tokens 30 days.

- when: 2026-11-29
- confidence: 0.9
- source: 20261129-201500-auth-survey-7f3a/a2 (check 41b8e4ea)
- evidence: auth/tokens.py:12-14 (check 77ab01cd)
- evidence: README.md
- used: 2026-11-30
- was: Access tokens live 10 minutes. (2026-10-02)

## Deploys
Only on Tuesdays.
"""
WORDS = st.text("ab `#-:~\n\r\t/.\ufeff\x0c\u2028é漢", max_size=60)
LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["## key", "## Key two ##", "##", "# title", "```", "~~~~", "````py", "",
             "- when: 2026-01-02", "- used: never", "- was: x (2026-01-01)", "### deep",
             "- source: r/a (check 00000000)", "- evidence: a.py:1-2, b/c.py", " ## no"]
        ),
        WORDS,
    ),
    max_size=25,
)  # fmt: skip
VALUES = st.lists(
    st.sampled_from(
        ["text", "- used: by cron", "", "### part", "- a list", "  indented", "é 漢字",
         "```\n## no key\n```", "~~~\n- when: 2026-01-01\n~~~"]
    ),
    min_size=1,
    max_size=6,
).map(lambda lines: "\n".join(lines).strip("\n").rstrip()).filter(bool)  # fmt: skip


def test_all_fields_are_read() -> None:
    topic = parse_topic(AUTH, "auth.md")
    tokens, deploys = topic.entries

    assert topic.title == "Authentication"
    assert topic.description == "How requests are authenticated in this service."
    assert tokens == Entry(
        "Token lifetime",
        "Access tokens live 15 minutes; refresh tokens 30 days.",
        when="2026-11-29",
        confidence=0.9,
        source="20261129-201500-auth-survey-7f3a/a2",
        evidence=(
            Place("auth/tokens.py", 12, 14, "77ab01cd"),
            Place("README.md"),
        ),
        used="2026-11-30",
        was=(Earlier("Access tokens live 10 minutes.", "2026-10-02"),),
        check="41b8e4ea",
    )
    assert deploys == Entry("Deploys", "Only on Tuesdays.")


def test_whose_an_entry_is_depends_on_its_check() -> None:
    value = "Tokens live 15 minutes."
    ours = Entry("Tokens", value, source="r/a1", check=check_of("Tokens", value))

    assert not ours.is_by_a_person
    assert not replace(ours, when="2026-01-01", used="2026-01-02").is_by_a_person
    assert replace(ours, value="Tokens live 5 minutes.").is_by_a_person
    assert replace(ours, key="Token").is_by_a_person
    assert replace(ours, source="").is_by_a_person
    assert replace(ours, check="").is_by_a_person


@given(LINES, st.sampled_from(["\n", "\r\n"]))
@example(["## k", "```", "## swallowed?"], "\n")
def test_any_text_comes_back_as_it_was(lines: list[str], end: str) -> None:
    text = end.join(lines)

    assert topic_text(parse_topic(text, "x.md")) == text


@given(
    st.lists(
        st.tuples(st.sampled_from(["one", "Two 2", "drei-vier", "C#", "键"]), VALUES),
        unique_by=lambda pair: pair[0],
        max_size=4,
    ),
    st.booleans(),
)
def test_what_is_written_is_read_as_the_same(
    pairs: list[tuple[str, str]], is_crlf: bool
) -> None:
    entries = tuple(
        Entry(
            key,
            value,
            when="2026-11-29",
            confidence=0.5,
            source="run/a1",
            evidence=(Place("a b/c.py", 3, 5, "00112233"), Place("d.md")),
            used="2026-11-30",
            was=(Earlier("before", "2026-01-01"),),
            check=check_of(key, value),
        )
        for key, value in pairs
    )
    topic = Topic(
        "x.md", "Title", "About it.", entries, is_crlf=is_crlf and bool(pairs)
    )
    again = parse_topic(topic_text(topic), "x.md")

    assert again == replace(topic, is_crlf=again.is_crlf)
    assert not any(entry.is_by_a_person for entry in again.entries)


@given(LINES, st.integers(0, 30), st.sampled_from(["\n", "\r\n"]))
def test_a_change_leaves_all_other_bytes(
    lines: list[str], which: int, end: str
) -> None:
    text = end.join(lines)
    topic = parse_topic(text, "x.md")
    if not topic.entries:
        return
    at = which % len(topic.entries)
    entries = list(topic.entries)
    entries[at] = changed(entries[at], value="new value", when="2026-02-03")
    after = topic_text(replace(topic, entries=tuple(entries)))

    before = (topic.head or "") + "".join(e.raw for e in topic.entries[:at])
    behind = "".join(e.raw for e in topic.entries[at + 1 :])
    assert after.startswith(before)
    assert after.endswith(behind)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("## a\n\n```\n## no\n```\n\n## b\n", ["a", "b"]),
        ("## a\n\n~~~\n```\n## no\n~~~\n## b\n", ["a", "b"]),
        ("## a\n\n```\nnever closed\n\n## b\n", ["a", "b"]),
        ("## a\n\n``` inline ```\n## b\n", ["a", "b"]),
        ("## a\n### deeper\n##no\n ## no\n##\n", ["a"]),
        ("\ufeff# T\r\n\r\n## a ##\r\nv\r\n## C#\r\n", ["a", "C#"]),
        ("no heading at all", []),
        ("", []),
    ],
)
def test_headings_in_code_are_none(text: str, keys: list[str]) -> None:
    assert [entry.key for entry in parse_topic(text, "x.md").entries] == keys


def test_a_thousand_open_fences_take_no_long_time() -> None:
    text = "".join(f"```{number}\n" for number in range(20_000)) + "## a\n"

    assert [entry.key for entry in parse_topic(text, "x.md").entries] == ["a"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("Token lifetime", "token_LIFETIME", True),
        ("Token  lifetime ", "token-lifetime", True),
        ("ｔｏｋｅｎ", "token", True),
        ("Token lifetime", "Tokenlifetime", False),
        ("STRASSE", "straße", True),
    ],
)
def test_keys_are_one_whatever_their_spelling(
    one: str, other: str, is_same: bool
) -> None:
    assert same_key(one, other) is is_same


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.py", Place("a.py")),
        ("a.py:3", Place("a.py", 3, 3)),
        ("`a.py:3-5`", Place("a.py", 3, 5)),
        ("a.py:L3-L5 (check 00112233)", Place("a.py", 3, 5, "00112233")),
        ("https://example.com/x", Place("https://example.com/x")),
        ("", None),
    ],
)
def test_places_are_read(text: str, place: Place | None) -> None:
    assert parse_place(text) == place


def test_odd_fields_are_kept_and_say_nothing() -> None:
    text = "## a\n\nv\n\n- when: soon\n- confidence: 7\n- used: 2026-13-45\n"
    topic = parse_topic(text, "x.md")

    assert topic.entries == (Entry("a", "v"),)
    assert topic_text(topic) == text
