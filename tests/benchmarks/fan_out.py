"""What a wide fan-out takes, beside a bare loop that sends what the subagents send.

    python tests/benchmarks/fan_out.py [SUBAGENTS] [CALLS] [TIMES]

The bare loop streams over the SDK, by the same transport, with the same system prompt
and tools; it keeps no log, checks nothing and bounds nothing, and it has no lead.
Memory is what the process grew by at most: all in all, and shared out over those that
were at work at once. With few at a time it is mostly of what has ended.
"""

from __future__ import annotations

import gc
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio
import httpx2
from anthropic import AsyncAnthropic, DefaultAioHttpClient
from explore_policy import lay_parts
from fan_out_endpoint import Arrived, Endpoint, served
from fan_out_run import MODEL, fan_out
from stopwatch import Watch, print_table

from orchestrator.messages import text_of
from orchestrator.models.pricing import price_of
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.reading import read_events

SUBAGENTS, CALLS = 200, 5
A_FEW = 8
TIMES = 1
SAMPLE_S = 0.02
RUN, BARE = "a run", "bare loop"


@dataclass(frozen=True)
class Taken:
    """What one way of doing it took; per call is per call of a subagent."""

    ended: int
    """Subagents that came to an end with all that was asked."""
    arrived: Arrived
    wall_s: float
    cpu_ms: float
    grown_mb: float


def main(subagents: int = SUBAGENTS, calls: int = CALLS, times: int = TIMES) -> None:
    """Print the table."""
    found = compared(subagents, calls, times)
    rows: list[tuple[str, ...]] = []
    for (way, at_once), taken in found.items():
        base, arrived = found[BARE, at_once], taken.arrived
        rows.append(
            (
                f"{way}, {at_once} at a time",
                f"{taken.ended}",
                f"{arrived.of_subagents}",
                f"{arrived.size / arrived.of_subagents / 1000:.1f}",
                f"{taken.wall_s:.2f}",
                f"{taken.cpu_ms:.2f}",
                f"{taken.wall_s / base.wall_s:.2f}",
                f"{taken.cpu_ms / base.cpu_ms:.2f}",
                f"{taken.grown_mb:.1f}",
                f"{taken.grown_mb / at_once:.3f}",
            )
        )
    print_table(
        f"A fan-out: {subagents} subagents of {calls} calls, medians of {times}",
        (
            *("", "ended", "calls", "kB/call", "s", "ms CPU/call"),
            *("× time", "× CPU", "MB", "MB/live"),
        ),
        rows,
    )


def compared(subagents: int, calls: int, times: int) -> dict[tuple[str, int], Taken]:
    """Return what each way took, by its name and how many were at work at once.

    Raises:
        AssertionError: not all came to an end, or a request was refused.
    """
    price_of(MODEL)  # loads the table of prices
    few = min(A_FEW, subagents)
    found: dict[tuple[str, int], list[Taken]] = {}
    with tempfile.TemporaryDirectory() as name, served(calls) as endpoint:
        root = Path(name)
        lay_parts(root / "work", subagents)
        measures(root, endpoint, few, few)  # late imports are done
        for _ in range(times):
            for at_once in sorted({subagents, few}):
                for way, taken in measures(root, endpoint, subagents, at_once).items():
                    assert taken.arrived.of_subagents == subagents * calls, taken
                    found.setdefault((way, at_once), []).append(taken)
    return {key: middle(taken) for key, taken in found.items()}


def measures(
    root: Path, endpoint: Endpoint, subagents: int, at_once: int
) -> dict[str, Taken]:
    """Return what a run took, and then the bare loop that sends the same."""
    endpoint.expects(subagents)
    work = partial(run, root, endpoint.url, subagents, at_once)
    found = {RUN: anyio.run(measured, work, endpoint, subagents)}
    begin = found[RUN].arrived.sample
    work = partial(bare, root, endpoint.url, subagents, at_once, begin)
    found[BARE] = anyio.run(measured, work, endpoint, subagents)
    for way, taken in found.items():
        assert taken.ended == subagents, (way, taken.ended)
        assert not taken.arrived.violations, (way, taken.arrived.violations[:3])
    return found


def middle(taken: Sequence[Taken]) -> Taken:
    """Return the medians; of memory the most, for what is free is used again."""
    return replace(
        taken[0],
        wall_s=median(each.wall_s for each in taken),
        cpu_ms=median(each.cpu_ms for each in taken),
        grown_mb=max(each.grown_mb for each in taken),
    )


async def measured(
    work: Callable[[], Awaitable[int]], endpoint: Endpoint, subagents: int
) -> Taken:
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
        ended = await work()
        cost = watch.cost()
        group.cancel_scope.cancel()
    arrived = endpoint.expects(subagents)
    cpu_ms = cost.cpu_s / arrived.of_subagents * 1000
    return Taken(ended, arrived, cost.wall_s, cpu_ms, most - before)


def resident_mb() -> float:
    """Return how much memory the process has at the moment."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


async def run(root: Path, url: str, subagents: int, at_once: int) -> int:
    """Let a lead send them all, and return how many ended with all that was asked."""
    return complete_in(await fan_out(root, url, subagents=subagents, at_once=at_once))


def complete_in(folder: Path) -> int:
    """Return how many subagents of a run ended with all that was asked."""
    log = read_events(folder / "events.jsonl", Artifacts(folder / "artifacts"))
    ended = [each.data for each in log if each.kind == "subagent.ended"]
    return sum(each["status"] == "complete" for each in ended)


async def bare(
    root: Path, url: str, subagents: int, at_once: int, begin: dict[str, Any]
) -> int:
    """Do what the subagents do with the SDK alone, and return how many ended."""
    client = AsyncAnthropic(
        api_key="key",
        base_url=url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=10),
        http_client=DefaultAioHttpClient(),
        open_telemetry=False,
    )
    places = anyio.CapacityLimiter(at_once)
    ended: list[int] = []

    async def explores(part: int) -> None:
        async with places:
            await explore(client, begin, root / "work", part)
        ended.append(part)

    async with client, anyio.create_task_group() as group:
        for part in range(1, subagents + 1):
            group.start_soon(explores, part)
    return len(ended)


async def explore(
    client: AsyncAnthropic, begin: dict[str, Any], root: Path, part: int
) -> None:
    """Ask and look until there are findings; begin as a subagent did."""
    brief = text_of(begin["messages"][0]["content"])
    first = re.sub(r"(part ?)\d+", rf"\g<1>{part}", brief, flags=re.IGNORECASE)
    content = [{"type": "text", "text": first}]
    messages: list[Any] = [{"role": "user", "content": content}]
    given = {key: begin[key] for key in ("model", "max_tokens", "system", "tools")}
    while True:
        async with client.messages.stream(**given, messages=messages) as coming:
            reply = await coming.get_final_message()
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
    main(*map(int, sys.argv[1:]))
