"""The entry point: which command, which status, what is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from sample_runs import finished_run

from orchestrator.cli import main as main_module
from orchestrator.cli.main import COMMANDS, main
from orchestrator.errors import (
    ModelError,
    RunBusy,
    SpecError,
    StoreError,
    UnknownRun,
)

Capture = pytest.CaptureFixture[str]


def test_help_names_every_command_and_loads_none(capsys: Capture) -> None:
    assert main(["--help"]) == 0

    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in COMMANDS)


def test_help_loads_click_and_little_else() -> None:
    code = (
        "import sys\nfrom orchestrator.cli.main import main\nmain(['--help'])\n"
        "heavy = 'anthropic anyio pydantic rich structlog yaml'.split()\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert found.stdout.splitlines()[-1] == "[]"


def test_no_command_shows_the_help_and_is_wrong_usage(capsys: Capture) -> None:
    assert main([]) == 2
    assert "Usage: orchestrate" in capsys.readouterr().out


def test_an_unknown_command_says_what_there_is(capsys: Capture) -> None:
    assert main(["shwo"]) == 2

    error = capsys.readouterr().err
    assert error.startswith("error: no command `shwo`. Did you mean `show`? There are:")
    assert "transcript" in error


def test_a_command_of_the_future_is_unknown(capsys: Capture) -> None:
    assert main(["view", "last"]) == 2
    assert "no command `view`" in capsys.readouterr().err


def test_a_wrong_option_is_one_line_and_a_hint(capsys: Capture) -> None:
    assert main(["runs", "--nope"]) == 2

    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: No such option")
    assert hint == "hint: `orchestrate runs --help`"


def test_version_is_that_of_the_package(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("orchestrate ")


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (SpecError("bad", "t.yaml", 3, "limits.usd"), 2, "t.yaml:3: `limits.usd`: bad"),
        (UnknownRun("no run `x`"), 2, "no run `x`"),
        (RunBusy("in use by process 7"), 2, "in use by process 7"),
        (StoreError("disk full"), 1, "disk full"),
        (ModelError("auth", "no key"), 1, "auth: no key"),
        (PermissionError(13, "Permission denied", "f"), 1, "Permission denied: `f`"),
        (StoreError("\x1b]0;x\x07name"), 1, "␛]0;x␇name"),
    ],
)
def test_expected_errors_are_one_line_with_their_status(
    error: Exception,
    status: int,
    words: str,
    capsys: Capture,
    failing: list[BaseException],
) -> None:
    failing.append(error)

    assert main(["fail"]) == status
    assert capsys.readouterr() == ("", f"error: {words}\n")


def test_a_bug_shows_its_traceback_and_has_its_own_status(
    capsys: Capture, failing: list[BaseException]
) -> None:
    failing.append(KeyError("oops"))

    assert main(["fail"]) == 70
    assert "KeyError: 'oops'" in capsys.readouterr().err


def test_ctrl_c_is_130(failing: list[BaseException]) -> None:
    failing.append(KeyboardInterrupt())

    assert main(["fail"]) == 130


def test_a_command_returns_its_status(failing: list[BaseException]) -> None:
    assert main(["fail"]) == 3


FAILING: list[BaseException] = []


@click.command()
def fail() -> int:
    if FAILING:
        raise FAILING[0]
    return 3


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Register a command that raises what is put into the list, or returns 3."""
    FAILING.clear()
    module = sys.modules[__name__]
    monkeypatch.setitem(sys.modules, "failing_command", module)
    monkeypatch.setitem(main_module.COMMANDS, "fail", ("failing_command:fail", ""))
    return FAILING


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    finished_run(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)

    found = subprocess.run(
        [sys.executable, "-m", "orchestrator", "logs", "last", "--runs-dir", tmp_path],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )

    os.close(writing)
    assert (found.returncode, found.stderr) == (141, b"")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_output_is_no_error(tmp_path: Path, closed: str) -> None:
    finished_run(tmp_path / "runs")
    command = f"{sys.executable} -m orchestrator show last --runs-dir runs {closed}"

    shown = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert shown.returncode == 0
    assert "Traceback" not in shown.stdout + shown.stderr
    assert bool(shown.stdout) == (closed == "2>&-")
