"""Minutes are those at work: no sleep of the machine, no time between processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path

import anyio
import orjson
import pytest
from run_bench import Ended, RunBench, brief, delegate, finish, item, played, submit

from orchestrator.api import Orchestrator
from orchestrator.inspection.reading import load_run
from orchestrator.messages import Block
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.snapshots import read_history
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, Script, ScriptedModel, Step, call

FILES = {"refunds.md": "A refund takes 14 days.\n"}
READ = call("read_file", path="refunds.md")
BRIEF = delegate(brief("With"))
FOUND = submit(item("14 days.", "refunds.md:1", "A refund takes 14 days."))
REPORT = finish("14 days [refunds.md:1].")
LIMITS = {"minutes": 30}


class JumpyClock(FakeClock):
    """A clock whose time of day jumps, as when the machine wakes up."""

    def __init__(self, *, hours: float = 0) -> None:
        super().__init__()
        self.ahead = timedelta(hours=hours)

    def now(self) -> datetime:
        return super().now() + self.ahead

    def jump(self, hours: float) -> None:
        self.ahead += timedelta(hours=hours)


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


Play = Callable[[ModelRequest], Awaitable[Step]]


def slow(clock: JumpyClock, steps: list[Block], reached: anyio.Event) -> Play:
    """Answer after a minute, while the machine sleeps for 9 hours; then never."""
    left = iter(steps)

    async def play(_request: ModelRequest) -> Step:
        step = next(left, None)
        if step is None:
            reached.set()
            await anyio.sleep_forever()
        await clock.advance(60)
        clock.jump(9)
        assert step is not None
        return step

    return play


async def interrupted(bench: RunBench) -> Path:
    """A run that was interrupted while its subagent waited for its third answer."""
    clock, reached = JumpyClock(), anyio.Event()
    worker = slow(clock, [READ, READ], reached)
    model = played(slow(clock, [BRIEF], anyio.Event()), {"With": worker})

    async def work() -> None:
        async with Orchestrator(runs_dir=bench.runs, model=model, clock=clock) as here:
            await here.run(bench.task(limits=LIMITS))

    async with anyio.create_task_group() as group:
        group.start_soon(work)
        await reached.wait()
        group.cancel_scope.cancel()
    (run,) = (path for path in bench.runs.iterdir() if (path / "run.json").exists())
    return run


def rewrite(run: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    log = run / "events.jsonl"
    log.write_bytes(b"".join(change(log.read_bytes().splitlines(keepends=True))))


def killed(lines: list[bytes]) -> list[bytes]:
    """The log as it is where the process died instead."""
    ends = (b'"kind":"run.ended"', b'"kind":"model.failed"')
    return [line for line in lines if not any(end in line for end in ends)]


def older(lines: list[bytes]) -> list[bytes]:
    """The log as an older program would have written it."""
    records = [orjson.loads(line) for line in lines]
    for record in records:
        record.pop("worked_s", None)
    return [orjson.dumps(record) + b"\n" for record in records]


async def resumed(bench: RunBench, run: Path, lead: Script, worker: Script) -> Ended:
    return await bench.resume(run, lead, {"With": worker}, clock=JumpyClock(hours=30))


def worked(run: Path) -> tuple[float, float, float]:
    """Seconds of run, lead and subagent, as going on counts them."""
    found = read_history(RunFolder(run)).worked
    return found.of(), found.of("lead"), found.of("a1")


def shown(run: Path) -> tuple[float, float, float]:
    """The same as they are shown."""
    view = load_run(RunFolder(run))
    agents = view.agents
    return view.seconds(), agents["lead"].seconds(), agents["a1"].seconds()


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_machine_that_slept_uses_up_no_minutes(
    bench: RunBench, is_killed: bool
) -> None:
    run = await interrupted(bench)
    if is_killed:
        rewrite(run, killed)
    assert worked(run) == shown(run) == (180, 180, 120)

    ended = await resumed(bench, run, [REPORT], [FOUND])

    assert ended.result.state == "done"
    assert ended.events("limit.reached") == []
    assert worked(run) == shown(run) == (180, 180, 120)
    assert ended.json("run.json")["seconds"] == 180


async def test_what_was_worked_counts_over_all_processes(bench: RunBench) -> None:
    run = await interrupted(bench)
    clock = JumpyClock(hours=30)

    async def late(_request: ModelRequest) -> Step:
        await clock.advance(28 * 60)  # the third, and then no more
        return READ

    ended = await bench.resume(run, [REPORT], {"With": late}, clock=clock)

    assert worked(run)[0] == shown(run)[0] == ended.json("run.json")["seconds"]
    assert {event.data["limit"] for event in ended.events("limit.reached")} == {
        "minutes"
    }


async def test_a_day_before_a_question_is_nobodys_where_a_bug_ended_the_run(
    bench: RunBench,
) -> None:
    def breaks(_request: ModelRequest) -> Step:
        raise RuntimeError("a bug")

    first = await bench.run(ScriptedModel(breaks), limits=LIMITS)
    assert first.result.state == "failed"
    assert first.events("agent.ended") == []

    model = ScriptedModel([READ, REPORT])
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=JumpyClock(hours=24)
    ) as here:
        asked = Ended(await here.ask(first.folder, "How long?"), model)

    assert asked.result.state == "done"
    for change in (list, older):
        rewrite(first.folder, change)
        found = read_history(RunFolder(first.folder)).worked
        view = load_run(RunFolder(first.folder))
        assert (found.of(), found.of("lead")) == (0, 0)
        assert (view.seconds(), view.agents["lead"].seconds()) == (0, 0)


async def test_of_an_older_log_the_times_of_day_count_but_no_gap(
    bench: RunBench,
) -> None:
    first = await bench.play([BRIEF, REPORT], {"With": [READ, FOUND]}, limits=LIMITS)
    rewrite(first.folder, older)
    rewrite(first.folder, lambda lines: later(lines, b"tool.ended", minutes=5))
    rewrite(first.folder, killed)
    before = worked(first.folder)
    assert before == shown(first.folder) == (300, 300, 300)

    ended = await resumed(bench, first.folder, [], [])

    assert ended.result.state == "done"
    assert worked(first.folder) == shown(first.folder) == before
    assert ended.events("run.resumed")[0].worked_s == 300
    assert ended.json("run.json")["seconds"] == 300
    rewrite(first.folder, older)
    assert worked(first.folder) == shown(first.folder) == before


def later(lines: list[bytes], kind: bytes, *, minutes: int) -> list[bytes]:
    """Let everything from the first event of a kind on be some minutes later."""
    start = next(n for n, line in enumerate(lines) if b'"kind":"%b"' % kind in line)
    moved = b"T12:%02d:" % minutes
    return lines[:start] + [
        line.replace(b"T12:00:", moved, 1) for line in lines[start:]
    ]
