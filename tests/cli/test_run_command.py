"""`run` and `resume`: the report on stdout and nothing else, and how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_endpoint import Answer, FakeEndpoint, raw, stream, tool_use

from orchestrator.cli.main import main
from orchestrator.cli.signals import stop_on_signal
from orchestrator.messages import text_of
from orchestrator.runtime.live import Live

Capture = pytest.CaptureFixture[str]

PAPER = "# Refunds\n\nA refund takes 14 days, counted from the day of the letter.\n"
TASK = """\
name: refunds
objective: How long does a refund take?
questions:
  - How many days does a refund take?
workspace: papers
model: offline
"""
REPORT = "A refund takes 14 days [refunds.md:3]."
READ = tool_use("toolu_1", "read_file", path="refunds.md")
FINISH = tool_use("toolu_2", "finish", report=REPORT)


@pytest.fixture(autouse=True)
def here(bare: Path) -> Path:
    """A folder with a task and its papers, and no credentials."""
    (bare / "papers").mkdir()
    (bare / "papers" / "refunds.md").write_text(PAPER)
    (bare / "task.yaml").write_text(TASK)
    return bare


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    """An endpoint that the program is told to use; give it a script."""
    with FakeEndpoint([]) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def the_run(folder: Path) -> Path:
    [run] = [path for path in (folder / "runs").iterdir() if path.is_dir()]
    return run


def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((the_run(folder) / "run.json").read_text())
    return found


def test_the_report_goes_to_stdout_and_nothing_else_does(
    here: Path, capsys: Capture
) -> None:
    status = main(["run", "task.yaml"])

    shown = capsys.readouterr()
    assert (status, record(here)["state"]) == (0, "done")
    assert shown.out == (the_run(here) / "report.md").read_text()
    first, *lines, last = shown.err.splitlines()
    assert first.startswith("model: offline")
    assert any("a1" in line for line in lines)
    assert last == f"done: {Path('runs') / the_run(here).name}"


def test_json_prints_the_events_in_place_of_the_report(
    here: Path, capsys: Capture
) -> None:
    assert main(["run", "task.yaml", "--json"]) == 0

    lines = capsys.readouterr().out.splitlines()
    log = (the_run(here) / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == list(range(1, len(log) + 1))
    assert json.loads(lines[-1])["kind"] == "run.ended"


def test_quiet_prints_nothing_but_the_report(here: Path, capsys: Capture) -> None:
    assert main(["run", "task.yaml", "--quiet"]) == 0

    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out == (the_run(here) / "report.md").read_text()


def test_quiet_still_says_why_a_run_is_not_done(capsys: Capture) -> None:
    assert main(["run", "task.yaml", "--quiet", "--set", "limits.turns=1"]) == 3

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("partial: ")
    assert "`turns` reached" in line


def test_plain_prints_a_line_per_event_that_matters(capsys: Capture) -> None:
    assert main(["run", "task.yaml", "--plain"]) == 0

    lines = capsys.readouterr().err.splitlines()
    assert any("lead" in line for line in lines)
    assert all(len(line) < 200 for line in lines)


def test_an_objective_needs_no_file(here: Path, capsys: Capture) -> None:
    given = ["--objective", "How many days does a refund take?"]

    status = main(["run", *given, "--workspace", "papers", "--model", "offline"])

    assert status in (0, 3)
    assert "14 days" in capsys.readouterr().out
    task = (the_run(here) / "task.yaml").read_text()
    assert "How many days does a refund take?" in task
    assert str(here / "papers") in task


def test_settings_win_over_the_file(here: Path, capsys: Capture) -> None:
    options = [
        "--set",
        "limits.usd=0.5",
        "--set",
        "name=other",
        "--runs-dir",
        "elsewhere",
    ]

    assert main(["run", "task.yaml", *options]) == 0

    capsys.readouterr()
    [run] = (here / "elsewhere").glob("2*")
    assert "-other-" in run.name
    assert json.loads((run / "run.json").read_text())["limits"]["usd"] == 0.5
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param([], "give a task file or --objective, one of both", id="nothing"),
        pytest.param(
            ["task.yaml", "--objective", "x"], "one of both", id="file and objective"
        ),
        pytest.param(["gone.yaml"], "gone.yaml", id="no such file"),
        pytest.param(["--objective", "  ", "--model", "offline"], "blanks", id="blank"),
        pytest.param(
            ["task.yaml", "--set", "limits.usd=much"], "`limits.usd`", id="bad value"
        ),
        pytest.param(["task.yaml", "--set", "limit.usd=1"], "`limit`", id="bad key"),
        pytest.param(["task.yaml", "--set", "redact=[]"], "not yet", id="later"),
        pytest.param(
            ["task.yaml", "--model", "claude-haiku-5-5"],
            "needs credentials",
            id="a model that needs a key",
        ),
        pytest.param(
            ["task.yaml", "--set", "agents=[nobody]"], "`nobody`", id="no such profile"
        ),
    ],
)
def test_wrong_input_is_one_line_and_leaves_no_run(
    here: Path, capsys: Capture, given: list[str], words: str
) -> None:
    assert main(["run", *given]) == 2

    shown = capsys.readouterr()
    [error] = [line for line in shown.err.splitlines() if line.startswith("error: ")]
    assert words in error
    assert shown.out == ""
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ANTHROPIC_API_KEY", "sk-x\n", "holds a line end"),
        ("ANTHROPIC_BASE_URL", "127.0.0.1:18731", "must begin with http://"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:abc", "from 1 to 65535"),
        ("ANTHROPIC_BASE_URL", "", "empty"),
    ],
)
def test_what_nothing_can_be_sent_with_leaves_no_run(
    here: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    words: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv(name, value)

    assert main(["run", "task.yaml", "--model", "claude-haiku-5-5"]) == 2
    shown = capsys.readouterr()
    [error] = shown.err.splitlines()
    assert error.startswith(f"error: `{name}`")
    assert words in error
    assert "sk-x" not in error
    assert not (here / "runs").exists()


def test_an_address_that_an_offline_run_does_not_use_is_said_to_be_unused(
    here: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    task = (here / "task.yaml").read_text().replace("model: offline\n", "")
    (here / "task.yaml").write_text(task)

    assert main(["run", "task.yaml"]) == 0
    [line] = [each for each in capsys.readouterr().err.splitlines() if "model:" in each]
    assert "ANTHROPIC_BASE_URL is not used without a key" in line


def test_a_model_without_a_key_says_how_to_set_one(capsys: Capture) -> None:
    assert main(["run", "task.yaml", "--model", "claude-sonnet-5-5"]) == 2

    error = capsys.readouterr().err
    assert "ANTHROPIC_API_KEY" in error
    assert "offline" in error


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("description: Use for: a, b\n", id="an unquoted colon"),
        pytest.param("name: helper\nmaxTurns: many\n", id="a wrong type"),
    ],
)
def test_a_broken_profile_names_file_and_line(
    here: Path, capsys: Capture, broken: str
) -> None:
    (here / "agents").mkdir()
    (here / "agents" / "helper.md").write_text(f"---\n{broken}---\nYou help.\n")

    status = main(["run", "task.yaml", "--set", "agents=[helper]"])

    assert status == 2
    assert "helper.md:" in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_one_bad_profile_leaves_the_others_usable(here: Path, capsys: Capture) -> None:
    (here / "agents").mkdir()
    (here / "agents" / "bad.md").write_text("---\ndescription: Use for: a\n---\nx\n")
    good = "---\nname: good\ndescription: Looks things up.\n---\nYou look things up.\n"
    (here / "agents" / "good.md").write_text(good)

    status = main(["run", "task.yaml", "--set", "agents=[good]"])

    shown = capsys.readouterr()
    assert status == 0, shown.err
    assert "bad.md" in shown.err


def test_a_file_in_the_place_of_the_runs_folder_is_wrong_input(
    here: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    (here / "runs").write_text("a file")

    assert main(["run", "task.yaml", "--model", "claude-haiku-5-5"]) == 2

    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: cannot write runs to `runs`: a file is where")
    assert endpoint.requests == []
    assert (here / "runs").read_text() == "a file"


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("mounting a disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_before_anything_is_spent(
    tiny: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    runs = str(tiny / "runs")

    status = main(
        ["run", "task.yaml", "--model", "claude-haiku-5-5", "--runs-dir", runs]
    )

    assert status == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "the disk is full; free some space" in error
    assert endpoint.requests == []
    assert list(tiny.iterdir()) == []


def test_a_read_only_disk_is_said_before_anything_is_spent(
    tiny: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(tiny)], check=True)

    status = main(
        ["run", "task.yaml", "--model", "claude-haiku-5-5", "--runs-dir", str(tiny)]
    )

    assert status == 2
    assert "the file system is read-only" in capsys.readouterr().err.splitlines()[-1]
    assert endpoint.requests == []


def test_a_run_goes_through_the_endpoint(
    here: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    endpoint.plays([stream(READ), stream(FINISH)])

    assert main(["run", "task.yaml", "--model", "claude-haiku-5-5"]) == 0

    shown = capsys.readouterr()
    assert shown.out == REPORT + "\n"
    assert "claude-haiku-5-5" in shown.err.splitlines()[0]
    assert endpoint.violations == []
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_run_and_resume_completes_it(
    here: Path, capsys: Capture, endpoint: FakeEndpoint, number: signal.Signals
) -> None:
    def interrupts(request: dict[str, Any]) -> Answer:
        if len(request["messages"]) == 1:
            return stream(READ)
        os.kill(os.getpid(), number)
        return raw(ending="hang")

    endpoint.plays(interrupts)

    status = main(["run", "task.yaml", "--model", "claude-haiku-5-5"])

    shown = capsys.readouterr()
    assert (status, shown.out) == (130, "")
    assert "stopping; once more to end at once" in shown.err
    assert record(here)["state"] == "interrupted"
    assert len(endpoint.requests) == 2

    endpoint.plays([stream(FINISH)])
    assert main(["resume", "last"]) == 0
    assert capsys.readouterr().out == REPORT + "\n"
    assert len(endpoint.requests) == 3
    assert record(here)["state"] == "done"


def test_resume_raises_a_limit(
    here: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        newest = text_of(request["messages"][-1]["content"])
        return stream(
            FINISH if "last answer" in newest or "run goes on" in newest else READ
        )

    endpoint.plays(answer)
    given = ["run", "task.yaml", "--model", "claude-haiku-5-5"]
    assert main([*given, "--set", "limits.turns=2"]) == 3
    capsys.readouterr()

    assert main(["resume", "last", "--set", "limits.turns=20"]) == 0
    assert capsys.readouterr().out == REPORT + "\n"
    assert main(["resume", "last"]) == 2
    assert "is done; only a run that was stopped" in capsys.readouterr().err


def test_nothing_to_resume_is_wrong_usage(here: Path, capsys: Capture) -> None:
    assert main(["resume", "last"]) == 2
    assert "there are no runs in `runs` yet" in capsys.readouterr().err


def test_a_folder_that_refuses_in_mid_run_is_a_clear_end(
    here: Path, capsys: Capture, endpoint: FakeEndpoint
) -> None:
    def gets_in_the_way(request: dict[str, Any]) -> Answer:
        if len(request["messages"]) > 1:
            return stream(FINISH)
        (the_run(here) / "report.md").mkdir()
        return stream(READ)

    endpoint.plays(gets_in_the_way)

    status = main(["run", "task.yaml", "--model", "claude-haiku-5-5"])

    assert status == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: cannot write")
    assert "report.md" in error

    (the_run(here) / "report.md").rmdir()
    assert main(["resume", "last"]) == 0
    assert len(endpoint.requests) == 2


def test_ctrl_c_after_the_end_of_the_work_is_no_traceback() -> None:
    async def end_of_the_work() -> object:
        async with anyio.create_task_group() as group:
            group.start_soon(stop_on_signal, Live())
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
        return signal.getsignal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    try:
        assert anyio.run(end_of_the_work) == signal.SIG_DFL
        assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_run_leaves_the_signals_of_its_process_alone() -> None:
    before = signal.getsignal(signal.SIGINT)

    assert main(["run", "task.yaml"]) == 0

    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.slow
def test_as_a_process_it_prints_the_report_and_exits_as_the_run_ended(
    here: Path,
) -> None:
    command = [sys.executable, "-m", "orchestrator", "run", "task.yaml"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0
    assert done.stdout == (the_run(here) / "report.md").read_text()
    assert "\x1b" not in done.stdout + done.stderr


@pytest.mark.slow
def test_a_reader_that_goes_away_does_not_end_the_run(here: Path) -> None:
    command = f"{sys.executable} -m orchestrator run task.yaml --json | head -n 1"

    subprocess.run(command, shell=True, capture_output=True, check=False)

    assert record(here)["state"] == "done"


@pytest.mark.slow
def test_ctrl_c_of_a_process_stops_gently_and_twice_at_once(here: Path) -> None:
    with FakeEndpoint(lambda _request: raw(ending="hang")) as server:
        env = {**os.environ, "ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        command = [sys.executable, "-m", "orchestrator", "run", "task.yaml"]
        process = subprocess.Popen(
            [*command, "--model", "claude-haiku-5-5", "--json"],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        for line in process.stdout:
            if '"kind":"model.requested"' in line.replace(" ", ""):
                break
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Traceback" not in error
    assert record(here)["state"] == "interrupted"
