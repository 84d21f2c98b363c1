"""Nine subagents of which one hangs for ever, and runs that are interrupted.

All over a real endpoint: what is watched is what reaches it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from explore_policy import TASK, ExplorePolicy, lay_parts, part_of, replies_in
from fake_endpoint import Answer, Ending, FakeEndpoint, Script, raw, stream, tool_use
from live_process import ORCHESTRATE, environment, live
from pydantic import BaseModel
from run_bench import NoArgs, RunBench

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.messages import text_of
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor
from orchestrator.tools.base import Effects, ToolContext

PARTS = 9
STUCK = 4
GRACE_S = 0.1
"""How long an endpoint is watched for requests that must not come."""


@dataclass
class Stuck:
    """An exploring run; from its third call on one worker is never answered."""

    ending: Ending
    stuck: int = STUCK
    policy: ExplorePolicy = field(default_factory=lambda: ExplorePolicy(PARTS, 5))

    def __call__(self, asked: dict[str, Any]) -> Answer:
        done = replies_in(asked)
        if part_of(asked) == self.stuck and done >= 2:
            return raw(ending=self.ending)
        return self.policy(asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "limits", "why"),
    [
        pytest.param("hang", "stall_s: 1", "stall_s", id="silent"),
        pytest.param("ping", "stall_s: 1", "stall_s", id="pings for ever"),
        pytest.param("ping", "minutes: 0.1", "minutes", id="no limit but the run's"),
    ],
)
def test_nine_of_which_one_hangs_end_with_eight_findings_and_one_named_failure(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    ending: Ending,
    limits: str,
    why: str,
) -> None:
    lay_parts(tmp_path / "work", PARTS)
    (tmp_path / "task.yaml").write_text(f"{TASK}limits: {{{limits}}}\n")
    with FakeEndpoint(Stuck(ending)) as endpoint:
        env = environment(tmp_path, endpoint.url)
        command = [*ORCHESTRATE, "run", "task.yaml", "--quiet"]
        with live(command, tmp_path, env) as work:
            status, out, err = work.ended()

    assert status == 3, err
    assert endpoint.violations == []
    told = text_of(endpoint.requests[-1]["messages"][-1]["content"])
    for part in range(1, PARTS + 1):
        fact = f"> Fact {part}-2 says that the limit is {part * 7} days."
        assert (fact in told) == (part != STUCK)
    assert out.count("The limit is known [a") == PARTS - 1
    named = f"subagent a{STUCK} (Part {STUCK}) "
    [missing] = work.view().missing
    assert missing.startswith(f"{named}failed: `{why}` reached")
    assert f"- {missing}" in out
    ended = {each.id: each.status for each in work.view().subagents}
    assert ended.pop(f"a{STUCK}") != "complete"
    assert set(ended.values()) == {"complete"}
    assert main(["show", str(work.run.path)]) == 0
    state = "stalled" if why == "stall_s" else "limit"
    assert re.search(rf"a{STUCK} Part {STUCK} +{state} ", capsys.readouterr().out)


@asynccontextmanager
async def opened(
    bench: RunBench, script: Script, *tools: Any
) -> AsyncIterator[tuple[FakeEndpoint, Orchestrator]]:
    """An endpoint that answers by `script`, and what runs tasks over it."""
    async with FakeEndpoint(script) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        try:
            async with Orchestrator(
                runs_dir=bench.runs,
                model=Governor(model, SystemClock()),
                tools=tools,
                clock=SystemClock(),
            ) as here:
                yield endpoint, here
        finally:
            await model.aclose()


@pytest.mark.slow
async def test_one_that_is_sent_late_and_hangs_hands_in_before_the_runs_time_is_up(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path)
    lay_parts(bench.root, 2)
    policy = ExplorePolicy(2, 4)

    async def script(asked: dict[str, Any]) -> Answer:
        done = replies_in(asked)
        if not part_of(asked) and not done:
            await anyio.sleep(2)  # of not quite five seconds
        is_last = "this is your last answer" in text_of(
            asked["messages"][-1]["content"]
        )
        if part_of(asked) == 2 and done == 2:
            if not is_last:
                return raw(ending="ping")
            given = policy.found(asked) | {"status": "partial"}
            return stream(tool_use("toolu_end", "submit_findings", **given))
        return policy(asked)

    async with opened(bench, script) as (endpoint, here):
        task = bench.task(model="claude-x", limits={"minutes": 0.08})
        result = await here.run(task)

    assert result.state == "partial"
    told = text_of(endpoint.requests[-1]["messages"][-1]["content"])
    assert "> Fact 2-0 says that the limit is 14 days." in told
    assert not [each for each in result.missing if "cancelled" in each]


# ---- interrupted ---------------------------------------------------------------------


class Appends:
    """A tool that writes a line again and again until it is stopped."""

    name: ClassVar[str] = "appends"
    description: ClassVar[str] = "Appends lines to a file."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 60

    def __init__(self, path: Path, writers: int) -> None:
        self.path = path
        self.missing = writers
        self.all_at_work = anyio.Event()

    async def run(self, args: NoArgs, context: ToolContext) -> str:
        self.missing -= 1
        if not self.missing:
            self.all_at_work.set()
        while True:
            with self.path.open("a") as file:
                file.write(f"{context.agent}\n")
            await anyio.sleep(0.005)


async def test_after_an_interrupt_three_in_long_calls_ask_for_nothing_more(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path)
    lay_parts(bench.root, 3)
    policy, all_held = ExplorePolicy(3, 5), anyio.Event()
    held: set[int] = set()

    def script(asked: dict[str, Any]) -> Answer:
        done = replies_in(asked)
        if not part_of(asked) or done < 2:
            return policy(asked)
        held.add(part_of(asked))
        if len(held) == 3:
            all_held.set()
        return raw(ending="ping")

    async with opened(bench, script) as (endpoint, here):
        async with anyio.create_task_group() as group:
            group.start_soon(here.run, bench.task(model="claude-x"))
            await all_held.wait()
            group.cancel_scope.cancel()
        sent = len(endpoint.requests)
        await anyio.sleep(GRACE_S)  # the process lives on, and so do its sockets

        assert len(endpoint.requests) == sent == 1 + 3 * 3
        assert endpoint.closed_by_client == 3
    [folder] = bench.runs.glob("2*")
    assert main(["show", str(folder)]) == 0


async def test_after_an_interrupt_the_tools_of_subagents_work_on_nothing(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path)
    lay_parts(bench.root, 3)
    policy, tool = ExplorePolicy(3, 5), Appends(tmp_path / "lines.txt", 3)

    def script(asked: dict[str, Any]) -> Answer:
        if not part_of(asked):
            return policy(asked)
        return stream(tool_use("toolu_1", "appends"))

    async with opened(bench, script, tool) as (endpoint, here):
        async with anyio.create_task_group() as group:
            group.start_soon(here.run, bench.task(model="claude-x"))
            await tool.all_at_work.wait()
            group.cancel_scope.cancel()
        size = tool.path.stat().st_size
        await anyio.sleep(GRACE_S)

        assert tool.path.stat().st_size == size > 0
        assert len(endpoint.requests) == 1 + 3


async def test_one_that_is_cancelled_has_no_tool_at_work_any_more(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path)
    lay_parts(bench.root, 1)
    policy, tool = ExplorePolicy(1, 5), Appends(tmp_path / "lines.txt", 1)
    sizes: list[int] = []

    async def script(asked: dict[str, Any]) -> Answer:
        done = replies_in(asked)
        if part_of(asked):
            return stream(tool_use("toolu_1", "appends"))
        if done == 0:
            briefs = [policy._brief(1)]
            return stream(tool_use("toolu_1", "delegate", briefs=briefs, wait="none"))
        if done == 1:
            await tool.all_at_work.wait()
            return stream(tool_use("toolu_2", "cancel", agent="a1", reason="Enough."))
        sizes.append(tool.path.stat().st_size)
        await anyio.sleep(GRACE_S)
        sizes.append(tool.path.stat().st_size)
        return stream(tool_use("toolu_3", "finish", report="Nothing is known."))

    async with opened(bench, script, tool) as (_, here):
        result = await here.run(bench.task(model="claude-x"))

    assert result.state == "done"
    before, after = sizes
    assert before == after > 0
