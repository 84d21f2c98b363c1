"""Whether the machine stood still while a test with short limits ran."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

__all__ = ["Stalls", "watched"]

TICK_S = 0.02
LATE_S = 0.05
"""A tick that is later than this counts; the loop's own work takes less."""


@dataclass(slots=True)
class Stalls:
    """How long this process did not get to work at all, in seconds."""

    lost_s: float = 0.0


@asynccontextmanager
async def watched() -> AsyncIterator[Stalls]:
    """Count, while the block runs, how late the ticks of a clock come."""
    stalls = Stalls()

    async def tick() -> None:
        while True:
            due = time.monotonic() + TICK_S
            await anyio.sleep(TICK_S)
            late = time.monotonic() - due
            if late > LATE_S:
                stalls.lost_s += late

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        yield stalls
        group.cancel_scope.cancel()
