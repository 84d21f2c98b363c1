"""Whatever stands in a run, no reading command lets it act or breaks on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from context_runs import ContextScript, compacted
from sample_runs import Script, open_script, use
from terminal import Terminal, strange_sequences

from orchestrator.cli.main import main
from orchestrator.events import (
    BriefRefused,
    ControlReceived,
    NotesEdited,
    RunEnded,
    SubagentAccepted,
    SubagentEnded,
    ToolEnded,
    ToolStarted,
)
from orchestrator.messages import text_block
from orchestrator.store.layout import RunFolder

Capture = pytest.CaptureFixture[str]

EVIL = (
    "\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b[2J\x1b[31mred\x9b1;1H \u202egnp.exe\u2066 "
    "\x08\x08\r\x0c\x00\x85\u2028<script>alert(1)</script> \x1b[6n \ud83d\ude00 "
    "e\u0301 \ufeff\u200b\U000e0041"
)
ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\U000e0000-\U000e007f]"
)
SHORT, LONG = 3000, 1_000_000
RUN_ID = "20261129-201500-evil-7f3a"


def evil_run(runs: Path, size: int) -> RunFolder:
    long_line = EVIL + "x" * size
    with open_script(runs, RUN_ID) as (folder, script):
        script.start_run()
        script.start_agent("lead", EVIL, EVIL)
        script.put(
            SubagentAccepted(
                "a1", "d1", 0, EVIL, EVIL,
                {"title": EVIL, "objective": EVIL, "questions": [EVIL],
                 "scope": {"include": [EVIL], "exclude": [EVIL]}},
            ),
            "lead",
        )  # fmt: skip
        script.put(BriefRefused("d1", 1, EVIL, [EVIL]), "lead")
        script.start_agent("a1", EVIL, long_line)
        calls(script, long_line)
        agent = ContextScript(script, "a2")
        agent.start(window_tokens=20_000)
        agent.step("read_file", {"path": EVIL}, size=900, result=long_line)
        agent.step(EVIL, {EVIL: EVIL}, size=900, result=EVIL)
        evil = {"text": long_line, "summary": EVIL, "why": EVIL, "how": EVIL}
        check = {"check": EVIL, "found": 1, "lost": [EVIL]}
        edit = compacted(3, 1, 1, kept=2, **evil, checks=[check], added=[EVIL])
        script.put(edit, "a2")
        script.put(ControlReceived("steer", "lead", text=EVIL))
        script.put(ControlReceived(EVIL, EVIL, reason=EVIL))
        script.put(NotesEdited(EVIL, EVIL), "lead")
        item = {"claim": EVIL, "evidence": [{"source": EVIL, "quote": EVIL}]}
        found = {"summary": EVIL, "items": [item], "open_questions": [EVIL]}
        script.put(
            SubagentEnded("a1", EVIL, EVIL, EVIL, found, 9, 9, 1, [1], [EVIL]), "a1"
        )
        script.put(
            RunEnded("partial", 3, EVIL, [EVIL, f"subagent a1 {EVIL}"], 9.0, EVIL)
        )
    for path in (folder.progress, folder.report):
        path.write_text(EVIL, encoding="utf-8", errors="surrogatepass")
    return folder


def calls(script: Script, long_line: str) -> None:
    script.answer("a1", [text_block(EVIL), use("c1", "grep", {"pattern": EVIL})])
    script.put(ToolStarted("c1", "grep", {"pattern": EVIL}, "reads"), "a1")
    script.put(ToolEnded("c1", "grep", long_line, True, 0, 1, 1, EVIL), "a1")
    script.answer("a1", [{"type": EVIL}, use("c2", "bash", {"command": long_line})])
    script.put(ToolStarted("c2", EVIL, {EVIL: EVIL}, EVIL), "a1")
    script.put(ToolEnded("c2", EVIL, [text_block(EVIL)], False, 0, 1, 1), "a1")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(SHORT, id="lines"),
        pytest.param(LONG, id="long lines", marks=pytest.mark.slow),
    ],
)
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> RunFolder:
    return evil_run(tmp_path_factory.mktemp("runs"), request.param)


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """For a terminal in memory, which takes its time for each character."""
    return evil_run(tmp_path_factory.mktemp("shorter"), SHORT)


COMMANDS: dict[str, tuple[str, ...]] = {
    "runs": ("runs",),
    "show": ("show", RUN_ID),
    "show a1": ("show", RUN_ID, "--agent", "a1"),
    "show a2": ("show", RUN_ID, "--agent", "a2"),
    "show by": ("show", RUN_ID, "--by", "tool", "--by", "model", "--by", "wait"),
    "logs": ("logs", RUN_ID),
    "logs errors": ("logs", RUN_ID, "--errors", "--grep", "owned"),
    "logs nothing": ("logs", RUN_ID, "--kind", "\x1b[31m"),
    "transcript": ("transcript", RUN_ID, "a1"),
    "transcript full": ("transcript", RUN_ID, "a1", "--full"),
    "transcript tool": ("transcript", RUN_ID, "a1", "--tool", "grep"),
    "transcript step": ("transcript", RUN_ID, "a1", "--step", "h1"),
    "context": ("context", RUN_ID, "--agent", "a2"),
    "diff": ("diff", RUN_ID, "a2", "1"),
    "diff full": ("diff", RUN_ID, "a2", "1", "--full"),
    "notes": ("notes", RUN_ID),
}


@pytest.fixture
def here(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", str(folder.path.parent))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_acts_where_it_is_piped(capsys: Capture, name: str) -> None:
    assert main([*COMMANDS[name]]) == 0

    shown, told = capsys.readouterr()
    assert not ACTS.search(shown)
    assert not ACTS.search(told)
    is_whole = "full" in name or "step" in name
    assert is_whole or len(shown) < 200_000


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", COMMANDS)
def test_json_stays_json_and_harmless(capsys: Capture, name: str) -> None:
    assert main([*COMMANDS[name], "--json"]) == 0

    shown = capsys.readouterr().out
    assert not ACTS.search(shown)
    values = shown.splitlines() if name.startswith("logs") else [shown]
    found: list[Any] = [orjson.loads(each) for each in values]
    assert all(isinstance(each, dict) and each["v"] == 1 for each in found)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (200, 60)])
def test_nothing_acts_on_a_terminal(
    shorter: RunFolder, monkeypatch: pytest.MonkeyPatch, columns: int, rows: int
) -> None:
    monkeypatch.setenv("ORCHESTRATE_RUNS_DIR", str(shorter.path.parent))
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, argv in COMMANDS.items():
        terminal = Terminal(columns, rows)
        monkeypatch.setattr(sys, "stdout", terminal)
        assert main([*argv]) == 0, name
        sent = terminal.getvalue()
        assert strange_sequences(sent) == "", name
        assert terminal.screen.asked == [], name
        assert terminal.screen.title == "", name


@pytest.mark.usefixtures("here")
def test_each_event_is_one_line(folder: RunFolder, capsys: Capture) -> None:
    assert main(["logs", RUN_ID]) == 0

    lines = capsys.readouterr().out.split("\n")
    assert len(lines) - 1 == len(folder.events.read_bytes().splitlines())


@pytest.mark.slow
@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("command", ["show", "logs", "transcript", "runs"])
def test_a_reader_that_leaves_early_is_no_error(command: str) -> None:
    argv = [*COMMANDS[command], *(["--full"] if command == "transcript" else [])]
    with subprocess.Popen(
        [sys.executable, "-m", "orchestrator", *argv],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    ) as reading:
        assert reading.stdout is not None
        assert reading.stderr is not None
        reading.stdout.read(1)
        reading.stdout.close()
        told = reading.stderr.read()

    assert told == b""
    assert reading.returncode in (0, 141)
