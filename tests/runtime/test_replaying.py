"""Runs again from what is on record of them: the same bytes, or where they differ."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import orjson
import pytest
from refund_runs import FILES, OTHER, READ, WORK, Gate, replies_in, sent
from replay_bench import copied, record_eight
from run_bench import (
    Ended,
    Prints,
    RunBench,
    finish,
    in_turn,
    item,
    submit,
)

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.errors import SpecError, StoreError
from orchestrator.ids import sha256
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.replaying.replay import Replayed, replay
from orchestrator.security.permissions import Answer, Ask
from orchestrator.store.layout import RunFolder
from orchestrator.testing import ScriptedModel, Step, call, fail, hang
from orchestrator.testing import replay as replay_in_a_test

REPORT = "A refund takes 14 days [refunds.md:1]."


def again(folder: Path, **options: Path) -> Replayed:
    return replay(RunFolder(folder), **options)


def assert_same(found: Replayed) -> None:
    assert found.first is None
    assert (found.extra, found.missing) == ((), ())
    assert found.requests == found.same > 0
    assert found.is_same


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two subagents, whose workspace is gone."""
    bench = RunBench(tmp_path_factory.mktemp("recorded"), FILES)

    async def work() -> Ended:
        lead = [sent("One", "Two"), finish(REPORT)]
        two = [READ, submit(item("It takes 30 days.", "refunds.md:2", OTHER))]
        return await bench.play(lead, {"One": WORK, "Two": two})

    ended = anyio.run(work)
    shutil.rmtree(bench.root)
    return ended.folder


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


def edited(folder: Path, to: Path, name: str, old: str, new: str) -> Path:
    """A copy of a run, one file of which is changed."""
    there = copied(folder, to)
    path = there / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return there


def test_a_run_is_the_same_at_another_path_without_its_workspace(
    recorded: Path, tmp_path: Path
) -> None:
    there = copied(recorded, tmp_path / "elsewhere")
    before = contents(there)

    found = again(there)

    assert_same(found)
    assert found.events == found.total
    assert found.state == ("done", "done")
    assert contents(there) == before


@pytest.mark.parametrize(
    ("name", "old", "new", "agent", "where"),
    [
        pytest.param(
            "inputs/prompts/brief.md", "# {{title}}", "# On {{title}}", "a1",
            "message 1 (user), line ", id="prompt of a brief",
        ),
        pytest.param(
            "inputs/agents/explorer.md", "You answer", "You may answer", "a1",
            "system prompt, line 1", id="profile",
        ),
        pytest.param(
            "inputs/prompts/workspace.md", "{{facts}}", "It holds: {{facts}}", "lead",
            "system prompt, line ", id="facts of the workspace",
        ),
    ],
)  # fmt: skip
def test_one_changed_input_is_named_with_agent_turn_and_line(
    recorded: Path,
    tmp_path: Path,
    name: str,
    old: str,
    new: str,
    agent: str,
    where: str,
) -> None:
    found = again(edited(recorded, tmp_path, name, old, new))

    assert not found.is_same
    first = found.first
    assert first is not None
    assert (first.agent, first.turn) == (agent, 1)
    assert first.where.startswith(where)
    assert first.recorded != first.now
    assert new.partition("{")[0].strip() in first.now
    assert {each.agent for each in found.differences} >= {agent}


def test_prompts_and_profiles_of_another_folder_can_be_tried(
    recorded: Path, tmp_path: Path
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    shutil.copy(recorded / "inputs/prompts/brief.md", prompts)

    same = again(recorded, inputs=tmp_path)
    text = (prompts / "brief.md").read_text()
    (prompts / "brief.md").write_text(text.replace("# {{title}}", "# Now: {{title}}"))
    other = again(recorded, inputs=tmp_path)

    assert_same(same)
    assert other.first is not None
    assert (other.first.recorded, other.first.now) == ("# One", "# Now: One")


def test_a_prompt_that_is_wrong_is_told_as_in_a_run(
    recorded: Path, tmp_path: Path
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts/brief.md").write_text("{{titel}}")

    with pytest.raises(SpecError, match="unknown placeholder"):
        again(recorded, inputs=tmp_path)


def test_a_log_without_a_start_is_told(recorded: Path, tmp_path: Path) -> None:
    there = copied(recorded, tmp_path)
    lines = (there / "events.jsonl").read_bytes().splitlines(keepends=True)
    (there / "events.jsonl").write_bytes(b"".join(lines[1:]))

    with pytest.raises(StoreError, match="does not tell how the run began"):
        again(there)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9])
async def test_a_run_that_was_killed_and_gone_on_with_is_the_same(
    bench: RunBench, part: float
) -> None:
    def left(*steps: Step) -> Callable[[ModelRequest], Step]:
        return lambda request: steps[replies_in(request)]

    lead = left(sent("One", "Two"), finish(REPORT))
    workers = {"One": left(*WORK), "Two": left(*WORK)}
    ended = await bench.play(lead, workers)
    log = ended.folder / "events.jsonl"
    data = log.read_bytes()
    log.write_bytes(data[: int(len(data) * part)])

    resumed = await bench.resume(ended.folder, lead, workers)
    found = again(resumed.folder)

    assert resumed.result.state == "done"
    assert_same(found)
    assert found.parts == 2


async def test_errors_and_time_limits_are_done_again(bench: RunBench) -> None:
    gate, asked = Gate(), {"One": anyio.Event(), "Two": anyio.Event()}

    async def one(request: ModelRequest) -> Step:
        if replies_in(request):
            asked["One"].set()
        return await gate(request)

    async def two(_request: ModelRequest) -> Step:
        asked["Two"].set()
        return hang()

    async def three(_request: ModelRequest) -> Step:
        for each in asked.values():  # what the others have set aside is set aside
            await each.wait()
        return fail("invalid", "Bad.")

    lead = in_turn(
        sent("One", "Two", "Three", wait="first"),
        call("wait_for", mode="all", timeout_s=0.2),
        call("cancel", agent="a2", reason="It takes too long."),
        gate.opened(call("wait_for", mode="all")),
        finish(REPORT),
    )

    ended = await bench.play(lead, {"One": one, "Two": two, "Three": three})

    assert ended.result.state == "partial"
    assert_same(again(ended.folder))


async def test_a_parked_run_and_its_resume_are_the_same(bench: RunBench) -> None:
    quota = fail("quota_exhausted", "You will regain access on 2030-12-01 at 00:00 UTC")
    ended = await bench.play([sent("One"), finish(REPORT)], {"One": [READ, quota]})
    assert ended.result.state == "parked"

    assert_same(again(ended.folder))


async def test_what_a_person_allowed_is_allowed_again(bench: RunBench) -> None:
    async def asker(agent: str, tool: str, ask: Ask) -> Answer:
        return "once" if "new" in ask.effect else "no"

    lead = [
        call("write_file", path="a.txt", text="new\n"),
        call("write_file", path="b.txt", text="other\n"),
        finish("Nothing is cited."),
    ]
    task = bench.task(allow=[{"write": "ask"}])
    async with Orchestrator(
        runs_dir=bench.runs, model=ScriptedModel(lead), asker=asker
    ) as here:
        ended = await here.run(task)
    assert (bench.root / "a.txt").exists()
    assert not (bench.root / "b.txt").exists()
    (bench.root / "a.txt").unlink()

    assert_same(again(ended.folder))
    assert not (bench.root / "a.txt").exists()


async def test_tools_of_the_user_are_not_needed(bench: RunBench) -> None:
    lead = [call("prints"), finish("Nothing is cited.")]
    tool = Prints(lambda agent: f"printed by {agent}")
    ended = await bench.run(ScriptedModel(lead), tools=[tool])
    tool.make = lambda _agent: pytest.fail("it ran")

    assert_same(again(ended.folder))


async def test_a_fault_of_a_model_ends_it_again(bench: RunBench) -> None:
    def breaks(_request: object) -> str:
        raise ZeroDivisionError("of its own")

    lead = [sent("One"), finish("Nothing is cited.")]
    ended = await bench.play(lead, {"One": in_turn(READ, breaks)})

    found = again(ended.folder)

    assert_same(found)
    assert found.state == ("partial", "partial")


async def test_users_tests_can_replay_where_an_event_loop_runs(recorded: Path) -> None:
    found = replay_in_a_test(recorded)

    assert found.is_same, found.first


def test_the_command_tells_that_all_is_the_same(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["replay", str(recorded)])

    out = capsys.readouterr().out
    assert status == 0
    assert "6 requests, all the same, byte for byte" in out
    assert "done; the same report" in out


def test_the_command_names_the_first_difference_of_each_agent(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = edited(
        recorded,
        tmp_path,
        "inputs/prompts/brief.md",
        "# {{title}}",
        "# \x1b[31m{{title}}",
    )

    status = main(["replay", str(there)])
    out = capsys.readouterr().out
    main(["replay", str(there), "--json"])
    told = orjson.loads(capsys.readouterr().out)

    assert status == 1
    assert "2 of 6 requests are the same" in out
    assert "first       a1, turn 1: message 1 (user)" in out
    assert "then        a2, turn 1: message 1 (user)" in out
    assert "\x1b" not in out
    assert (told["same"], told["requests"], told["is_same"]) == (2, 6, False)
    assert [each["agent"] for each in told["differences"]] == ["a1", "a2"]


SCRIPT = """
import sys
from pathlib import Path
from orchestrator.testing import replay
found = replay(Path(sys.argv[1]))
print(found.is_same, found.requests, found.same, len(found.extra), len(found.missing))
"""


@pytest.mark.slow
def test_eight_subagents_and_compactions_are_the_same_whatever_the_hash_seed(
    tmp_path: Path,
) -> None:
    ended = record_eight(tmp_path)
    there = copied(ended.folder, tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "work")
    shutil.rmtree(ended.folder)
    log = (there / "events.jsonl").read_bytes()
    compactions = log.count(b'"kind":"context.compacted"')
    requests = log.count(b'"kind":"model.requested"')
    assert compactions >= 2
    assert log.count(b'"kind":"subagent.ended"') == 8

    told = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(there)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.split()
        for seed in ("0", "1", "2", "3")
    ]

    assert told == [["True", str(requests), str(requests), "0", "0"]] * 4


@pytest.mark.slow
def test_one_changed_prompt_of_a_long_run_is_named_where_it_first_counts(
    tmp_path: Path,
) -> None:
    ended = record_eight(tmp_path)
    there = edited(
        ended.folder,
        tmp_path / "elsewhere",
        "inputs/prompts/compacted.md",
        "The",
        "Our",
    )

    found = again(there)

    first = min(ended.events("context.compacted"), key=lambda each: each.seq)
    assert found.first is not None
    assert found.first.agent == first.agent
    assert found.first.turn == first.data["turn"]
    assert found.first.where.startswith("message 1 (user), block 2, line")
