"""A run while it runs."""

from __future__ import annotations

import io
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from sample_runs import START, Script, open_script, survey

from orchestrator.cli.live import open_view
from orchestrator.cli.live_text import budget_bar
from orchestrator.cli.live_view import LiveView
from orchestrator.cli.output import Style, width
from orchestrator.events import Event, SubagentAccepted
from orchestrator.inspection.limits import LimitUse
from orchestrator.inspection.reading import load_run

Capture = pytest.CaptureFixture[str]


def play(runs: Path, view: LiveView, *, until: str = "end") -> None:
    with open_script(runs) as (_folder, script):
        script.log.subscribe(view.on_event)
        survey(script, until=until)


def idle_view(at_s: float = 60) -> LiveView:
    now: datetime = START + timedelta(seconds=at_s)
    return LiveView(io.StringIO(), now=lambda: now)


def test_the_tree_shows_what_each_agent_does(tmp_path: Path) -> None:
    view = idle_view()
    play(tmp_path, view, until="fan-out")

    lines = view.lines(100, 24)

    assert "running" in lines[0]
    named = ["agent", "step", "ctx", "clr/cmp", "tokens", "usd", "time"]
    assert lines[1].split() == named
    assert "◌ waits for a1, a2, a3" in lines[2]
    assert "● searches for “token”" in lines[3]
    assert "● asks the model (51s; 1 try faile" in lines[4]
    assert "◌ waits for a place" in lines[5]
    assert lines[6].startswith("28k in, 75% from cache")
    assert "% of 2 usd" in lines[7]


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_lines_fit_the_window(tmp_path: Path, columns: int) -> None:
    view = idle_view()
    play(tmp_path, view)

    assert all(width(line) <= columns for line in view.lines(columns, 24))


def test_a_wide_fan_out_fits_the_window_with_those_at_work_first(
    tmp_path: Path,
) -> None:
    view = idle_view()
    with open_script(tmp_path) as (_folder, script):
        script.log.subscribe(view.on_event)
        crowd(script)

    lines = view.lines(80, 24)

    assert len(lines) <= 24
    assert any("a40" in line for line in lines)
    assert any("more agents: " in line for line in lines)


def crowd(script: Script) -> None:
    script.start_run()
    script.start_agent("lead", "crowd", "go")
    for number in range(40):
        accepted = SubagentAccepted(f"a{number + 1}", "d", number, "t", "explorer", {})
        script.put(accepted, "lead")
    script.start_agent("a40", "the only one at work", "go")


def test_the_budget_bar_fills_and_turns_red() -> None:
    style = Style(is_on=True)

    assert budget_bar(LimitUse("usd", 0, 2), style).count("━") == 0
    assert "\x1b[31m" in budget_bar(LimitUse("usd", 1.8, 2), style)
    assert "100%" in budget_bar(LimitUse("usd", 3, 2), style)
    assert "of 3M tokens" in budget_bar(LimitUse("tokens", 3, 3_000_000), style)
    assert budget_bar(None, style) == ""


def test_the_bar_shows_the_limit_that_is_closest(tmp_path: Path) -> None:
    view = idle_view()
    with open_script(tmp_path) as (_folder, script):
        script.log.subscribe(view.on_event)
        script.start_run()
        view.view.limits = {"usd": 100.0, "tokens": 1000, "minutes": 10_000}
        script.start_agent("lead", "t", "go")
        script.answer("lead", [{"type": "text", "text": "x"}], sent=9000)

    assert view.lines(80, 24)[-1].endswith("of 1000 tokens")


def test_elsewhere_there_is_a_short_line_per_interesting_event(
    tmp_path: Path, capsys: Capture
) -> None:
    with open_view() as on_event, open_script(tmp_path) as (_folder, script):
        script.log.subscribe(on_event)
        survey(script)

    shown, told = capsys.readouterr()
    lines = told.splitlines()
    assert shown == ""
    assert len(lines) < script.log.seq / 2
    assert any(line.split(maxsplit=2)[1:] == ["a2", FAILED] for line in lines)
    assert lines[-1].endswith(
        "run ends as partial: 1 of 3 subagents failed; 2 things missing"
    )
    assert all(len(line) < 200 for line in lines)


FAILED = "model gave no answer: invalid: 400: prompt is empty"


def test_json_is_the_log_on_stdout(tmp_path: Path, capsys: Capture) -> None:
    with open_view("json") as on_event, open_script(tmp_path) as (folder, script):
        script.log.subscribe(on_event)
        survey(script)

    shown, told = capsys.readouterr()
    assert told == ""
    assert [orjson.loads(line) for line in shown.splitlines()] == [
        orjson.loads(line) for line in folder.events.read_bytes().splitlines()
    ]


def test_quiet_shows_nothing(tmp_path: Path, capsys: Capture) -> None:
    with open_view("quiet") as on_event, open_script(tmp_path) as (_folder, script):
        script.log.subscribe(on_event)
        survey(script)

    assert capsys.readouterr() == ("", "")


def test_a_reader_that_goes_away_does_not_disturb_the_run(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    with (
        os.fdopen(writing, "w") as gone,
        open_view("plain", stream=gone) as on_event,
        open_script(tmp_path) as (_folder, script),
    ):
        script.log.subscribe(on_event)
        survey(script)

    assert script.log.seq > 50


def test_that_another_model_goes_on_is_a_plain_line(capsys: Capture) -> None:
    data = {"model": "cheap", "instead": "dear", "reason": "cyber"}
    with open_view("plain") as on_event:
        on_event(Event(1, "", "run", "a4", "model.replaced", 0, data))

    assert "a4   goes on with dear: cheap refused (cyber)" in capsys.readouterr().err


def test_an_event_without_a_time_does_no_harm(capsys: Capture) -> None:
    event = Event(1, "", "run", "lead", "run.started", 0, {})
    view = LiveView(io.StringIO(), now=lambda: datetime.now(UTC))

    view.on_event(event)
    with open_view("plain") as on_event:
        on_event(event)

    assert view.lines(80, 24)
    assert "run begins" in capsys.readouterr().err


def test_a_run_that_goes_on_shows_what_it_did_before(tmp_path: Path) -> None:
    with open_script(tmp_path) as (folder, script):
        survey(script)
        script.log.close()
        before = LiveView(io.StringIO(), past=load_run(folder)).lines(100, 40)
        fresh = LiveView(io.StringIO()).lines(100, 40)

    assert any("a1 " in line for line in before)
    assert not any("a1 " in line for line in fresh)
