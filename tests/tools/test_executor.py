from __future__ import annotations

import asyncio  # noqa: TID251 - a caller and a tool on plain asyncio are tested
import base64
import struct
import threading
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from pydantic import BaseModel, ConfigDict
from tool_bench import ToolBench

from orchestrator.errors import LimitReached, StoreError, ToolError
from orchestrator.messages import Block, text_of
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.calls import Barred, CallSpec
from orchestrator.tools.entry import EMPTY


class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Sync:
    """A sync tool that does what a function does."""

    description: ClassVar[str] = "test"
    Args: ClassVar[type[BaseModel]] = Nothing
    effects: Effects = "reads"

    def __init__(self, name: str, does: Any, timeout_s: float = 5) -> None:
        self.name, self._does, self.timeout_s = name, does, timeout_s

    def run(self, args: Nothing, context: ToolContext) -> Any:
        return self._does()


class Async(Sync):
    async def run(self, args: Nothing, context: ToolContext) -> Any:
        return await self._does()


def raising(error: BaseException) -> Any:
    def does() -> str:
        raise error

    return does


def raising_async(error: BaseException) -> Any:
    async def does() -> str:
        raise error

    return does


def bench_of(tmp_path: Path, *tools: Any, **options: Any) -> ToolBench:
    return ToolBench(tmp_path, tools=tools, **options)


def spec(name: str, call: str = "t1", problem: str = "", **given: Any) -> CallSpec:
    return CallSpec(call, name, given, Barred(problem) if problem else None)


async def test_sync_tools_run_side_by_side_and_leave_the_loop_free(
    tmp_path: Path,
) -> None:
    # Each of the three ends only once all three are at work.
    barrier = threading.Barrier(3)

    async def joins() -> str:
        await anyio.to_thread.run_sync(barrier.wait)
        return "c"

    def waits(text: str) -> Any:
        def does() -> str:
            barrier.wait(timeout=5)
            return text

        return does

    bench = bench_of(
        tmp_path, Sync("one", waits("a")), Sync("two", waits("b")), Async("tri", joins)
    )

    results = await bench.run(spec("two", "t1"), spec("tri", "t2"), spec("one", "t3"))

    assert [(r.call, r.content) for r in results] == [
        ("t1", "b"),
        ("t2", "c"),
        ("t3", "a"),
    ]


async def test_a_failing_call_is_a_result_and_its_siblings_are_kept(
    tmp_path: Path,
) -> None:
    bench = bench_of(
        tmp_path,
        Sync("good", lambda: "fine"),
        Sync("bad", raising(ToolError("no such thing"))),
        Async("bug", raising_async(KeyError("x"))),
    )

    good, bad, bug = await bench.run(
        spec("good", "t1"), spec("bad", "t2"), spec("bug", "t3")
    )

    assert (good.content, good.is_error) == ("fine", False)
    assert (bad.content, bad.is_error) == ("no such thing", True)
    assert bug.is_error
    assert "KeyError" in text_of(bug.content)


@pytest.mark.parametrize("kind", [Sync, Async], ids=["sync", "async"])
@pytest.mark.parametrize(
    "error",
    [asyncio.CancelledError(), SystemExit(1), RuntimeError("x"), RecursionError()],
    ids=lambda error: type(error).__name__,
)
async def test_whatever_a_tool_raises_fails_that_call_only(
    tmp_path: Path, kind: Any, error: BaseException
) -> None:
    does = raising(error) if kind is Sync else raising_async(error)
    bench = bench_of(tmp_path, kind("bad", does), Sync("good", lambda: "fine"))

    bad, good = await bench.run(spec("bad", "t1"), spec("good", "t2"))

    assert bad.is_error
    assert good.content == "fine"


async def test_a_real_cancellation_ends_the_tools_and_propagates(
    tmp_path: Path,
) -> None:
    started, ended = anyio.Event(), []

    async def never() -> str:
        try:
            started.set()
            await anyio.sleep_forever()
        finally:
            ended.append(True)
        return ""

    bench = bench_of(tmp_path, Async("never", never))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.run, spec("never"))
        await started.wait()
        group.cancel_scope.cancel()

    assert ended == [True]
    assert [event.kind for event in bench.events] == ["tool.started"]


async def test_cancelling_the_task_itself_propagates_too(tmp_path: Path) -> None:
    started = anyio.Event()

    async def never() -> str:
        started.set()
        await anyio.sleep_forever()
        return ""

    bench = bench_of(tmp_path, Async("never", never))
    task = asyncio.ensure_future(bench.run(spec("never")))
    await started.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_sync_tool_that_never_ends_is_left_behind_and_said_so(
    tmp_path: Path,
) -> None:
    release = threading.Event()
    bench = bench_of(
        tmp_path, Sync("stuck", lambda: str(release.wait(10)), timeout_s=0.02)
    )

    try:
        result = await bench.call("stuck")
    finally:
        release.set()

    assert result.is_error
    assert "did not end within 0.02 s" in text_of(result.content)
    assert "left behind" in text_of(result.content)


async def test_an_async_tool_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    bench = bench_of(tmp_path, Async("stuck", anyio.sleep_forever, timeout_s=0.02))

    assert "was stopped" in await bench.error("stuck")


@pytest.mark.parametrize("kind", [Sync, Async], ids=["sync", "async"])
@pytest.mark.parametrize(
    "error", [StoreError("disk full"), LimitReached("usd", 2, 1)], ids=["disk", "limit"]
)
async def test_what_concerns_the_run_is_not_told_to_the_model(
    tmp_path: Path, kind: Any, error: Exception
) -> None:
    does = raising(error) if kind is Sync else raising_async(error)
    bench = bench_of(tmp_path, kind("bad", does))

    with pytest.raises(type(error)):
        await bench.run(spec("bad"))


@pytest.mark.parametrize("output", ["", "  \n\t", ToolOutput()])
async def test_an_empty_result_becomes_a_short_placeholder(
    tmp_path: Path, output: Any
) -> None:
    bench = bench_of(tmp_path, Sync("silent", lambda: output))

    assert await bench.text("silent") == EMPTY


async def test_a_cut_call_never_runs_and_says_that_it_was_cut(tmp_path: Path) -> None:
    # The tool would empty the file.
    target = tmp_path / "precious.txt"
    target.write_text("content")
    bench = bench_of(tmp_path, Sync("write_file", lambda: target.write_text("")))

    [result] = await bench.run(spec("write_file", problem="This call was cut."))

    assert (result.content, result.is_error) == ("This call was cut.", True)
    assert target.read_text() == "content"
    assert [event.kind for event in bench.events] == ["tool.ended"]


@pytest.mark.parametrize(
    "name",
    ["execute_python", "", "  ", "read file", " read_file", "Read_File", "x" * 1000],
)
async def test_a_tool_that_is_not_there_gives_the_list_of_names(
    bench: ToolBench, name: str
) -> None:
    [result] = await bench.run(spec(name))

    assert result.is_error
    assert "`grep`, `list_dir`, `read_file`, `read_ref`" in text_of(result.content)
    assert len(text_of(result.content)) < 400
    assert len(result.name) <= 64


async def test_a_slip_in_a_name_gets_the_right_one(bench: ToolBench) -> None:
    [result] = await bench.run(spec("Read_File"))

    assert "Did you mean `read_file`?" in text_of(result.content)


async def test_a_tool_that_is_not_allowed_says_what_is(bench: ToolBench) -> None:
    [result] = await bench.run(spec("grep"), allowed=["read_file", "glob"])

    assert result.is_error
    assert "not allowed" in text_of(result.content)
    assert "`glob`, `read_file`" in text_of(result.content)


class FindingsTool(Async):
    name = "submit_findings"


async def test_terminal_tools_run_last_and_only_one_is_accepted(
    tmp_path: Path,
) -> None:
    order: list[str] = []

    async def hand_in() -> ToolOutput:
        order.append("finish")
        return ToolOutput("accepted", ends=True, value={"a": 1})

    def read() -> str:
        order.append("read")
        return "text"

    bench = bench_of(tmp_path, Async("finish", hand_in), Sync("read", read))

    first, second, last = await bench.run(
        spec("finish", "t1"), spec("read", "t2"), spec("finish", "t3")
    )

    assert order == ["read", "finish"]
    assert (first.ends, first.value) == (True, {"a": 1})
    assert second.content == "text"
    assert (last.ends, last.is_error) == (False, True)


async def test_intent_comes_before_and_outcome_after_with_its_cause(
    tmp_path: Path,
) -> None:
    bench = bench_of(tmp_path, Sync("read", lambda: "text"))

    await bench.call("read")

    started, ended = bench.events
    assert (started.kind, ended.kind) == ("tool.started", "tool.ended")
    assert ended.cause == started.seq
    assert (ended.agent, ended.data["content"]) == ("a1", "text")


async def test_the_intent_of_a_call_with_effects_is_on_disk_before_it_runs(
    tmp_path: Path,
) -> None:
    synced: list[int] = []

    class Effect(Sync):
        effects: Effects = "effects"

    tool = Effect("effect", lambda: f"synced {len(synced)}")
    bench = bench_of(tmp_path, tool)
    sync_now = bench.log._sync_now

    def watched() -> None:
        sync_now()
        synced.append(bench.log.seq)

    bench.log._sync_now = watched  # type: ignore[method-assign] # watched, not replaced

    assert await bench.text("effect") == "synced 1"


async def test_half_characters_in_an_input_do_not_reach_the_log(
    tmp_path: Path,
) -> None:
    class Loose(BaseModel):
        model_config = ConfigDict(extra="forbid")
        text: str = ""
        many: list[int] = []

    class Takes(Sync):
        Args: ClassVar[type[BaseModel]] = Loose

    bench = bench_of(tmp_path, Takes("takes", lambda: "ok"))

    await bench.call("takes", text="a\ud83d", many=[2**70])

    assert bench.events[0].data["input"]["text"] == "a\ufffd"


async def test_a_crash_is_told_with_its_class_and_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    bench = bench_of(tmp_path, Sync("bad", raising(ValueError(f"token {key}"))))

    told = await bench.error("bad")

    assert "ValueError" in told
    assert key not in told
    assert key not in capsys.readouterr().out


def picture(width: int, height: int) -> Block:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    data = base64.b64encode(head + bytes(60)).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    return {"type": "image", "source": source}


async def test_a_picture_that_would_have_requests_refused_is_a_note(
    tmp_path: Path,
) -> None:
    wide = picture(2500, 300)
    damaged = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    output = ToolOutput(blocks=(*[picture(64, 64)] * 20, wide, damaged))
    bench = bench_of(tmp_path, Sync("look", lambda: output))

    result = await bench.call("look")

    [note, *pictures] = list(result.content)
    assert pictures == [picture(64, 64)] * 20
    assert "2500×300 pixels, at most 2,000" in str(note)
    assert "not a picture" in str(note)


async def test_images_stay_blocks_and_their_text_is_cleaned(tmp_path: Path) -> None:
    image = picture(1, 1)
    output = ToolOutput(blocks=({"type": "text", "text": "\x1b[1mhi\x1b[0m"}, image))
    bench = bench_of(tmp_path, Sync("look", lambda: output))

    result = await bench.call("look")

    assert result.content == [{"type": "text", "text": "hi"}, image]
