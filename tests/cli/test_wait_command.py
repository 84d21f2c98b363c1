"""`wait`, and `resume` of a paused run, as their users meet them."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import orjson
import pytest
from played_worker import LIMIT_S, worked_on, write
from sample_runs import RUN_ID, finished_run, halfway_run

from orchestrator.cli.main import main
from orchestrator.cli.paused import check_is_paused, let_go_on
from orchestrator.errors import OrchestratorError, RunBusy
from orchestrator.events import ControlReceived, RunEnded
from orchestrator.store.control import GO_ON, PAUSE, Request
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock, holder
from orchestrator.store.reading import read_events

pytestmark = pytest.mark.usefixtures("runs")

Capture = pytest.CaptureFixture[str]
PAUSED = RunEnded("paused", 130, "a person paused it", [], 1.0)
DONE = RunEnded("done", 0, "", [], 1.0)


@pytest.fixture
def folder(runs: Path) -> RunFolder:
    return halfway_run(runs)


class Ends:
    """Ends a run that is at work, after a moment in which it is waited for."""

    def __init__(self, folder: RunFolder, ended: RunEnded | None) -> None:
        self.folder, self.ended = folder, ended
        self.lock = RunLock(folder.lock)
        self.timer = threading.Timer(0.3, self.end)

    def end(self) -> None:
        if self.ended is not None:
            write(self.folder, self.ended)
        self.lock.release()

    def __enter__(self) -> None:
        self.lock.acquire()
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.join(LIMIT_S)
        self.lock.release()


def test_the_report_of_a_run_that_ends_meanwhile(
    folder: RunFolder, capsys: Capture
) -> None:
    folder.report.write_text("# Report\n\nIt takes 14 days.\n")
    with Ends(folder, DONE):
        assert main(["wait", "last", "--plain"]) == 0

    shown = capsys.readouterr()
    assert shown.out == "# Report\n\nIt takes 14 days.\n"
    told = shown.err.splitlines()
    assert told[0].endswith("run ends as done")
    assert told[1:] == [f"done: {folder.path}"]


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        pytest.param("failed", 1, "failed: ", id="failed"),
        pytest.param("parked", 75, "parked: ", id="parked"),
        pytest.param("interrupted", 130, "interrupted: ", id="interrupted"),
        pytest.param("paused", 130, "paused: ", id="its process died while paused"),
        pytest.param("", 130, "its process died; `orchestrate resume", id="crashed"),
    ],
)
def test_other_ends_are_told_without_a_report(
    folder: RunFolder, capsys: Capture, state: str, code: int, words: str
) -> None:
    folder.report.write_text("of an earlier question")
    if state:
        write(folder, RunEnded(state, code, "why it is so", [], 1.0))

    assert main(["wait", "last", "--quiet"]) == code

    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err


def test_a_run_that_is_over_is_not_waited_for(runs: Path, capsys: Capture) -> None:
    folder = finished_run(runs)

    assert main(["wait", RUN_ID]) == 3

    shown = capsys.readouterr()
    assert shown.out.rstrip() == folder.report.read_text().rstrip()
    assert shown.err.startswith("partial: ")
    assert "hint: for what is missing" in shown.err


def test_as_json_all_of_its_events(runs: Path, capsys: Capture) -> None:
    folder = finished_run(runs)

    assert main(["wait", RUN_ID, "--json"]) == 3

    lines = capsys.readouterr().out.splitlines()
    events = [event.seq for event in read_events(folder.events)]
    assert [orjson.loads(line)["seq"] for line in lines] == events


def test_a_report_that_is_gone_is_told(runs: Path, capsys: Capture) -> None:
    finished_run(runs).report.unlink()

    assert main(["wait", RUN_ID]) == 1
    assert "cannot read" in capsys.readouterr().err


def test_it_waits_no_longer_than_it_is_told(folder: RunFolder, capsys: Capture) -> None:
    with RunLock(folder.lock):
        assert main(["wait", "last", "--timeout", "0.1"]) == 124

    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"running: {folder.path} (not over after 0.1 s" in shown.err


def test_ctrl_c_ends_the_waiting_only(folder: RunFolder, capsys: Capture) -> None:
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    with RunLock(folder.lock):
        timer.start()
        assert main(["wait", "last"]) == 130

    assert capsys.readouterr().err.startswith(f"the run goes on: {folder.path}; ")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_paused_run_is_said_to_be_and_waited_for(
    folder: RunFolder, capsys: Capture
) -> None:
    write(folder, PAUSED)
    with RunLock(folder.lock):
        assert main(["wait", "last", "--timeout", "0.1"]) == 124

    assert capsys.readouterr().err.startswith(
        f"paused: {folder.path}; `orchestrate resume {folder.path}` goes on"
    )


def test_beside_the_main_thread_signals_are_left_alone(folder: RunFolder) -> None:
    statuses: list[int] = []
    with RunLock(folder.lock):
        thread = threading.Thread(
            target=lambda: statuses.append(main(["wait", "last", "--timeout", "0"]))
        )
        thread.start()
        thread.join(LIMIT_S)

    assert statuses == [124]


def test_a_paused_run_goes_on_in_its_own_process(folder: RunFolder) -> None:
    paused = write(folder, PAUSED)
    with worked_on(folder, lambda _asked: None, leaves=False) as taken:
        by = holder(folder.lock)
        check_is_paused(folder)
        after = let_go_on(folder, {"limits.usd": "5"})

    assert taken == [Request(GO_ON, by, limits={"limits.usd": "5"})]
    assert after == paused


def test_where_its_process_dies_meanwhile_it_is_resumed_as_any(
    folder: RunFolder,
) -> None:
    write(folder, PAUSED)
    with worked_on(folder, lambda _asked: None, takes=False):
        assert let_go_on(folder, {}) == 0


def test_a_process_that_does_not_let_it_go_on_is_named(folder: RunFolder) -> None:
    write(folder, PAUSED)
    with (
        RunLock(folder.lock),
        pytest.raises(OrchestratorError, match="still works on run"),
    ):
        let_go_on(folder, {}, wait_s=0.05)


@pytest.mark.parametrize(
    ("asked", "words"),
    [(None, "is at work in another process"), (PAUSE, "is being paused in another")],
)
def test_a_run_at_work_is_not_resumed(
    folder: RunFolder, capsys: Capture, asked: str | None, words: str
) -> None:
    if asked:
        write(folder, ControlReceived(asked, ""))
    with RunLock(folder.lock):
        with pytest.raises(RunBusy, match=words):
            check_is_paused(folder)
        assert main(["resume", "last"]) == 2

    assert words in capsys.readouterr().err
