"""`stop` and `pause`, as their user meets them; who works on the run is played here.

With real processes on both sides it stands in the acceptance tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from played_worker import STOPPED, worked_on, write
from sample_runs import RUN_ID, finished_run, halfway_run

from orchestrator.cli.control_commands import pause_run, stop_agent, stop_run
from orchestrator.cli.main import main
from orchestrator.errors import OrchestratorError
from orchestrator.events import (
    AgentEnded,
    RunEnded,
    SubagentAsked,
    SubagentEnded,
)
from orchestrator.store.control import PAUSE, STOP, Request, pending, read_request
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock, holder

pytestmark = pytest.mark.usefixtures("runs")

Capture = pytest.CaptureFixture[str]
PAUSED = RunEnded("paused", 130, "a person paused it", [], 1.0)
DONE = RunEnded("done", 0, "", [], 1.0)
CANCELLED = AgentEnded("cancelled", "a person stopped it", 1)
SUBMITTED = AgentEnded("submitted", "", 1)


@pytest.fixture
def folder(runs: Path) -> RunFolder:
    return halfway_run(runs)


def test_the_run_that_was_stopped_is_told_with_how_to_go_on(
    folder: RunFolder, capsys: Capture
) -> None:
    with worked_on(folder, lambda _asked: write(folder, STOPPED)) as taken:
        by = holder(folder.lock)
        assert main(["stop", "last"]) == 0

    assert taken == [Request(STOP, by)] if by else False
    shown = capsys.readouterr()
    assert shown.out == (
        f"interrupted: {folder.path}; `orchestrate resume {folder.path}` goes on\n"
    )
    assert shown.err == ""


def test_one_that_ends_by_itself_meanwhile_is_told_as_it_ended(
    folder: RunFolder,
) -> None:
    with worked_on(folder, lambda _asked: write(folder, DONE)):
        assert stop_run(folder) == f"done: {folder.path}"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            halfway_run,
            "it is crashed; `orchestrate resume {run}` goes on",
            id="crashed",
        ),
        pytest.param(
            finished_run,
            "it is partial; `orchestrate show {run}` tells how to go on",
            id="partial",
        ),
    ],
)
@pytest.mark.parametrize("more", [[], ["--agent", "a1"]], ids=["run", "agent"])
def test_where_nobody_works_nothing_is_changed(
    runs: Path,
    capsys: Capture,
    make: Callable[[Path], RunFolder],
    words: str,
    more: list[str],
) -> None:
    folder = make(runs)
    before = folder.events.read_bytes()

    assert main(["stop", RUN_ID, *more]) == 2

    [line] = capsys.readouterr().err.splitlines()
    told = words.format(run=folder.path)
    assert line == f"error: nobody works on run `{RUN_ID}`, {told}"
    assert folder.events.read_bytes() == before
    assert list(folder.control.iterdir()) == []


def test_an_unknown_run_is_wrong_usage(capsys: Capture) -> None:
    assert main(["stop", "nothing"]) == 2
    assert "no run `nothing`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        pytest.param("a9", "has no subagent `a9`; at work: a1, a2, a3", id="unknown"),
        pytest.param("", "has no subagent ``; at work", id="empty"),
        pytest.param("\x1b[31ma1", "has no subagent `␛[31ma1`", id="escape"),
        pytest.param("lead", "`lead` is the run itself; leave --agent out", id="lead"),
    ],
)
def test_an_agent_that_cannot_be_stopped_is_one_line(
    folder: RunFolder, capsys: Capture, agent: str, words: str
) -> None:
    with RunLock(folder.lock):
        assert main(["stop", "last", "--agent", agent]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert words in line
    assert list(folder.control.iterdir()) == []


def test_an_agent_that_has_ended_stays_as_it_is(
    folder: RunFolder, capsys: Capture
) -> None:
    write(folder, SUBMITTED, "a1")

    with RunLock(folder.lock):
        assert main(["stop", "last", "--agent", "a1"]) == 2

    assert "`a1` has ended already (done)" in capsys.readouterr().err
    assert list(folder.control.iterdir()) == []


def test_a_cancelled_agent_is_told_with_its_run(
    folder: RunFolder, capsys: Capture
) -> None:
    def answer(_asked: Request) -> None:
        write(folder, CANCELLED, "a1")

    with worked_on(folder, answer, leaves=False) as taken:
        assert main(["stop", "last", "--agent", "a1"]) == 0

    assert [request.to for request in taken] == ["a1"]
    assert capsys.readouterr().out == f"cancelled: a1 (run {RUN_ID} is running)\n"


def test_one_that_is_stopped_at_a_further_question_is_told_as_cancelled(
    folder: RunFolder, capsys: Capture
) -> None:
    brought = SubagentEnded("a1", "complete", "submitted", "", {}, 0, 0)
    write(folder, brought, "a1")
    write(folder, SubagentAsked("a1", "f1", "Which line says so?", "And?"), "a1")

    def answer(_asked: Request) -> None:
        write(folder, CANCELLED, "a1")
        write(folder, replace(brought, outcome="cancelled"), "a1")

    with worked_on(folder, answer, leaves=False):
        assert main(["stop", "last", "--agent", "a1"]) == 0

    assert capsys.readouterr().out == f"cancelled: a1 (run {RUN_ID} is running)\n"


def test_an_agent_that_ended_by_itself_meanwhile_was_not_stopped(
    folder: RunFolder, capsys: Capture
) -> None:
    def answer(_asked: Request) -> None:
        write(folder, SUBMITTED, "a1")

    with worked_on(folder, answer, leaves=False):
        assert main(["stop", "last", "--agent", "a1"]) == 2

    assert "ended by itself before it could be stopped" in capsys.readouterr().err


def test_an_agent_whose_run_ends_meanwhile_is_told_with_its_run(
    folder: RunFolder,
) -> None:
    with worked_on(folder, lambda _asked: write(folder, STOPPED)):
        told = stop_agent(folder, "a1")

    assert told == f"interrupted: {folder.path}; `a1` was stopped with its run"


def test_an_agent_that_takes_long_to_end_is_told_so(folder: RunFolder) -> None:
    with worked_on(folder, lambda _asked: None, leaves=False):
        told = stop_agent(folder, "a1", wait_s=0.2)

    assert told == f"`a1` was told to stop and is ending (run {RUN_ID})"


@pytest.mark.parametrize("agent", ["", "a1"])
def test_a_process_that_does_not_listen_is_named_with_what_to_do(
    folder: RunFolder, agent: str
) -> None:
    with RunLock(folder.lock):
        by = holder(folder.lock)
        assert by is not None
        given = (folder, agent) if agent else (folder,)
        stops: Callable[..., str] = stop_agent if agent else stop_run
        with pytest.raises(OrchestratorError, match=f"process {by.pid} still") as told:
            stops(*given, wait_s=0.05)

    assert f"`kill -9 {by.pid}` ends it" in str(told.value)
    # It is there for whoever holds the lock, when it can be heard again.
    [request] = pending(folder.control)
    assert read_request(request) == Request(STOP, by, agent)


def test_a_run_that_had_not_begun_leaves_nothing(folder: RunFolder) -> None:
    def answer(_asked: Request) -> None:
        folder.path.rename(folder.path.with_name(".gone"))

    with worked_on(folder, answer):
        told = stop_run(folder)

    assert told == f"stopped before it had begun: {RUN_ID}; nothing was spent"


def test_a_lock_that_names_nobody_is_told_so(folder: RunFolder) -> None:
    with RunLock(folder.lock):
        folder.lock.write_bytes(b"")
        with pytest.raises(Exception, match="does not say which"):
            stop_run(folder)


def test_a_subagent_of_a_paused_run_ends_as_it_goes_on(folder: RunFolder) -> None:
    write(folder, PAUSED)
    with worked_on(folder, lambda _asked: None, leaves=False):
        told = stop_agent(folder, "a1")

    assert told == f"`a1` ends as soon as run {RUN_ID} goes on: it is paused"


def test_a_paused_run_is_told_with_how_it_goes_on(
    folder: RunFolder, capsys: Capture
) -> None:
    with worked_on(folder, lambda _asked: write(folder, PAUSED), leaves=False) as taken:
        by = holder(folder.lock)
        assert main(["pause", "last"]) == 0

    assert taken == [Request(PAUSE, by)]
    goes_on = f"`orchestrate resume {folder.path}` goes on\n"
    assert capsys.readouterr().out == f"paused: {folder.path}; {goes_on}"


def test_one_that_is_paused_is_paused_already(folder: RunFolder) -> None:
    write(folder, PAUSED)
    with RunLock(folder.lock):
        assert pause_run(folder).startswith(f"paused already: {folder.path}; ")
    assert pending(folder.control) == []


def test_one_that_ends_before_it_rests_is_told_as_it_ended(folder: RunFolder) -> None:
    with worked_on(folder, lambda _asked: write(folder, DONE)):
        assert pause_run(folder) == f"done: {folder.path}"


def test_what_takes_long_to_come_in_is_told(folder: RunFolder) -> None:
    with worked_on(folder, lambda _asked: None, leaves=False):
        told = pause_run(folder, wait_s=0.2)

    assert "is being paused: what is under way comes in first" in told


def test_a_process_that_does_not_hear_of_a_pause_is_named(folder: RunFolder) -> None:
    with (
        RunLock(folder.lock),
        pytest.raises(OrchestratorError, match="still works on run"),
    ):
        pause_run(folder, wait_s=0.05)


def test_only_a_run_at_work_is_paused(folder: RunFolder, capsys: Capture) -> None:
    assert main(["pause", "last"]) == 2
    assert "nobody works on run" in capsys.readouterr().err


def test_help_names_the_command(capsys: Capture) -> None:
    assert main(["--help"]) == 0
    assert "Steer a live run" in capsys.readouterr().out
