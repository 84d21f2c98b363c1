"""Bounding a text: head, tail, and a marker between them."""

from __future__ import annotations

import math
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.clipping import Clipped, clip, safe_end, safe_start
from orchestrator.context.tokens import estimate

REF = "art_0123456789ab"
LINES = "".join(f"line {n} says something about {n * 7}\n" for n in range(3000))


def clipped(text: str, limit: int = 500, *, is_error: bool = False) -> Clipped:
    return clip(text, limit_tokens=limit, is_error=is_error, count=estimate)


def parts(result: Clipped) -> tuple[str, str, str]:
    first, end = result.marker
    return result.text[:first], result.text[first:end], result.text[end:]


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    text = "short\r\n\ttext\n"
    result = clipped(text)

    assert result == Clipped(text, was_clipped=False, full_tokens=estimate(text))
    assert result.with_ref(REF) == text


def test_head_and_tail_are_whole_lines_of_the_text() -> None:
    head, _, tail = parts(clipped(LINES))

    assert head
    assert tail
    assert LINES.startswith(head)
    assert LINES.endswith(tail)
    assert head.endswith("\n")
    assert LINES[-len(tail) - 1] == "\n"


def test_the_marker_says_how_much_is_missing_and_where_it_is() -> None:
    result = clipped(LINES)
    head, marker, tail = parts(result)
    missing = 3000 - head.count("\n") - tail.count("\n")

    assert f"{missing:,} lines" in marker
    assert f"{result.full_tokens - estimate(head + tail):,} tokens" in marker
    assert "{ref}" in marker
    assert REF in result.with_ref(REF)


def test_the_end_of_a_failure_weighs_more_than_its_beginning() -> None:
    head, _, tail = parts(clipped(LINES))
    error_head, _, error_tail = parts(clipped(LINES, is_error=True))

    assert len(head) > len(tail)
    assert len(error_tail) > 2 * len(error_head)


def test_braces_of_the_text_itself_are_not_filled() -> None:
    text = "the first line has a {ref} in it\n" + LINES + "and the last a {ref}\n"
    filled = clipped(text).with_ref(REF)

    assert filled.startswith("the first line has a {ref} in it\n")
    assert filled.endswith("and the last a {ref}\n")
    assert filled.count(REF) == 1


def test_most_of_the_limit_is_used() -> None:
    for is_error in (False, True):
        assert estimate(clipped(LINES, 4000, is_error=is_error).text) > 3800


def test_one_huge_line_keeps_both_ends() -> None:
    text = '{"first": 1, ' + '"k": "v", ' * 50_000 + '"last": 2}'
    head, marker, _ = parts(clipped(text))

    assert head.startswith('{"first": 1, ')
    assert head.rstrip("\n").endswith('"last": 2}')
    assert "characters left out]" in head
    assert "parts of long lines" in marker


def test_a_huge_line_among_others_does_not_push_them_out() -> None:
    text = "before 1\nbefore 2\n" + "word " * 200_000 + "\nafter 1\nafter 2\n"
    shown = clipped(text).text

    for line in ("before 1", "before 2", "after 1", "after 2"):
        assert line in shown
    assert "characters left out]" in shown


def test_the_last_line_needs_no_line_end() -> None:
    _, _, tail = parts(clipped(LINES + "the end"))

    assert tail.endswith("\nthe end")


@pytest.mark.parametrize("limit", [0, 1, 5, 12, 20, 28, 40])
def test_a_limit_with_no_room_still_holds(limit: int) -> None:
    for text in (LINES, "x" * 9000, "👩‍🚒" * 900):
        result = clipped(text, limit)
        assert result.was_clipped
        assert estimate(result.with_ref(REF)) <= limit


ODD = st.sampled_from(
    ["a", "word ", "\n\n\n", "\n", "\r\n", " ", "é", "e\u0301", "中", "🇩🇪", "👨‍👩‍👧",
     "👍🏽", "{ref}", "\u1112\u1161\u11ab", "क्ष", "0", "{", "\ud83d", "\x00", "x" * 60]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    text=st.lists(ODD, max_size=120).map("".join),
    limit=st.integers(0, 120),
    is_error=st.booleans(),
    count=st.sampled_from([estimate, len, lambda text: math.ceil(len(text) * 1.7)]),
)
def test_whatever_the_text_the_limit_holds_and_the_ends_are_its_own(
    text: str, limit: int, is_error: bool, count: object
) -> None:
    assert callable(count)
    result = clip(text, limit_tokens=limit, is_error=is_error, count=count)

    assert count(result.with_ref(REF)) <= limit or not result.was_clipped
    assert result.was_clipped == (count(text) > limit)
    if not result.was_clipped:
        assert result.text == text


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param("👩‍🚒", id="joined emoji"),
        pytest.param("👨‍👩‍👧‍👦", id="family"),
        pytest.param("👍🏽", id="skin tone"),
        pytest.param("❤️", id="variation selector"),
        pytest.param("🏴󠁧󠁢󠁳󠁣󠁴󠁿", id="flag of tags"),
        pytest.param("🇩🇪", id="flag"),
        pytest.param("e\u0301", id="combining mark"),
        pytest.param("q\u0323\u0307", id="two combining marks"),
        pytest.param("\u1112\u1161\u11ab", id="korean letters"),
        pytest.param("가\u11a8", id="korean syllable and letter"),
        pytest.param("क्ष", id="conjunct"),
        pytest.param("นี้", id="thai marks"),
        pytest.param("\r\n", id="line end of two"),
    ],
)
def test_no_cut_falls_inside_one_visible_character(cluster: str) -> None:
    text = "a" + cluster * 6 + "b"
    boundaries = {0, 1, *(1 + len(cluster) * n for n in range(7)), len(text)}

    for at in range(len(text) + 1):
        before, after = safe_end(text, at), safe_start(text, at)
        assert before <= at <= after
        assert {before, after} <= boundaries


def test_flags_are_cut_in_pairs_wherever_they_begin() -> None:
    text = "🇩🇪🇫🇷🇯🇵"

    assert [safe_end(text, at) for at in range(7)] == [0, 0, 2, 2, 4, 4, 6]


def test_halves_of_a_character_stay_together() -> None:
    assert safe_end("a\ud83d\ude00b", 2) == 1


@pytest.mark.parametrize("cluster", ["👩‍🚒", "🇩🇪", "e\u0301", "क्ष"])
@pytest.mark.parametrize("limit", range(60, 75))
def test_clipping_a_line_of_clusters_gives_whole_ones(cluster: str, limit: int) -> None:
    text = cluster * 3000
    head, _, _ = parts(clipped(text, limit))
    first, _, rest = head.partition(" …[")
    last = rest.partition("]… ")[2].rstrip("\n")

    for end in (first, last):
        assert end == cluster * (len(end) // len(cluster))
        unicodedata.normalize("NFC", end).encode()


def test_megabytes_take_about_as_long_as_counting_them() -> None:
    for text in ("word " * 300_000, "a short line\n" * 120_000, "\n" * 1_500_000):
        began = time.process_time()
        clipped(text, 4000)
        assert time.process_time() - began < 5  # 0.1 s, idle


def test_a_long_row_of_marks_is_one_character_and_takes_no_time() -> None:
    text = "e" + "\u0301" * 100_000
    began = time.process_time()

    assert "\u0301" not in clipped(text).text
    assert time.process_time() - began < 2
