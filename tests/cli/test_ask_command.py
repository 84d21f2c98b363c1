"""`ask`, and `resume` of a partial run, as they are met on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.cli.main import main

Capture = pytest.CaptureFixture[str]

PAPER = """\
# Refunds

A refund takes 14 days, counted from the day of the letter.

# Letters

A letter is answered by the office in Bern within 5 days.
"""
TASK = """\
name: refunds
objective: How long does a refund take?
questions:
  - How many days does a refund take?
workspace: papers
model: offline
"""


@pytest.fixture(autouse=True)
def here(bare: Path) -> Path:
    """A folder with a task and its papers, and no credentials."""
    (bare / "papers").mkdir()
    (bare / "papers" / "refunds.md").write_text(PAPER)
    (bare / "task.yaml").write_text(TASK)
    return bare


def run_of(here: Path) -> Path:
    return next(path for path in (here / "runs").iterdir() if path.is_dir())


def test_the_new_report_goes_to_stdout_and_the_one_before_is_kept(
    here: Path, capsys: Capture
) -> None:
    assert main(["run", "task.yaml", "--quiet"]) == 0
    first = capsys.readouterr().out

    assert main(["ask", "last", "Which office answers a letter?"]) == 0

    shown = capsys.readouterr()
    run = run_of(here)
    assert "Bern" in shown.out
    assert shown.out == (run / "report.md").read_text()
    assert (run / "report.1.md").read_text() == first
    assert shown.err.splitlines()[-1].startswith("done: ")
    assert main(["show", "last"]) == 0
    assert "asked       Which office answers a letter?" in capsys.readouterr().out


def test_a_question_may_be_a_list(here: Path, capsys: Capture) -> None:
    main(["run", "task.yaml", "--quiet"])
    capsys.readouterr()

    assert main(["ask", "last", "- Which office answers a letter?", "--quiet"]) == 0

    assert "Bern" in capsys.readouterr().out


def test_with_json_the_events_go_to_stdout(here: Path, capsys: Capture) -> None:
    main(["run", "task.yaml", "--quiet"])
    capsys.readouterr()

    assert main(["ask", "last", "Which office answers a letter?", "--json"]) == 0

    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [events[0]["kind"], events[-1]["kind"]] == ["run.reopened", "run.ended"]
    assert events[0]["data"]["question"] == "Which office answers a letter?"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["ask", "last"], "Missing argument 'TEXT'", id="no text"),
        pytest.param(["ask", "last", " "], "TEXT is empty", id="blank"),
        pytest.param(["ask", "last", "--nope"], "No such option '--nope'", id="option"),
        pytest.param(["ask", "2031", "What?"], "no run `2031`", id="unknown run"),
        pytest.param(
            ["ask", "last", "What?", "--set", "name=x"],
            "`name` cannot change any more; only limits can",
            id="no limit",
        ),
        pytest.param(["resume", "last"], "is done; only a run that was", id="done"),
    ],
)
def test_wrong_input_is_one_line_and_changes_nothing(
    here: Path, capsys: Capture, arguments: list[str], message: str
) -> None:
    main(["run", "task.yaml", "--quiet"])
    before = (run_of(here) / "events.jsonl").read_bytes()
    capsys.readouterr()

    assert main(arguments) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err
    assert (run_of(here) / "events.jsonl").read_bytes() == before


def test_a_partial_run_is_made_whole_by_a_raised_limit(
    here: Path, capsys: Capture
) -> None:
    assert main(["run", "task.yaml", "--set", "limits.turns=2", "--quiet"]) == 3
    capsys.readouterr()
    assert main(["resume", "last"]) == 2
    refused = capsys.readouterr().err

    assert main(["resume", "last", "--set", "limits.turns=20", "--quiet"]) == 0

    assert "--set limits.turns=4" in refused
    assert "14 days" in capsys.readouterr().out
    assert json.loads((run_of(here) / "run.json").read_text())["missing"] == []
