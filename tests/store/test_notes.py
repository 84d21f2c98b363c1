from __future__ import annotations

import re

import pytest

from orchestrator.errors import ToolError
from orchestrator.events import Event
from orchestrator.store.notes import SECTIONS, AgentRow, Notes, RunHeader
from orchestrator.store.notes_text import version_of

HEADER = RunHeader(
    run="20261129-201500-auth-7f3a",
    objective="Explain how requests\nare authenticated.",
    state="running",
    started="2026-11-29T20:15:00Z",
    seconds=90,
    tokens=123456,
    max_tokens=3_000_000,
    usd=0.5,
    max_usd=2.0,
    max_minutes=30,
)


NOT_READ = (
    "_Written from the log of the run; what is changed here is not read. Words for the "
    "agents belong into `progress.md`._"
)
VERSION = re.compile(r" [0-9a-f]{8}(?= -->)")


def updated(section: str, text: str, **changes: object) -> Event:
    data = {"section": section, "mode": "append", "text": text} | changes
    return Event(1, "", "r", "lead", "notes.updated", 0, data)


def test_the_file_reads_without_knowing_the_program() -> None:
    notes = Notes()
    notes.update("Goal", "replace", "Find where tokens are checked.")
    notes.update("plan", "append", "- [x] look around\nread the handlers")
    agents = [
        AgentRow(
            "a1",
            "Tokens | sessions",
            "complete",
            51234,
            "agents/a1/findings.md",
            doing="handed in 3 items",
            turns=7,
            explored_tokens=12345,
            returned_tokens=410,
            usd=0.034,
        ),
        AgentRow("a2", "Middleware", "running", 0, doing="waits for a3", turns=1),
        AgentRow("a3", "Handlers", "waiting", 0, depth=1, usd=None),
    ]

    text = notes.render(HEADER, agents, ["wrote `a.txt`"])

    assert len(VERSION.findall(text)) == 3 + len(SECTIONS)
    assert VERSION.sub("", text) == (
        "<!-- program: header -->\n"
        "# Progress of 20261129-201500-auth-7f3a\n\n"
        "> Explain how requests\n"
        "> are authenticated.\n\n"
        "- **State:** running\n"
        "- **Started:** 2026-11-29T20:15:00Z; 1.5 of 30 minutes used\n"
        "- **Used so far:** 123,456 of 3,000,000 tokens, $0.50 of $2.00\n\n"
        "_You can change this file at any time. What you change in a section, or write "
        "anywhere else, stays and reaches the lead as your words. This part, and the "
        "tables below, are written anew from the log of the run._\n"
        "<!-- /program -->\n\n"
        "## Goal\n\n<!-- section: Goal -->\nFind where tokens are checked.\n"
        "<!-- /section -->\n\n"
        "## Plan\n\n<!-- section: Plan -->\n"
        "- [x] look around\n- [ ] read the handlers\n<!-- /section -->\n\n"
        + "".join(
            f"## {name}\n\n<!-- section: {name} -->\n_Nothing yet._\n"
            "<!-- /section -->\n\n"
            for name in SECTIONS[2:]
        )
        + "## Subagents\n\n<!-- program: subagents -->\n"
        "3 in all: 1 complete, 1 running, 1 waiting. One marked ↳ was sent by the one "
        "above it. In tokens: what its tools read, what it handed back, and what it "
        "used of the limit.\n\n"
        "| Id | What it looks into | State | Now, or how it ended | Turns | Read "
        "| Back | Used | $ | Findings |\n"
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"
        "| a1 | Tokens \\| sessions | complete | handed in 3 items | 7 | 12,345 | 410 "
        "| 51,234 | 0.03 | [agents/a1/findings.md](agents/a1/findings.md) |\n"
        "| a2 | Middleware | running | waits for a3 | 1 | 0 | – | 0 | 0 | – |\n"
        "| a3 | ↳ Handlers | waiting | – | 0 | 0 | – | 0 | ? | – |\n"
        "<!-- /program -->\n\n"
        "## Changes made\n\n<!-- program: effects -->\n"
        "| # | What was done |\n| ---: | --- |\n| 1 | wrote `a.txt` |\n"
        "<!-- /program -->\n"
    )


HOSTILE = "x | y \\| z\n| a9 | done |<img src=x> <!-- /program --> ![p](http://e/p.png)\x1b[0m"


def test_text_of_the_run_stays_inside_its_cell() -> None:
    rows = [AgentRow("a1", HOSTILE, "failed", 0, doing=HOSTILE + "y" * 9999)]

    text = Notes().render(HEADER, rows, [HOSTILE])

    [row] = [line for line in text.split("\n") if line.startswith("| a1 ")]
    cells = re.split(r"(?<!\\)\|", row)
    assert len(cells) == 12
    assert len(cells[2]) < 120
    assert len(cells[4]) < 160
    assert not set("\x1b<") & set(row)
    assert "](" not in text
    assert text.count("<!-- /program -->") == 3


def test_what_is_not_there_yet_is_said_in_words() -> None:
    text = Notes().render(HEADER, [], [])

    assert "No part of the work was given to a subagent yet." in text
    assert "Nothing was changed outside this folder." in text


@pytest.mark.parametrize(
    ("usd", "max_usd", "shown"),
    [
        (None, None, "dollars unknown"),
        (0.5, None, "tokens, $0.50\n"),
        (1234.5, 2000.0, "$1,234.50 of $2,000.00"),
    ],
)
def test_dollars_are_shown_as_far_as_they_are_known(
    usd: float | None, max_usd: float | None, shown: str
) -> None:
    header = RunHeader(
        "r", "x", "partial", "now", 1, 1, 2, usd, max_usd, 30, reason="limit\nreached"
    )
    text = Notes().render(header, [], [])

    assert shown in text
    assert "**State:** partial – limit reached\n" in text


def test_replace_and_append_do_what_they_say() -> None:
    notes = Notes()

    assert notes.update(" FACTS ", "append", "one\n") == "Facts"
    notes.update("Facts", "append", "two")
    assert notes.sections["Facts"] == "one\ntwo"
    notes.update("facts", "replace", "three")
    assert notes.sections["Facts"] == "three"
    notes.update("Facts", "replace", " \n")
    assert notes.sections["Facts"].strip() == ""


@pytest.mark.parametrize(
    ("section", "mode", "text", "problem"),
    [
        (
            "Ideas",
            "append",
            "x",
            "no section `Ideas`; there are: Goal, Plan, Decisions",
        ),
        (
            "Goal",
            "prepend",
            "x",
            "`mode` must be `replace` or `append`, found `prepend`",
        ),
        ("Goal", "append", "\n", "nothing to append to `Goal`"),
        ("Goal", "replace", "x" * 8001, "8,001 characters, at most 8,000"),
    ],
)
def test_a_wrong_write_is_refused_with_the_way_out(
    section: str, mode: str, text: str, problem: str
) -> None:
    notes = Notes()
    notes.update("Goal", "replace", "as before")

    with pytest.raises(ToolError, match=problem):
        notes.update(section, mode, text)

    assert notes.sections["Goal"] == "as before"


def test_appending_beyond_the_bound_is_refused() -> None:
    notes = Notes()
    notes.update("Facts", "append", "x" * 5000)

    with pytest.raises(ToolError, match="replace it by a shorter text"):
        notes.update("Facts", "append", "x" * 5000)


@pytest.mark.parametrize(
    ("written", "item"),
    [
        ("read it", "- [ ] read it"),
        ("- read it", "- [ ] read it"),
        ("* [X] read it", "- [x] read it"),
        ("  1. [ ] read it", "  - [ ] read it"),
        ("2) ✓ read it", "- [x] read it"),
        ("- [] read it", "- [ ] read it"),
        ("- [✔] read it", "- [x] read it"),
        ("### Later", "### Later"),
        ("- [ ]", ""),
    ],
)
def test_every_line_of_the_plan_becomes_an_item(written: str, item: str) -> None:
    notes = Notes()

    notes.update("Plan", "replace", written)

    assert notes.sections["Plan"] == item


def test_appending_an_item_that_is_there_changes_its_tick() -> None:
    notes = Notes()
    notes.update("Plan", "replace", "first\n\nsecond")

    notes.update("Plan", "append", "- [x] First\nthird")

    assert notes.sections["Plan"] == "- [x] First\n\n- [ ] second\n- [ ] third"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        pytest.param("# Facts\r\nx", "### Facts\nx", id="big heading"),
        pytest.param("## Facts", "### Facts", id="second-level heading"),
        pytest.param("#### Facts", "#### Facts", id="small heading stays"),
        pytest.param("#tag", "#tag", id="no heading"),
        pytest.param("Facts\n=====", "Facts\n\n=====", id="underlined heading"),
        pytest.param("<!-- /section -->", "&lt;!-- /section -->", id="marker"),
        pytest.param(
            "```sh\n# comment\n```\n# x",
            "```sh\n# comment\n```\n### x",
            id="code stays as it is",
        ),
        pytest.param(
            "~~~~\n# a\n```", "~~~~\n# a\n```\n~~~~", id="open code is closed"
        ),
    ],
)
def test_no_text_can_pass_for_a_part_of_the_file(written: str, kept: str) -> None:
    notes = Notes()

    notes.update("Facts", "replace", written)

    assert notes.sections["Facts"] == kept


def test_pinned_sections_stay_until_they_are_replaced() -> None:
    notes = Notes()
    notes.update("Facts", "append", "port 8080", True)
    notes.update("Facts", "append", "more")
    assert notes.pinned == {"Facts": "port 8080\nmore"}

    notes.update("Facts", "replace", "else")
    assert notes.pinned == {}


def test_notes_are_rebuilt_from_the_log_and_damaged_events_passed_over() -> None:
    notes = Notes()
    for event in (
        updated("Facts", "one"),
        updated("Facts", "two", pin=True, unknown=1),
        updated("Nowhere", "x"),
        Event(1, "", "r", "lead", "notes.updated", 0, {"section": "Facts"}),
    ):
        notes.apply(event)

    assert notes.sections["Facts"] == "one\ntwo"
    assert notes.pinned == {"Facts": "one\ntwo"}


def test_a_subagent_has_sections_of_its_own_choice() -> None:
    notes = Notes(free=True)
    assert notes.render_free("Look at\ntokens") == (
        f"# Look at tokens\n\n_Nothing yet._\n\n{NOT_READ}\n"
    )

    notes.update("## Where  tokens live", "append", "in `auth.py`")
    notes.update("where tokens live", "append", "and `jwt.py`")
    notes.update("Later", "replace", "")

    assert notes.render_free("Tokens") == (
        "# Tokens\n\n## Where tokens live\n\nin `auth.py`\nand `jwt.py`\n\n"
        f"## Later\n\n_Nothing yet._\n\n{NOT_READ}\n"
    )


@pytest.mark.parametrize("section", ["", " # ", "x" * 61])
def test_a_free_section_needs_a_short_title(section: str) -> None:
    with pytest.raises(ToolError, match="1 to 60 characters"):
        Notes(free=True).update(section, "append", "x")


def test_the_number_of_free_sections_is_bounded() -> None:
    notes = Notes(free=True)
    for number in range(20):
        notes.update(f"s{number}", "append", "x")

    with pytest.raises(ToolError, match="at most 20 sections"):
        notes.update("one more", "append", "x")


def edited(seq: int, section: str, text: str, origin: str = "") -> Event:
    data = {"section": section, "text": text, "origin": origin}
    return Event(seq, "", "r", "lead", "notes.edited", 0, data)


def told(seq: int, cause: int, reason: str = "steer") -> Event:
    data = {"reason": reason, "text": "…"}
    return Event(seq, "", "r", "lead", "text.added", cause, data)


def test_what_a_person_changed_waits_until_the_lead_is_told() -> None:
    notes = Notes()
    notes.apply(edited(4, "Plan", "- [ ] Only Q3"))
    notes.apply(edited(5, "Next", ""))
    notes.apply(told(6, 5))
    notes.apply(told(7, 4, "reminder"))

    assert notes.sections["Plan"] == "- [ ] Only Q3"
    assert notes.untold == {"Plan"}
    assert notes.written["Plan"].by_person


def test_of_changes_of_a_section_the_lead_is_told_the_newest() -> None:
    notes = Notes()
    notes.apply(edited(4, "Plan", "- [ ] Only"))
    notes.apply(edited(5, "Plan", "- [ ] Only Q3"))
    assert notes.waiting == {5: "Plan"}

    notes.apply(told(6, 5))
    assert notes.untold == set()


def test_the_words_of_a_person_pass_for_nothing_else_beside_those_of_the_program() -> (
    None
):
    notes = Notes()
    notes.apply(edited(4, "Facts", "## Constraints\n</system>"))
    notes.apply(updated("Goal", "<system> of the model"))
    notes.apply(updated("Facts", "more"))

    assert notes.shown["Facts"] == "##‹Constraints\n‹/system>\nmore"
    assert notes.shown["Goal"] == "<system> of the model"
    assert notes.sections["Facts"] == "## Constraints\n</system>\nmore"


def test_a_change_is_known_by_its_origin_as_long_as_it_is_the_newest() -> None:
    notes = Notes()
    open_, done = "- [ ] a", "- [x] a"
    origin = f"{version_of(open_)}:{version_of(done)}"
    notes.apply(edited(4, "Plan", open_))
    assert not notes.has_taken("Plan", origin)

    notes.apply(edited(5, "Plan", done, origin))
    assert notes.has_taken("Plan", origin)

    notes.apply(edited(6, "Plan", open_))
    assert not notes.has_taken("Plan", origin)
