"""`show`: what stands out at once, tables by tool, model and wait, and one agent."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from context_runs import context_run
from sample_runs import finished_run, halfway_run, open_script, survey

from orchestrator.cli.main import main
from orchestrator.cli.output import width
from orchestrator.events import ControlReceived, NotesEdited, RunEnded, TextAdded
from orchestrator.store.layout import RunFolder

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def eighty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return finished_run(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return context_run(tmp_path_factory.mktemp("runs"))


def out(capsys: Capture, folder: RunFolder, *argv: str, status: int = 0) -> str:
    assert main(["show", str(folder.path), *argv]) == status
    return capsys.readouterr().out


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_dearest_subagent_and_why_stand_on_the_first_screen(
    folder: RunFolder, capsys: Capture
) -> None:
    told = flat(out(capsys, folder).split("\ndearest")[1].split("\nusage")[0])

    assert re.match(
        r"a\d “.+” took \d+% of the dollars of 2 subagents \(\$0\.\d+\)", told
    )


def test_what_is_missing_names_its_events_and_where_to_look(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, folder)

    missing = re.search(
        r"missing +- a2 “Session storage”: [^(]*\((#\d+(?:, #\d+)*)\)", text
    )
    assert missing is not None
    last = missing[1].rpartition("#")[2]
    assert f"look there  orchestrate logs {folder.path} --around {last}\n" in text
    assert main(["logs", str(folder.path), "--around", last, "-n", "1"]) == 0
    assert "a2 failed" in capsys.readouterr().out


def test_a_reason_that_is_listed_is_said_once(tmp_path: Path, capsys: Capture) -> None:
    why = "subagent a2 (Session storage) failed: invalid: 400: prompt is empty"
    with open_script(tmp_path) as (folder, script):
        survey(script, until="fan-out")
        script.put(RunEnded("partial", 3, why, [why], 9.0))

    text = flat(out(capsys, folder))

    assert text.count("prompt is empty") == 1
    assert "state partial: 1 thing missing or wrong" in text


def test_what_went_at_a_compaction_is_one_command_away(
    compacted: RunFolder, capsys: Capture
) -> None:
    text = flat(out(capsys, compacted).replace("│", ""))

    assert "1 compaction; what went: `orchestrate diff RUN lead 1`" in text
    assert "context fullest: lead at turn 5, 6.8k of 20k tokens (34%)" in text


def test_what_people_did_is_told(tmp_path: Path, capsys: Capture) -> None:
    with open_script(tmp_path) as (folder, script):
        survey(script, until="fan-out")
        seq = script.log.seq
        for words in ("Look at b.py", "Leave out tests"):
            script.put(ControlReceived("steer", "lead", text=words))
        script.put(NotesEdited("Plan", "x"), "lead")

    told = flat(out(capsys, folder).split("\npeople")[1].split("\nusage")[0])

    assert told.startswith(f"steered 2 times (#{seq + 1}, #{seq + 2}); notes edited")
    assert "“Plan: x”" in told


def test_a_subagent_that_was_told_to_wrap_up_says_so(
    tmp_path: Path, capsys: Capture
) -> None:
    with open_script(tmp_path) as (folder, script):
        survey(script, until="fan-out")
        script.put(TextAdded("wrap_up", "Hand in.", limit="turns", allowed=9), "a1")
        seq = script.log.seq

    assert f"was told to wrap up (#{seq}): turns nearly used up" in out(capsys, folder)


@pytest.mark.parametrize(
    ("way", "heading", "row"),
    [
        ("tool", "tool calls failed again time brought share whole kept", "read_file"),
        ("model", "model asked again failed time waited in cache out usd", "claude-"),
        ("wait", "agent at work service subagents place person", "lead"),
        ("agent", "agent state turns in out cache explored back usd time", "├─ a1"),
    ],
)
def test_a_table_by_something_else(
    folder: RunFolder, capsys: Capture, way: str, heading: str, row: str
) -> None:
    first, *rows = out(capsys, folder, "--by", way).splitlines()

    assert flat(first) == heading
    assert any(each.startswith(row) for each in rows)
    assert all(width(each) <= 80 for each in [first, *rows])


def test_tables_compose_and_keep_to_one_agent(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, folder, "--agent", "a1", "--by", "tool", "--by", "wait")

    tools, waits = text.split("\n\n")
    assert [line.split()[0] for line in tools.splitlines()] == [
        "tool",
        "read_file",
        "grep",
        "submit_findings",
        "all",
    ]
    assert [line.split()[0] for line in waits.splitlines()] == ["agent", "a1"]


def test_one_agent_in_full(folder: RunFolder, capsys: Capture) -> None:
    text = out(capsys, folder, "--agent", "a3")

    places = [
        text.index(words)
        for words in (
            "a3          Password hashing",
            "state       partial",
            "sent by     lead, event #",
            "time        started",
            "work        ",
            "explored    ",
            "usage       ",
            "context     fullest at turn",
            "\ntool ",
            "findings: 2 items, 1 of them unsupported",
            "a3#1 ",
            "see also    orchestrate transcript",
        )
    ]
    assert places == sorted(places)
    assert "unsupported" in text.split("findings:")[1].split("see also")[0]


def test_the_troubles_of_an_agent_are_listed_with_their_events(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, folder, "--agent", "a2")

    assert re.search(r"went wrong: \d events\n  #\d+ model\.", text)
    assert "prompt is empty" in text


def test_an_agent_that_was_compacted_says_what_went(
    compacted: RunFolder, capsys: Capture
) -> None:
    text = flat(out(capsys, compacted, "--agent", "lead"))

    assert "a summary stands in place of steps 1 to 4" in text
    assert "the summary lacked “src/mod_2.py”: the check put it right" in text
    assert f"orchestrate diff {compacted.path} lead 1" in text


def test_the_lead_has_no_brief(folder: RunFolder, capsys: Capture) -> None:
    text = out(capsys, folder, "--agent", "lead")

    assert "sent by" not in text
    assert "scope" not in text
    found = orjson.loads(out(capsys, folder, "--agent", "lead", "--json"))
    assert found["agent"]["brief"] is None


def test_an_agent_in_json_has_findings_with_their_evidence(
    folder: RunFolder, capsys: Capture
) -> None:
    found = orjson.loads(out(capsys, folder, "--agent", "a3", "--json"))["agent"]

    assert [each["ref"] for each in found["findings"]] == ["a3#1", "a3#2"]
    assert sum(each["supported"] for each in found["findings"]) == 1
    assert found["brief"]["title"] == "Password hashing"


def test_an_unknown_agent_is_wrong_usage(folder: RunFolder, capsys: Capture) -> None:
    assert main(["show", str(folder.path), "--agent", "a9"]) == 2
    assert capsys.readouterr().err == (
        "error: `--agent`: no agent `a9` in this run; there are: lead, a1, a2, a3\n"
    )


def test_an_agent_that_waits_is_told(tmp_path: Path, capsys: Capture) -> None:
    folder = halfway_run(tmp_path)

    text = out(capsys, folder, "--agent", "a3")

    assert "state       never ran" in text
    assert "context" not in text.split("see also")[1]
