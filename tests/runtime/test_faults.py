"""Faults of the disk, of the wire and of tools, in whole runs."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import pytest
from agent_bench import Echo
from fake_endpoint import (
    Answer,
    FakeEndpoint,
    dropped,
    raw,
    refused,
    stream,
    text,
    tool_use,
)
from pydantic import BaseModel
from run_bench import RunBench, finish

from orchestrator.api import Orchestrator
from orchestrator.errors import StoreError
from orchestrator.messages import text_of
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest
from orchestrator.models.governor import Governor
from orchestrator.runtime.progress import MIN_INTERVAL_S
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, hang
from orchestrator.tools.base import Effects, ToolContext

READ = call("read_file", path="refunds.md")
GOOD = finish("A refund takes 14 days [refunds.md:1].")
LOOK = tool_use("toolu_1", "read_file", path="refunds.md")
HAND_IN = tool_use("toolu_2", "finish", report="A refund takes 14 days [refunds.md:1].")


class NoArgs(BaseModel):
    """Arguments of a trap."""


class Trap:
    """A tool that does something to the run folder, or raises."""

    name: ClassVar[str] = "trap"
    description: ClassVar[str] = "Does harm."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 5

    def __init__(self, does: Any) -> None:
        self._does = does

    async def run(self, args: NoArgs, context: ToolContext) -> str:
        self._does()
        return "done"


async def test_a_full_disk_ends_the_run_and_resume_goes_on(bench: RunBench) -> None:
    def full() -> None:
        raise StoreError("cannot write `x`: the disk is full; free some space")

    with pytest.raises(StoreError, match="the disk is full"):
        await bench.run(ScriptedModel([call("trap"), GOOD]), tools=[Trap(full)])
    [run] = bench.runs.glob("2*")
    assert not (run / "report.md").exists()

    ended = await bench.resume(run, [READ, GOOD], {}, tools=[Trap(full)])

    assert ended.result.state == "done"
    assert "outcome is unknown" in ended.results("trap")[0]


async def test_a_transcript_that_cannot_be_kept_does_not_change_how_it_ends(
    bench: RunBench,
) -> None:
    def in_the_way() -> None:
        [run] = bench.runs.glob("2*")
        (run / "agents" / "lead").write_text("a file")

    ended = await bench.run(
        ScriptedModel([call("trap"), READ, GOOD]), tools=[Trap(in_the_way)]
    )

    assert ended.result.state == "done"


async def test_what_is_done_to_the_world_stands_in_the_notes(bench: RunBench) -> None:
    ended = await bench.run(
        ScriptedModel([call("trap"), READ, GOOD]), tools=[Trap(lambda: None)]
    )

    assert "| 1 | lead: trap {} |" in ended.text("progress.md")


async def test_derived_files_that_cannot_be_written_do_not_end_a_long_call(
    bench: RunBench,
) -> None:
    async def slow(request: Any) -> Step:
        [run] = bench.runs.glob("2*")
        if len(request.messages) == 1:
            return READ
        (run / "progress.md").unlink()
        (run / "progress.md").mkdir()
        await anyio.sleep(MIN_INTERVAL_S * 1.3)  # the real clock's, on purpose
        (run / "progress.md").rmdir()
        return GOOD

    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(slow)) as here:
        result = await here.run(bench.task())

    assert result.state == "done"


async def test_many_wrong_citations_are_told_in_part(bench: RunBench) -> None:
    wrong = finish(" ".join(f"It is so [refunds.md:{n}]." for n in range(90, 105)))

    ended = await bench.run(ScriptedModel([READ, wrong, GOOD]))

    told = ended.results("finish")[0]
    assert len(re.findall(r"^- \[refunds", told, re.MULTILINE)) == 12
    assert "- and 3 more wrong citations" in told
    assert ended.result.state == "done"


async def test_a_cancellation_of_a_tools_own_is_that_calls_failure(
    bench: RunBench,
) -> None:
    async def ends_itself(text: str) -> str:
        if text == "bad":
            raise anyio.get_cancelled_exc_class()
        return text

    step = [call("echo", text="good"), call("echo", text="bad"), READ]

    ended = await bench.run(ScriptedModel([step, GOOD]), tools=[Echo(ends_itself)])

    assert ended.result.state == "done"
    good, bad = sorted(ended.results("echo"), key=lambda told: told != "good")
    assert good == "good"
    assert "ended itself" in bad


async def test_cancelling_wins_over_a_tool_at_work(bench: RunBench) -> None:
    grown: list[int] = []
    scope = anyio.CancelScope()

    async def grows(_text: str) -> str:
        while True:
            grown.append(1)
            if len(grown) == 3:
                scope.cancel()
            await anyio.lowlevel.checkpoint()

    model = ScriptedModel([call("echo")])
    async with Orchestrator(
        runs_dir=bench.runs, model=model, tools=[Echo(grows)]
    ) as here:
        with scope:
            await here.run(bench.task())
        await anyio.wait_all_tasks_blocked()

    assert len(grown) == 3


async def run_on(endpoint: FakeEndpoint, bench: RunBench, **limits: Any) -> Any:
    model = AnthropicModel(api_key="key", base_url=endpoint.url)
    clock = FakeClock()
    try:
        return await bench.run(
            Governor(model, clock), clock=clock, model="claude-haiku-5-5", limits=limits
        )
    finally:
        await model.aclose()


async def test_a_stream_that_breaks_in_a_call_runs_nothing_and_is_asked_again(
    bench: RunBench,
) -> None:
    script = [
        dropped(text("I look"), LOOK, ending="close"),
        stream(LOOK),
        stream(HAND_IN),
    ]
    async with FakeEndpoint(script) as endpoint:
        ended = await run_on(endpoint, bench)

    assert ended.result.state == "done"
    assert len(ended.results("read_file")) == 1
    [retried] = ended.events("model.retried")
    assert retried.data["begun"]
    sent = endpoint.requests[-1]["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[1]["content"]] == ["tool_use"]


async def test_half_a_call_is_never_glued_to_the_next_try(bench: RunBench) -> None:
    whole = tool_use("toolu_1", "read_file", path="refunds.md", first_line=1)
    script = [dropped(whole, ending="abort", keep=0.6), stream(whole), stream(HAND_IN)]
    async with FakeEndpoint(script) as endpoint:
        ended = await run_on(endpoint, bench)

    [started] = [
        e for e in ended.events("tool.started") if e.data["name"] == "read_file"
    ]
    assert started.data["input"] == {"path": "refunds.md", "first_line": 1}
    assert ended.result.state == "done"


async def test_pings_do_not_keep_a_call_alive_for_ever(bench: RunBench) -> None:
    script = [raw(ending="ping"), stream(LOOK), stream(HAND_IN)]
    async with FakeEndpoint(script) as endpoint:
        ended = await run_on(endpoint, bench, call_s=0.15, silence_s=5)

    assert ended.result.state == "done"
    [retried] = ended.events("model.retried")
    assert "no whole reply within 0.15 s" in retried.data["message"]


async def test_what_a_broken_stream_may_have_cost_counts(bench: RunBench) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if "this is your last answer" in text_of(request["messages"][-1]["content"]):
            return stream(HAND_IN)
        return dropped(text("I look"), LOOK, ending="close")

    async with FakeEndpoint(answer) as endpoint:
        ended = await run_on(endpoint, bench, tokens=40_000)

    assert ended.result.state == "partial"
    assert "`tokens` reached" in ended.result.reason
    assert len(endpoint.requests) < 10


async def test_an_error_the_service_repeats_ends_the_run(bench: RunBench) -> None:
    problem = "messages.3: invalid assistant message"
    async with FakeEndpoint(
        lambda _request: refused(400, "invalid_request_error", problem)
    ) as endpoint:
        ended = await run_on(endpoint, bench)

    assert (ended.result.state, ended.result.exit_code) == ("failed", 1)
    assert problem in ended.result.reason
    assert len(endpoint.requests) == 1


async def test_nothing_is_sent_once_the_run_is_stopped(bench: RunBench) -> None:
    scope = anyio.CancelScope()

    def stops(request: ModelRequest) -> Step:
        if len(request.messages) > 1:
            scope.cancel()
            return hang()
        return READ

    model = ScriptedModel(stops)
    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with scope:
            await here.run(bench.task())
        await anyio.wait_all_tasks_blocked()

    assert (len(model.requests), model.cancelled) == (2, 1)
