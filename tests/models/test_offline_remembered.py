"""The offline model reads what memory holds, and tells what that answers."""

from __future__ import annotations

import pytest

from orchestrator.models.offline.remembered import (
    Recalled,
    Remembered,
    Spot,
    recalled,
    remembered_in,
)

TOKENS = (
    "- `auth.md` › Token lifetime: Access tokens live 15 minutes; refresh tokens "
    "30 days. (2026-11-29, confidence 0.9, `auth/tokens.py:12-14` unchanged)"
)
KEY = (
    "- `auth.md` › Signing key: HS256 with a key from the environment. (2026-11-29, "
    "confidence 0.8, `auth/keys.py:3` STALE: changed since; read it again)"
)


def shown(*entries: str) -> str:
    return "\n".join(
        [
            "# Objective",
            "",
            "Prepare the audit.",
            "",
            "# What earlier runs learned",
            "",
            "True when it was written; check before use. `unchanged`: you may cite it.",
            "",
            "Topics in memory:",
            "",
            "- `auth.md` (3, newest 2026-11-29): How requests are authenticated.",
            "",
            "Found for this objective:",
            "",
            *entries,
        ]
    )


def entry(value: str, told: str = "2026-11-29, `a.md:3` unchanged") -> str:
    return f"- `a.md` › Key: {value} ({told})"


def answer(question: str, *entries: str) -> Recalled:
    return recalled(question, remembered_in(shown(*entries)), lambda _: True)


def test_an_entry_is_read_with_its_date_its_places_and_their_state() -> None:
    assert remembered_in(shown(TOKENS, KEY)) == [
        Remembered(
            "auth.md",
            "Token lifetime",
            ("Access tokens live 15 minutes; refresh tokens 30 days.",),
            "2026-11-29",
            (Spot("auth/tokens.py", 12, 14),),
            "unchanged",
        ),
        Remembered(
            "auth.md",
            "Signing key",
            ("HS256 with a key from the environment.",),
            "2026-11-29",
            (Spot("auth/keys.py", 3, 3),),
            "changed",
        ),
    ]


@pytest.mark.parametrize(
    ("told", "state", "spots"),
    [
        ("2026-11-29, `a.md:3` unchanged", "unchanged", (Spot("a.md", 3, 3),)),
        ("`a.md:3` unchanged, moved there since", "moved", (Spot("a.md", 3, 3),)),
        ("by a person, `a.md` STALE: the file is gone", "gone", (Spot("a.md"),)),
        ("2026-11-29, confidence 0.5, `a.md:3`", "unknown", (Spot("a.md", 3, 3),)),
        (
            "2026-11-29, by a person, `a b.md:3`, `c(1).py:4-5` and 2 more unchanged",
            "unchanged",
            (Spot("a b.md", 3, 3), Spot("c(1).py", 4, 5)),
        ),
        ("by a person", "unknown", ()),
        ("2026-11-29", "unknown", ()),
        ("confidence 1", "unknown", ()),
    ],
)
def test_what_stands_behind_a_value_is_read(
    told: str, state: str, spots: tuple[Spot, ...]
) -> None:
    [found] = remembered_in(shown(entry("It says (so).", told)))

    assert (found.state, found.spots, found.said) == (state, spots, "It says (so).")


def test_lines_of_a_value_are_told_apart() -> None:
    value = "Two days. / > two days at most / Found for: How long does it take?"
    [found] = remembered_in(shown(entry(value)))

    assert len(found.lines) == 3
    assert found.said == "Two days."


@pytest.mark.parametrize(
    "line",
    [
        "- `a.md` › K: v",
        "* `a.md` › K: v (odd words, `x` whatever)",
        "- `a.md` › no colon at all (2026-11-29)",
        "- `a.md` › K: (((( ` ) (2026-11-29",
        f"- `a.md` › K: {'(`' * 300}",
    ],
)
def test_odd_lines_are_read_as_far_as_they_go(line: str) -> None:
    [found] = remembered_in(shown(line))

    assert found.topic == "a.md"
    assert not found.is_firm


def test_nothing_is_read_where_the_heading_is_not() -> None:
    assert remembered_in(f"# Objective\n\nTell.\n\n{TOKENS}") == []
    context = f"===== begin a.md: =====\n{shown(TOKENS)}\n===== end a.md ====="
    assert remembered_in(f"# Context files\n\n{context}") == []
    assert (
        remembered_in(shown("- run `r` › t: Two. (finding, `x.md:3` unchanged)")) == []
    )


@pytest.mark.parametrize(
    "question",
    [
        "How long do access tokens live?",
        "How many days do refresh tokens live?",
        "What is the lifetime of an access token?",
    ],
)
def test_unchanged_lines_answer_what_they_are_about(question: str) -> None:
    assert answer(question, TOKENS).answers


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How long do session tokens live?", "Access tokens live 15 minutes."),
        (
            "How many days of leave does a part-time employee get?",
            "Full-time employees get 26 days of leave.",
        ),
        ("What is the minimum payload?", "The maximum payload is 190 kg."),
        ("How much does the lease cost in 2025?", "The lease costs 900 euros in 2026."),
        ("Who signs the lease?", "The lease runs for five years."),
        ("How long does the lease run?", "The lease may be ended."),
        ("在二线城市住宿费最多多少钱？", "住宿费一线城市每晚不超过 520 元。"),
        ("What is the limit in `b.md`?", "The limit is 3."),
    ],
)
def test_what_is_nearly_the_same_is_no_answer(question: str, value: str) -> None:
    found = answer(question, entry(value))

    assert found == Recalled()


def test_a_chinese_question_is_answered_by_the_entry_found_for_it() -> None:
    asked = "骑行轨迹会保留多久？"
    value = f"保留期限：骑行轨迹保留 13 个月，到期后自动汇总。 / 问题：{asked}"

    assert answer(asked, entry(value)).answers
    assert not answer("支付记录会保留多久？", entry(value)).answers


@pytest.mark.parametrize(
    "question",
    ["Summarise what is said on token lifetime.", "Describe what this folder holds."],
)
def test_a_summary_and_an_overview_need_the_files(question: str) -> None:
    value = "Token lifetime: this folder holds what is said. (see all files)"

    assert answer(question, entry(value)) == Recalled()


def test_a_question_of_two_parts_needs_an_entry_for_each() -> None:
    question = "How long do access tokens live, and who signs the lease?"

    assert not answer(question, TOKENS).answers
    both = answer(question, TOKENS, entry("Mona Brandt signs the lease."))
    assert len(both.answers) == 2


@pytest.mark.parametrize(
    "told",
    [
        "2026-11-29, `a.md:3` STALE: changed since; read it again",
        "2026-11-29, `a.md:3` STALE: the file is gone",
        "2026-11-29, `a.md` unchanged",
        "2026-11-29, `a b.md:3` unchanged",
    ],
    ids=["changed", "gone", "without lines", "cannot be cited"],
)
def test_what_cannot_be_cited_as_it_stands_is_looked_up(told: str) -> None:
    found = answer(
        "How long does the lease run?",
        entry("It runs: the lease runs for five years.", told),
    )

    assert not found.answers
    assert len(found.doubtful) == 1


def test_a_better_entry_that_is_stale_is_not_passed_over_for_a_worse_one() -> None:
    stale = entry("The lease runs for six years.", "`a.md:3` STALE: changed since")
    worse = entry("On the lease: six years is how long a bike would run, for years.")

    assert not answer("How long does the lease run?", stale, worse).answers


@pytest.mark.parametrize("told", ["by a person", "2026-11-29", "2026-11-29, `a.md:3`"])
def test_without_evidence_it_is_a_hint(told: str) -> None:
    found = answer(
        "How long does the lease run?", entry("The lease runs ten years.", told)
    )

    assert not found.answers
    assert not found.doubtful
    assert len(found.hints) == 1


def test_a_file_that_may_not_be_looked_at_is_no_answer() -> None:
    entries = remembered_in(shown(TOKENS))
    asked = "How long do access tokens live?"

    assert not recalled(asked, entries, lambda path: path != "auth/tokens.py").answers


def test_what_was_found_for_the_very_question_goes_before_what_has_its_words() -> None:
    told = "2026-11-29, `r.md:{}` unchanged"
    arrival = (
        "- `r.md` › Refund takes day goods arrive: A refund takes 14 days from the day "
        "the goods arrive. / Found for: How long do refunds take? "
        f"({told.format(1)})"
    )
    receipt = (
        "- `r.md` › Receipt refund takes: Without a receipt a refund takes 30 days at "
        f"the most. / Found for: How long without a receipt? ({told.format(2)})"
    )
    found = answer("How long do refunds take?", receipt, arrival)

    assert [each.spot for each in found.answers] == [Spot("r.md", 1, 1)]
