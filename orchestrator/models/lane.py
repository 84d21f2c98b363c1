"""Where requests of one model wait until they may leave, whichever agent's they are.

A request waits for the time that the service told, for the pace, for what the headers
say is left, and for room, first come, first served. The one in front waits for all of
that, the others for their turn. Where nothing is known against it, all leave at once.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from orchestrator.clock import Clock
from orchestrator.errors import ModelError
from orchestrator.models.allowance import Bucket, allowances
from orchestrator.models.base import ModelRequest
from orchestrator.models.pace import WINDOW_S, Pace
from orchestrator.models.retry import backoff_s
from orchestrator.models.room import Room

__all__ = ["Lane", "Try"]

MAX_TOLD_S = 86_400.0
"""What is told beyond a day is believed for a day."""
MAX_ALLOWANCE_S = 60.0
"""Headers hold a request back for so long at most; a told time is the stronger word."""
KEPT_S = 30.0
"""For how long it is known which tries left; rejections come sooner."""
CUT = 0.8
"""Of what was under way when the service had too much to do."""
SPREAD, MAX_SPREAD_S = 0.1, 3.0
"""Over what share of a told time those leave that waited for it, without a pace."""
_TOKENS: Final = ("tokens", "input-tokens")


@dataclass(slots=True, eq=False)
class Try:
    """One request that has left.

    Attributes:
        number: tries of a lane are counted in the order in which they left.
        left_at: when, in seconds of the clock.
        tokens: its estimated input that no cache holds.
        waited_s: how long it was held back.
        is_pending: nothing was heard of it yet.
        was_rejected: the service had too much to do, or was asked too often.
    """

    number: int
    left_at: float
    tokens: int
    waited_s: float
    is_pending: bool = True
    was_rejected: bool = False


@dataclass(slots=True)
class _Storm:
    """Rejections of requests that left before any of them was known."""

    error: ModelError
    taken: int
    """Requests under way at the first rejection, that one included."""
    newest: Try
    """That left last of those that were rejected."""
    rejected: int = 1

    def add(self, tried: Try) -> None:
        self.rejected += 1
        if tried.number > self.newest.number:
            self.newest = tried


class Lane:
    """The way out for all requests of one model in this process.

    Attributes:
        answered_at: when a try last had a whole answer; `-inf`: never.
    """

    def __init__(self, clock: Clock, ceiling: int, rng: random.Random) -> None:
        """Begin with nothing known.

        Args:
            clock: tells the time and waits.
            ceiling: most requests under way at once.
            rng: spreads own waits.
        """
        self.answered_at = -math.inf
        self._clock, self._rng = clock, rng
        self._room, self._pace = Room(ceiling), Pace()
        self._buckets: dict[str, Bucket] = {}
        self._opens_at = -math.inf
        self._closed_by: ModelError | None = None
        self._queue: deque[anyio.Event] = deque()
        self._doze: anyio.CancelScope | None = None
        self._lacks_room = False
        self._left: deque[Try] = deque()
        self._pending, self._pending_tokens = 0, 0
        self._newest = 0
        self._storm: _Storm | None = None
        self._storm_until = 0
        self._storms = 0

    @property
    def opens_in_s(self) -> float:
        """Return the seconds until the time that the service told; 0: it is past."""
        return max(self._opens_at - self._clock.monotonic(), 0.0)

    async def enter(self, request: ModelRequest) -> Try:
        """Return once `request` may leave; `leave` must follow.

        Cancelling gives up the place.

        Raises:
            ModelError: nothing of this model may leave for longer than the outage
                that the request puts up with.
        """
        self._check_open(request)
        now = self._clock.monotonic()
        if not self._queue and self._wait_s(request, now) <= 0:
            return self._depart(request, now, now)
        with request.while_waiting():
            return await self._queued(request, now)

    async def _queued(self, request: ModelRequest, came_at: float) -> Try:
        turn = anyio.Event()
        self._queue.append(turn)
        try:
            if self._queue[0] is not turn:
                await turn.wait()
            return await self._in_front(request, came_at)
        finally:
            was_front = self._queue[0] is turn
            self._queue.remove(turn)
            if was_front:
                self._doze = None
                if self._queue:
                    self._queue[0].set()

    async def _in_front(self, request: ModelRequest, came_at: float) -> Try:
        was_held = False
        patience_at = self._clock.monotonic() + MAX_ALLOWANCE_S
        while True:
            self._check_open(request)
            now = self._clock.monotonic()
            wait_s = self._wait_s(request, now, patience_s=patience_at - now)
            if wait_s <= 0:
                return self._depart(request, now, came_at, was_held=was_held)
            was_held = was_held or self._pace.wait_s(now) > 0
            self._lacks_room = math.isinf(wait_s)
            with anyio.CancelScope() as self._doze:
                # Without room it is woken by whoever leaves: tries have a limit.
                if self._lacks_room:
                    await anyio.sleep_forever()
                await self._clock.sleep(wait_s)

    def _check_open(self, request: ModelRequest) -> None:
        opens_in_s, error = self.opens_in_s, self._closed_by
        if error is not None and opens_in_s > request.outage_s:
            raise ModelError(
                error.kind, error.message, opens_in_s, error.detail, is_down=True
            )

    def _wait_s(
        self, request: ModelRequest, now: float, *, patience_s: float = MAX_ALLOWANCE_S
    ) -> float:
        """Return the seconds until `request` may leave; infinite: until there is room.

        Args:
            request: the one in front.
            now: the moment.
            patience_s: for how long it may still wait for what headers told.
        """
        if self._storm is not None:
            self._settle(self._storm, now)
        if self._room.is_full:
            return math.inf
        wait_s = max(self._opens_at - now, self._pace.wait_s(now))
        if self._buckets:
            held_s = max(
                bucket.wait_s(_need(counted, request.uncached_tokens), now)
                for counted, bucket in self._buckets.items()
            )
            wait_s = max(wait_s, min(held_s, patience_s))
        return wait_s

    def _depart(
        self, request: ModelRequest, now: float, came_at: float, was_held: bool = False
    ) -> Try:
        self._newest += 1
        tried = Try(self._newest, now, request.uncached_tokens, now - came_at)
        self._room.taken += 1
        self._pace.left(now, was_held=was_held)
        for counted, bucket in self._buckets.items():
            bucket.take(_need(counted, tried.tokens), now)
        self._pending += 1
        self._pending_tokens += tried.tokens
        self._left.append(tried)
        while self._left[0].left_at < now - KEPT_S:
            self._left.popleft()
        return tried

    def hears(self, tried: Try, headers: Mapping[str, str]) -> None:
        """Take in the headers with which the response to a try begins."""
        self._hear(tried)
        told = allowances(headers, self._clock.now())
        now = self._clock.monotonic()
        for counted, allowance in told.items():
            pending = _need(counted, self._pending_tokens, requests=self._pending)
            bucket = self._buckets.get(counted)
            if bucket is None:
                bucket = self._buckets[counted] = Bucket(allowance, now)
            bucket.told(allowance, now, pending=pending)
        if told:
            self._wake()

    def _hear(self, tried: Try) -> None:
        if tried.is_pending:
            tried.is_pending = False
            self._pending -= 1
            self._pending_tokens -= tried.tokens

    def answered(self, tried: Try) -> None:
        """Take note of a whole answer."""
        self.answered_at = self._clock.monotonic()
        self._room.succeeded()
        if tried.number > self._storm_until:
            self._storms = 0

    def failed(self, tried: Try, error: ModelError) -> None:
        """Take note of a try that failed; close the gate for as long as was told."""
        told_s = error.retry_after_s
        if told_s and error.is_retryable:
            self._close(min(told_s, MAX_TOLD_S), error)
        if error.kind not in ("rate_limited", "overloaded"):
            return
        tried.was_rejected = True
        if tried.number <= self._storm_until:
            if self._storm is not None:
                self._storm.add(tried)
            return
        self._storm = _Storm(error, self._room.taken, tried)
        self._storm_until = self._newest
        if error.kind == "rate_limited" and told_s is None:
            self._storms += 1
            self._close(backoff_s(self._storms, self._rng), error)

    def leave(self, tried: Try) -> None:
        """Give up the place of a try, however it ended."""
        self._hear(tried)
        self._room.taken -= 1
        if self._lacks_room:
            self._wake()

    def _close(self, seconds: float, error: ModelError) -> None:
        opens_at = self._clock.monotonic() + seconds
        if opens_at > self._opens_at:
            self._opens_at, self._closed_by = opens_at, error

    def _settle(self, storm: _Storm, now: float) -> None:
        """Learn from a storm, once, when the next request would leave.

        By then it is known which of its requests were accepted.
        """
        self._storm = None
        error, told_s = storm.error, storm.error.retry_after_s
        accepted = storm.taken - storm.rejected
        if error.kind == "rate_limited" and (told_s is not None or not accepted):
            self._pace.rejected(now, accepted=self._accepted_before(storm.newest))
        if error.kind == "rate_limited" and told_s is None:
            # Rather a bound on what is under way, and what was accepted shows it.
            self._room.cut(accepted)
        else:
            self._room.cut(max(CUT * storm.taken, accepted))
        spread_s = min((told_s or 0.0) * SPREAD, MAX_SPREAD_S)
        self._pace.spread(len(self._queue), spread_s)

    def _accepted_before(self, rejected: Try) -> int:
        """Return how many that left just before were not rejected."""
        since = rejected.left_at - WINDOW_S
        return sum(
            since < tried.left_at <= rejected.left_at and not tried.was_rejected
            for tried in self._left
        )

    def _wake(self) -> None:
        """Let the one in front look again."""
        if self._doze is not None:
            self._doze.cancel()


def _need(counted: str, tokens: int, *, requests: int = 1) -> float:
    # What a reply will take is not known; there must be something left for it.
    return tokens if counted in _TOKENS else requests
