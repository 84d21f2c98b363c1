"""A parked run at the command line: what is printed, and with which status."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from explore_policy import lay_parts, part_of
from fake_endpoint import Answer, FakeEndpoint, raw, refused
from live_process import ORCHESTRATE, environment, live
from parking_bench import CALLS, PARTS, Stopping, regain

from orchestrator.cli.main import main

Capture = pytest.CaptureFixture[str]

TASK = """\
name: limits
objective: Make a table of the limits that the files give.
workspace: work
context: []
model: claude-haiku-5-5
"""
DAY = datetime.now(UTC).date() + timedelta(days=30)
"""The clock is the machine's."""
WORDS = (
    "the quota is used up: You have reached your specified API usage limits. You will "
    f"regain access on {DAY} at 00:00 UTC; from {DAY} 00:00 UTC on, "
    "`orchestrate resume "
)


@pytest.fixture
def here(bare: Path) -> Path:
    """A folder with a task over eight parts."""
    lay_parts(bare / "work", PARTS)
    (bare / "task.yaml").write_text(TASK)
    return bare


@pytest.fixture
def policy() -> Stopping:
    return Stopping(regain(DAY))


@pytest.fixture
def endpoint(
    policy: Stopping, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeEndpoint]:
    with FakeEndpoint(policy) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def as_json(capsys: Capture, *command: str) -> Any:
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("here", "endpoint")
def test_it_says_why_and_how_it_goes_on_and_then_it_does(
    policy: Stopping, capsys: Capture
) -> None:
    status = main(["run", "task.yaml"])

    shown = capsys.readouterr()
    assert (status, shown.out) == (75, "")
    last = shown.err.splitlines()[-1]
    assert last.startswith("parked: runs/")
    assert WORDS in last

    policy.is_open = True
    assert main(["resume", "last"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("- The limit is known [a1#1].")
    assert len(policy.answered) == len(set(policy.answered)) == CALLS


@pytest.mark.usefixtures("here", "endpoint")
def test_whoever_looks_at_it_is_told(capsys: Capture) -> None:
    main(["run", "task.yaml", "--quiet", "--set", "limits.concurrency=1"])
    capsys.readouterr()

    for command in (["show"], ["runs"], ["logs"], ["notes"]):
        assert main([*command, *([] if command == ["runs"] else ["last"])]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert "parked" in told, command
        if command == ["runs"]:
            assert f"until {DAY} 00:00 UTC: the quota is used up: You" in told
            assert "orchestrate resume" not in told
        else:
            assert WORDS.replace("`", "") in told.replace("`", ""), command
            assert told.count("orchestrate resume") == 1, command
    [run] = as_json(capsys, "runs")["runs"]
    found = as_json(capsys, "show", "last")
    for each in (run, found):
        assert each["state"] == "parked"
        assert each["reason"].startswith(WORDS)
        assert each["resume_at"] == f"{DAY}T00:00:00+00:00"
    assert (found["exit_code"], found["resumable"]) == (75, True)
    main(["show", "last"])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    states = [row[4] for row in rows if row[2:3] == ["Part"]]
    assert states == ["complete"] * 3 + ["parked"] + ["waiting"] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("here", "endpoint")
def test_before_its_time_it_can_be_tried_and_is_parked_again(
    policy: Stopping, capsys: Capture
) -> None:
    policy.refusal = refused(
        429,
        "rate_limit_error",
        "This workspace has reached its spend limit.",
        code="enforced_spend_limit_reached",
        headers={"retry-after": "86400"},
    )
    main(["run", "task.yaml", "--quiet"])
    capsys.readouterr()

    assert main(["resume", "last", "--plain"]) == 75

    lines = capsys.readouterr().err.splitlines()
    assert any(line.startswith("the run is parked until 20") for line in lines)
    assert lines[-1].startswith("parked: ")


@pytest.mark.usefixtures("here", "endpoint")
def test_nobody_is_there_to_be_stopped_or_asked(capsys: Capture) -> None:
    main(["run", "task.yaml", "--quiet"])
    capsys.readouterr()

    for command, words in (
        (["stop", "last"], "nobody works on run"),
        (["stop", "last", "--agent", "a4"], "nobody works on run"),
        (["ask", "last", "And then?"], "is not finished; `orchestrate resume"),
    ):
        assert main(command) == 2
        assert words in capsys.readouterr().err


@pytest.mark.usefixtures("here", "endpoint")
def test_a_key_that_is_refused_from_the_start_is_a_failure(
    policy: Stopping, capsys: Capture
) -> None:
    policy.findings = 0
    policy.refusal = refused(401, "authentication_error", "invalid x-api-key")

    status = main(["run", "task.yaml"])

    assert status == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert "(auth: invalid x-api-key (key from `ANTHROPIC_API_KEY`, sent to " in last


@pytest.mark.slow
def test_killed_while_it_is_being_parked_it_goes_on_all_the_same(here: Path) -> None:
    policy = Stopping(regain(DAY))
    hanging = anyio.Event()

    async def script(asked: dict[str, Any]) -> Answer:
        # One answer is under way when the others are refused.
        if not policy.is_open and part_of(asked) == PARTS:
            hanging.set()
            return raw(ending="hang")
        if policy.is_stopped:
            await hanging.wait()
        return await policy(asked)

    with FakeEndpoint(script) as endpoint:
        env = environment(here, endpoint.url)
        with live([*ORCHESTRATE, "run", "task.yaml"], here, env) as process:
            process.until(lambda: process.counts("run.parked") == 1)
            process.send(signal.SIGKILL)
            assert process.ended()[0] == -signal.SIGKILL
            view = process.view()
            assert view.state == "crashed"
            assert view.reason.startswith("is being parked: quota_exhausted: You have")
            assert view.is_resumable
        policy.is_open = True
        with live([*ORCHESTRATE, "resume", "last"], here, env) as process:
            assert process.ended()[0] == 0
            assert process.view().state == "done"

    assert len(policy.answered) == len(set(policy.answered)) == CALLS
    assert endpoint.violations == policy.violations == []
