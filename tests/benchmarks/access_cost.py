"""What it costs a call to share its limits with others: governor and reservation.

    python tests/benchmarks/access_cost.py [CALLS]

Each call is answered at once by a model that does nothing, so that what is left is the
program's own work: beside a bare call, and as a share of the processor time that a call
of an exploring run takes in all (`fan_out.py` prints that).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel
from limited_service import request_for
from stopwatch import Watch, print_table

from orchestrator.agent.budget import Amount, Budget
from orchestrator.clock import SystemClock
from orchestrator.models.base import Model, ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.governor import Governor

CALLS = 20_000
AT_ONCE = 200
WHOLE_CALL_US = 1500.0
"""Processor time of a call of a fan-out in all, measured in November 2026."""
DONE = Reply([{"type": "text", "text": "ok"}], "end_turn", Usage(10, 0, 0, 0, 5))
PLAIN = {
    "content-type": "text/event-stream",
    "date": "Mon, 30 Nov 2026 12:00:00 GMT",
    "request-id": "req_1",
    "server": "x",
    "transfer-encoding": "chunked",
}
LIMITS = PLAIN | {
    f"anthropic-ratelimit-{counted}-{name}": value
    for counted in ("requests", "tokens", "input-tokens", "output-tokens")
    for name, value in (
        ("limit", "4000000"),
        ("remaining", "3990000"),
        ("reset", "2026-11-30T12:00:10Z"),
    )
}


class Instant:
    """A model that answers at once, with these headers."""

    def __init__(self, headers: dict[str, str]) -> None:
        self.headers = headers

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        request.on_headers(self.headers)
        await anyio.lowlevel.checkpoint()
        return DONE

    async def aclose(self) -> None:
        """There is nothing to close."""


def main(calls: int = CALLS) -> None:
    """Print the table."""
    rows: list[tuple[str, ...]] = []
    bare_us = 0.0
    for name, work in ways().items():
        anyio.run(measured, work, calls // 10)
        spent_us = min(anyio.run(measured, work, calls) for _ in range(3))
        bare_us = bare_us or spent_us
        added_us = spent_us - bare_us
        share = f"{added_us / WHOLE_CALL_US:.3f}"
        rows.append((name, f"{spent_us:.1f}", f"{added_us:.1f}", share))
    print_table(
        f"A call on its way to the model: {calls} calls, {AT_ONCE} at once",
        ("", "µs CPU/call", "added", "of a whole call"),
        rows,
    )


def ways() -> dict[str, Callable[[], Callable[[], Awaitable[object]]]]:
    """Return what is compared; each makes what asks once."""
    return {
        "bare": partial(asks, lambda: Instant(PLAIN)),
        "governor": partial(asks, lambda: governed(PLAIN)),
        "governor, headers with limits": partial(asks, lambda: governed(LIMITS)),
        "governor, headers with limits, and reservation": partial(
            asks, lambda: governed(LIMITS), Budget(1e9, None)
        ),
    }


def governed(headers: dict[str, str]) -> Governor:
    """Return a governor over a model that answers at once."""
    return Governor(Instant(headers), SystemClock(), rng=random.Random(1))


def asks(
    model: Callable[[], Model], budget: Budget | None = None
) -> Callable[[], Awaitable[object]]:
    """Return what makes one call, paid from `budget`."""
    asked, request = model(), replace(request_for(), uncached_tokens=100)
    amount = Amount(0.01, 1000)

    async def once() -> None:
        reserved = budget.reserve("a1", amount) if budget else None
        await asked.complete(request, on_retry=lambda _retry: None)
        if budget and reserved:
            budget.settle(reserved, amount)

    return once


async def measured(
    make: Callable[[], Callable[[], Awaitable[object]]], n: int
) -> float:
    """Return the processor time of one of `n` calls, in microseconds."""
    once = make()

    async def works() -> None:
        for _ in range(n // AT_ONCE):
            await once()

    watch = Watch()
    async with anyio.create_task_group() as group:
        for _ in range(AT_ONCE):
            group.start_soon(works)
    return watch.cost().cpu_s / (n // AT_ONCE * AT_ONCE) * 1e6


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
