"""The table of subagents in `progress.md`: true at every level, and after a resume."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import pytest
from deep_runs import QUESTION, ended_run, live_run

from orchestrator.cli.notes_text import rendered_notes
from orchestrator.cli.output import Style, width
from orchestrator.events import Event, ToolEnded, ToolStarted
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.inspection.run import RunView
from orchestrator.runtime.members import Members
from orchestrator.runtime.progress import Progress
from orchestrator.runtime.snapshots import read_history
from orchestrator.store.layout import RunFolder, create
from orchestrator.store.notes import AgentRow
from orchestrator.testing import FakeClock

RUN_ID = "20261129-201500-deep-7f3a"
CUT = re.compile(r" (?<!\\)\| ")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create(tmp_path, RUN_ID)


def written(folder: RunFolder, progress: Progress) -> dict[str, list[str]]:
    """The table as written: id → the other cells."""
    progress.write(force=True)
    text = folder.progress.read_text()
    rows = [CUT.split(line[2:-2]) for line in text.split("\n") if line[:3] == "| a"]
    return {row[0]: row[1:] for row in rows}


def fed(folder: RunFolder, events: Iterable[Event]) -> Progress:
    progress = Progress(folder, FakeClock())
    for event in events:
        progress.apply(event)
    return progress


def resumed(folder: RunFolder, events: Iterable[Event]) -> Progress:
    """As a later process takes over what the log holds."""
    lines = [orjson.dumps(event.to_dict()) + b"\n" for event in events]
    folder.events.write_bytes(b"".join(lines))
    history = read_history(folder)
    progress = Progress(folder, FakeClock())
    progress.restore(history.kept_events(folder), history)
    return progress


def goes_on(events: list[Event]) -> Event:
    newest = events[-1]
    data = {"versions": {}, "after": newest.seq}
    return Event(newest.seq + 1, newest.at, newest.run, "", "run.resumed", 0, data)


def test_what_each_subagent_does_is_written_at_every_level(folder: RunFolder) -> None:
    table = written(folder, fed(folder, live_run()))

    assert [*table] == ["a1", "a2", "a3", "a4", "a5", "a6", "a7"]
    assert {agent: row[:3] for agent, row in table.items()} == {
        "a1": ["Where tokens are checked", "running", "waits for a2, a3"],
        "a2": ["↳ Sessions in the shop", "waiting", "waits for a place"],
        "a3": ["↳ Sessions in the admin pages", "running", "waits for a4"],
        "a4": [
            "↳ ↳ Cookies of the admin pages",
            "running",
            "searches for “refund” in docs",
        ],
        "a5": [
            "Password hashing and its settings",
            "waiting",
            f"waits for a place; asked further “{QUESTION}”",
        ],
        "a6": [
            "Log of failed sign-ins",
            "running",
            "asks the model (since 20:15:56 UTC; 1 try failed: overloaded)",
        ],
        "a7": ["Rate limits of the sign-in page", "waiting", "waits for a place"],
    }


def test_how_each_subagent_ended_is_written_with_its_figures(folder: RunFolder) -> None:
    table = written(folder, fed(folder, ended_run()))

    lost = "not delivered to who sent it"
    assert {agent: row[1:3] for agent, row in table.items()} == {
        "a1": ["complete", "handed in 3 items; answers 1 later brief too"],
        "a2": ["none found", "handed in nothing"],
        "a3": ["cancelled", "cancelled by a1: the shop has no admin pages"],
        "a4": [
            "cancelled",
            f"a3, which sent it, was cancelled; handed in 1 item; {lost}",
        ],
        "a5": [
            "complete",
            "handed in 4 items, 1 of them unsupported; asked 1 further question: "
            "complete",
        ],
        "a6": [
            "stalled",
            "no progress: `stall_s` reached: used 300 of 300; the last call failed: "
            "no answer",
        ],
        "a7": ["cancelled", f"the lead ended; handed in 1 item; {lost}"],
    }
    assert table["a5"][3:] == [
        "3", "5,200", "600", "2,300", "0.02",
        "[agents/a5/findings.md](agents/a5/findings.md)",
    ]  # fmt: skip


def test_a_run_that_was_cut_off_says_who_never_ran(folder: RunFolder) -> None:
    events = live_run()
    ended = {"state": "interrupted", "exit_code": 130, "reason": "", "missing": []}
    over = Event(999, events[-1].at, RUN_ID, "", "run.ended", 0, ended)

    table = written(folder, fed(folder, [*events, over]))

    assert table["a4"][1:3] == ["not finished", "cut off"]
    assert table["a7"][1:3] == ["not finished", "never ran"]
    assert table["a5"][1:3] == [
        "complete",
        "handed in 4 items, 1 of them unsupported; asked 1 further question: cut off",
    ]


def test_of_a_parked_run_it_says_who_goes_on(folder: RunFolder) -> None:
    events = live_run()
    ended = {"state": "parked", "exit_code": 75, "reason": "no credit", "missing": []}
    over = Event(999, events[-1].at, RUN_ID, "", "run.ended", 0, ended)
    progress = fed(folder, [*events, over])

    table = written(folder, progress)

    assert table["a4"][1:3] == ["parked", "–"]
    assert table["a7"][1:3] == ["waiting", "–"]
    assert table["a5"][2].endswith("asked 1 further question: not answered yet")
    view = RunView()
    for event in [*events, over]:
        view.apply(event)
    assert {name: view.label(view.agents[name]) for name in ("a4", "a7")} == {
        name: table[name][1] for name in ("a4", "a7")
    }


def test_nobody_is_said_to_work_below_one_that_has_ended(folder: RunFolder) -> None:
    events = live_run()
    ended = {"outcome": "failed", "reason": "x", "turns": 2}
    over = Event(999, events[-1].at, RUN_ID, "a1", "agent.ended", 0, ended)
    progress = fed(folder, events)
    before = written(folder, progress)
    progress.apply(over)

    table = written(folder, progress)

    assert before["a4"][1] == "running"
    assert table["a4"][1:3] == ["not finished", "cut off"]
    assert table["a2"][1:3] == ["not finished", "never ran"]
    assert table["a6"][1] == "running"


def test_a_later_process_writes_the_same_table(folder: RunFolder) -> None:
    first = written(folder, fed(folder, ended_run()))

    assert written(folder, resumed(folder, ended_run())) == first


def test_after_a_resume_figures_are_whole_and_nobody_is_said_to_be_at_it(
    folder: RunFolder,
) -> None:
    events = live_run()
    first = written(folder, fed(folder, events))
    progress = resumed(folder, events)
    progress.apply(goes_on(events))

    then = written(folder, progress)

    figures = {agent: row[3:] for agent, row in first.items()}
    assert {agent: row[3:] for agent, row in then.items()} == figures
    assert {agent: row[2] for agent, row in then.items()} == {
        "a1": "waits to be taken up again",
        "a2": "waits for a place",
        "a3": "waits to be taken up again",
        "a4": "waits to be taken up again",
        "a5": f"waits to be taken up again; asked further “{QUESTION}”",
        "a6": "waits to be taken up again",
        "a7": "waits for a place",
    }


def test_a_row_is_made_again_only_when_something_happened_to_its_agent() -> None:
    members, events = Members(), live_run()
    for event in events:
        members.apply(event)

    def rows() -> dict[str, AgentRow]:
        return {row.id: row for row in members.rows(state="")}

    before = rows()
    answered = next(each for each in ended_run()[len(events) :] if each.agent == "a5")
    members.apply(answered)
    after = rows()

    assert {agent for agent in after if after[agent] is not before[agent]} == {"a5"}


@pytest.mark.parametrize("columns", [80, 120])
def test_a_person_reads_the_table_on_a_terminal_whole(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    fed(folder, ended_run()).write(force=True)

    shown = list(rendered_notes(folder.progress.read_text(), style=Style(is_on=False)))
    lines = "\n".join(shown).split("\n")

    assert all(width(line) <= columns for line in lines)
    text = "\n".join(lines)
    assert "5,200" in text
    if columns == 80:
        assert "a4  ↳ ↳ Cookies of the admin pages" in text
        assert "cancelled by a1: the shop has no" in text


@pytest.mark.parametrize(
    ("name", "given", "row"),
    [
        ("write_file", {"text": "x" * 500, "path": "src/a.py"}, "src/a.py "),
        (
            "edit_file",
            {"old": "a", "new": "b", "path": "src/a.py"},
            'src/a.py {"old":"a","new":"b"}',
        ),
        ("bash", {"command": "make test"}, "make test"),
        ("order_cancel", {"why": "late", "id": 7}, '{"why":"late","id":7}'),
        ("ping", {}, "{}"),
    ],
)
def test_what_was_changed_is_named_first_whatever_the_order_of_arguments(
    folder: RunFolder, name: str, given: dict[str, Any], row: str
) -> None:
    started = {"call": "t", "name": name, "input": given, "effects": "effects"}
    event = Event(1, "", RUN_ID, "a1", ToolStarted.KIND, 0, started)

    [effect] = fed(folder, [event]).effects

    assert effect.startswith(f"a1: {name} {row}")
    assert len(effect) < 250


@pytest.mark.parametrize("take_over", [fed, resumed])
@pytest.mark.parametrize(
    ("content", "is_error", "told"),
    [
        ("edited a.py:1", False, ""),
        ("`a.py` has changed since you read it", True, " (failed)"),
        (UNKNOWN, True, " (outcome unknown)"),
    ],
)
def test_what_was_to_be_changed_and_was_not_says_so(
    folder: RunFolder,
    take_over: Callable[[RunFolder, Iterable[Event]], Progress],
    content: str,
    is_error: bool,
    told: str,
) -> None:
    given = {"path": "a.py"}
    started = asdict(ToolStarted("t", "edit_file", given, "effects"))
    ended = asdict(ToolEnded("t", "edit_file", content, is_error, 0.1, 9, 9))
    events = [
        Event(1, "", RUN_ID, "lead", ToolStarted.KIND, 0, started),
        Event(2, "", RUN_ID, "lead", ToolEnded.KIND, 1, ended),
    ]

    assert take_over(folder, events).effects == [f"lead: edit_file a.py{told}"]


def sent(seq: int, agent: str, call: str) -> Event:
    data = {"id": agent, "call": call, "index": 0, "title": "T", "profile": "explorer"}
    objective = "Find out how long it takes, for a letter to customers."
    told = {"title": "T", "objective": objective, "questions": ["How long?"]}
    accepted = {**data, "brief": told}
    return Event(seq, "", RUN_ID, "lead", "subagent.accepted", 0, accepted)


def brought(seq: int, *agents: str) -> Event:
    ended = asdict(ToolEnded("t", "delegate", "…", False, 1, 9, 9))
    return Event(
        seq, "", RUN_ID, "lead", ToolEnded.KIND, 0, {**ended, "delivers": list(agents)}
    )


def noted(seq: int, section: str) -> Event:
    data = {"section": section, "mode": "append", "text": "x"}
    return Event(seq, "", RUN_ID, "lead", "notes.updated", 0, data)


@pytest.mark.parametrize("take_over", [fed, resumed])
@pytest.mark.parametrize(
    ("events", "stale"),
    [
        pytest.param([noted(2, "Plan"), sent(3, "a1", "c")], [], id="nothing came yet"),
        pytest.param(
            [noted(2, "Decisions"), sent(3, "a1", "c"), brought(4, "a1")],
            ["Plan", "Decisions", "Facts", "Next"],
            id="nothing was noted since",
        ),
        pytest.param(
            [noted(2, "Plan"), sent(3, "a1", "c"), noted(4, "Facts"), brought(5, "a1")],
            ["Plan", "Next"],
            id="some of it was",
        ),
        pytest.param(
            [
                sent(2, "a1", "c"),
                brought(3, "a1"),
                sent(4, "a2", "d"),
                sent(5, "a3", "d"),
                noted(6, "Next"),
                brought(7, "a3/1"),
            ],
            ["Plan", "Facts"],
            id="since the newest fan-out began",
        ),
        pytest.param(
            [sent(2, "a1", "c"), brought(3, "a1"), sent(4, "a2", "d")],
            [],
            id="the newest has brought nothing",
        ),
    ],
)
def test_sections_that_findings_have_passed_by_are_named(
    folder: RunFolder,
    take_over: Callable[[RunFolder, Iterable[Event]], Progress],
    events: list[Event],
    stale: list[str],
) -> None:
    begun = next(each for each in live_run() if each.kind == "run.started")

    assert take_over(folder, [begun, *events]).stale_notes == stale


@pytest.mark.parametrize("take_over", [fed, resumed])
def test_the_tables_are_true_whatever_a_person_made_of_them(
    folder: RunFolder, take_over: Callable[[RunFolder, Iterable[Event]], Progress]
) -> None:
    table = written(folder, fed(folder, ended_run()))
    text = folder.progress.read_text()
    folder.progress.write_text(text.replace("| complete |", "| failed |"))

    assert written(folder, take_over(folder, ended_run())) == table
