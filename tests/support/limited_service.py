"""A service with limits, in virtual time: hours of it take no time.

It keeps a record of all requests, and of those that came before a told time.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import anyio

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock


class Limit(Protocol):
    """What a service allows."""

    def takes(self, now: float) -> bool:
        """Return whether a request that arrives now is accepted, and count it."""
        ...

    def opens_in_s(self, now: float) -> float:
        """Return the seconds until another is accepted."""
        ...


@dataclass
class Bucket:
    """So many a second come back; as many as `burst` are kept."""

    per_s: float
    burst: float
    level: float = field(init=False)
    at: float = 0.0

    def __post_init__(self) -> None:
        self.level = self.burst

    def takes(self, now: float) -> bool:
        self.level = min(self.level + (now - self.at) * self.per_s, self.burst)
        self.at = now
        if self.level < 1 - 1e-9:
            return False
        self.level -= 1
        return True

    def opens_in_s(self, now: float) -> float:
        return max(1 - self.level, 0) / self.per_s


@dataclass
class Sliding:
    """At most `most` in any `period_s`."""

    most: int
    period_s: float = 1.0
    taken: deque[float] = field(default_factory=deque)

    def takes(self, now: float) -> bool:
        while self.taken and self.taken[0] <= now - self.period_s:
            self.taken.popleft()
        if len(self.taken) >= self.most:
            return False
        self.taken.append(now)
        return True

    def opens_in_s(self, now: float) -> float:
        return self.taken[0] + self.period_s - now


@dataclass
class Fixed:
    """At most `most` in each period, counted anew from its beginning."""

    most: int
    period_s: float = 1.0
    window: int = -1
    taken: int = 0

    def takes(self, now: float) -> bool:
        window = int(now // self.period_s)
        if window != self.window:
            self.window, self.taken = window, 0
        self.taken += 1
        return self.taken <= self.most

    def opens_in_s(self, now: float) -> float:
        return (self.window + 1) * self.period_s - now


class Unlimited:
    """Takes all."""

    def takes(self, now: float) -> bool:
        return True

    def opens_in_s(self, now: float) -> float:
        return 0.0


@dataclass
class Service:
    """A model behind a limit.

    Attributes:
        told_s: what a rejection asks to wait: seconds, "exact", or None.
        kind: of a rejection.
        call_s: how long an answer takes.
        trip_s: how long a request is on its way; a rejection comes at once.
        trip_jitter_s: how much longer at most.
        at_once: most calls under way.
        headers: of its responses.
    """

    clock: FakeClock
    limit: Limit
    told_s: float | str | None = 1.0
    kind: ModelErrorKind = "rate_limited"
    message: str = "too many"
    call_s: float = 0.05
    trip_s: float = 0.01
    trip_jitter_s: float = 0.0
    at_once: int = 10**9
    headers: dict[str, str] = field(default_factory=dict)
    jitter: float = 0.0
    rng: random.Random = field(default_factory=lambda: random.Random(5))
    asked: list[float] = field(default_factory=list)
    early: list[float] = field(default_factory=list)
    rejected: list[float] = field(default_factory=list)
    most_under_way: int = 0
    _opens_at: float = 0.0
    _under_way: int = 0

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        left_at = self.clock.monotonic()
        self.asked.append(left_at)
        if left_at < self._opens_at - 1e-9:
            self.early.append(left_at)
        late_s = self.rng.uniform(0, self.trip_jitter_s)
        await self.clock.sleep(self.trip_s + late_s)
        now = self.clock.monotonic()
        if self._under_way >= self.at_once or not self.limit.takes(now):
            self.rejected.append(now)
            raise self._rejection(now)
        self._under_way += 1
        self.most_under_way = max(self.most_under_way, self._under_way)
        try:
            request.on_headers(self.headers)
            await self.clock.sleep(
                self.call_s * self.rng.uniform(1 - self.jitter, 1 + self.jitter)
            )
        finally:
            self._under_way -= 1
        return Reply(
            [{"type": "text", "text": "ok"}], "end_turn", Usage(10, 0, 0, 0, 5)
        )

    def _rejection(self, now: float) -> ModelError:
        told = self.told_s
        if isinstance(told, str):
            told = self.limit.opens_in_s(now)
        if told:
            self._opens_at = max(self._opens_at, now + told)
        return ModelError(self.kind, self.message, told)

    async def aclose(self) -> None:
        pass


def request_for(model: str = "m", *, outage_s: float = 300.0) -> ModelRequest:
    return ModelRequest(
        model=model,
        system=[],
        tools=[],
        messages=[{"role": "user", "content": "go"}],
        max_output_tokens=100,
        body=b"",
        outage_s=outage_s,
        uncached_tokens=100,
    )


@dataclass
class Taken:
    """What it took."""

    seconds: float = 0.0
    ended: int = 0
    failed: list[ModelError] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    tries: list[int] = field(default_factory=list)


async def fan_out(
    model: Governor, clock: FakeClock, *, agents: int = 8, calls: int = 12
) -> Taken:
    """Let a lead ask, then agents at once, each call after call, then the lead."""
    taken = Taken()

    async def ask() -> None:
        retries: list[object] = []
        try:
            await model.complete(request_for(), on_retry=retries.append)
        except ModelError as error:
            taken.failed.append(error)
        else:
            taken.ended += 1
            taken.ends.append(clock.monotonic())
        taken.tries.append(len(retries) + 1)

    async def works() -> None:
        for _ in range(calls):
            await ask()

    await ask()
    async with anyio.create_task_group() as group:
        for _ in range(agents):
            group.start_soon(works)
    await ask()
    taken.seconds = clock.monotonic()
    return taken


def most_within(times: Sequence[float], seconds: float) -> int:
    """Return the most of `times` that lie within any span of `seconds`."""
    times = sorted(times)
    return max(
        (sum(1 for each in times if at <= each < at + seconds) for at in times),
        default=0,
    )
