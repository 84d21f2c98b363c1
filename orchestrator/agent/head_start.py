"""Let the first of many alike requests go ahead, so that the others find its cache.

Subagents of one profile share the start of their requests, byte for byte. What a
request writes into the cache of the service can be read once its answer begins; sent
all at once, each of them would pay for writing the same (Anthropic's documentation of
prompt caching, as of November 2026).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

import anyio

from orchestrator.models.caching import LIFETIME_S

__all__ = ["FOLLOWS", "Ahead", "HeadStart"]

WAIT_S = 5.0
"""Longest wait for the answer to the request that went ahead."""


class Ahead:
    """A request that went ahead of others, to be left when it is over."""

    def __init__(self, begun: Callable[[], None], over: Callable[[], None]) -> None:
        """Tell of one request.

        Args:
            begun: called when its answer begins.
            over: called when it is over in any way.
        """
        self.begun = begun
        self._over = over

    def __enter__(self) -> Ahead:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over()


FOLLOWS = Ahead(lambda: None, lambda: None)
"""A request that no others wait for."""


@dataclass(slots=True)
class _Shared:
    """What is known of one head; times are the event loop's."""

    began: float
    """When the newest request with it left."""
    until: float
    """Nobody waits any longer than this for the one that is ahead."""
    news: anyio.Event = field(default_factory=anyio.Event)
    """The one ahead is answered, or over."""
    is_known: bool = False
    """An answer to one of them began: the head is in the cache."""


class HeadStart:
    """Which heads the service knows by now; one for all agents of a run."""

    def __init__(
        self, *, wait_s: float = WAIT_S, lifetime_s: float = LIFETIME_S
    ) -> None:
        """Know of none.

        Args:
            wait_s: longest wait of a request for one that is ahead, in seconds.
            lifetime_s: of what the service keeps, in seconds.
        """
        self._wait_s, self._lifetime_s = wait_s, lifetime_s
        self._heads: dict[bytes, _Shared] = {}

    async def wait(self, head: bytes) -> Ahead:
        """Wait for the request with `head` that is ahead, if there is one.

        The first one with a head, or after what was cached is gone, is ahead itself
        and does not wait. Where it ends without an answer, one of those that wait is
        ahead in its place; none of them ever waits longer than `wait_s`. Cancelling
        leaves the others as they are.

        Returns:
            What to tell about this request.
        """
        until = anyio.current_time() + self._wait_s
        while True:
            now = anyio.current_time()
            shared = self._heads.get(head)
            if shared is None or now - shared.began > self._lifetime_s:
                return self._lead(head, now)
            end = min(until, shared.until)
            if shared.news.is_set() or now >= end:
                return FOLLOWS
            with anyio.CancelScope(deadline=end):
                await shared.news.wait()

    def knows(self, head: bytes) -> bool:
        """Return whether a request that leaves now should find `head` in the cache."""
        shared = self._heads.get(head)
        if shared is None or not shared.is_known:
            return False
        return anyio.current_time() - shared.began <= self._lifetime_s

    def sent(self, head: bytes) -> None:
        """Take note that a request with `head` leaves: what is cached lives on."""
        shared = self._heads.get(head)
        if shared is not None:
            shared.began = anyio.current_time()

    def _lead(self, head: bytes, now: float) -> Ahead:
        shared = self._heads[head] = _Shared(now, now + self._wait_s)

        def over() -> None:
            is_in_vain = not shared.news.is_set()
            is_newest = self._heads.get(head) is shared
            if is_in_vain and is_newest and anyio.current_time() < shared.until:
                del self._heads[head]  # nothing is cached: the next one is ahead
            shared.news.set()

        def begun() -> None:
            shared.is_known = True
            shared.news.set()

        return Ahead(begun, over)
