"""What people ask of a live run, and runs whose caller gives up."""

from __future__ import annotations

import asyncio  # noqa: TID251 - a caller on plain asyncio is tested
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import orjson
import pytest
from pydantic import BaseModel
from run_bench import (
    Ended,
    NoArgs,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    last_results,
    played,
    submit,
)
from structlog.testing import capture_logs

from orchestrator.api import Orchestrator
from orchestrator.inspection.reading import load_run
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.result import RunResult
from orchestrator.store.control import STOP, Request, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import Holder, holder
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, hang
from orchestrator.tools.base import Effects, ToolContext

LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
READ = call("read_file", path="refunds.md")
NOTE = call("update_notes", section="Facts", mode="append", text="It is 14 days.")
PATIENCE_S = 10


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


class Gate:
    """Hangs in a request, and lets the test know."""

    def __init__(self) -> None:
        self.reached = anyio.Event()

    def __call__(self, _request: ModelRequest) -> Step:
        self.reached.set()
        return hang()


def run_of(bench: RunBench) -> RunFolder:
    [path] = bench.runs.glob("2*")
    return RunFolder(path)


def ask(bench: RunBench, action: str = STOP, to: str = "") -> Path:
    """Put a request to whoever works on the run."""
    run = run_of(bench)
    return send(run.control, Request(action, me_of(run), to))


def me_of(run: RunFolder) -> Holder:
    me = holder(run.lock)
    assert me is not None
    return me


async def gone(path: Path) -> None:
    with anyio.fail_after(PATIENCE_S):
        while await anyio.Path(path).exists():
            await anyio.lowlevel.checkpoint()


class Work:
    """A run in a task of its own."""

    def __init__(self, bench: RunBench, model: ScriptedModel, **fields: Any) -> None:
        self.bench, self.model, self.fields = bench, model, fields
        self.ended: list[Ended] = []

    async def __call__(self) -> None:
        self.ended.append(await self.bench.run(self.model, **self.fields))


async def with_requests(work: Work, gate: Gate, asks: Callable[[], Any]) -> Ended:
    """Run until the gate is reached, then let a person ask something."""
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(work)
            await gate.reached.wait()
            asked = asks()
            if asked is not None:
                await asked
    return work.ended[0]


async def test_stop_is_gentle_and_the_run_can_be_gone_on_with(bench: RunBench) -> None:
    gate = Gate()
    model = ScriptedModel(in_turn(READ, gate))

    ended = await with_requests(Work(bench, model), gate, lambda: gone(ask(bench)))

    assert (ended.result.state, ended.result.exit_code) == ("interrupted", 130)
    [received] = ended.events("control.received")
    assert received.data["action"] == "stop"
    assert received.data["to"] == received.data["by"] == ""
    assert list((ended.folder / "control").iterdir()) == []
    again = await bench.resume(ended.folder, [finish("14 days [refunds.md:1].")], {})
    assert again.result.state == "done"
    assert len(again.requests) == 1


def cases(*titles: str) -> Step:
    return delegate(*map(brief, titles))


async def test_one_subagent_is_cancelled_and_its_siblings_go_on(
    bench: RunBench,
) -> None:
    gate, sibling_may_end = Gate(), anyio.Event()

    async def sibling(request: ModelRequest) -> Step:
        await sibling_may_end.wait()
        return READ if len(request.messages) == 1 else submit(QUOTE)

    told: list[str] = []

    def lead(request: ModelRequest) -> Step:
        if len(request.messages) == 1:
            return cases("Doomed", "Sibling")
        told.append(last_results(request))
        return finish("It takes 14 days [a2#1].")

    model = played(lead, {"Doomed": in_turn([READ, NOTE], gate), "Sibling": sibling})

    async def stops() -> None:
        await gone(ask(bench, to="a1"))
        with anyio.fail_after(PATIENCE_S):
            while load_run(run_of(bench)).agents["a1"].state != "ended":
                await anyio.lowlevel.checkpoint()
        sibling_may_end.set()

    ended = await with_requests(Work(bench, model), gate, stops)

    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    why = "a person stopped it with `orchestrate stop`"
    assert ended.result.missing == [f"subagent a1 (Doomed) was cancelled: {why}"]
    assert f"a1 | Doomed | partial | 0 | 0 | cancelled ({why})" in told[0]
    assert "Its notes:" in told[0]
    assert "It is 14 days." in told[0]
    assert "Files it opened: refunds.md" in told[0]
    assert "a2 | Sibling | complete | 1 | 0 | submitted" in told[0]
    [over] = ended.events("agent.ended", "a1")
    assert (over.data["outcome"], over.data["reason"]) == ("cancelled", why)
    [delivered] = ended.events("subagent.ended", "a1")
    assert (delivered.data["outcome"], delivered.data["status"]) == (
        "cancelled",
        "partial",
    )
    assert model.cancelled == 1
    assert load_run(RunFolder(ended.folder)).agents["a1"].label == "cancelled"


async def test_findings_that_were_sent_back_are_not_lost_with_their_subagent(
    bench: RunBench,
) -> None:
    gate = Gate()
    wrong = item(
        "It takes 9 days after all that.", "refunds.md:1", "not in the file at all"
    )
    model = played(
        [cases("Doomed"), finish("It takes 14 days [a1#1].")],
        {"Doomed": in_turn(READ, submit(QUOTE, wrong), gate)},
    )

    ended = await with_requests(
        Work(bench, model), gate, lambda: gone(ask(bench, to="a1"))
    )

    [delivered] = ended.events("subagent.ended", "a1")
    assert delivered.data["status"] == "partial"
    assert len(delivered.data["findings"]["items"]) == 2
    assert delivered.data["unsupported_items"] == [2]


async def test_one_that_waits_in_line_is_cancelled_without_a_request(
    bench: RunBench,
) -> None:
    gate = Gate()
    first_may_end = anyio.Event()

    async def first(request: ModelRequest) -> Step:
        gate.reached.set()
        await first_may_end.wait()
        return READ if len(request.messages) == 1 else submit(QUOTE)

    model = played(
        [cases("First", "Waits"), finish("It takes 14 days [a1#1].")],
        {"First": first, "Waits": []},
    )

    async def stops() -> None:
        await gone(ask(bench, to="a2"))
        with anyio.fail_after(PATIENCE_S):
            while load_run(run_of(bench)).agents["a2"].state != "ended":
                await anyio.lowlevel.checkpoint()
        first_may_end.set()

    ended = await with_requests(
        Work(bench, model, limits={"concurrency": 1}), gate, stops
    )

    assert ended.result.state == "partial"
    assert ended.events("agent.started", "a2") == []
    [delivered] = ended.events("subagent.ended", "a2")
    assert (delivered.data["outcome"], delivered.data["status"]) == (
        "cancelled",
        "failed",
    )


async def test_what_was_cancelled_is_not_begun_again_whenever_the_process_died(
    bench: RunBench, tmp_path: Path
) -> None:
    gate = Gate()
    model = played([cases("Doomed")], {"Doomed": in_turn(READ, gate)})

    async def stops() -> None:
        ask(bench, to="a1")
        await gone(ask(bench))

    ended = await with_requests(Work(bench, model), gate, stops)
    assert ended.result.state == "interrupted"
    # As it is when the process dies right after it took the request.
    log = ended.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    [place] = [at for at, line in enumerate(lines) if b'"to":"a1"' in line]
    log.write_bytes(b"".join(lines[: place + 1]))

    again = await bench.resume(ended.folder, [finish("Nothing is known.")], {})

    assert again.result.state == "partial"
    assert len(again.requests) == 1
    assert "cancelled (a person stopped it" in last_results(again.requests[0])


STALE = Holder(999_999, "2026-11-29T20:15:00Z")


@pytest.mark.parametrize(
    ("lay", "words"),
    [
        pytest.param(
            lambda run: send(run.control, Request(STOP, STALE)), "", id="stale"
        ),
        pytest.param(
            lambda run: written(run, b'{"action": "st'), "control.unreadable", id="half"
        ),
        pytest.param(
            lambda run: send(run.control, Request("dance", me_of(run))),
            "control.unknown",
            id="of an unknown action",
        ),
        pytest.param(
            lambda run: send(
                run.control, Request(STOP, holder(run.lock) or STALE, "a9")
            ),
            "control.no_such_agent",
            id="to nobody",
        ),
    ],
)
async def test_a_request_that_means_nothing_is_removed_and_disturbs_nobody(
    bench: RunBench, lay: Callable[[RunFolder], Path], words: str
) -> None:
    gate, may_end = Gate(), anyio.Event()

    async def script(_request: ModelRequest) -> Step:
        gate.reached.set()
        await may_end.wait()
        return finish("Nothing is known.")

    async def lays() -> None:
        await gone(lay(run_of(bench)))
        may_end.set()

    with capture_logs() as logs:
        ended = await with_requests(Work(bench, ScriptedModel(script)), gate, lays)

    assert ended.result.state == "done"
    assert ended.events("control.received") == []
    assert [each["event"] for each in logs if each["event"].startswith("control")] == (
        [words] if words else []
    )


def written(run: RunFolder, content: bytes) -> Path:
    path = run.control / "1.json"
    path.write_bytes(content)
    return path


async def test_what_cannot_be_removed_is_told_once(bench: RunBench) -> None:
    gate, may_end = Gate(), anyio.Event()

    async def script(_request: ModelRequest) -> Step:
        gate.reached.set()
        await may_end.wait()
        return finish("Nothing is known.")

    async def lays() -> None:
        (run_of(bench).control / "0.json").mkdir()
        for _ in range(2):  # two looks at least
            await gone(send(run_of(bench).control, Request(STOP, STALE)))
        may_end.set()

    with capture_logs() as logs:
        ended = await with_requests(Work(bench, ScriptedModel(script)), gate, lays)

    assert ended.result.state == "done"
    assert [each["event"] for each in logs] == ["control.unreadable"]


async def test_a_control_folder_that_is_gone_is_no_failure(bench: RunBench) -> None:
    gate = Gate()

    async def removes() -> None:
        run_of(bench).control.rmdir()
        await gone(ask(bench))

    ended = await with_requests(Work(bench, ScriptedModel(gate)), gate, removes)

    assert ended.result.state == "interrupted"


class Appends:
    """A sync tool with effects that a test lets end."""

    name: ClassVar[str] = "appends"
    description: ClassVar[str] = "Appends a line."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 30

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.done: list[str] = []

    def run(self, args: NoArgs, context: ToolContext) -> str:
        self.begun.set()
        self.may_end.wait(20)
        self.done.append(context.call)
        return "appended"


def states(bench: RunBench) -> list[str]:
    """How the newest state of each run is on record, in its log and in `run.json`."""
    found = []
    for path in sorted(bench.runs.glob("2*")):
        *_, last = read_events(path / "events.jsonl")
        assert last.kind == "run.ended"
        assert (
            orjson.loads((path / "run.json").read_bytes())["state"]
            == (last.data["state"])
        )
        found.append(last.data["state"])
    return sorted(found)


async def test_a_caller_that_runs_out_of_time_leaves_a_run_to_go_on_with(
    bench: RunBench,
) -> None:
    tool = Appends()
    model = ScriptedModel([call("appends")])
    scope = anyio.CancelScope()
    async with Orchestrator(runs_dir=bench.runs, model=model, tools=[tool]) as here:
        async with anyio.create_task_group() as group:

            async def gives_up() -> None:
                await anyio.to_thread.run_sync(tool.begun.wait)
                scope.cancel()
                tool.may_end.set()

            group.start_soon(gives_up)
            with scope:
                await here.run(bench.task())
        assert scope.cancelled_caught

    assert states(bench) == ["interrupted"]
    again = await bench.resume(
        run_of(bench).path, [finish("A line was appended.")], {}, tools=[tool]
    )
    assert again.result.state == "done"
    assert last_results(again.requests[0]).startswith("appended")
    assert len(tool.done) == 1


async def test_a_cancelled_asyncio_task_records_the_run_and_stays_cancelled(
    bench: RunBench,
) -> None:
    gate = Gate()
    model = ScriptedModel(gate)
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        task = asyncio.ensure_future(here.run(bench.task()))
        await gate.reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert states(bench) == ["interrupted"]

    assert model.cancelled == 1
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_fail_after_says_so_and_nothing_is_left(bench: RunBench) -> None:
    gate = Gate()
    model = ScriptedModel(gate)
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with pytest.raises(TimeoutError):
            with anyio.fail_after(0.2):
                await here.run(bench.task())

    assert states(bench) == ["interrupted"]


async def test_a_caller_that_is_cancelled_already_leaves_no_run(
    bench: RunBench,
) -> None:
    model = ScriptedModel([])
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await here.run(bench.task())

    assert scope.cancelled_caught
    assert list(bench.runs.glob("2*")) == []
    assert model.requests == []


async def test_leaving_the_context_stops_runs_of_other_tasks(bench: RunBench) -> None:
    gate = Gate()
    model = ScriptedModel(gate)
    results: list[RunResult] = []
    async with anyio.create_task_group() as group:
        async with Orchestrator(
            runs_dir=bench.runs, model=model, clock=FakeClock()
        ) as here:

            async def runs() -> None:
                results.append(await here.run(bench.task()))

            group.start_soon(runs)
            await gate.reached.wait()
        assert states(bench) == ["interrupted"]

    assert [result.state for result in results] == ["interrupted"]


async def test_an_error_in_the_context_stops_what_is_at_work(bench: RunBench) -> None:
    gate = Gate()
    model = ScriptedModel(gate)

    async def breaks() -> None:
        async with Orchestrator(runs_dir=bench.runs, model=model) as here:
            batch = here.run_batch([bench.task()])
            waiting = asyncio.ensure_future(anext(batch))
            await gate.reached.wait()
            waiting.cancel()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await breaks()

    assert states(bench) == ["interrupted"]
    assert model.cancelled == 1


async def test_breaking_out_of_a_batch_records_what_was_at_work(
    bench: RunBench,
) -> None:
    begun = 0

    def script(_request: ModelRequest) -> Step:
        nonlocal begun
        begun += 1
        return finish("Nothing is known.") if begun == 3 else hang()

    model = ScriptedModel(script)
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        async for item_ in here.run_batch([bench.task() for _ in range(3)]):
            assert item_.result is not None
            break
        gc.collect()

    assert states(bench) == ["done", "interrupted", "interrupted"]
    assert model.cancelled == 2
