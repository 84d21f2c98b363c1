"""`steer`, as its user meets it; who works on the run is played here."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from played_worker import STOPPED, worked_on, write
from sample_runs import RUN_ID, finished_run, halfway_run

from orchestrator.cli.main import main
from orchestrator.cli.steer_command import steer_run
from orchestrator.errors import OrchestratorError
from orchestrator.events import ControlReceived, RunEnded, TextAdded
from orchestrator.store.control import MAX_TEXT_BYTES, STEER, pending, read_request
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock

pytestmark = pytest.mark.usefixtures("runs")

Capture = pytest.CaptureFixture[str]
WORDS = "Only rules of 2026."


@pytest.fixture
def folder(runs: Path) -> RunFolder:
    return halfway_run(runs)


def ended(state: str) -> RunEnded:
    return RunEnded(state, 0, "", [], 1.0)


def heard(folder: RunFolder) -> ControlReceived:
    [path] = pending(folder.control)
    return ControlReceived(STEER, "", text=WORDS, request=path.name)


def test_a_run_at_work_is_told_at_its_next_step(
    folder: RunFolder, capsys: Capture
) -> None:
    with worked_on(
        folder,
        lambda _: None,
        before=lambda: write(folder, heard(folder)),
        leaves=False,
    ) as taken:
        assert main(["steer", "last", WORDS]) == 0

    [request] = taken
    assert (request.action, request.text, request.holder) == (STEER, WORDS, None)
    shown = capsys.readouterr()
    assert shown.out.startswith(
        f"heard: the lead of run {RUN_ID} is told at its next step"
    )
    assert shown.err == ""


def test_one_that_was_told_already_is_said_to_be(folder: RunFolder) -> None:
    def tells() -> None:
        seq = write(folder, heard(folder))
        write(folder, TextAdded("steer", f"So:\n\n{WORDS}"), "lead", cause=seq)

    with worked_on(folder, lambda _: None, before=tells, leaves=False):
        assert steer_run(folder, WORDS) == f"told: the lead of run {RUN_ID}"


def test_a_paused_run_is_told_as_it_goes_on(folder: RunFolder) -> None:
    write(folder, ended("paused"))
    with worked_on(
        folder,
        lambda _: None,
        before=lambda: write(folder, heard(folder)),
        leaves=False,
    ):
        told = steer_run(folder, WORDS)

    assert told == (
        f"heard: run {RUN_ID} is paused; its lead is told as soon as "
        f"`orchestrate resume {folder.path}` goes on"
    )


@pytest.mark.parametrize("state", ["crashed", "interrupted", "parked", "paused"])
def test_what_is_said_to_a_run_that_can_go_on_is_kept(
    folder: RunFolder, state: str
) -> None:
    if state != "crashed":
        write(folder, ended(state))

    told = steer_run(folder, WORDS)

    assert told.startswith(f"kept: run {RUN_ID} is {state}; its lead is told as soon")
    [path] = pending(folder.control)
    assert read_request(path).text == WORDS


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_lead_that_has_ended_is_asked_and_not_steered(
    folder: RunFolder, capsys: Capture, state: str
) -> None:
    write(folder, ended(state))

    assert main(["steer", "last", WORDS]) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert line == (
        f"error: run `{RUN_ID}` is {state}, its lead has ended; `orchestrate ask "
        f'{folder.path} "TEXT"` puts a further question to it'
    )
    assert pending(folder.control) == []


@pytest.mark.parametrize(
    ("end", "words", "left"),
    [
        pytest.param(ended("done"), "orchestrate ask", 0, id="done"),
        pytest.param(STOPPED, "kept: run", 1, id="interrupted"),
    ],
)
def test_a_run_that_ends_before_it_takes_the_words(
    folder: RunFolder, end: RunEnded, words: str, left: int
) -> None:
    with worked_on(
        folder, lambda _: None, before=lambda: write(folder, end), takes=False
    ):
        try:
            told = steer_run(folder, WORDS)
        except Exception as error:  # noqa: BLE001 - either is told to the user
            told = str(error)

    assert words in told
    assert len(pending(folder.control)) == left


def test_a_process_that_does_not_take_it_is_told_of(folder: RunFolder) -> None:
    with (
        RunLock(folder.lock),
        pytest.raises(OrchestratorError, match="has not taken this within"),
    ):
        steer_run(folder, WORDS, wait_s=0.05)

    assert len(pending(folder.control)) == 1


def test_a_request_that_vanishes_is_told_of(folder: RunFolder) -> None:
    with (
        worked_on(folder, lambda _: None, leaves=False),
        pytest.raises(OrchestratorError, match="did not take this"),
    ):
        steer_run(folder, WORDS)


def test_a_secret_is_never_written(folder: RunFolder) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

    steer_run(folder, f"Use {secret} there.")

    [path] = pending(folder.control)
    assert secret.encode() not in path.read_bytes()
    assert "[secret:" in read_request(path).text


@dataclass
class _Stdin:
    buffer: io.BytesIO


@pytest.mark.parametrize(
    ("given", "stdin", "words"),
    [
        pytest.param(" \n", b"", "TEXT is empty", id="empty"),
        pytest.param("-", b"", "TEXT is empty", id="empty stdin"),
        pytest.param("-", b"x" * 20_000, "has more than 12,000 bytes", id="long stdin"),
        pytest.param("长" * 4001, b"", "TEXT has 12,003 bytes", id="long"),
    ],
)
def test_what_cannot_be_said_is_wrong_usage(
    folder: RunFolder,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    given: str,
    stdin: bytes,
    words: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(io.BytesIO(stdin)))

    assert main(["steer", "last", given]) == 2

    assert words in capsys.readouterr().err.splitlines()[0]
    assert pending(folder.control) == []


def test_stdin_is_read_as_it_is(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "第三季度。\n- half \xff".encode("latin-1", "ignore") + "长".encode() * 10
    monkeypatch.setattr(sys, "stdin", _Stdin(io.BytesIO(text)))

    assert main(["steer", "last", "-"]) == 0

    [path] = pending(folder.control)
    assert read_request(path).text == text.decode("utf-8", "replace").strip()
    assert len(text) < MAX_TEXT_BYTES


def test_a_list_is_no_option(folder: RunFolder) -> None:
    assert main(["steer", "last", "- one\n- two"]) == 0

    [path] = pending(folder.control)
    assert read_request(path).text == "- one\n- two"


def test_a_partial_run_is_told_as_it_goes_on(runs: Path) -> None:
    folder = finished_run(runs)

    told = steer_run(folder, WORDS)

    assert told.startswith(f"kept: run {RUN_ID} is partial; ")
