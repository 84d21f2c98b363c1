from __future__ import annotations

import pytest

from orchestrator.context.summary import HEADINGS, SECTIONS, Summary, fit, parse
from orchestrator.context.tokens import estimate
from orchestrator.resources import data_root

LONG = parse(
    "\n".join(
        f"## {HEADINGS[name]}\n"
        + "\n".join(f"- line {at} on {name} in src/{name}/{at}.py" for at in range(40))
        for name in SECTIONS
    )
)


@pytest.mark.parametrize(
    "heading",
    [
        pytest.param("# Decisions and why", id="first level"),
        pytest.param("#### Decisions", id="fourth level"),
        pytest.param("## 2. Key decisions", id="numbered"),
        pytest.param("**Decisions and why**", id="bold"),
        pytest.param("**2. Decisions:**", id="bold, numbered, colon"),
        pytest.param("2) **Decisions made**:", id="number before bold"),
        pytest.param("Decisions and why:", id="plain with a colon"),
        pytest.param("Decisions and why", id="plain"),
        pytest.param("## 决定及原因", id="Chinese"),
        pytest.param("二、决定及原因", id="Chinese, numbered"),
        pytest.param("**主要决策**：", id="Chinese, renamed"),
        pytest.param("【决定与理由】", id="Chinese brackets"),
    ],
)
def test_a_heading_is_known_however_it_is_written(heading: str) -> None:
    summary = parse(f"## Work done\n- wrote a.py\n\n{heading}\n- SQLite, being small\n")

    assert summary.lines("decisions") == ["- SQLite, being small"]
    assert summary.lines("work") == ["- wrote a.py"]


def test_what_is_rendered_is_read_again_as_it_was() -> None:
    assert parse(LONG.render()) == LONG


def test_text_behind_a_bold_heading_belongs_to_its_section() -> None:
    summary = parse("- **Failed attempts**: Redis, too big\n- **Next step:** tests\n")

    assert summary.sections == {"failed": "Redis, too big", "open": "tests"}


def test_free_text_is_kept_as_notes() -> None:
    summary = parse("The report is half done. It has 3 parts.")

    assert summary.sections == {"notes": "The report is half done. It has 3 parts."}
    assert summary.is_free


def test_only_what_is_between_the_tags_counts() -> None:
    text = "<analysis>hm</analysis>\n<summary>\n## Facts\n- 12 rows\n</summary>\nBye"

    assert parse(text).sections == {"facts": "- 12 rows"}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("<thinking>a</thinking>x<thinking>b</thinking>y", "xy"),
        ("<analysis>a</analysis>x <analysis>open", "x <analysis>open"),
        ("x <thinking>" * 3, "x <thinking>x <thinking>x <thinking>"),
    ],
)
def test_what_was_thought_aside_is_no_summary(text: str, left: str) -> None:
    assert parse(text).sections == {"notes": left}


def test_an_unknown_heading_keeps_its_text() -> None:
    summary = parse("## Facts\n- 12 rows\n## What Ann wants\n- never push\n")

    assert summary.lines("notes") == ["**What Ann wants**", "- never push"]


def test_a_heading_inside_a_section_stays_there() -> None:
    summary = parse("## Work done\n### Parser\n- a.py\n## Facts\n- 12\n")

    assert summary.lines("work") == ["**Parser**", "- a.py"]


@pytest.mark.parametrize(
    "none", ["none", "- None.", "N/A", "无", "- 暂无", "(nothing yet)"]
)
def test_a_section_that_says_none_is_not_there(none: str) -> None:
    assert parse(f"## Pointers\n{none}\n## Facts\n- 12\n").sections == {"facts": "- 12"}


@pytest.mark.parametrize(
    "intro",
    ["Here is the summary:\n", "# Summary\n", "```markdown\n", "以下是摘要：\n"],
)
def test_what_stands_before_the_first_section_is_no_note(intro: str) -> None:
    end = "\n```" if "```" in intro else ""

    assert parse(f"{intro}## Facts\n- 12{end}").sections == {"facts": "- 12"}


@pytest.mark.parametrize("limit", [2000, 600, 200, 60, 10, 0])
def test_a_summary_is_shortened_to_its_limit_by_whole_lines(limit: int) -> None:
    shorter = fit(LONG, limit_tokens=limit, count=estimate)

    assert estimate(shorter.render()) <= limit
    if limit >= 600:
        for name in SECTIONS:
            kept = [line for line in shorter.lines(name) if "shortened" not in line]
            assert kept
            assert set(kept) <= set(LONG.lines(name))


def test_a_sentence_is_no_heading_though_it_is_marked_as_one() -> None:
    line = "What we have learned from all the work that was done on the old importer"

    assert parse(f"## {line}\n- 12\n").lines("notes") == [f"**{line}**", "- 12"]


def test_nothing_fits_below_zero() -> None:
    assert fit(LONG, limit_tokens=-1, count=estimate) == Summary()


def test_facts_outlast_the_other_sections() -> None:
    assert "facts" in fit(LONG, limit_tokens=60, count=estimate).sections


def test_what_fits_stays_as_it_is() -> None:
    assert fit(LONG, limit_tokens=100_000, count=estimate) is LONG
    assert fit(Summary(), limit_tokens=0, count=estimate) == Summary()


def test_one_line_that_is_too_long_is_cut() -> None:
    shorter = fit(Summary({"facts": "word " * 400}), limit_tokens=60, count=estimate)

    assert shorter.sections["facts"].endswith("…")
    assert estimate(shorter.render()) <= 60


def test_the_prompt_asks_for_the_sections_that_are_read() -> None:
    asked = (data_root() / "prompts/sections/summary_form.md").read_text("utf-8")

    found = [line[3:] for line in asked.splitlines() if line.startswith("## ")]
    assert found == [HEADINGS[name] for name in SECTIONS if name != "notes"]


def test_tags_that_a_summary_quotes_are_not_taken_for_its_own() -> None:
    text = (
        "## Work done\n- Read `User.cs`: `/// <summary>Gets the name</summary>`.\n"
        "## Facts and figures\n- The code is amber-4471."
    )

    found = parse(text)

    assert found.sections["facts"] == "- The code is amber-4471."
    assert "<summary>Gets the name</summary>" in found.sections["work"]
