"""Time that goes by only when nobody has anything to do: a wait of hours takes none."""

from __future__ import annotations

import asyncio  # noqa: TID251 - the one place that makes an event loop of its own
import selectors
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar

import anyio
import anyio.to_thread

from orchestrator.tools.threads import calls_at_work

__all__ = ["VirtualClock", "run_virtual"]

THREAD_POLL_S = 0.05
"""Longest real wait for a thread before another look; its end is told at once."""
MAX_POLLS = 6_000
"""So many of them in a row, and a thread has hung."""

T = TypeVar("T")
Ready = list[tuple[selectors.SelectorKey, int]]


class VirtualClock:
    """The time of a replay; it stands still unless it is set.

    Attributes:
        elapsed_s: seconds since the start.
    """

    def __init__(self, start: datetime) -> None:
        """Stand at `start`."""
        self.elapsed_s = 0.0
        self._day, self._since = start, 0.0

    def tell(self, at: datetime) -> None:
        """Set the time of day, which may have gone on while no seconds went by."""
        self._day, self._since = at, self.elapsed_s

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return self._day + timedelta(seconds=self.elapsed_s - self._since)

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self.elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved on by `seconds`."""
        await anyio.sleep(max(seconds, 0))


class _Selector(selectors.DefaultSelector):
    """Asks what to do next where an event loop would wait."""

    def __init__(self, is_busy: Callable[[], bool], idle: Callable[[], None]) -> None:
        super().__init__()
        self._is_busy, self._idle = is_busy, idle
        self._polls = 0

    def select(self, timeout: float | None = None) -> Ready:
        """Return what is ready; never wait, but for threads."""
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self._is_busy():
            self._polls += 1
            if self._polls > MAX_POLLS:
                raise RuntimeError("a thread of the replay has hung")
            return super().select(THREAD_POLL_S)
        self._polls = 0
        self._idle()
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    """An event loop whose time is a clock's."""

    def __init__(self, selector: _Selector, clock: VirtualClock) -> None:
        self._clock = clock
        super().__init__(selector)

    def time(self) -> float:
        """Return the clock's seconds."""
        return self._clock.elapsed_s


def run_virtual(
    work: Callable[[], Awaitable[T]],
    clock: VirtualClock,
    idle: Callable[[], None],
) -> T:
    """Run `work` to its end in an event loop of its own, in the clock's time.

    Args:
        work: what runs.
        clock: its time, and that of all its limits.
        idle: called when nothing can happen by itself any more; it sets the clock or
            lets somebody go on.
    """
    busy: list[Callable[[], bool]] = []
    is_over = False

    async def watched() -> T:
        nonlocal is_over
        limiter = anyio.to_thread.current_default_thread_limiter()
        calls = calls_at_work()
        busy.append(lambda: bool(limiter.borrowed_tokens or calls()))
        try:
            return await work()
        finally:
            is_over = True

    def is_busy() -> bool:
        # Before it begins and after it has ended the loop waits for itself alone.
        return is_over or not busy or busy[0]()

    def make() -> _Loop:
        return _Loop(_Selector(is_busy, idle), clock)

    return anyio.run(watched, backend_options={"loop_factory": make})
