"""Calls with effects that are cut: a moment to end, and a record in any case."""

from __future__ import annotations

import asyncio  # noqa: TID251 - a caller on plain asyncio is tested
import threading
from pathlib import Path
from typing import Any, ClassVar

import anyio
import anyio.to_thread
import pytest
from pydantic import BaseModel
from tool_bench import ToolBench

from orchestrator.errors import StoreError
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import text_of
from orchestrator.tools import grace
from orchestrator.tools.base import Effects, ToolContext
from orchestrator.tools.calls import CallSpec
from orchestrator.tools.grace import with_grace
from orchestrator.tools.threads import MAX_THREADS, in_thread, stop_if_abandoned


class Nothing(BaseModel):
    """No arguments."""


class Acts:
    """An async tool that has begun once `started` is set."""

    description: ClassVar[str] = "test"
    Args: ClassVar[type[BaseModel]] = Nothing
    timeout_s: ClassVar[float] = 5

    effects: Effects

    def __init__(self, name: str, does: Any, effects: Effects = "effects") -> None:
        self.name, self._does, self.effects = name, does, effects
        self.started = anyio.Event()

    async def run(self, args: Nothing, context: ToolContext) -> Any:
        self.started.set()
        return await self._does()


def bench_of(tmp_path: Path, *tools: Any) -> ToolBench:
    return ToolBench(tmp_path, tools=tools)


def ended(bench: ToolBench) -> dict[str, str]:
    """Call id → what is on record of its outcome."""
    return {
        event.data["call"]: text_of(event.data["content"])
        for event in bench.events
        if event.kind == "tool.ended"
    }


def spec(name: str, call: str) -> CallSpec:
    return CallSpec(call, name, {})


async def test_a_call_with_effects_may_end_and_reads_are_cut(tmp_path: Path) -> None:
    may_end = anyio.Event()

    async def writes() -> str:
        await may_end.wait()
        return "written"

    act, read = Acts("act", writes), Acts("read", anyio.sleep_forever, "reads")
    bench = bench_of(tmp_path, act, read)
    async with anyio.create_task_group() as group:
        group.start_soon(bench.run, spec("act", "t1"), spec("read", "t2"))
        await act.started.wait()
        await read.started.wait()
        group.cancel_scope.cancel()
        may_end.set()

    assert ended(bench) == {"t1": "written"}


@pytest.mark.slow
async def test_one_that_does_not_end_in_time_is_unknown_and_its_sibling_is_kept(
    tmp_path: Path,
) -> None:
    has_ended = anyio.Event()

    async def quick() -> str:
        has_ended.set()
        return "quick"

    act, other = Acts("act", anyio.sleep_forever), Acts("other", quick, "reads")
    bench = bench_of(tmp_path, act, other)
    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        group.start_soon(bench.run, spec("act", "t1"), spec("other", "t2"))
        await act.started.wait()
        await has_ended.wait()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()

    assert ended(bench) == {"t1": UNKNOWN, "t2": "quick"}
    assert bench.events[-1].data["is_error"]
    assert grace.GRACE_S <= anyio.current_time() - began < grace.GRACE_S + 0.5


async def test_cancelling_the_task_itself_gives_the_same_grace(tmp_path: Path) -> None:
    may_end = anyio.Event()

    async def writes() -> str:
        await may_end.wait()
        return "written"

    act = Acts("act", writes)
    bench = bench_of(tmp_path, act)
    task = asyncio.ensure_future(bench.run(spec("act", "t1")))
    await act.started.wait()
    task.cancel()
    await anyio.wait_all_tasks_blocked()
    assert not task.done()
    may_end.set()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended(bench) == {"t1": "written"}


async def test_a_disk_in_trouble_gives_no_grace(tmp_path: Path) -> None:
    act = Acts("act", anyio.sleep_forever)

    async def fails() -> str:
        await act.started.wait()
        raise StoreError("the disk is full")

    bench = bench_of(tmp_path, act, Acts("bad", fails, "reads"))
    began = anyio.current_time()

    with pytest.raises(StoreError, match="the disk is full"):
        await bench.run(spec("act", "t1"), spec("bad", "t2"))

    assert ended(bench) == {}
    assert anyio.current_time() - began < grace.GRACE_S / 2


async def test_one_that_was_cancelled_before_it_began_does_not_begin() -> None:
    begun: list[int] = []

    async def work() -> int:
        begun.append(1)
        return 1

    with anyio.CancelScope() as scope:
        scope.cancel()
        await with_grace(work, lambda: 0)

    assert scope.cancelled_caught
    assert begun == []


async def test_what_the_call_raises_comes_as_it_is() -> None:
    async def work() -> int:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await with_grace(work, lambda: 0)


async def test_a_sync_call_sees_that_nobody_waits_for_it_any_more() -> None:
    begun, seen = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                stop_if_abandoned()
        finally:
            seen.set()

    async with anyio.create_task_group() as group:
        group.start_soon(in_thread, work)
        await anyio.to_thread.run_sync(begun.wait, 5)
        group.cancel_scope.cancel()

    # It was waited for as long as it took.
    assert seen.is_set()


async def test_threads_are_used_again_and_do_not_hold_up_the_end() -> None:
    def who() -> threading.Thread:
        return threading.current_thread()

    first, second = await in_thread(who), await in_thread(who)

    assert first.daemon
    assert first is second


async def test_an_event_loop_of_its_own_can_run_in_a_sync_tool() -> None:
    async def nothing() -> int:
        return 7

    assert await in_thread(anyio.run, nothing) == 7


async def test_errors_of_a_sync_call_come_as_they_are() -> None:
    def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await in_thread(work)


async def test_a_tool_that_blocks_in_every_thread_holds_up_no_other(
    tmp_path: Path,
) -> None:
    over = threading.Event()

    class Blocks:
        name: ClassVar[str] = "blocks"
        description: ClassVar[str] = "test"
        Args: ClassVar[type[BaseModel]] = Nothing
        effects: ClassVar[Effects] = "reads"
        timeout_s: ClassVar[float] = 60

        def run(self, args: Nothing, context: ToolContext) -> str:
            return str(over.wait(60))

    class Frees(Blocks):
        name: ClassVar[str] = "frees"

        def run(self, args: Nothing, context: ToolContext) -> str:
            over.set()
            return "free"

    bench = bench_of(tmp_path, Blocks(), Frees())
    calls = [CallSpec(f"b{n}", "blocks", {}) for n in range(MAX_THREADS + 5)]

    with anyio.fail_after(20):
        results = await bench.run(*calls, CallSpec("f", "frees", {}))

    assert [text_of(each.content) for each in results[:-1]] == ["True"] * len(calls)
    assert text_of(results[-1].content) == "free"
