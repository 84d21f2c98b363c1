"""A digest keeps the facts of a text in a few of its own lines."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_documents import FORMS, KINDS, planted

from orchestrator.context.digest import digest
from orchestrator.context.tokens import estimate

SEEDS = range(3)


def of(text: str, *, limit_tokens: int = 60) -> str:
    return digest(text, limit_tokens=limit_tokens, count=estimate)


def kept_share(kind: str, *, limit_tokens: int) -> float:
    documents = [
        planted(seed, kind=kind, form=form) for form in FORMS for seed in SEEDS
    ]
    kept = [each.fact in of(each.text, limit_tokens=limit_tokens) for each in documents]
    return sum(kept) / len(kept)


@pytest.mark.parametrize("kind", KINDS)
def test_planted_facts_are_kept(kind: str) -> None:
    least = 0.8 if kind in ("limit", "negation") else 0.95
    assert kept_share(kind, limit_tokens=60) >= least


def test_half_the_size_keeps_nearly_as_much() -> None:
    kinds = [kind for kind in KINDS if kind not in ("limit", "negation")]
    shares = [kept_share(kind, limit_tokens=30) for kind in kinds]
    assert sum(shares) / len(shares) >= 0.95


def test_lines_are_whole_and_in_order() -> None:
    for form in FORMS:
        if "paragraphs" in form:
            continue
        text = planted(1, kind="ticket", form=form).text
        lines = text.split("\n")
        places = [lines.index(line) for line in of(text).split("\n")]
        assert places == sorted(set(places)), form


def test_a_long_line_gives_a_piece_only_where_no_short_line_tells() -> None:
    long = "and so it went on for a while without much to say about it " * 40
    paragraph = f"{long}until ticket OPS-4471 was opened. {long}"

    alone = of(f"Chapter two\n{paragraph}")
    beside = of(f"{paragraph}\nerror E1234 in the queue")

    assert "OPS-4471" in alone
    assert alone.startswith("Chapter two\n…")
    assert alone.endswith("…")
    assert beside == "error E1234 in the queue"


def test_numbers_of_lines_and_what_pages_say_of_themselves_tell_nothing() -> None:
    rows = [f"{number}\tplain words go here" for number in range(995, 1030)]
    rows[20] = "1015\tthe code name is heron-4471-quartz"
    page = "\n".join(
        [
            "src/a_1.py: lines 995-1029 of 2000",
            *rows,
            "[971 more lines; go on with first_line=1030]",
        ]
    )
    assert of(page).startswith("1015\t")


def test_one_line_of_json_without_blanks_gives_pieces() -> None:
    rows = ",".join(f'{{"id":{n},"state":"ok"}}' for n in range(3000))
    text = rows.replace(
        '{"id":77,', '{"error":"E4012","path":"/srv/queue.conf","id":77,'
    )
    assert "E4012" in of(text)


@pytest.mark.parametrize("text", ["", " \n\t\n", "\n" * 500])
def test_blank_text_has_no_digest(text: str) -> None:
    assert of(text) == ""


@settings(max_examples=40)
@given(st.text(max_size=400), st.integers(0, 80))
def test_no_digest_is_over_its_limit(text: str, limit: int) -> None:
    assert estimate(of(text, limit_tokens=limit)) <= limit


def test_the_time_grows_with_the_length_and_not_faster() -> None:
    text = planted(1, kind="path", form="log").text
    small, large = (text * 40)[:50_000], (text * 400)[:500_000]

    def best(text: str) -> float:
        times = []
        for _ in range(3):
            began = perf_counter()
            of(text)
            times.append(perf_counter() - began)
        return min(times)

    assert best(large) <= 20 * best(small)
