"""The Python API: one task or many, from async code and from scripts."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent_bench import Echo
from run_bench import RunBench, brief, delegate, finish, submit

import orchestrator
from orchestrator import (
    BatchItem,
    Event,
    Orchestrator,
    SpecError,
    StoreError,
    Task,
    run_batch_sync,
    run_task,
    tool,
)
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, hang, reply

DONE = finish("Nothing is known.")


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"a.md": "A line of text to read.\n"})


def task_of(bench: RunBench, name: str) -> Task:
    return bench.task(name=name, objective=f"Objective of {name}.")


def tasks_of(bench: RunBench, *names: str) -> list[Task | Path | str]:
    return [task_of(bench, name) for name in names]


def name_in(request: ModelRequest) -> str:
    """The task that a request is for."""
    text = text_of(request.messages[0]["content"])
    return text.split("Objective of ")[1].split(".")[0]


def test_what_is_public_is_there() -> None:
    assert all(hasattr(orchestrator, name) for name in orchestrator.__all__)


async def test_a_task_is_run_in_a_running_loop(bench: RunBench) -> None:
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([DONE])) as here:
        result = await here.run(bench.task())

    assert (result.state, result.report) == ("done", "Nothing is known.\n")


async def test_a_task_file_is_run_by_its_path(bench: RunBench) -> None:
    path = bench.write("task.yaml", "objective: Say what is known.\nmodel: offline\n")

    async with Orchestrator(
        runs_dir=bench.runs, model=ScriptedModel([DONE, DONE])
    ) as here:
        results = [await here.run(path), await here.run(str(path))]

    assert [result.state for result in results] == ["done", "done"]
    assert all("-task-" in result.id for result in results)


async def test_each_event_is_told_live_and_in_order(bench: RunBench) -> None:
    told: list[Event] = []
    at_call: list[int] = []

    def script(_request: ModelRequest) -> Step:
        at_call.append(len(told))
        return DONE

    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script)) as here:
        await here.run(bench.task(), on_event=told.append)

    assert [event.seq for event in told] == list(range(1, len(told) + 1))
    assert told[at_call[0] - 1].kind == "model.requested"
    assert told[-1].kind == "run.ended"


async def test_a_listener_that_breaks_is_told_to_its_owner(bench: RunBench) -> None:
    def breaks(event: Event) -> None:
        if event.kind == "run.ended":
            raise KeyError("the caller's own")

    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([DONE])) as here:
        with pytest.raises(KeyError):
            await here.run(bench.task(), on_event=breaks)


async def test_own_tools_are_for_every_agent(bench: RunBench) -> None:
    echo = Echo()
    model = ScriptedModel(echoed)

    async with Orchestrator(runs_dir=bench.runs, model=model, tools=[echo]) as here:
        result = await here.run(bench.task())

    assert result.state == "done"
    assert len(echo.calls) == 2
    for request in model.requests:
        assert "echo" in [tool["name"] for tool in request.tools]


def echoed(request: ModelRequest) -> Step:
    said = sum(message["role"] == "assistant" for message in request.messages)
    is_lead = "# Objective\n" in text_of(request.messages[0]["content"])
    if said == 0:
        return call("echo", text="hello")
    if not is_lead:
        return submit(status="nothing_found", summary="It only says hello to me.")
    return delegate(brief("Echoes")) if said == 1 else DONE


async def test_errors_leave_the_context_as_they_are(bench: RunBench) -> None:
    with pytest.raises(SpecError, match=r"nothing\.yaml"):
        async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([])) as here:
            await here.run(bench.root / "nothing.yaml")

    with pytest.raises(ZeroDivisionError):
        async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([])):
            raise ZeroDivisionError


async def test_a_runs_folder_that_is_a_file_is_said_before_anything(
    bench: RunBench,
) -> None:
    bench.runs.write_text("a file")
    model = ScriptedModel([])

    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with pytest.raises(StoreError, match="a file is where a folder is needed"):
            await here.run(bench.task())

    assert model.requests == []


async def test_it_must_be_opened_first(bench: RunBench) -> None:
    closed = Orchestrator(runs_dir=bench.runs, model=ScriptedModel([]))

    with pytest.raises(RuntimeError, match="async with Orchestrator"):
        await closed.run(bench.task())
    with pytest.raises(RuntimeError, match="async with Orchestrator"):
        closed.run_batch([])


async def test_the_callers_own_model_stays_open(bench: RunBench) -> None:
    model = ScriptedModel([DONE])

    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        await here.run(bench.task())

    assert not model.is_closed


async def test_without_a_model_of_ones_own_the_tasks_is_used(bench: RunBench) -> None:
    async with Orchestrator(runs_dir=bench.runs, clock=FakeClock()) as here:
        result = await here.run(bench.task(questions=("What does the line say?",)))

    assert result.state in ("done", "partial")
    assert "no language model" in result.report.lower()


async def test_cancelling_the_caller_ends_the_run(bench: RunBench) -> None:
    scope = anyio.CancelScope()

    def give_up(_request: ModelRequest) -> Step:
        scope.cancel()
        return hang()

    model = ScriptedModel(give_up)

    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with scope:
            await here.run(bench.task())

    assert model.cancelled == 1


async def test_results_of_a_batch_come_in_order_of_completion(bench: RunBench) -> None:
    first_may_end = anyio.Event()

    async def script(request: ModelRequest) -> Step:
        if name_in(request) == "one":
            await first_may_end.wait()
        return DONE

    ended: list[int] = []
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script)) as here:
        batch = tasks_of(bench, "one", "two", "three")
        async for item in here.run_batch(batch, concurrency=2):
            assert item.result is not None
            assert item.task == batch[item.index]
            ended.append(item.index)
            if len(ended) == 2:
                first_may_end.set()

    assert ended == [1, 2, 0]


async def test_no_more_runs_at_once_than_allowed_and_tasks_are_taken_one_by_one(
    bench: RunBench,
) -> None:
    at_work: list[int] = [0]
    most: list[int] = []
    taken: list[str] = []
    second_came = anyio.Event()

    async def script(_request: ModelRequest) -> Step:
        at_work[0] += 1
        most.append(at_work[0])
        if len(most) == 1:
            await second_came.wait()
        elif len(most) == 2:
            second_came.set()
        at_work[0] -= 1
        return DONE

    def tasks() -> Iterator[Task | Path | str]:
        for number in range(8):
            taken.append(f"t{number}")
            yield task_of(bench, f"t{number}")

    seen = 0
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script)) as here:
        async for _ in here.run_batch(tasks(), concurrency=2):
            seen += 1
            # Those seen, those that wait to be seen, those at work.
            assert len(taken) <= seen + 2 + 2

    assert (seen, max(most)) == (8, 2)


async def test_a_failing_item_is_an_item(bench: RunBench) -> None:
    async def script(request: ModelRequest) -> Step:
        if name_in(request) == "mute":
            return reply()
        if name_in(request) == "bug":
            raise KeyError("ours")
        return DONE

    batch: list[Task | Path | str] = [
        task_of(bench, "good"),
        bench.root / "nothing.yaml",
        task_of(bench, "mute"),
        task_of(bench, "bug"),
    ]
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script)) as here:
        items = {item.index: item async for item in here.run_batch(batch)}

    results = [items[number].result for number in range(4)]
    states = [result.state if result else None for result in results]
    assert states == ["done", None, "failed", "failed"]
    assert isinstance(items[1].error, SpecError)
    assert items[3].result is not None
    assert items[3].result.exit_code == 70


async def test_what_cannot_be_run_at_all_is_an_item_too(bench: RunBench) -> None:
    batch: list[Any] = [task_of(bench, "good"), 7]

    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([DONE])) as here:
        items = {item.index: item async for item in here.run_batch(batch)}

    assert items[0].error is None
    assert isinstance(items[1].error, TypeError)


async def test_leaving_the_loop_early_cancels_what_is_at_work(bench: RunBench) -> None:
    async def script(request: ModelRequest) -> Step:
        return DONE if name_in(request) == "one" else hang()

    model = ScriptedModel(script)
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        async for item in here.run_batch(tasks_of(bench, "one", "two", "three")):
            assert item.index == 0
            break
        gc.collect()
        with anyio.fail_after(5):
            while model.cancelled < 2:
                await anyio.lowlevel.checkpoint()
        after = len(model.requests)
        assert (await here.run(task_of(bench, "one"))).state == "done"

    assert len(model.requests) == after + 1


async def test_leaving_the_context_cancels_what_is_at_work(bench: RunBench) -> None:
    model = ScriptedModel(lambda request: DONE if name_in(request) == "one" else hang())

    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        batch = here.run_batch(tasks_of(bench, "one", "two"))
        async for _ in batch:
            break

    assert model.cancelled == 1


async def test_what_the_tasks_raise_the_loop_raises(bench: RunBench) -> None:
    def tasks() -> Iterator[Task | Path | str]:
        yield task_of(bench, "one")
        raise ZeroDivisionError

    model = ScriptedModel([DONE, DONE])
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        batch = here.run_batch(tasks())
        seen = [(await anext(batch)).index]
        with pytest.raises(ZeroDivisionError):
            await anext(batch)
        assert (await here.run(bench.task())).state == "done"

    assert seen == [0]


async def test_a_batch_needs_room_for_one(bench: RunBench) -> None:
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([])) as here:
        with pytest.raises(ValueError, match="`concurrency` must be 1 or more, got 0"):
            here.run_batch([], concurrency=0)


async def test_an_empty_batch_has_no_items(bench: RunBench) -> None:
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel([])) as here:
        items = [item async for item in here.run_batch([])]

    assert items == []


def test_a_script_runs_one_task_or_many(bench: RunBench) -> None:
    options: dict[str, Any] = {"runs_dir": bench.runs}

    result = run_task(bench.task(), model=ScriptedModel([DONE]), **options)
    items = run_batch_sync(
        tasks_of(bench, "one", "two"),
        concurrency=1,
        model=ScriptedModel([DONE, DONE]),
        **options,
    )

    assert result.state == "done"
    assert [item.index for item in items] == [0, 1]
    assert all(isinstance(item, BatchItem) for item in items)


async def test_a_script_works_where_a_loop_runs_already(bench: RunBench) -> None:
    result = run_task(bench.task(), model=ScriptedModel([DONE]), runs_dir=bench.runs)

    assert result.state == "done"


def test_a_script_gets_its_errors_unwrapped(bench: RunBench) -> None:
    with pytest.raises(SpecError, match=r"nothing\.yaml"):
        run_task(bench.root / "nothing.yaml", runs_dir=bench.runs)


async def test_a_script_where_a_loop_runs_gets_its_errors_unwrapped(
    bench: RunBench,
) -> None:
    with pytest.raises(SpecError, match=r"nothing\.yaml"):
        run_task(bench.root / "nothing.yaml", runs_dir=bench.runs)


def look_up(number: int) -> str:
    """Look a number up."""
    return f"found {number}"


async def test_a_plain_function_is_a_tool_and_what_cannot_be_one_is_refused_at_once(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path)
    model = ScriptedModel([call("look_up", number=7), finish("Done.")])

    ended = await bench.run(model, tools=[look_up])

    assert ended.results("look_up") == ["found 7"]
    with pytest.raises(TypeError, match="neither function nor tool"):
        Orchestrator(tools=[None])  # type: ignore[list-item]


def test_the_name_of_a_model_in_the_place_of_a_model_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="name `offline` in the task"):
        run_task(Task(objective="Look."), model="offline")


@pytest.mark.parametrize("names", [("grep",), ("finish",), ("mine", "mine")])
async def test_two_tools_of_one_name_are_refused_before_anything_is_spent(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    bench = RunBench(tmp_path)
    model = ScriptedModel([])
    tools = [tool(name=name)(look_up) for name in names]

    with pytest.raises(SpecError, match=f"two tools named `{names[0]}`"):
        await bench.run(model, tools=tools)

    assert model.requests == []
    assert list(bench.runs.glob("*/events.jsonl")) == []
