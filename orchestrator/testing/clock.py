"""A clock for tests: hours of waiting take no time."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel

__all__ = ["FakeClock"]

_PATIENCE = 20
"""Turns of the event loop that others get before time moves on."""


@dataclass(order=True, slots=True)
class _Sleeper:
    at: float
    number: int
    is_awake: bool = field(default=False, compare=False)
    news: anyio.Event = field(default_factory=anyio.Event, compare=False)


class FakeClock:
    """A clock that moves only when everybody who could act is asleep.

    A task that sleeps lets the others run; when it is the next to wake, time jumps to
    its moment. Sleepers wake in the order of their times, so a test with hours of
    waiting takes no time. With `auto=False` time moves by `advance` alone.

    Attributes:
        slept: every wait that was asked for, in seconds and in order.
    """

    def __init__(self, start: datetime | None = None, *, auto: bool = True) -> None:
        """Start at `start`, by default noon of a fixed day."""
        self._start = start or datetime(2026, 11, 29, 12, tzinfo=UTC)
        self._elapsed_s = 0.0
        self._auto = auto
        self._sleepers: list[_Sleeper] = []
        self._numbers = itertools.count()
        self.slept: list[float] = []

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return self._start + timedelta(seconds=self._elapsed_s)

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self._elapsed_s

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has moved on by `seconds`."""
        self.slept.append(seconds)
        if seconds <= 0:
            await anyio.lowlevel.checkpoint()
            return
        sleeper = _Sleeper(self._elapsed_s + seconds, next(self._numbers))
        heapq.heappush(self._sleepers, sleeper)
        try:
            while not sleeper.is_awake:
                await self._wait(sleeper)
        finally:
            if not sleeper.is_awake:
                self._sleepers.remove(sleeper)
                heapq.heapify(self._sleepers)
            self._tell_next()

    async def advance(self, seconds: float) -> None:
        """Move on by `seconds`; whoever wakes on the way runs at its own moment."""
        end = self._elapsed_s + seconds
        await self._let_others_run()
        while self._sleepers and self._sleepers[0].at <= end:
            self._wake_next()
            await self._let_others_run()
        self._elapsed_s = max(end, self._elapsed_s)

    async def _wait(self, sleeper: _Sleeper) -> None:
        if not self._auto or self._sleepers[0] is not sleeper:
            await sleeper.news.wait()
            sleeper.news = anyio.Event()
            return
        await self._let_others_run()
        if self._sleepers and self._sleepers[0] is sleeper:
            self._wake_next()

    def _wake_next(self) -> None:
        sleeper = heapq.heappop(self._sleepers)
        self._elapsed_s = max(self._elapsed_s, sleeper.at)
        sleeper.is_awake = True
        sleeper.news.set()

    def _tell_next(self) -> None:
        if self._sleepers:
            self._sleepers[0].news.set()

    async def _let_others_run(self) -> None:
        for _ in range(_PATIENCE):
            await anyio.lowlevel.checkpoint()
