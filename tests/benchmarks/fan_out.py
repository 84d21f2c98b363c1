"""What a wide fan-out takes, beside a bare loop over the SDK that does the same calls.

    python tests/benchmarks/fan_out.py [SUBAGENTS] [CALLS]

The endpoint is a process of its own and answers after 20 ms. The bare loop keeps no
log, checks nothing and bounds nothing; it has no lead. Memory is what the process grew
by at most, and it tells most where all are at work at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anthropic
import anyio
from explore_policy import ExplorePolicy, lay_parts
from fake_endpoint import Answer, FakeEndpoint, stream, unstreamed
from stopwatch import Watch, print_table

from orchestrator import Orchestrator, Task
from orchestrator.clock import SystemClock
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.pricing import price_of
from orchestrator.models.retry import Retrying

SUBAGENTS, CALLS = 200, 5
A_FEW = 8
TIMES = 3
LATENCY_S = 0.02
MODEL = "claude-haiku-5-5"
SAMPLE_S = 0.02
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": "Looks into a file.",
        "input_schema": {
            "type": "object",
            "properties": {key: {"type": "string"} for key in keys},
        },
    }
    for name, keys in (
        ("read_file", ("path",)),
        ("grep", ("pattern", "path")),
        ("submit_findings", ("status", "summary", "items")),
    )
]


@dataclass(frozen=True)
class Taken:
    """What one way of doing it took; per call is per call of a subagent."""

    wall_s: float
    cpu_ms: float
    grown_mb: float


class Answers(ExplorePolicy):
    """Answers both ways alike, as a stream where one is asked for."""

    async def answer(self, asked: dict[str, Any]) -> Answer:
        """Return the next reply of a lead or a worker, after a while."""
        await anyio.sleep(LATENCY_S)
        done = sum(1 for each in asked["messages"] if each["role"] == "assistant")
        is_lead = any(tool["name"] == "delegate" for tool in asked["tools"])
        parts = self._lead(asked, done) if is_lead else self._worker(asked, done)
        return stream(*parts, piece=200) if asked.get("stream") else unstreamed(*parts)


def serve(subagents: int, calls: int) -> None:
    """Answer until the standard input ends; the address goes to the output first."""
    with FakeEndpoint(Answers(subagents, calls).answer) as endpoint:
        sys.stdout.write(f"{endpoint.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


@contextlib.contextmanager
def served(subagents: int, calls: int) -> Iterator[str]:
    """Keep an endpoint in a process of its own; it is gone when this is left."""
    process = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(subagents), str(calls)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate()


def main(subagents: int = SUBAGENTS, calls: int = CALLS, times: int = TIMES) -> None:
    """Print the table."""
    price_of(MODEL)  # loads the table of prices
    with tempfile.TemporaryDirectory() as name, served(subagents, calls) as url:
        root = Path(name)
        lay_parts(root / "work", subagents)
        ways: dict[str, Callable[[], Awaitable[None]]] = {
            "bare loop": partial(bare, root, url, subagents),
            "a run, all at once": partial(run, root, url, subagents, subagents),
            f"a run, {A_FEW} at a time": partial(run, root, url, subagents, A_FEW),
        }
        anyio.run(run, root, url, subagents, A_FEW)  # late imports are done
        found: dict[str, list[Taken]] = {way: [] for way in ways}
        for _ in range(times):
            for way, work in ways.items():
                found[way].append(anyio.run(measured, work, subagents * calls))
    middle = {
        way: Taken(
            median(each.wall_s for each in taken),
            median(each.cpu_ms for each in taken),
            max(each.grown_mb for each in taken),
        )
        for way, taken in found.items()
    }
    base = middle["bare loop"]
    print_table(
        f"A fan-out: {subagents} subagents of {calls} calls, medians of {times}",
        ("", "s", "ms CPU/call", "× time", "× CPU", "MB"),
        [
            (
                way,
                f"{taken.wall_s:.2f}",
                f"{taken.cpu_ms:.2f}",
                f"{taken.wall_s / base.wall_s:.2f}",
                f"{taken.cpu_ms / base.cpu_ms:.2f}",
                f"{taken.grown_mb:.1f}",
            )
            for way, taken in middle.items()
        ],
    )


async def measured(work: Callable[[], Awaitable[None]], calls: int) -> Taken:
    """Return what it takes to do it once."""
    gc.collect()
    before = most = resident_mb()

    async def watches() -> None:
        nonlocal most
        while True:
            most = max(most, resident_mb())
            await anyio.sleep(SAMPLE_S)

    async with anyio.create_task_group() as group:
        group.start_soon(watches)
        watch = Watch()
        await work()
        cost = watch.cost()
        group.cancel_scope.cancel()
    return Taken(cost.wall_s, cost.cpu_s / calls * 1000, most - before)


def resident_mb() -> float:
    """Return how much memory the process has at the moment."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def run(root: Path, url: str, subagents: int, at_once: int) -> None:
    """Let a lead send them all, and take its report."""
    task = Task(
        objective="Make a table of the limits that the files give.",
        workspace=root / "work",
        context=(),
        model=MODEL,
        limits={"subagents": subagents, "concurrency": at_once, "usd": 100},
    )
    clock = SystemClock()
    model = AnthropicModel(api_key="key", base_url=url)
    try:
        async with Orchestrator(
            runs_dir=root / "runs", model=Retrying(model, clock), clock=clock
        ) as here:
            result = await here.run(task)
    finally:
        await model.aclose()
    assert result.state == "done", result
    assert result.totals.calls >= subagents


async def bare(root: Path, url: str, subagents: int) -> None:
    """Do what the subagents do with the SDK alone."""
    client = anthropic.AsyncAnthropic(api_key="key", base_url=url, max_retries=0)
    async with client, anyio.create_task_group() as group:
        for part in range(1, subagents + 1):
            group.start_soon(explore, client, root / "work", part)


async def explore(client: anthropic.AsyncAnthropic, root: Path, part: int) -> None:
    """Ask and look until there are findings."""
    first = {"type": "text", "text": f"# Part {part}\n\nLook."}
    messages: list[Any] = [{"role": "user", "content": [first]}]
    while True:
        reply = await client.messages.create(
            model=MODEL,
            max_tokens=8192,
            system="You look into files.",
            tools=TOOLS,  # type: ignore[arg-type] # plain dicts, as anybody writes them
            messages=messages,
        )
        messages.append({"role": "assistant", "content": reply.content})
        results = []
        for block in reply.content:
            if block.type == "tool_use":
                if block.name == "submit_findings":
                    return
                found = look(root, block.input)
                told = {"type": "tool_result", "tool_use_id": block.id}
                results.append({**told, "content": found})
        messages.append({"role": "user", "content": results})


def look(root: Path, given: Any) -> str:
    """Return the numbered lines of a file, all or those that match."""
    lines = (root / given["path"]).read_text(encoding="utf-8").split("\n")
    shown = [
        f"{number}\t{line}"
        for number, line in enumerate(lines, 1)
        if "pattern" not in given or re.search(given["pattern"], line)
    ]
    return "\n".join(shown) or "none"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*map(int, sys.argv[2:]))
    else:
        main(*map(int, sys.argv[1:]))
