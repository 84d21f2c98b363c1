"""Calls with effects when their run is stopped: a moment to end, then a clear record.

A read that is cut is made again on resume. What changed something must not be, so its
outcome has to be on record whenever it is known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.lowlevel

__all__ = ["GRACE_S", "with_grace"]

GRACE_S = 1.0
"""Time that a call with effects has to end once it is cancelled."""

T = TypeVar("T")


async def with_grace(
    work: Callable[[], Awaitable[T]],
    too_late: Callable[[], T],
    *,
    grace_s: Callable[[], float] = lambda: GRACE_S,
) -> T:
    """Return what `work` returns, also where the caller is cancelled meanwhile.

    Then it may go on for a moment; if it has not ended by then it is cancelled, and
    what `too_late` returns counts. The caller meets its cancellation at its next wait.

    Args:
        work: the call.
        too_late: called where its outcome stays unknown.
        grace_s: seconds from the cancellation on, asked for when it comes; 0: cut at
            once, and the cancellation is raised.

    Raises:
        Exception: as `work` or `too_late` raises.
    """
    await anyio.lowlevel.checkpoint_if_cancelled()
    scope = anyio.CancelScope(shield=True)
    found: list[T] = []
    failures: list[Exception] = []
    is_cut = False

    async def limit() -> None:
        nonlocal is_cut
        try:
            await anyio.sleep_forever()
        finally:
            seconds = grace_s()
            is_cut = seconds <= 0
            scope.deadline = anyio.current_time() + seconds

    async with anyio.create_task_group() as group:
        group.start_soon(limit)
        with scope:
            try:
                found.append(await work())
            except Exception as error:  # noqa: BLE001 - raised again, out of the group
                failures.append(error)
        if scope.cancelled_caught and not is_cut:
            found.append(too_late())
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    if not found:
        await anyio.lowlevel.checkpoint()
    return found[0]
