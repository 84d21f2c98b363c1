"""The reading commands, as their users meet them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from sample_runs import (
    RUN_ID,
    SECRET_ESCAPE,
    finished_run,
    halfway_run,
    open_script,
    survey,
)

from orchestrator.cli.main import main
from orchestrator.cli.notes_text import rendered_notes
from orchestrator.cli.output import Style, width
from orchestrator.cli.run_table import run_table
from orchestrator.events import CacheMissed, ToolEnded
from orchestrator.inspection.reading import RunSummary
from orchestrator.store.layout import RunFolder

pytestmark = pytest.mark.usefixtures("runs")

Capture = pytest.CaptureFixture[str]
OTHER_ID = "20261129-203000-other-1234"


@pytest.fixture
def folder(runs: Path) -> RunFolder:
    return finished_run(runs)


def out(capsys: Capture, *argv: str, status: int = 0) -> str:
    assert main(argv) == status
    return capsys.readouterr().out


def out_json(capsys: Capture, *argv: str) -> Any:
    return orjson.loads(out(capsys, *argv, "--json"))


def test_the_folder_of_the_environment_may_lie_in_the_home(
    folder: RunFolder, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(folder.path.parent.parent))
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", f"~/{folder.path.parent.name}")

    assert RUN_ID in out(capsys, "runs")


def test_runs_lists_the_newest_first(folder: RunFolder, capsys: Capture) -> None:
    halfway_run(folder.path.parent, OTHER_ID)

    heading, first, second, sums = out(capsys, "runs").splitlines()

    assert heading.split() == ["run", "state", "age", "agents", "tokens", "usd"]
    assert first.split()[:2] == [OTHER_ID, "crashed"]
    assert second.split()[:2] == [RUN_ID, "partial"]
    assert sums.startswith("2 runs (1 crashed, 1 partial): ")


def test_runs_shows_twenty_and_says_that_there_are_more(
    runs: Path, capsys: Capture
) -> None:
    for number in range(22):
        with open_script(runs, f"20261129-2015{number:02}-x-0000") as (_, script):
            script.start_run()

    assert main(["runs"]) == 0
    shown, told = capsys.readouterr()
    assert len(shown.splitlines()) == 22
    assert told == "2 older ones: --all lists them\n"
    assert len(out_json(capsys, "runs", "--all")["runs"]) == 22


def test_no_runs_says_how_to_start_one(capsys: Capture) -> None:
    assert main(["runs"]) == 0

    shown, told = capsys.readouterr()
    assert shown == ""
    assert "orchestrate run TASK.yaml" in told


def test_show_tells_state_reason_and_what_is_missing(
    folder: RunFolder, capsys: Capture
) -> None:
    shown = out(capsys, "show", "last")

    assert "state       partial: 1 of 3 subagents failed\n" in shown
    assert "missing     - a2 “Session storage”: invalid: 400" in shown
    assert "1 finding unsupported" in shown
    assert "wrong citation: [src/auth_9.py:3] no such file" in shown
    assert "! 1 brief was refused: “The rest”\n" in shown
    assert str(folder.report) in shown


def test_show_draws_the_tree_of_agents(folder: RunFolder, capsys: Capture) -> None:
    lines = out(capsys, "show", RUN_ID[:17]).splitlines()

    assert [line.split()[:2] for line in lines if line.startswith(("├─", "└─"))] == [
        ["├─", "a1"],
        ["├─", "a2"],
        ["└─", "a3"],
    ]


def test_show_gives_each_agents_share_from_the_cache(
    folder: RunFolder, capsys: Capture
) -> None:
    text = out(capsys, "show", "last")

    assert re.search(r"in +out +cache +explored", text)
    assert re.search(r"a1 .* \d+% ", text)


def test_show_counts_what_the_cache_missed_by_cause(
    runs: Path, capsys: Capture
) -> None:
    with open_script(runs) as (_folder, script):
        survey(script)
        script.put(CacheMissed(3, 9000, 0, "expired"), "lead")
        script.put(CacheMissed(2, 4000, 10, "expired"), "a1")
        script.put(CacheMissed(4, 4000, 10, "prefix_changed", "x"), "a1")
        script.put(CacheMissed(2, 3000, 0, "not_cached"), "a2")

    [line, *more] = out(capsys, "show", "last").split("\ncache")[1].splitlines()
    told = " ".join([line, *more[:2]])
    agents = out_json(capsys, "show", "last")["agents"]

    assert "read less than it should 3 times: 2 too long after" in told
    assert "1 not begun like the request before; the endpoint" in " ".join(told.split())
    assert agents[1]["cache_misses"] == {"expired": 1, "prefix_changed": 1}


def test_show_says_nothing_of_a_cache_that_missed_nothing(
    folder: RunFolder, capsys: Capture
) -> None:
    assert "\ncache" not in out(capsys, "show", "last")


@pytest.mark.parametrize("command", ["runs", "show"])
@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_window(
    folder: RunFolder,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    shown = out(capsys, command, *(["last"] if command == "show" else []))

    table = [line for line in shown.splitlines() if str(folder.path) not in line]
    assert all(width(line) <= columns for line in table)


def test_show_of_a_crashed_run_says_how_to_go_on(runs: Path, capsys: Capture) -> None:
    halfway_run(runs)

    shown = out(capsys, "show", "last")

    assert "crashed: its process is gone" in shown
    assert f"orchestrate resume {runs / RUN_ID}" in shown
    assert "never ran" in shown


def test_show_as_json_has_the_whole_view(folder: RunFolder, capsys: Capture) -> None:
    found = out_json(capsys, "show", "last")

    assert (found["state"], found["exit_code"]) == ("partial", 3)
    assert [agent["id"] for agent in found["agents"]] == ["lead", "a1", "a2", "a3"]
    assert found["files"]["report"] == str(folder.report)


def test_an_unknown_run_is_wrong_usage(folder: RunFolder, capsys: Capture) -> None:
    assert main(["show", "nope"]) == 2
    assert capsys.readouterr().err.startswith("error: no run `nope`")


def test_a_bare_noun_matches_all_of_its_verbs(
    folder: RunFolder, capsys: Capture
) -> None:
    shown = out(capsys, "logs", "last", "--kind", "subagent").splitlines()

    kinds = {line.split()[3] for line in shown}
    assert kinds == {"subagent.accepted", "subagent.ended"}
    assert len(shown) == 6


def test_logs_of_one_agent(folder: RunFolder, capsys: Capture) -> None:
    shown = out(capsys, "logs", "last", "--agent", "a2").splitlines()

    assert {line.split()[2] for line in shown} == {"a2"}


def test_logs_as_json_are_the_events_of_the_log(
    folder: RunFolder, capsys: Capture
) -> None:
    shown = out(capsys, "logs", "last", "--json").splitlines()

    written = folder.events.read_bytes().splitlines()
    assert [orjson.loads(line) for line in shown] == [
        orjson.loads(line) for line in written
    ]


def test_logs_since_an_event_number(folder: RunFolder, capsys: Capture) -> None:
    shown = out(capsys, "logs", "last", "--since", "#5", "--json").splitlines()

    assert orjson.loads(shown[0])["seq"] == 5


@pytest.mark.parametrize(
    ("since", "count"),
    [("2026-11-29T20:15:20Z", 12), ("2126-11-29 20:15", 0), ("20000d", None)],
)
def test_logs_since_a_time(
    folder: RunFolder, capsys: Capture, since: str, count: int | None
) -> None:
    every = len(folder.events.read_bytes().splitlines())

    shown = out(capsys, "logs", "last", "--since", since).splitlines()

    assert len(shown) == (every if count is None else count)


@pytest.mark.parametrize("since", ["soon", "25:99", "12", "99999999999d"])
def test_a_since_that_is_no_time_says_what_is_allowed(
    folder: RunFolder, capsys: Capture, since: str
) -> None:
    assert main(["logs", "last", "--since", since]) == 2
    assert f"found `{since}`, allowed are" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (
            ("--agent", "a9"),
            2,
            "no agent `a9` in this run; there are: a1, a2, a3, lead",
        ),
        (("--kind", "foo"), 0, "no event of kind `foo`; there are: agent.ended"),
        (("--kind", "run", "--agent", "a1"), 0, "no event matches"),
    ],
)
def test_logs_without_a_match_say_why(
    folder: RunFolder,
    capsys: Capture,
    options: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    assert main(["logs", "last", *options]) == status

    shown, told = capsys.readouterr()
    assert shown == ""
    assert words in told


def test_following_an_ended_run_ends(folder: RunFolder, capsys: Capture) -> None:
    whole = out(capsys, "logs", "last")

    assert out(capsys, "logs", "last", "--follow") == whole


@pytest.mark.parametrize("torn", [b"", b'{"v":1,"seq":'])
def test_following_a_crashed_run_says_so(
    runs: Path, capsys: Capture, torn: bytes
) -> None:
    folder = halfway_run(runs)
    with folder.events.open("ab") as log:
        log.write(torn)

    assert main(["logs", "last", "--follow"]) == 0

    [note] = capsys.readouterr().err.splitlines()
    assert note.startswith("note: the run is crashed, nobody works on it")


def test_text_of_the_run_cannot_steer_the_terminal(runs: Path, capsys: Capture) -> None:
    with open_script(runs) as (folder, script):
        script.start_run()
        script.start_agent("a1", SECRET_ESCAPE, SECRET_ESCAPE)
        content = [{"type": "tool_use", "id": "c", "name": "grep", "input": {}}]
        script.answer("a1", content)
        ended = ToolEnded("c", "grep", SECRET_ESCAPE, True, 0, 1, 1)
        script.put(ended, "a1")
    folder.progress.write_text(SECRET_ESCAPE, encoding="utf-8")

    for argv in (["show"], ["logs"], ["notes"], ["transcript"]):
        for more in ([], ["--json"]):
            agent = ["a1"] if argv == ["transcript"] else []
            shown = out(capsys, *argv, "last", *agent, *more)
            assert not set(shown) & set("\x1b\x07\u202e"), argv


def test_a_log_of_the_future_can_be_read(folder: RunFolder, capsys: Capture) -> None:
    line = (
        b'{"v":7,"seq":999,"at":"2026-11-29T20:16:00.000Z","run":"r","agent":"a1",'
        b'"kind":"moon.risen","cause":0,"data":{"phase":"full"},"more":1}\n'
    )
    with folder.events.open("ab") as log:
        log.write(line)

    assert "moon.risen (1)" in out(capsys, "show", "last")
    assert "phase=full" in out(capsys, "logs", "last", "--kind", "moon")


def test_piped_notes_are_the_file(folder: RunFolder, capsys: Capture) -> None:
    text = folder.progress.read_text(encoding="utf-8")

    assert out(capsys, "notes", "last") == text
    assert out_json(capsys, "notes", "last")["text"] == text


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("- **State:** done", "• State: done"),
        ("_Nothing yet._", "Nothing yet."),
        ("see [the file](a/b.md)", "see the file (a/b.md)"),
        ("[a/b.md](a/b.md)", "a/b.md"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
    ],
)
def test_notes_on_a_terminal_have_no_marks(line: str, shown: str) -> None:
    assert list(rendered_notes(line, style=Style(is_on=False))) == [shown]


def test_a_remark_stands_beside_the_heading_that_it_is_about() -> None:
    remarks = {"Plan": "changed by a person\x1b[31m"}
    lines = rendered_notes(
        "## Goal\nx\n## Plan\ny", style=Style(is_on=False), remarks=remarks
    )

    assert list(lines) == ["Goal", "x", "Plan  (changed by a person␛[31m)", "y"]


def test_long_ids_are_cut_on_a_terminal_only() -> None:
    long = RunSummary(RUN_ID + "x" * 40, "t", "done", "", 0, 1, 0, None)
    now = datetime.now(UTC)

    cut, whole = (
        list(run_table([long], now=now, style=Style(is_on=False), whole_ids=whole))[1]
        for whole in (False, True)
    )

    assert width(cut) <= 80
    assert cut.startswith("20261129-201500-")
    assert whole.startswith(long.id)


def test_notes_of_a_crashed_run_say_so_beside_them(
    folder: RunFolder, capsys: Capture
) -> None:
    log = folder.events.read_bytes().splitlines(keepends=True)
    folder.events.write_bytes(b"".join(log[:-1]))

    assert main(["notes", "last"]) == 0

    shown = capsys.readouterr()
    assert shown.out == folder.progress.read_text()
    assert "nobody works on it" in shown.err


def test_notes_that_are_not_there_yet_are_said_so(runs: Path, capsys: Capture) -> None:
    halfway_run(runs)

    assert main(["notes", "last"]) == 0
    assert capsys.readouterr() == ("", f"no notes yet in {RUN_ID}\n")


def test_notes_on_a_terminal_have_aligned_tables_and_no_comments() -> None:
    table = "| a | bb |\n| --- | --- |\n| 中文 | c |"
    text = f"# T\n<!-- program\nheader -->\n{table}\n- [x] y"

    assert list(rendered_notes(text, style=Style(is_on=False))) == [
        "T",
        "a     bb",
        "中文  c",
        "☑ y",
    ]


def test_a_transcript_has_calls_and_results_in_order(
    folder: RunFolder, capsys: Capture
) -> None:
    shown = out(capsys, "transcript", "last", "a1")

    places = [
        shown.index(words)
        for words in (
            "── system prompt",
            "── user: the task",
            "Find out: Where tokens are checked.",
            "── assistant, turn 1",
            "→ grep: searches for “verify_token” in src",
            "← result of grep:",
            "← result of read_file:",
            "── assistant, turn 2",
            "→ submit_findings (complete):",
            "ended, submitted",
        )
    ]
    assert places == sorted(places)


def test_a_short_transcript_hides_the_rest_of_long_texts(
    folder: RunFolder, capsys: Capture
) -> None:
    short = out(capsys, "transcript", "last", "a1")
    full = out(capsys, "transcript", "last", "a1", "--full")

    assert "Rule 39 of the prompt." not in short
    assert "more characters; --full shows them" in short
    assert "Rule 39 of the prompt." in full
    assert "--full shows them" not in full


def test_a_view_is_what_was_sent_at_that_turn(
    folder: RunFolder, capsys: Capture
) -> None:
    first = out_json(capsys, "transcript", "last", "a1", "--view", "1")
    second = out_json(capsys, "transcript", "last", "a1", "--view", "2")

    assert [message["role"] for message in first["messages"]] == ["user"]
    assert [block["type"] for block in second["messages"][2]["content"]] == [
        "tool_result",
        "tool_result",
    ]
    assert second["messages"][:1] == first["messages"]
    assert [tool["name"] for tool in second["tools"]] == ["grep", "read_file"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["a9"], "no agent `a9` in this run; there are: lead, a1, a2, a3"),
        (["a1", "--view", "9"], "`--view`: no turn 9 was sent; there are: 1 to 4"),
    ],
)
def test_a_transcript_that_is_not_there_is_wrong_usage(
    folder: RunFolder, capsys: Capture, argv: list[str], words: str
) -> None:
    assert main(["transcript", "last", *argv]) == 2
    assert capsys.readouterr().err == f"error: {words}\n"


def test_an_agent_that_waits_has_no_transcript_yet(runs: Path, capsys: Capture) -> None:
    halfway_run(runs)

    assert main(["transcript", "last", "a3"]) == 2
    assert "has not started yet" in capsys.readouterr().err


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colours_come_on_a_terminal_unless_unwanted(
    folder: RunFolder, no_color: str
) -> None:
    reading, writing = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "orchestrator", "runs"],
        stdout=writing,
        env={**os.environ, "NO_COLOR": no_color, "TERM": "xterm"},
        check=True,
    )
    os.close(writing)

    shown = os.read(reading, 65536)
    os.close(reading)
    assert (b"\x1b[" in shown) is not bool(no_color)
