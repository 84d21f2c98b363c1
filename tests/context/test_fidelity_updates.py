"""Summaries that say more than an older text does: what moved on stays, and is told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.context.fidelity import Checked, check_summary
from orchestrator.context.stubs import stub
from orchestrator.context.summary import HEADINGS, Section
from orchestrator.context.tokens import estimate

MATERIAL = Path(__file__).parent / "material"
BEFORE = re.compile(r' \(before: (?:"[^"]*"|[^()]*)\)')


def load(*names: str) -> list[dict[str, Any]]:
    texts = [(MATERIAL / name).read_text(encoding="utf-8") for name in names]
    return [case for text in texts for case in yaml.safe_load(text)]


SETS = ("", "_more", "_third", "_fourth")
UPDATED = load(*(f"updated{name}.yaml" for name in (*SETS, "_fifth")))
RESTATED = load(*(f"restated{name}.yaml" for name in SETS))


def under(section: Section, line: str) -> str:
    return f"## {HEADINGS[section]}\n\n- {line}"


def check(
    summary: str,
    *,
    old: Sequence[str] = (),
    results: Sequence[str] = (),
    state: Sequence[str] = (),
) -> Checked:
    return check_summary(
        summary,
        old=old,
        results=results,
        state=state,
        references=(),
        used_later=(),
        open_calls=(),
        limit_tokens=2000,
        count=estimate,
    )


def checked(case: dict[str, Any]) -> Checked:
    section: Section = case["section"]
    has_earlier = "earlier" in case
    return check(
        under(section, case["line"]),
        old=[
            *([under(section, case["earlier"])] if has_earlier else []),
            *case.get("said", ()),
        ],
        results=case.get("results", ()),
        state=case.get("state", ()),
    )


def line_of(found: Checked) -> str:
    return found.corrected.partition("\n- ")[2]


def wrongly_changed(cases: Sequence[dict[str, Any]]) -> list[str]:
    lines = [(case["line"], line_of(checked(case))) for case in cases]
    return [now for line, now in lines if BEFORE.sub("", now) != line]


def test_what_was_brought_up_to_date_is_not_changed() -> None:
    assert len(UPDATED) >= 30

    assert len(wrong := wrongly_changed(UPDATED)) <= 0.05 * len(UPDATED), wrong


def test_a_figure_that_only_the_summary_has_is_told_with_the_one_before() -> None:
    told = [bool(BEFORE.search(line_of(checked(case)))) for case in UPDATED]
    wanted = [case.get("told") == "before" for case in UPDATED]
    differ = [
        case["line"]
        for case, is_told, is_wanted in zip(UPDATED, told, wanted, strict=True)
        if is_told != is_wanted
    ]

    assert len(differ) <= 0.05 * len(UPDATED), differ


@pytest.mark.parametrize("case", RESTATED, ids=lambda case: str(case["line"]))
def test_of_a_fact_that_is_repeated_wrongly_the_source_is_told(
    case: dict[str, Any],
) -> None:
    found = checked(case)

    assert case["figure"] in found.corrected
    assert [each["said"] for each in found.mended()] == [case["line"]]


def test_a_count_that_the_model_made_itself_is_not_doubted() -> None:
    told = "Migrated 25 of 48 files; 23 are left."

    assert check(under("work", told), old=["I look at the client."]).findings == ()


def test_what_was_doubted_once_does_not_bear_out_the_next_summary() -> None:
    line = "Limit for a trip: 4,520 EUR"
    earlier = check(under("facts", line), state=["The trip limit is 4,250 EUR."])
    corrected = earlier.corrected
    assert "4,520 EUR (source: 4,250 EUR)" in corrected

    again = check(under("facts", line), old=[corrected])
    copied = check(corrected, old=[corrected])

    assert "4,520 EUR (source: 4,250 EUR)" in again.corrected
    assert line_of(copied) == "Limit for a trip: 4,250 EUR"
    assert copied.findings == ()


@pytest.mark.parametrize(
    "line",
    [
        "Revenue is 4,250 EUR (source: docs/report.md)",
        "The reader is in src/reader.py (source: notes/walk.md)",
        "Revenue is 4,250 EUR (source: table 3)",
    ],
)
def test_where_a_figure_comes_from_is_left_as_the_model_tells_it(line: str) -> None:
    found = check(under("facts", line), results=[line])

    assert line_of(found) == line
    assert found.findings == ()


def test_a_mended_summary_is_borne_out_by_itself() -> None:
    for case in [*UPDATED, *RESTATED]:
        once = checked(case).corrected

        twice = check(once, old=[once], state=case.get("state", ()))

        assert check(twice.corrected, old=[once, twice.corrected]).findings == ()
        assert "source" not in twice.corrected, case
        if "(source: " not in once:
            assert (twice.corrected, twice.findings) == (once, ())


def test_the_newest_of_what_was_before_is_told() -> None:
    old = [under("facts", "Failing tests: 37"), "Only 21 tests are failing now."]

    found = check(under("facts", "Failing tests: 14"), old=old)

    assert line_of(found) == "Failing tests: 14 (before: 21)"


def test_what_was_before_is_of_the_same_thing() -> None:
    earlier = (
        "- Migrated 12 of 40 files (src/a.py to src/l.py).\n- Files to migrate: 28"
    )

    found = check(
        under("facts", "Migrated 25 of 40 files."),
        old=[f"## Facts and figures\n\n{earlier}"],
    )

    assert line_of(found) == "Migrated 25 (before: 12) of 40 files."


def test_an_approval_that_nobody_gave_is_replaced_by_its_source() -> None:
    asked = "Finance has not yet approved the budget of the pilot."
    told = "Finance approved the budget of the pilot."

    found = check(under("decisions", told), old=[under("decisions", asked)])

    assert line_of(found) == asked


def test_every_mended_line_is_told_with_its_source_and_what_stands_now() -> None:
    summary = under("facts", "Failing tests: 14\n- Limit: 4,520 EUR\n- Cost: 7,777 EUR")
    found = check(
        summary,
        old=[under("facts", "Failing tests: 37")],
        state=["Limit: 4,250 EUR"],
    )

    assert [tuple(each.values()) for each in found.mended()] == [
        (
            "numbers",
            "Failing tests: 14",
            "Failing tests: 37",
            "Failing tests: 14 (before: 37)",
        ),
        (
            "numbers",
            "Limit: 4,520 EUR",
            "Limit: 4,250 EUR",
            "Limit: 4,520 EUR (source: 4,250 EUR)",
        ),
        ("numbers", "Cost: 7,777 EUR", "", "Cost: 7,777 (unconfirmed) EUR"),
    ]
    numbers = next(each for each in found.checks() if each["check"] == "numbers")
    assert numbers["found"] == 3
    assert numbers["lost"] == ["Limit: 4,250 EUR", "Cost: 7,777 EUR"]


STUB = stub("read_file", {"path": "a.py"}, ref="h1", tokens=2288, digest="")


def test_heads_of_stubs_are_dropped_from_a_summary_and_not_doubted() -> None:
    cut = STUB[:30] + "…"
    lines = [STUB, f"`{STUB}`", f"read_file: {STUB}", cut, "LIMIT = 40 in a.py"]
    summary = "## Facts and figures\n\n" + "\n".join(f"- {line}" for line in lines)

    found = check(summary, results=["LIMIT = 40"], old=["I read a.py."])

    assert found.findings == ()
    assert line_of(found) == "LIMIT = 40 in a.py"


def test_a_summary_of_nothing_but_stubs_is_none() -> None:
    assert check(f"{STUB}\n- {STUB}").problem == "empty"
