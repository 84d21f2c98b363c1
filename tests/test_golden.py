"""Run folders that older programs left behind load, rebuild and resume for ever.

Each version of the event schema has a folder that is never made again. A new kind or
field needs no new folder; a new version does.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest
from golden import GOLDEN, HOME, PAPERS, REPORT, copied, make, policy

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.events import KINDS, SCHEMA_VERSION, Event, parse
from orchestrator.inspection.run import RunView
from orchestrator.messages import text_of
from orchestrator.models.base import Usage
from orchestrator.spec.profiles import discover
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.store.transcript import rebuild
from orchestrator.testing import FakeClock, ScriptedModel

VERSIONS = sorted(path.name for path in GOLDEN.iterdir())
# Kinds that came after a folder was made; what is not here must be in it.
LATER = {
    "v1": {
        "run.reopened",
        "control.received",
        "thinking.dropped",
        "result.replaced",
        "model.adapted",
        "model.replaced",
        "brief.reused",
        "subagent.asked",
        "run.parked",
        "cache.missed",
        "context.cleared",
        "context.compacted",
        "permission.answered",
        "permission.asked",
        "notes.edited",
        "evidence.stale",
        "memory.kept",
        "memory.recalled",
    }
}

pytestmark = pytest.mark.parametrize("version", VERSIONS)


def events_of(run: RunFolder) -> list[Event]:
    return list(read_events(run.events, Artifacts(run.artifacts)))


@pytest.fixture
def run(version: str, tmp_path: Path) -> RunFolder:
    return copied(version, tmp_path)


def test_there_is_one_for_each_version_of_the_schema(version: str) -> None:
    assert f"v{SCHEMA_VERSION}" in VERSIONS
    assert version in LATER


def test_every_kind_it_knew_is_in_it_and_still_known(
    version: str, run: RunFolder
) -> None:
    kinds = {event.kind for event in events_of(run)}

    assert kinds == set(KINDS) - LATER[version]


def test_every_field_of_every_event_is_still_read(run: RunFolder) -> None:
    for event in events_of(run):
        kind = KINDS[event.kind]
        known = {each.name for each in fields(kind)}
        assert set(event.data) <= known, event.kind
        read = asdict(parse(event, kind))
        assert {name: read[name] for name in event.data} == event.data
        assert event.v == 1


def test_the_words_of_nested_records_are_still_read(run: RunFolder) -> None:
    for event in events_of(run):
        if event.kind == "model.answered":
            assert asdict(Usage(**event.data["usage"])) == event.data["usage"]
        for seen in event.data.get("files", ()):
            assert set(seen) == {"path", "sha256", "artifact", "lines"}


def test_the_view_of_it_is_what_it_was(run: RunFolder) -> None:
    view = RunView()
    for event in events_of(run):
        view.apply(event)

    assert view.unknown == {}
    assert view.damaged == 0
    assert view.is_running  # its process died
    assert set(view.agents) == {"lead", "a1", "a2", "a3"}
    assert view.limits_reached == [("a2", "turns")]
    assert [title for title, _ in view.refused_briefs] == ["Nothing"]
    assert view.resumes == 1
    assert view.tokens.output > 0
    assert view.cost.usd is not None


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["show"], id="show"),
        pytest.param(["show", "--json"], id="show --json"),
        pytest.param(["logs"], id="logs"),
        pytest.param(["notes"], id="notes"),
        pytest.param(["transcript"], id="transcript"),
    ],
)
def test_the_reading_commands_still_read_it(
    run: RunFolder, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    agent = ["a1"] if name == "transcript" else []

    status = main([name, str(run.path), *agent, *options])

    shown = capsys.readouterr()
    assert status == 0
    # The one it has is of a run that was killed.
    assert shown.err == "" or (name == "notes" and "is crashed" in shown.err)
    assert len(shown.out) > 200


def test_conversations_are_rebuilt_as_they_were(run: RunFolder) -> None:
    events = events_of(run)
    for agent in ("lead", "a1", "a2"):
        messages = rebuild(events, agent)
        roles = [message["role"] for message in messages]
        assert roles[:2] == ["user", "assistant"]
        assert "user" in roles[-2:]
    assert "A refund takes 14 days." in text_of(rebuild(events, "a1")[2]["content"])


def test_its_profiles_are_still_read(run: RunFolder) -> None:
    found = discover(run.inputs, run.path)

    assert {"lead", "explorer"} <= set(found.files)
    assert found.files["lead"].is_relative_to(run.path)


async def test_it_goes_on_from_where_it_died(run: RunFolder) -> None:
    before = events_of(run)
    model = ScriptedModel(policy)

    async with Orchestrator(
        runs_dir=run.path.parent, model=model, clock=FakeClock()
    ) as here:
        result = await here.resume(run.path)

    assert (result.state, result.exit_code) == ("partial", 3)  # a3 has failed
    assert result.report.startswith(REPORT)
    assert result.missing == [
        "subagent a3 (Letters) failed: invalid: the request was refused"
    ]
    assert len(model.requests) == 1
    assert model.requests[0].system == before[1].data["system"]
    assert model.requests[0].tools == before[1].data["tools"]
    after = events_of(run)
    assert after[: len(before)] == before
    assert {event.kind for event in after[len(before) :]} >= {
        "run.resumed",
        "run.ended",
    }
    assert result.totals.calls == sum(e.kind == "model.answered" for e in after)


def test_nothing_in_it_is_of_the_machine_that_made_it(version: str) -> None:
    for path in (GOLDEN / version).rglob("*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert "/tmp/" not in text
            assert f"{Path.home()}/" not in text


def test_one_can_still_be_made(version: str, tmp_path: Path) -> None:
    make(tmp_path / version)

    [run] = (tmp_path / version / "runs").iterdir()
    kinds = [event.kind for event in events_of(RunFolder(run))]
    assert set(kinds) >= set(KINDS) - LATER[version]
    assert HOME in (run / "task.yaml").read_text()
    assert (tmp_path / version / "work" / "manual.md").read_text() == PAPERS[
        "manual.md"
    ]
