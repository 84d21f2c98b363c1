"""What a run needs is gone or changed: it goes on, or says so in one line."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import anyio
import pytest
from bound_policy import PAPER, TITLES, BoundPolicy
from pydantic import BaseModel
from run_bench import Ended, Prints, RunBench, finish

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.errors import SpecError
from orchestrator.messages import tool_calls
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.host import Host
from orchestrator.runtime.resume import read_past
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, fail
from orchestrator.testing.steps import first_text

Capture = pytest.CaptureFixture[str]
REPORT = "Nothing is cited."
DONE = finish(REPORT)
READ = call("read_file", path="refunds.md")


class Counts(BaseModel):
    """Arguments that the tool did not have before."""

    times: int


class PrintsTimes:
    """The tool `prints` as a later version has it."""

    name: ClassVar[str] = "prints"
    description: ClassVar[str] = "Prints something, several times."
    Args: ClassVar[type[BaseModel]] = Counts
    effects = Prints.effects
    timeout_s: ClassVar[float] = 5

    def run(self, args: Counts, _context: object) -> str:
        return "printed " * args.times


class Other(Prints):
    """A tool that was not there at the start."""

    name: ClassVar[str] = "other"


PRINTS = Prints(lambda agent: f"printed by {agent}")


async def begun(bench: RunBench, *steps: Step, tools: tuple[object, ...] = ()) -> Ended:
    """A run whose model fails after these steps of the lead."""
    model = ScriptedModel([*steps, fail("quota_exhausted", "no more")])
    return await bench.run(model, tools=tools)


def after_that(*then: Step) -> list[Step]:
    return [*then, DONE]


async def test_a_call_of_a_tool_that_is_gone_is_told_so_with_those_that_are_there(
    bench: RunBench,
) -> None:
    first = await begun(bench, [call("prints"), READ], tools=(PRINTS,))

    second = await bench.resume(first.folder, after_that(call("prints")), {})

    assert second.result.state == "done", second.result
    _, told = second.results("prints")
    assert told.startswith("`prints` is no longer available. Tools: ")
    assert "`read_file`" in told
    assert "prints" in [tool["name"] for tool in second.requests[0].tools]
    kept = len(first.requests[-1].messages) - 1
    assert second.requests[0].messages[:kept] == first.requests[-1].messages[:kept]


async def test_a_tool_whose_arguments_changed_checks_calls_by_the_new_ones(
    bench: RunBench,
) -> None:
    first = await begun(bench, call("prints"), tools=(PRINTS,))

    steps = after_that(call("prints"), call("prints", times=2))
    second = await bench.resume(first.folder, steps, {}, tools=(PrintsTimes(),))

    before, wrong, right = second.results("prints")
    assert before == "printed by lead"
    assert "`times`" in wrong
    assert right == "printed printed "
    assert second.requests[0].tools == first.requests[0].tools
    assert second.result.state == "done"


async def test_a_tool_that_is_new_is_not_offered_to_agents_that_have_started(
    bench: RunBench,
) -> None:
    first = await begun(bench, READ)

    other = Other(lambda _agent: "never")
    second = await bench.resume(
        first.folder, after_that(call("other")), {}, tools=(other,)
    )

    assert second.requests[0].tools == first.requests[0].tools
    assert "`other` exists but is not allowed here" in second.results("other")[0]


async def test_agents_that_have_started_keep_their_prompt_and_the_change_is_told(
    bench: RunBench,
) -> None:
    first = await begun(bench, READ)
    copy = first.folder / "inputs" / "agents" / "lead.md"
    copy.write_text(copy.read_text() + "\nOf another mind by now.\n")

    notices = past_of(first.folder)
    second = await bench.resume(first.folder, [DONE], {})

    assert notices == (f"`{copy}` has changed: new agents start with the text it has "
                       "now",)  # fmt: skip
    assert second.requests[0].system == first.requests[0].system
    kept = len(first.requests[-1].messages) - 1
    assert second.requests[0].messages[:kept] == first.requests[-1].messages[:kept]


def both_read_first(policy: BoundPolicy) -> Callable[[ModelRequest], Awaitable[Step]]:
    """The policy, but no subagent hands in before all of them have read.

    So a log that is cut there holds all that they saw. One that had yet to read would
    put back a text that a test has dropped.
    """
    have_read: set[str] = set()
    all_have = anyio.Event()

    async def play(request: ModelRequest) -> Step:
        step = policy(request)
        calls = tool_calls(step) if isinstance(step, list) else []
        names = {each["name"] for each in calls}
        if "list_dir" in names:
            have_read.add(first_text(request))
        if len(have_read) == len(TITLES):
            all_have.set()
        if "submit_findings" in names:
            await all_have.wait()
        return step

    return play


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with two subagents, its workspace beside its runs."""
    bench = RunBench(tmp_path_factory.mktemp("finished"), {"refunds.md": PAPER})
    ended = anyio.run(bench.run, ScriptedModel(both_read_first(BoundPolicy())))
    assert ended.result.state == "done", ended.result
    return ended.folder


@pytest.fixture
def cut(finished: Path, tmp_path: Path) -> Path:
    """A copy of that run, and of its workspace, killed before anything was accepted."""
    shutil.copytree(finished.parent.parent, tmp_path / "all")
    run = tmp_path / "all" / "runs" / finished.name
    log, task = run / "events.jsonl", run / "task.yaml"
    lines = log.read_bytes().splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines, 1) if b"findings.submitted" in line)
    log.write_bytes(b"".join(lines[:end]))
    moved = str(tmp_path / "all")
    task.write_text(task.read_text().replace(str(finished.parent.parent), moved))
    return run


def past_of(run: Path) -> tuple[str, ...]:
    host = Host.of_process(
        runs_dir=run.parent, model=ScriptedModel([]), clock=FakeClock()
    )
    return read_past(RunFolder(run), host).notices


async def go_on(run: Path) -> Ended:
    policy = BoundPolicy()
    model = ScriptedModel(policy)
    async with Orchestrator(
        runs_dir=run.parent, model=model, clock=FakeClock()
    ) as here:
        ended = Ended(await here.resume(run), model)
    assert policy.refused == []
    return ended


def drop(name: str) -> Callable[[Path], None]:
    def does(run: Path) -> None:
        shutil.rmtree(run / name) if (run / name).is_dir() else (run / name).unlink()

    return does


def write(name: str, data: bytes) -> Callable[[Path], None]:
    def does(run: Path) -> None:
        (run / name).write_bytes(data)

    return does


def in_workspace(data: bytes | None) -> Callable[[Path], None]:
    """The file that was evidence changes, or goes."""

    def does(run: Path) -> None:
        path = run.parent.parent / "work" / "refunds.md"
        path.unlink() if data is None else path.write_bytes(data)

    return does


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(drop("run.json"), id="run.json gone"),
        pytest.param(write("run.json", b"\0\0{"), id="run.json damaged"),
        pytest.param(drop("progress.md"), id="progress.md gone"),
        pytest.param(drop("agents"), id="agents gone"),
        pytest.param(drop("control"), id="control gone"),
        pytest.param(drop("report.md"), id="report gone"),
        pytest.param(drop("inputs"), id="inputs gone"),
        pytest.param(drop("inputs/agents/explorer.md"), id="a profile gone"),
        pytest.param(write("snapshot.json", b"{}"), id="a snapshot of nothing"),
    ],
)
async def test_what_can_be_made_anew_or_is_kept_changes_nothing(
    finished: Path, cut: Path, happens: Callable[[Path], None]
) -> None:
    happens(cut)

    ended = await go_on(cut)

    assert ended.result.state == "done", ended.result
    assert ended.result.report == (finished / "report.md").read_text()
    assert ended.json("run.json")["state"] == "done"
    assert "- **State:** done\n" in ended.text("progress.md")
    assert (cut / "agents" / "lead" / "transcript.jsonl").exists()


@pytest.mark.parametrize(
    ("data", "word"), [(None, "Gone"), (b"It never takes long.\n", "Changed")]
)
async def test_evidence_that_has_changed_since_is_told_behind_the_report(
    finished: Path, cut: Path, data: bytes | None, word: str
) -> None:
    in_workspace(data)(cut)

    ended = await go_on(cut)

    assert ended.result.state == "done", ended.result
    before = (finished / "report.md").read_text().rstrip()
    assert ended.result.report.startswith(f"{before}\n\n---\n\n## Checked by the ")
    for agent in ("a1", "a2"):
        line = f"- {word} since it was read: `refunds.md` ({agent}#1)\n"
        assert line in ended.result.report


def test_a_missing_copy_is_told_with_its_name(cut: Path) -> None:
    drop("inputs/prompts/last_call.md")(cut)

    [notice] = past_of(cut)

    assert "last_call.md` is gone: new agents get the file" in notice


async def test_stored_texts_that_are_gone_are_told_and_their_quotes_not_believed(
    cut: Path,
) -> None:
    for path in (cut / "artifacts").iterdir():
        path.unlink()

    [notice] = past_of(cut)
    ended = await go_on(cut)

    assert "what agents saw of 1 file is gone" in notice
    assert "(`refunds.md`)" in notice
    assert ended.result.state == "partial"
    unconfirmed = "the evidence of this item was not found in its source"
    assert any(unconfirmed in line for line in ended.result.missing)
    assert "*(citation not confirmed)*" in ended.result.report


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (write("task.yaml", b"name: [x\n\0"), "task.yaml"),
        (write("task.yaml", b""), "task.yaml: is empty"),
        (drop("task.yaml"), "task.yaml: no such task file"),
        (write("inputs/agents/explorer.md", b"none\n"), "does not start with `---`"),
        (write("inputs/agents/lead.md", b"\0\xff"), "lead.md:1"),
        (write("inputs/prompts/brief.md", b"{{x}}\n"), "unknown placeholder `{{x}}`"),
        (drop("../../work"), "work` does not exist"),
    ],
)
def test_what_it_cannot_go_on_without_is_one_line_and_nothing_is_lost(
    cut: Path, capsys: Capture, happens: Callable[[Path], None], said: str
) -> None:
    happens(cut)
    before = {p: p.read_bytes() for p in cut.rglob("*") if p.is_file()}

    status = main(["resume", cut.name, "--runs-dir", str(cut.parent)])

    shown = capsys.readouterr()
    assert status == 2, shown
    assert shown.out == ""
    [line] = shown.err.splitlines()
    assert said in line
    assert {p: p.read_bytes() for p in cut.rglob("*") if p.is_file()} == before


def test_without_its_log_a_run_is_not_begun_again(cut: Path, capsys: Capture) -> None:
    drop("events.jsonl")(cut)

    status = main(["resume", cut.name, "--runs-dir", str(cut.parent)])

    [line] = capsys.readouterr().err.splitlines()
    assert status == 1
    assert "events.jsonl` is gone or empty; without it the run cannot go on" in line


async def test_once_the_workspace_is_back_the_run_goes_on(
    finished: Path, cut: Path
) -> None:
    root = cut.parent.parent / "work"
    root.rename(root.with_name("away"))
    with pytest.raises(SpecError, match="work` does not exist"):
        await go_on(cut)
    root.with_name("away").rename(root)

    ended = await go_on(cut)

    assert ended.result.report == (finished / "report.md").read_text()


@pytest.mark.usefixtures("bare")
async def test_without_its_credentials_a_run_stays_as_it_is(
    bench: RunBench, capsys: Capture
) -> None:
    model = ScriptedModel([READ, fail("quota_exhausted", "no more")])
    first = await bench.run(model, model="claude-haiku-5-5")
    before = (first.folder / "events.jsonl").read_bytes()

    arguments = ["resume", first.folder.name, "--runs-dir", str(bench.runs)]
    status = await anyio.to_thread.run_sync(main, arguments)

    [line] = capsys.readouterr().err.splitlines()
    assert status == 2
    assert "ANTHROPIC_API_KEY" in line
    assert (first.folder / "events.jsonl").read_bytes() == before
