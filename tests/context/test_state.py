"""The state of the work as it is written out: whole, or the newest of it."""

from __future__ import annotations

from typing import Any

from orchestrator.context.state import (
    StateRecord,
    files_touched,
    render_state,
    state_lines,
)


def count(text: str) -> int:
    return len(text.split())


def rendered(limit_tokens: int = 1000, **parts: Any) -> str:
    return render_state(StateRecord(**parts), limit_tokens=limit_tokens, count=count)


def test_of_nothing_nothing_is_said() -> None:
    assert rendered() == ""
    assert state_lines(StateRecord()) == []


def test_what_people_said_and_what_was_put_back_stays_whatever_the_room() -> None:
    text = rendered(1, words=("Stop at 5.\n\nPlease.", "不要"), put_back=("not 7 s",))

    assert text == (
        "### What people said, and still holds\n\n"
        "> Stop at 5.\n>\n> Please.\n\n> 不要\n\n"
        "### Also to keep in mind, word for word from before\n\n- not 7 s"
    )


def test_what_is_pinned_stays_while_it_fits_the_newest_first() -> None:
    pinned = {"h1": "old " * 30, "h2": "new " * 30}
    text = rendered(50, pinned=pinned)

    assert text.index("`h2`") < text.index("`h1`")
    assert "new new" in text
    assert 'Too long to stand here: `read_ref` opens "h1".' in text
    assert "old" not in text
    long = rendered(5, notes={"Goal": "g " * 30}, pinned_notes=frozenset({"Goal"}))
    assert "`recall` finds it" in long


def test_notes_come_by_how_telling_they_are_and_pinned_ones_first() -> None:
    notes = {"Facts": "f", "Mine": "m", "Plan": "p", "Goal": "g", "Next": " "}
    notes["Notes of a person"] = "x"
    text = rendered(notes=notes, pinned_notes=frozenset({"Facts"}))

    titles = [line for line in text.split("\n") if line.startswith("###")]
    assert titles == [
        "### Facts (your notes, pinned)",
        "### Goal (your notes)",
        "### Plan (your notes)",
        "### Mine (your notes)",
        "### Notes of a person",
    ]


def test_of_what_does_not_fit_the_newest_lines_are_shown_and_the_rest_counted() -> None:
    effects = tuple(f"change number {n}" for n in range(40))
    text = rendered(60, effects=effects, findings=("a1 found it",))

    assert "### Findings of subagents\n- a1 found it" in text
    assert "- change number 39\n- … and " in text
    assert "change number 1\n" not in text
    assert count(text) <= 60


def test_without_room_a_part_is_left_out() -> None:
    assert rendered(20, effects=("x",)) == ""
    assert "Changes made" not in rendered(30, effects=("word " * 40,))


def test_all_lines_are_there_to_be_looked_for() -> None:
    record = StateRecord(
        words=("w",), pinned={"h1": "p"}, notes={"Plan": "n"}, findings=("f",)
    )
    assert {"> w", "p", "n", "- f"} <= set(state_lines(record))


def use(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "c", "name": name, "input": given}


def test_files_are_told_with_the_steps_in_which_they_were_touched() -> None:
    said = [
        [use("read_file", path="a.py"), use("read_file", path="b.py")],
        [use("edit_file", path="a.py"), use("grep", path="c.py")],
        *[[use("read_file", path="a.py")]] * 3,
        [use("read_file", path=["no path"]), {**use("read_file"), "input": "broken"}],
        [use("read_file", path="d.py"), use("read_file", path="d.py")],
    ]
    messages = [{"role": "assistant", "content": each} for each in said]
    messages.append({"role": "user", "content": []})

    touched = files_touched(messages)

    assert list(touched) == ["b.py", "a.py", "d.py"]
    assert touched["b.py"] == "read in h1"
    assert touched["a.py"] == "changed in h3, h4, h5 and 2 before"
    assert touched["d.py"] == "read in h7"


def test_a_call_that_failed_has_not_touched_its_file() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [use("read_file", path="a.py")]},
        {"role": "user", "content": [result()]},
        {"role": "assistant", "content": [use("edit_file", path="a.py")]},
        {"role": "user", "content": [{**result(), "is_error": True}]},
        {"role": "assistant", "content": [use("fetch_url", url="https://none.org")]},
        {"role": "user", "content": [{**result(), "is_error": True}]},
    ]

    assert files_touched(messages) == {"a.py": "read in h1"}


def test_pages_that_were_fetched_are_told_by_their_address() -> None:
    fetched = use("fetch_url", url="https://x.org/a")
    messages = [{"role": "assistant", "content": [fetched]}]

    assert files_touched(messages) == {"https://x.org/a": "read in h1"}


def result() -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "c", "content": "said"}
