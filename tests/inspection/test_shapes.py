"""The published schemas fit what is printed, and hold nothing that never is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from context_runs import ContextScript, cleared, context_run, read
from jsonschema import Draft202012Validator
from real_runs import offline_run
from sample_runs import Script, finished_run, halfway_run, open_script, survey, use
from shown_shapes import closed, fields_of, filled_in

from orchestrator.cli.main import main
from orchestrator.events import (
    KINDS,
    BriefReused,
    CacheMissed,
    ControlReceived,
    FileChange,
    LimitReachedEvent,
    ModelReplaced,
    NotesEdited,
    RunEnded,
    RunParked,
    SubagentAsked,
    SubagentEnded,
    TextAdded,
    ToolEnded,
    ToolStarted,
)
from orchestrator.inspection.shapes import SHAPES, schema_of
from orchestrator.messages import text_block
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import RunLock

Json = Any
NAMES = [
    *SHAPES,
    *(pytest.param(n, marks=pytest.mark.slow) for n in ("logs", "events")),
]


class Shown:
    """Takes down what commands print as JSON."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        # `replay` runs the program, `memory` knows no runs: they have tests of their
        # own.
        names = SHAPES.keys() - {"replay", "memory"}
        self.of: dict[str, list[Json]] = {name: [] for name in names}

    def take(self, command: str, *argv: str) -> Json:
        assert main([command, *argv, "--json"]) == 0, argv
        found = orjson.loads(self._capsys.readouterr().out)
        self.of[command].append(found)
        return found

    def take_all(self, folder: RunFolder) -> None:
        run = str(folder.path)
        shown = self.take("show", run)
        self.take("show", run, "--changes")
        self.take("context", run)
        self.take("notes", run)
        for agent in shown["agents"]:
            name = agent["id"]
            self.take("show", run, "--agent", name)
            if agent["state"] != "waiting":
                self.take("transcript", run, name)
                self.take("transcript", run, name, "--step", "h0")
            if agent["compactions"]:
                self.take("diff", run, name, "1")


def parked(runs: Path) -> RunFolder:
    with open_script(runs, "20261129-201501-parked-0001") as (folder, script):
        survey(script, until="fan-out")
        script.put(RunParked("quota", "used up", "", "2026-12-01T00:00:00Z"))
        script.put(
            RunEnded("parked", 75, "the quota is used up", [], 9.0,
                     resume_at="2026-12-01T00:00:00Z")
        )  # fmt: skip
    return folder


def eventful(runs: Path) -> RunFolder:
    """A run in which everything happens that the others have not."""
    with open_script(runs, "20261129-201502-eventful-0002") as (folder, script):
        survey(script, until="fan-out")
        script.put(ControlReceived("steer", "lead", text="Look at b.py"))
        script.put(NotesEdited("Plan", "- b.py"), "lead")
        script.put(CacheMissed(3, 9000, 0, "expired"), "a1")
        script.put(BriefReused("d1", 4, "Again", "a1"), "lead")
        wrap_up = TextAdded("wrap_up", "Hand in.", limit="usd", allowed=1.0)
        script.put(wrap_up, "a1")
        script.put(SubagentAsked("a1", "f1", "And then?", "…"), "a1")
        script.put(ModelReplaced(2, "m", "n", "cyber"), "a1")
        script.put(LimitReachedEvent("usd", 1.0, 1.0), "a1")
        answered(script)
        looked_back(script)
        changed(script, folder)
    return folder


def answered(script: Script) -> None:
    item = {
        "claim": "Tokens are checked.",
        "confidence": 0.5,
        "evidence": [{"source": "a.py:1", "quote": "x"}],
    }
    found = {"summary": "One.", "items": [item], "open_questions": ["Why?"]}
    ended = SubagentEnded(
        "a2", "partial", "limit", "stopped", found, 9, 9, 1, [1], ["a note"]
    )
    script.put(ended, "a2")


def looked_back(script: Script) -> None:
    agent = ContextScript(script, "a4")
    agent.start(window_tokens=20_000, soft_tokens=12_000, hard_tokens=15_000)
    agent.step("read_file", read(1), size=900)
    script.put(cleared(2, "a4.c1"), "a4")
    agent.asked([text_block("- lacks b.py")], size=900, purpose="judge")
    agent.step("recall", {"query": "x", "where": "history"}, size=900)


def changed(script: Script, folder: RunFolder) -> None:
    call = use("w1", "write_file", {"path": "a.py", "text": "x"})
    script.answer("lead", [call])
    script.put(ToolStarted("w1", "write_file", {"path": "a.py"}, "effects"), "lead")
    change = FileChange("a.py", after_sha256="ab", note="binary, 10 bytes")
    ended = ToolEnded("w1", "write_file", "ok", False, 0, 1, 1, changes=[change])
    script.put(ended, "lead")
    script.put(ToolStarted("w2", "bash", {"command": "make"}, "effects"), "lead")
    folder.earlier_report(1).write_text("# Before\n")


@contextmanager
def corpus(runs: Path) -> Iterator[list[RunFolder]]:
    """Runs that are done, partial, parked, crashed, at work, compacted, steered."""
    at_work = halfway_run(runs, "20261129-201503-live-0003")
    with RunLock(at_work.lock):
        yield [
            offline_run(runs, allow=["write"]),
            finished_run(runs, "20261129-201504-partial-0004"),
            halfway_run(runs, "20261129-201505-crashed-0005"),
            context_run(runs, "20261129-201506-compacted-0006"),
            parked(runs),
            eventful(runs),
            at_work,
        ]


@pytest.fixture
def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shown:
    shown = Shown(capsys)
    with corpus(tmp_path) as folders:
        for folder in folders:
            shown.take_all(folder)
        (tmp_path / "20261129-201507-x-0007").mkdir()
        shown.take("runs", "--runs-dir", str(tmp_path))
        shown.take("runs", "--runs-dir", str(tmp_path / "none"))
    return shown


@pytest.mark.slow
def test_what_is_printed_fits_its_schema_and_fills_it(shown: Shown) -> None:
    for command, found in shown.of.items():
        schema = schema_of(command)
        validator = Draft202012Validator(closed(schema))
        for each in found:
            assert [error.message[:300] for error in validator.iter_errors(each)] == []
        names = set(fields_of(schema, schema))
        seen = {path for each in found for path in filled_in(each, names)}
        assert names - seen == set(), command


@pytest.fixture(scope="module")
def of_events() -> Json:
    return schema_of("events")


@pytest.mark.slow
def test_real_events_fit_their_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], of_events: Json
) -> None:
    validator = Draft202012Validator(closed(of_events))
    for folder in (
        offline_run(tmp_path),
        context_run(tmp_path),
        eventful(tmp_path),
    ):
        with folder.events.open("ab") as log:
            log.write(b"{damaged\n")
        assert main(["logs", str(folder.path), "--json"]) == 0
        for line in capsys.readouterr().out.splitlines():
            event = orjson.loads(line)
            errors = [error.message[:300] for error in validator.iter_errors(event)]
            assert errors == [], event["kind"]


@pytest.mark.parametrize("name", NAMES)
def test_each_is_a_schema_that_has_a_word_for_every_object(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", name]) == 0

    schema = orjson.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(schema)
    assert schema["title"] == f"orchestrate {name} --json"
    for title, each in schema.get("$defs", {}).items():
        assert each.get("description"), title


def test_each_kind_of_event_is_told_with_its_fields(of_events: Json) -> None:
    schema = of_events

    assert {*KINDS, "log.damaged"} <= set(schema["$defs"])
    ended = schema["$defs"]["tool.ended"]
    assert ended["description"].startswith("Outcome: the result")
    assert ended["properties"]["full_tokens"]["description"]
    assert "artifact" not in ended["required"]
    assert all(each["description"] for each in schema["properties"].values())


def test_an_event_of_a_later_version_fits_too(of_events: Json) -> None:
    later = {
        "v": 9, "seq": 1, "at": "", "run": "r", "agent": "", "kind": "moon.risen",
        "cause": 0, "data": {"phase": "full"}, "more": 1,
    }  # fmt: skip

    Draft202012Validator(of_events).validate(later)


def test_without_a_name_it_is_the_task_file(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == 0
    assert orjson.loads(capsys.readouterr().out)["title"] == "Task of orchestrate"


def test_shapes_are_loaded_only_where_a_schema_is_asked_for() -> None:
    code = (
        "import sys, orchestrator.cli.show_reader, orchestrator.cli.runs_reader\n"
        "print('orchestrator.inspection.shapes' in sys.modules)"
    )

    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert found.stdout.strip() == "False"
