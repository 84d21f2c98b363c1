"""`show`, the live tree and plain lines where there are several levels of agents."""

from __future__ import annotations

import io
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import pytest
from deep_runs import ended_run, live_run

from orchestrator.cli.branches import branches
from orchestrator.cli.live import open_view
from orchestrator.cli.live_text import live_lines
from orchestrator.cli.output import Style, width
from orchestrator.cli.tables import agent_table
from orchestrator.events import Event, SubagentAccepted
from orchestrator.inspection.run import RunView

PLAIN = Style(is_on=False)
SCREENS = Path(__file__).parent.parent / "data" / "show"


def pictured(name: str) -> list[str]:
    """The lines of a screen, as a person looked at them."""
    return (SCREENS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def folded(events: Iterable[Event]) -> RunView:
    view = RunView()
    for event in events:
        view.apply(event)
    return view


def table(view: RunView) -> list[str]:
    now = view.last_at + timedelta(seconds=12) if view.last_at else None
    shown = agent_table(view, now=now if view.is_running else None, style=PLAIN)
    return "\n".join(shown).split("\n")


def test_how_a_deep_run_ended_is_shown_at_80_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert table(folded(ended_run())) == pictured("ended_80")


def test_what_each_does_is_shown_in_a_wide_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    assert table(folded(live_run())) == pictured("live_200")


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_a_deep_table_fits_the_window(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    for events in (live_run(), ended_run()):
        lines = table(folded(events))
        # Forty columns do not hold the figures themselves.
        assert all(width(line) <= max(columns, 80) for line in lines)


def test_ids_are_readable_however_deep_the_tree_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    events = live_run()[:5]
    for number in range(1, 31):
        parent = f"a{number - 1}" if number > 1 else "lead"
        sent = SubagentAccepted(f"a{number}", "d", 0, f"Level {number}", "x", {})
        data = {name: getattr(sent, name) for name in sent.__slots__}
        event = Event(9, events[0].at, "r", parent, "subagent.accepted", 0, data)
        events.append(event)
    view = folded(events)

    lines = table(view)

    assert all(width(line) <= 80 for line in lines)
    for number in range(1, 31):
        assert any(f"a{number} " in line for line in lines)
        assert any(f"Level {number}" in line for line in lines)


def test_the_live_tree_shows_every_level() -> None:
    view = folded(live_run())
    assert view.last_at

    lines = live_lines(
        view,
        now=view.last_at + timedelta(seconds=12),
        columns=80,
        rows=24,
        style=PLAIN,
    )

    assert lines[2:-2] == pictured("live_tree_80")


def test_plain_lines_tell_what_happens_to_subagents() -> None:
    stream = io.StringIO()

    with open_view("plain", stream=stream) as on_event:
        for event in ended_run():
            on_event(event)

    told = [line[8:] for line in stream.getvalue().splitlines()]
    for line in (
        "lead delegates 4 briefs and goes on: “Where tokens are checked”, “Password",
        "lead waits for the next of all",
        "a5   is asked: Which of them are rotated?",
        "a5   answers “Which of them are rotated?”, complete: 1 item unsupported; ex",
        "a1   asked to cancel a3: the shop has no admin pages",
        "a4   cancelled, partial: a3, which sent it, was cancelled; explored 4k token",
        "lead is handed the findings of a1, a6",
        "lead brief “Who checks tokens” is answered by the findings of a1; nothing c",
    ):
        assert any(each.startswith(line) for each in told), line
    assert not any("asks a5" in line for line in told)  # it is told once


def test_lines_of_a_tree_go_on_only_where_there_is_more_below() -> None:
    shown = branches([0, 1, 2, 3, 2, 1, 2])

    assert [branch.stem for branch in shown] == [
        "",
        "├─ ",
        "│  ├─ ",
        "│  │  └─ ",
        "│  └─ ",
        "└─ ",
        "   └─ ",
    ]
    assert [branch.under.rstrip() for branch in shown] == [
        "│",
        "│  │",
        "│  │  │",
        "│  │",
        "│",
        "   │",
        "",
    ]
