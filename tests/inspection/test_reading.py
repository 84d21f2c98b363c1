"""Run folders opened for a look."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sample_runs import Script, finished_run, halfway_run, open_script, survey

from orchestrator.errors import StoreError
from orchestrator.events import SubagentEnded
from orchestrator.inspection.following import follow_events
from orchestrator.inspection.reading import load_run, summarize
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock


def test_a_run_that_nobody_works_on_has_crashed(tmp_path: Path) -> None:
    assert load_run(halfway_run(tmp_path)).state == "crashed"


def test_a_run_whose_lock_is_held_is_running(tmp_path: Path) -> None:
    folder = halfway_run(tmp_path)

    with RunLock(folder.lock):
        assert load_run(folder).state == "running"


def test_an_ended_run_keeps_its_state_whoever_holds_the_lock(tmp_path: Path) -> None:
    folder = finished_run(tmp_path)

    with RunLock(folder.lock):
        assert load_run(folder).state == "partial"


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    folder = finished_run(tmp_path)
    whole = load_run(folder).events
    folder.events.write_bytes(folder.events.read_bytes()[:-20])

    view = load_run(folder)

    assert (view.events, view.state) == (whole - 1, "crashed")


def test_a_damaged_line_costs_only_itself(tmp_path: Path) -> None:
    folder = finished_run(tmp_path)
    lines = folder.events.read_bytes().splitlines(keepends=True)
    lines[5] = b'{"v":1,"seq":6,garbage\n'
    folder.events.write_bytes(b"".join(lines))

    view = load_run(folder)

    assert (view.damaged, view.state) == (1, "partial")


def test_findings_that_were_put_away_as_an_artifact_are_read_back(
    tmp_path: Path,
) -> None:
    claim = "A claim that nobody could find. " * 1000
    findings = {"items": [{"claim": claim}]}
    with open_script(tmp_path) as (folder, script):
        script.put(
            SubagentEnded("a1", "partial", "submitted", "", findings, 1, 1, 1, [1]),
            "lead",
        )

    assert load_run(folder).agents["a1"].unsupported_claims == [claim]


def test_a_lost_artifact_leaves_the_run_readable(tmp_path: Path) -> None:
    findings = {"items": [{"claim": "x" * 20_000}]}
    with open_script(tmp_path) as (folder, script):
        script.put(
            SubagentEnded("a1", "partial", "submitted", "", findings, 1, 1, 1, [1]),
            "lead",
        )
    for path in folder.artifacts.iterdir():
        path.unlink()

    agent = load_run(folder).agents["a1"]

    assert (agent.unsupported, agent.unsupported_claims) == (1, [])


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        load_run(RunFolder(tmp_path))


def test_a_run_that_cannot_be_read_is_a_line_of_the_list(tmp_path: Path) -> None:
    assert summarize(RunFolder(tmp_path)).state == "unreadable"


def test_following_yields_each_event_once_and_stops_with_the_run(
    tmp_path: Path,
) -> None:
    with open_script(tmp_path) as (folder, script):
        script.start_run()
        lock = RunLock(folder.lock)
        lock.acquire()

        def die() -> None:
            script.log.close()
            lock.release()

        steps = iter([lambda: survey_rest(script), lambda: tear(folder), die])

        followed = [
            event.seq for event in follow_events(folder, wait=lambda _s: next(steps)())
        ]

        assert followed == list(range(1, script.log.seq + 1))


def survey_rest(script: Script) -> None:
    survey(script, until="fan-out")


def tear(folder: RunFolder) -> None:
    with folder.events.open("ab") as log:
        log.write(b'{"v":1,"seq":99')


def test_reading_loads_no_model_no_tool_and_nothing_heavy() -> None:
    code = (
        "import sys, orchestrator.cli.runs_reader, orchestrator.cli.log_reader, "
        "orchestrator.cli.transcript_reader\n"
        "heavy = 'anthropic pydantic structlog rich orchestrator.models "
        "orchestrator.tools orchestrator.agent orchestrator.runtime'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "[]"


def test_following_passes_over_what_stands_out_of_place(tmp_path: Path) -> None:
    with open_script(tmp_path) as (folder, script):
        survey(script)
    lines = folder.events.read_bytes().splitlines(keepends=True)
    twice = [*lines[:5], lines[2], lines[5].rstrip(b"\n"), *lines[6:]]
    folder.events.write_bytes(b"".join(twice))

    followed = [event.seq for event in follow_events(folder)]

    assert followed == list(range(1, len(lines) + 1))
