"""How many subagents work at once, and that the program itself keeps nobody waiting."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, ClassVar

import anyio.lowlevel
import pytest
from pydantic import BaseModel
from run_bench import NoArgs, RunBench, brief, delegate, finish, found, item, submit

from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call
from orchestrator.tools.base import ToolContext

LINE = "A refund takes 14 days from the day the goods arrive."
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
READ = call("read_file", path="refunds.md")
REPORT = finish("It takes 14 days [a1#1].")


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


class Crowd:
    """Counts who is between its first request and its last."""

    def __init__(self) -> None:
        self.inside: set[str] = set()
        self.most = 0
        self.order: list[str] = []

    async def __call__(self, request: ModelRequest) -> Step:
        done = sum(1 for each in request.messages if each["role"] == "assistant")
        who = str(request.messages[0]["content"])
        if done == 0:
            self.inside.add(who)
            self.order.append(who)
        self.most = max(self.most, len(self.inside))
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        if done == 0:
            return READ
        self.inside.discard(who)
        return submit(QUOTE)


@pytest.mark.parametrize("at_once", [1, 3])
async def test_never_more_at_work_than_allowed_and_the_rest_wait_in_line(
    bench: RunBench, at_once: int
) -> None:
    crowd = Crowd()
    titles = [f"Case {number}" for number in range(10)]
    ended = await bench.play(
        [delegate(*map(brief, titles)), REPORT],
        dict.fromkeys(titles, crowd),
        limits={"concurrency": at_once},
    )

    assert crowd.most == at_once
    assert [title for who in crowd.order for title in titles if f"# {title}\\n" in who]
    assert [event.agent for event in ended.events("agent.started")][1:] == [
        f"a{number}" for number in range(1, 11)
    ]
    assert len(ended.events("subagent.ended")) == 10
    assert ended.result.state == "done"


async def test_two_calls_of_one_step_share_the_room(bench: RunBench) -> None:
    crowd = Crowd()
    titles = [f"Case {number}" for number in range(8)]
    calls = [delegate(*map(brief, titles[:4])), delegate(*map(brief, titles[4:]))]
    ended = await bench.play(
        [calls, REPORT], dict.fromkeys(titles, crowd), limits={"concurrency": 3}
    )

    assert crowd.most == 3
    ids = [event.data["id"] for event in ended.events("subagent.accepted")]
    assert ids == [f"a{number}" for number in range(1, 9)]
    assert len(set(ended.results("delegate"))) == 2
    assert ended.result.state == "done"


async def test_twins_in_two_calls_of_one_step_are_seen(bench: RunBench) -> None:
    # A check that takes its time, so that the second call comes in the midst of it.
    for number in range(300):
        bench.write(f"papers/{number}.md", "Some text.\n")
    twin = delegate(brief("Twin", scope={"include": ["refunds.md", "**/299.md"]}))
    ended = await bench.play([[twin, twin], REPORT], {"Twin": [READ, submit(QUOTE)]})

    assert len(ended.events("subagent.accepted")) == 1
    [refused] = ended.events("brief.refused")
    assert "asks the same" in refused.data["problems"][0]


async def test_no_walk_through_the_workspace_holds_up_the_others(
    bench: RunBench,
) -> None:
    for number in range(20):
        bench.write(f"folder{number}/paper.md", "Some text.\n")
    walks: list[tuple[str, threading.Thread]] = []
    is_over = threading.Event()

    def hook(event: str, args: tuple[Any, ...]) -> None:
        # It stays for the life of the process.
        if event == "os.walk" and not is_over.is_set():
            walks.append((str(args[0]), threading.current_thread()))

    sys.addaudithook(hook)
    glob = brief("Globs", scope={"include": ["**/paper.md"]})
    named = brief("Names", background="The papers are in folder7/paper.md, paper.md.")
    ended = await bench.play(
        [delegate(glob, named), REPORT],
        {"Globs": [READ, submit(status="nothing_found")], "Names": [READ, submit()]},
    )
    is_over.set()

    assert len(ended.events("subagent.accepted")) == 2
    mine = [thread for path, thread in walks if path.startswith(str(bench.root))]
    assert mine
    assert threading.main_thread() not in mine


class Waits:
    """A sync tool that waits until all of a group have come: in threads, or never."""

    name: ClassVar[str] = "waits"
    description: ClassVar[str] = "Waits for the others."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Any] = "reads"
    timeout_s: ClassVar[float] = 5

    def __init__(self, others: int) -> None:
        self.barrier = threading.Barrier(others, timeout=4)

    def run(self, args: NoArgs, context: ToolContext) -> str:
        self.barrier.wait()
        return "all have come"


async def test_sync_tools_of_all_subagents_run_side_by_side(bench: RunBench) -> None:
    titles = [f"Case {number}" for number in range(4)]
    nothing = call(
        "submit_findings", **found(status="nothing_found", summary="All have come.")
    )
    ended = await bench.play(
        [[call("waits"), call("waits"), delegate(*map(brief, titles))], finish("Yes.")],
        {title: [[call("waits"), call("waits")], nothing] for title in titles},
        tools=[Waits(10)],
    )

    shown = [
        result
        for agent in ("lead", "a1", "a2", "a3", "a4")
        for result in ended.results("waits", agent)
    ]
    assert shown == ["all have come"] * 10


async def test_every_event_names_the_one_that_led_to_it(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("One"), brief("Two")), finish("Nothing.")],
        {
            name: [[READ, READ], submit(status="nothing_found")]
            for name in ("One", "Two")
        },
    )

    log = {event.seq: event for event in ended.events()}
    led = [
        (event.kind, log[event.cause].kind if event.cause else "")
        for event in log.values()
    ]
    assert [kind for kind, cause in led if not cause] == ["run.started"]
    assert all(event.cause < event.seq for event in log.values())
    assert set(led) >= {
        ("agent.started", "run.started"),
        ("agent.started", "subagent.accepted"),
        ("subagent.accepted", "tool.started"),
        ("model.answered", "model.requested"),
        ("tool.started", "model.answered"),
        ("tool.ended", "tool.started"),
        ("run.ended", "agent.ended"),
    }
