"""Whose turn it is to change files of the workspace: one agent at a time, call by call.

So no command overwrites what an edit has just put there, an edit that comes before a
command in a step is there when it starts, and what a command changed is its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from orchestrator.errors import ToolError
from orchestrator.events import AgentEnded, Event, SubagentEnded
from orchestrator.ids import LEAD

__all__ = ["WAIT_S", "Turn"]

WAIT_S = 600
"""How long a call waits for its turn."""


class Turn:
    """One for all agents of a run; calls of a step have it in their order.

    A subagent that has begun to change files is the only one until it has ended; the
    lead, which goes on all the time, only while a call of its own is at work.
    """

    def __init__(self) -> None:
        self._lock = anyio.Lock()
        self._writer = ""
        """The subagent that changes files."""

    def follow(self, event: Event) -> None:
        """Let another agent have it once the one that changes files has ended."""
        is_own = event.kind == AgentEnded.KIND and event.agent == self._writer
        is_told = event.kind == SubagentEnded.KIND
        if is_own or (is_told and event.data.get("id") == self._writer):
            self._writer = ""

    @asynccontextmanager
    async def taken(self, agent: str) -> AsyncIterator[None]:
        """Wait for the turn; it ends with the block.

        Args:
            agent: whose call it is.

        Raises:
            ToolError: another agent changes files, or other calls have been at work
                for too long.
        """
        with anyio.move_on_after(WAIT_S) as scope:
            await self._lock.acquire()
        if scope.cancelled_caught:
            raise ToolError(
                f"other calls have been at work for {WAIT_S} s, and only one at a "
                "time may change files; try again later"
            )
        try:
            self._claim(agent)
            yield
        finally:
            self._lock.release()

    def _claim(self, agent: str) -> None:
        if self._writer not in ("", agent):
            raise ToolError(
                f"`{self._writer}` is changing files, and one agent at a time may; it "
                "can be done once that one has ended. Or say in what you hand in what "
                "should be changed"
            )
        if agent != LEAD:
            self._writer = agent
