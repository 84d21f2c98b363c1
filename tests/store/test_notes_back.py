"""Reading back `progress.md` as people and their editors leave it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.notes import SECTIONS, AgentRow, Notes, RunHeader
from orchestrator.store.notes_back import Found, read_back
from orchestrator.store.notes_page import PERSON
from orchestrator.store.notes_text import tidy, version_of

HEADER = RunHeader("r", "Find\n## out", "running", "now", 1, 2, 3, 0.5, 2.0, 30)
ROWS = [AgentRow("a1", "Tokens | sessions", "complete", 5, "agents/a1/findings.md")]
PLAN = "- [ ] read the handlers\n- [x] look around"
FACTS = "It is 14 days.\n\n### Where\n\n```\n## Goal\n```"
END = "<!-- /section -->"


def page(**texts: str) -> str:
    notes = Notes()
    for name, text in {"Plan": PLAN, "Facts": FACTS, **texts}.items():
        notes.update(name, "replace", text)
    return notes.render(HEADER, ROWS, ["wrote `a.txt`"])


PAGE = page()


def texts(text: str) -> dict[str, str]:
    return {name: found.text for name, found in read_back(text).sections.items()}


TEXTS = st.lists(
    st.sampled_from(["a", "#", " ", "\n", "`", "-", "<!--", "-->", "=", "_", "é", "\r"])
).map("".join)


@given(st.dictionaries(st.sampled_from(SECTIONS), TEXTS, max_size=3), TEXTS)
def test_what_the_program_wrote_reads_back_as_it_was(
    written: dict[str, str], objective: str
) -> None:
    notes = Notes()
    for name, text in written.items():
        notes.update(name, "replace", text)
    header = RunHeader("r", objective, "done", "now", 1, 2, 3, None, None, 30)

    found = read_back(notes.render(header, ROWS, [objective]))

    assert all(each.is_as_written for each in found.sections.values())
    assert {name: each.text for name, each in found.sections.items()} == {
        name: "\n".join(line.rstrip() for line in text.split("\n"))
        for name, text in notes.sections.items()
    }
    assert (found.loose, found.changed, found.is_whole) == ("", (), True)


def test_words_that_say_that_there_is_nothing_are_a_text_too() -> None:
    found = read_back(page(Goal="_Nothing yet._")).sections["Goal"]

    assert (found.text, found.is_as_written) == ("_Nothing yet._", True)


@pytest.mark.parametrize(
    ("change", "section", "text"),
    [
        pytest.param(
            lambda t: t.replace("read the", "do not read the"),
            "Plan",
            PLAN.replace("read the", "do not read the"),
            id="in a section",
        ),
        pytest.param(
            lambda t: t.replace("## Plan\n", "## Plan\n\nOnly Q3.\n"),
            "Plan",
            f"Only Q3.\n{PLAN}",
            id="between heading and mark",
        ),
        pytest.param(
            lambda t: t.replace(f"around\n{END}\n", f"around\n{END}\nOnly Q3.\n"),
            "Plan",
            f"{PLAN}\nOnly Q3.",
            id="behind the mark",
        ),
        pytest.param(
            lambda t: t.replace("_Nothing yet._", "Only Q3.\n_Nothing yet._", 1),
            "Goal",
            "Only Q3.",
            id="above the words that say that there is nothing",
        ),
        pytest.param(
            lambda t: t.replace(PLAN, ""), "Plan", "", id="a section was emptied"
        ),
        pytest.param(
            lambda t: t.replace(PLAN, "## Goal\nx"),
            "Plan",
            "## Goal\nx",
            id="a heading within the marks",
        ),
        pytest.param(
            lambda t: t.replace(PLAN, f"{PLAN}\n<!-- todo: ask -->"),
            "Plan",
            f"{PLAN}\n<!-- todo: ask -->",
            id="a comment of the person",
        ),
        pytest.param(
            lambda t: "\n".join(
                line for line in t.split("\n") if not line.startswith("<!--")
            ),
            "Plan",
            PLAN,
            id="all marks removed",
        ),
        pytest.param(
            lambda t: t.replace("<!-- section: Plan ", "<! section: Plan "),
            "Plan",
            PLAN,
            id="a damaged mark",
        ),
        pytest.param(
            lambda t: t.replace(f"around\n{END}", "around"),
            "Plan",
            PLAN,
            id="an end was removed",
        ),
        pytest.param(
            lambda t: t.replace("## Plan\n", "# plan:\n").replace("<!-- s", "<!--S"),
            "Plan",
            PLAN,
            id="written otherwise",
        ),
        pytest.param(
            lambda t: t + "\n## Plan\n\nAlso Q4.\n",
            "Plan",
            f"{PLAN}\nAlso Q4.",
            id="a second one at the end",
        ),
        pytest.param(
            lambda t: t.replace("\n", "\r\n"), "Plan", PLAN, id="lines of Windows"
        ),
        pytest.param(lambda t: f"\ufeff{t}", "Plan", PLAN, id="mark of byte order"),
    ],
)
def test_a_section_is_found_whatever_was_done_to_the_file(
    change: Callable[[str], str], section: str, text: str
) -> None:
    changed = change(PAGE)
    found = texts(changed)

    assert changed != PAGE
    assert found[section] == text
    assert {**found, section: ""} == {**texts(PAGE), section: ""}


def test_the_order_of_sections_is_of_no_account() -> None:
    parts = PAGE.split("\n\n## ")
    turned = "\n\n## ".join([parts[0], *reversed(parts[1:])])

    assert texts(turned) == texts(PAGE)
    assert read_back(turned).loose == ""
    assert read_back(turned).is_whole


@pytest.mark.parametrize(
    ("change", "loose"),
    [
        pytest.param(lambda t: f"Hello.\n{t}", "Hello.", id="on top"),
        pytest.param(lambda t: f"{t}Hello.\n", "Hello.", id="at the end"),
        pytest.param(
            lambda t: t.replace("## Next", "## My wishes\n\n### Goal\nHi.\n\n## Next"),
            "## My wishes\n\n### Goal\nHi.",
            id="a section of one's own",
        ),
        pytest.param(
            lambda t: f"{t}<!-- section: Ideas -->\nHi.\n{END}\n", "Hi.", id="own marks"
        ),
        pytest.param(
            lambda t: t.replace("## Subagents\n", "## Subagents\nStop a1!\n"),
            "Stop a1!",
            id="above a table",
        ),
        pytest.param(
            lambda t: f"{t}```\n## Goal\n```\n",
            "```\n## Goal\n```",
            id="in a code block",
        ),
    ],
)
def test_what_belongs_to_no_section_is_loose(
    change: Callable[[str], str], loose: str
) -> None:
    found = read_back(change(PAGE))

    assert found.loose == loose
    assert all(each.is_as_written for each in found.sections.values())


def test_a_table_that_somebody_wrote_in_is_told_from_one_that_is_old() -> None:
    changed = read_back(PAGE.replace("| a1 |", "| a1, stop it! |"))

    assert any("a1, stop it!" in line for line in changed.changed)
    assert read_back(PAGE).changed == ()


@pytest.mark.parametrize("at", range(0, len(PAGE), 7))
def test_no_cut_makes_a_whole_file_or_a_new_text(at: int) -> None:
    found = read_back(PAGE[:at])

    assert not found.is_whole
    for name, section in found.sections.items():
        written = texts(PAGE)[name]
        assert section.text == written or (
            section.is_cut and written.startswith(section.text)
        )


def test_a_section_tells_what_it_is_a_change_of() -> None:
    found = read_back(PAGE.replace("- [x] look", "- [ ] look")).sections["Plan"]

    assert found == Found(PLAN.replace("[x]", "[ ]"), version_of(PLAN))
    assert not found.is_as_written


@given(st.text(), st.integers(0, len(PAGE)))
def test_any_text_can_be_read(text: str, at: int) -> None:
    found = read_back(PAGE[:at] + text + PAGE[at:])

    assert set(found.sections) <= {*SECTIONS, PERSON}
    assert found.loose == found.loose.strip("\n")


@given(TEXTS)
def test_a_tidy_text_stays_as_it_is(text: str) -> None:
    assert tidy(tidy(text)) == tidy(text)
