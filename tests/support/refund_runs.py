"""Runs about one small paper: what their leads send, and their subagents do."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from run_bench import brief, delegate, item, submit

from orchestrator.messages import Block
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call

__all__ = [
    "FILES",
    "LINE",
    "MORE",
    "OTHER",
    "QUOTE",
    "READ",
    "SPLITTER",
    "WORK",
    "Gate",
    "frames",
    "replies_in",
    "sent",
    "settled",
]

LINE = "A refund takes 14 days from the day the goods arrive."
OTHER = "Without a receipt a refund takes 30 days at the most."
FILES = {"refunds.md": f"{LINE}\n{OTHER}\n"}
QUOTE = item("A refund takes 14 days after arrival.", "refunds.md:1", LINE)
MORE = item("Without a receipt it takes 30 days.", "refunds.md:2", OTHER)
READ = call("read_file", path="refunds.md")
WORK: list[Step] = [READ, submit(QUOTE)]
"""What a subagent does that has nothing else to do."""
SPLITTER = """---
name: splitter
description: Splits its work.
tools: [delegate, read_file, grep]
---
You split your work and hand the parts out.
"""
"""A profile that may send subagents of its own."""


def sent(
    *titles: str, wait: str = "all", agent: str = "explorer", **fields: Any
) -> Block:
    """A call that sends a brief for each title."""
    briefs = (brief(title, agent=agent, **fields) for title in titles)
    return delegate(*briefs, wait=wait)


def frames(text: str) -> list[str]:
    """Whose findings a text holds."""
    return re.findall(r'<findings agent="(a\d+)"', text)


def replies_in(request: ModelRequest) -> int:
    """How many replies a conversation holds."""
    return sum(message["role"] == "assistant" for message in request.messages)


async def settled() -> None:
    """Let everybody who can act do so, threads included."""
    for _ in range(30):
        await anyio.sleep(0.001)


class Gate:
    """Keeps a subagent before its hand-in until the lead opens it."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps) or WORK
        self.is_open = anyio.Event()

    async def __call__(self, request: ModelRequest) -> Step:
        done = replies_in(request)
        if done:
            await self.is_open.wait()
        return self.steps[done]

    def opened(self, step: Step) -> Callable[[ModelRequest], Awaitable[Step]]:
        """A step of the lead before which the subagent comes to its end."""

        async def play(_request: ModelRequest) -> Step:
            self.is_open.set()
            await settled()
            return step

        return play
