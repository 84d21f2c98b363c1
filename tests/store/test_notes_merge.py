"""What becomes of a person's change to `progress.md`, and of notes made meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.events import Event
from orchestrator.messages import clean_text
from orchestrator.store.notes import Notes, RunHeader
from orchestrator.store.notes_back import read_back
from orchestrator.store.notes_merge import cleaned, edits_of
from orchestrator.store.notes_page import PERSON

HEADER = RunHeader("r", "Find out.", "running", "now", 1, 2, 3, 0.5, 2.0, 30)
PLAN = "- [ ] read the handlers\n- [x] look around"


class Writer:
    """The notes of a run, and their file as the program writes it."""

    def __init__(self) -> None:
        self.notes = Notes()
        self.seq = 0
        self.lead("Plan", PLAN)

    def lead(self, section: str, text: str, mode: str = "append") -> None:
        self._happens("notes.updated", {"section": section, "mode": mode, "text": text})

    def file(self) -> str:
        return self.notes.render(HEADER, [], [])

    def takes(self, text: str) -> dict[str, str]:
        """Take in a file; return what a person changed, by section."""
        ours = read_back(self.file()).owned
        page = cleaned(read_back(text), clean_text)
        edits = edits_of(page, self.notes, ours=ours)
        for each in edits:
            self._happens("notes.edited", each._asdict())
        assert edits_of(page, self.notes, ours=ours) == []
        return {each.section: each.text for each in edits}

    def _happens(self, kind: str, data: dict[str, str]) -> None:
        self.seq += 1
        self.notes.apply(Event(self.seq, "", "r", "lead", kind, 0, data))


def test_a_file_as_it_was_written_says_nothing() -> None:
    writer = Writer()

    assert writer.takes(writer.file()) == {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _: "", id="emptied"),
        pytest.param(lambda text: text[: len(text) // 2], id="cut off"),
        pytest.param(lambda text: text[:-40], id="cut off in a table"),
        pytest.param(lambda text: text.replace("\n", "  \n"), id="blanks"),
        pytest.param(
            lambda text: text.replace("2 of 3 tokens", "1 of 3 tokens"), id="figures"
        ),
    ],
)
def test_what_only_lacks_something_is_no_change(change: Callable[[str], str]) -> None:
    writer = Writer()

    assert writer.takes(change(writer.file())) == {}


def test_the_text_of_a_person_becomes_the_section() -> None:
    writer = Writer()

    edits = writer.takes(writer.file().replace(PLAN, "Only Q3.\n# And no more"))

    assert edits == {"Plan": "Only Q3.\n### And no more"}
    assert writer.takes(writer.file()) == {}


def test_a_section_can_be_emptied() -> None:
    writer = Writer()

    assert writer.takes(writer.file().replace(PLAN, "")) == {"Plan": ""}


def test_an_old_file_that_is_saved_again_takes_nothing_back() -> None:
    writer = Writer()
    old = writer.file()
    writer.lead("Plan", "- [ ] write")
    writer.lead("Facts", "It is 14 days.")

    assert writer.takes(old) == {}


def test_what_was_noted_since_the_editor_was_opened_stands_below() -> None:
    writer = Writer()
    old = writer.file()
    writer.lead("Plan", "- [ ] write")

    edits = writer.takes(old.replace("look around", "look around, also in docs"))

    assert edits["Plan"] == (
        "- [ ] read the handlers\n- [x] look around, also in docs\n- [ ] write"
    )


def test_who_goes_on_writing_in_an_open_editor_does_not_say_it_twice() -> None:
    writer = Writer()
    old = writer.file()

    first = writer.takes(old.replace(PLAN, f"{PLAN}\nI think the"))
    second = writer.takes(old.replace(PLAN, f"{PLAN}\nI think the retries fail"))

    assert first == {"Plan": f"{PLAN}\nI think the"}
    assert second == {"Plan": f"{PLAN}\nI think the retries fail"}


def test_a_tick_can_be_set_and_taken_back_again_and_again() -> None:
    writer = Writer()
    open_, done = "- [ ] read the handlers", "- [x] read the handlers"

    for _ in range(3):
        [(_, text)] = writer.takes(writer.file().replace(open_, done)).items()
        assert done in text
        [(_, text)] = writer.takes(writer.file().replace(done, open_)).items()
        assert open_ in text


def test_the_same_file_once_more_is_no_new_change_whatever_the_lead_made_of_it() -> (
    None
):
    writer = Writer()
    changed = writer.file().replace(PLAN, "Only Q3.")
    writer.takes(changed)
    writer.lead("Plan", "- [ ] only Q3, as asked", "replace")

    assert writer.takes(changed) == {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: f"Stop a2!\n{text}", id="on top"),
        pytest.param(lambda text: f"{text}\nStop a2!\n", id="at the end"),
        pytest.param(
            lambda text: text.replace("- **State:**", "Stop a2!\n- **State:**"),
            id="between lines of the program",
        ),
        pytest.param(
            lambda text: (
                "\n".join(
                    line for line in text.split("\n") if not line.startswith("<!--")
                )
                + "Stop a2!"
            ),
            id="without any marks",
        ),
    ],
)
def test_what_stands_outside_of_sections_has_one_of_its_own(
    change: Callable[[str], str],
) -> None:
    writer = Writer()

    assert writer.takes(change(writer.file())) == {PERSON: "Stop a2!"}
    assert "## Notes of a person\n" in writer.file()
    assert writer.takes(writer.file()) == {}


def test_words_outside_of_sections_add_up_and_may_repeat_themselves() -> None:
    writer = Writer()

    for _ in range(2):
        writer.takes(f"{writer.file()}yes\n")

    assert writer.notes.text_of(PERSON) == "yes\nyes"


def test_words_added_to_an_old_file_follow_those_that_came_since() -> None:
    writer = Writer()
    old = writer.file()
    writer.takes(f"{old}one\n")

    assert writer.takes(f"{old}one\ntwo\n") == {PERSON: "one\ntwo"}


def test_the_section_of_people_can_be_changed_like_any_other() -> None:
    writer = Writer()
    writer.takes(f"{writer.file()}one\ntwo\n")
    old = writer.file()
    writer.takes(f"{old}three\n")

    assert writer.takes(old.replace("two", "2")) == {PERSON: "one\n2\nthree"}


def test_a_table_is_written_anew_and_what_was_written_in_it_kept() -> None:
    writer = Writer()
    text = writer.file().replace("Nothing was changed", "Nothing, I hope, was changed")

    assert writer.takes(text) == {
        PERSON: "_Nothing, I hope, was changed outside this folder._"
    }


def test_a_file_of_a_program_that_knew_no_versions_is_compared_with_the_log() -> None:
    writer = Writer()
    first = writer.file()
    writer.lead("Plan", "- [ ] write")

    def without(text: str) -> str:
        lines = text.split("\n")
        marks = ("<!-- section", "<!-- program")
        return "\n".join(
            f"{line[:-13]} -->" if line.startswith(marks) else line for line in lines
        )

    assert "<!-- section: Plan -->" in without(first)
    assert writer.takes(without(first)) == {}
    assert writer.takes(without(writer.file())) == {}
    assert writer.takes(without(writer.file()).replace("[x]", "[ ]")) != {}


def test_secrets_are_gone_before_anything_is_compared() -> None:
    notes = Notes()
    text = notes.render(HEADER, [], []).replace("_Nothing yet._", "key=abc", 1)

    page = read_back(f"{text}key=abc\n")

    edits = edits_of(
        cleaned(page, lambda text: text.replace("abc", "[secret]")),
        notes,
        ours=page.owned,
    )

    assert [edit.text for edit in edits] == ["key=[secret]"] * 2
