"""Whose turn it is to change files of the workspace: one call after the other.

So no command overwrites what an edit has just put there, an edit that comes before a
command in a step is there when it starts, and what a command changed is its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from orchestrator.errors import ToolError

__all__ = ["WAIT_S", "Turn"]

WAIT_S = 600
"""How long a call waits for its turn."""


class Turn:
    """One for all agents of a run; calls of a step have it in their order."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Wait for the turn; it ends with the block.

        Raises:
            ToolError: others have been at work for too long.
        """
        with anyio.move_on_after(WAIT_S) as scope:
            await self._lock.acquire()
        if scope.cancelled_caught:
            raise ToolError(
                f"other calls have been at work for {WAIT_S} s, and only one at a "
                "time may change files; try again later"
            )
        try:
            yield
        finally:
            self._lock.release()
