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
from orchestrator.models.retry import backoff_s, nobody_answered
from orchestrator.models.room import Room
from orchestrator.models.storm import (
    Evidence,
    Storm,
    Try,
    accepted_before,
    most_that_fit,
)

__all__ = ["Lane"]

MAX_TOLD_S = 86_400.0
"""What is told beyond a day is believed for a day."""
MAX_ALLOWANCE_S = 60.0
"""Headers hold a request back for so long at most; a told time is the stronger word. A
limit that would hold it longer, and is not kept, is no limit."""
MIN_HELD_S = 1.0
"""Less is a matter of rounding."""
KEPT_S = 30.0
"""For how long it is known which tries left; rejections come sooner."""
CUT = 0.8
"""Of what was under way when the service had too much to do."""
EVEN, FEW = 2, 2
"""What may be chance sets a pace only where that is hardly slower than it went: so many
times as many were accepted in a second as in its last quarter, and not just a few."""
SPREAD, MAX_SPREAD_S = 0.1, 3.0
"""Over what share of a told time those leave that waited for it, without a pace."""
_TOKENS: Final = ("tokens", "input-tokens")


@dataclass(slots=True, eq=False)
class _Turn:
    """A request that waits to leave.

    Attributes:
        since: when it came, or its first try failed.
        news: it has left, or is in front.
        tried: set when it leaves.
        was_held: it would have left earlier, were it not for the pace.
        front_at: when it came to the front.
    """

    request: ModelRequest
    came_at: float
    since: float
    news: anyio.Event
    tried: Try | None = None
    was_held: bool = False
    front_at: float | None = None


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
        self._untrue: set[str] = set()
        self._opens_at = -math.inf
        self._newest_error: ModelError | None = None
        self._queue: deque[_Turn] = deque()
        self._doze: anyio.CancelScope | None = None
        self._left: deque[Try] = deque()
        self._pending, self._pending_tokens = 0, 0
        self._newest = self._newest_accepted = 0
        self._storm: Storm | None = None
        self._storm_before = self._storm_until = 0
        self._storms = 0
        """Those without an accepted request in between."""
        self._evidence = Evidence()
        self._cut_at = -math.inf
        """When a storm was last learnt from."""

    @property
    def opens_in_s(self) -> float:
        """Return the seconds until the time that the service told; 0: it is past."""
        return max(self._opens_at - self._clock.monotonic(), 0.0)

    async def enter(self, request: ModelRequest, *, failing_since: float) -> Try:
        """Return once `request` may leave; `leave` must follow.

        Cancelling gives up the place.

        Args:
            request: to be sent.
            failing_since: when its first try failed; infinite: none did.

        Raises:
            ModelError: nothing of this model may leave for longer than the outage
                that the request puts up with, or nobody had an answer for so long.
        """
        now = self._clock.monotonic()
        turn = _Turn(request, now, min(failing_since, now), anyio.Event())
        self._check_open(turn)
        if not self._queue and self._wait_s(request, now, since=now) <= 0:
            return self._depart(request, now, came_at=now, was_held=False)
        self._queue.append(turn)
        try:
            with request.while_waiting():
                while turn.tried is None:
                    await self._stand(turn)
        except BaseException:
            if turn.tried is not None:
                self.leave(turn.tried)
            raise
        finally:
            self._step_out(turn)
        return turn.tried

    async def _stand(self, turn: _Turn) -> None:
        """Wait for news; who is in front lets those leave that may."""
        if self._queue[0] is not turn:
            await turn.news.wait()
            return
        self._check_open(turn)
        wait_s = self._release()
        if turn.tried is not None:
            return
        self._doze = anyio.CancelScope()
        try:
            with self._doze:
                # Without room it is woken by a try that ends: they have a limit.
                if math.isinf(wait_s):
                    await anyio.sleep_forever()
                await self._clock.sleep(wait_s)
        finally:
            self._doze = None

    def _step_out(self, turn: _Turn) -> None:
        """Leave the queue, if `turn` did not leave it for the service."""
        if turn.tried is None:
            was_front = self._queue[0] is turn
            self._queue.remove(turn)
            if was_front and self._queue:
                self._queue[0].news.set()

    def _release(self) -> float:
        """Let those in front leave that may; return how long the next one waits."""
        wait_s = 0.0
        while self._queue:
            turn, now = self._queue[0], self._clock.monotonic()
            turn.news.set()
            if turn.front_at is None:
                turn.front_at = now
            wait_s = self._wait_s(turn.request, now, since=turn.front_at)
            if wait_s > 0:
                turn.was_held = turn.was_held or self._pace.wait_s(now) > 0
                break
            self._queue.popleft()
            turn.tried = self._depart(
                turn.request, now, came_at=turn.came_at, was_held=turn.was_held
            )
        return wait_s

    def _check_open(self, turn: _Turn) -> None:
        error = self._newest_error
        if error is None:
            return
        outage_s, opens_in_s = turn.request.outage_s, self.opens_in_s
        failing_s = self._clock.monotonic() - max(turn.since, self.answered_at)
        if opens_in_s > outage_s or failing_s > outage_s:
            told_s = opens_in_s or None
            down = ModelError(
                error.kind, error.message, told_s, error.detail, is_down=True
            )
            raise nobody_answered(down, outage_s) if failing_s > outage_s else down

    def _wait_s(self, request: ModelRequest, now: float, *, since: float) -> float:
        """Return the seconds until `request` may leave; infinite: until there is room.

        Args:
            request: the one in front.
            now: the moment.
            since: when it came to the front.
        """
        if self._opens_at > now:
            return self._opens_at - now
        if self._storm is not None:
            self._settle(self._storm, now)
        if self._room.is_full:
            return math.inf
        wait_s = self._pace.wait_s(now)
        if self._buckets:
            held_s = max(
                bucket.wait_s(_need(counted, request.uncached_tokens), now)
                for counted, bucket in self._buckets.items()
            )
            wait_s = max(wait_s, min(held_s, since + MAX_ALLOWANCE_S - now))
        return wait_s

    def _depart(
        self, request: ModelRequest, now: float, *, came_at: float, was_held: bool
    ) -> Try:
        self._newest += 1
        self._room.taken += 1
        tried = Try(
            self._newest,
            now,
            request.uncached_tokens,
            under_way=self._room.taken,
            waited_s=now - came_at,
            was_held=was_held,
            against=self._held_by(request, now),
        )
        self._pace.left(now, was_held=was_held)
        for counted, bucket in self._buckets.items():
            bucket.take(_need(counted, tried.tokens), now)
        self._pending += 1
        self._pending_tokens += tried.tokens
        self._left.append(tried)
        while self._left[0].left_at < now - KEPT_S:
            self._left.popleft()
        return tried

    def _held_by(self, request: ModelRequest, now: float) -> tuple[str, ...]:
        """Return the limits of headers that would hold a request back for longer."""
        return tuple(
            counted
            for counted, bucket in self._buckets.items()
            if bucket.wait_s(_need(counted, request.uncached_tokens), now) > MIN_HELD_S
        )

    def hears(self, tried: Try, headers: Mapping[str, str]) -> None:
        """Take in the headers with which the response to a try begins."""
        self._no_longer_pending(tried)
        tried.was_heard = True
        told = allowances(headers, self._clock.now())
        if not told:
            return
        now = self._clock.monotonic()
        for counted, allowance in told.items():
            if counted in self._untrue:
                continue
            # What is on its way is not in the service's figures yet.
            pending = _need(counted, self._pending_tokens, requests=self._pending)
            bucket = self._buckets.get(counted)
            if bucket is None:
                bucket = self._buckets[counted] = Bucket(allowance, now)
            bucket.told(allowance, now, pending=pending)
        self._wake()

    def _no_longer_pending(self, tried: Try) -> None:
        if tried.is_pending:
            tried.is_pending = False
            self._pending -= 1
            self._pending_tokens -= tried.tokens

    def answered(self, tried: Try) -> None:
        """Take note of a whole answer to a try."""
        tried.was_heard = True
        self.answered_at = self._clock.monotonic()
        for counted in tried.against:
            self._untrue.add(counted)
            self._buckets.pop(counted, None)
        if self._opens_at <= self.answered_at:
            self._newest_error = None
        self._room.succeeded()

    def failed(self, tried: Try, error: ModelError) -> None:
        """Take note of a try that failed; close the gate for as long as was told."""
        if not error.is_retryable:
            return
        self._newest_error = error
        told_s = error.retry_after_s
        if told_s:
            self._close(min(told_s, MAX_TOLD_S))
        elif error.kind == "transient":
            return
        tried.was_rejected = True
        if tried.number <= self._storm_until:
            if self._storm is not None:
                self._storm.add(tried)
            return
        self._storm = Storm(error, self._room.taken, tried, tried.under_way)
        is_over = self._newest_accepted > self._storm_before or any(
            each.number > self._storm_before and each.was_accepted
            for each in self._left
        )
        self._storms = 1 if is_over else self._storms + 1
        self._storm_before, self._storm_until = self._storm_until, self._newest
        if error.kind == "rate_limited" and told_s is None:
            self._close(backoff_s(self._storms, self._rng))

    def leave(self, tried: Try) -> None:
        """Give up the place of a try, however it ended."""
        self._no_longer_pending(tried)
        if tried.was_accepted:
            self._newest_accepted = max(self._newest_accepted, tried.number)
        self._room.taken -= 1
        if not self._room.is_full:
            self._wake()

    def _close(self, seconds: float) -> None:
        opens_at = self._clock.monotonic() + seconds
        self._opens_at = max(self._opens_at, opens_at)

    def _settle(self, storm: Storm, now: float) -> None:
        """Learn from a storm, once, when the next request would leave.

        Where the gate was closed, it is known by then which of its requests were
        accepted; else those at work count as accepted, and are weighed later.
        """
        self._storm = None
        is_limit = self._evidence.is_enough(self._left)
        fits = most_that_fit(self._left)
        had_time = storm.newest.left_at >= self._cut_at + WINDOW_S
        has_pace = self._pace.is_learnt and had_time
        if storm.is_for_room(fits, has_pace=has_pace):
            self._room.cut(fits, is_bound=True)
        elif any(
            each.left_at >= self._cut_at and each.seems_accepted for each in self._left
        ):
            # While nothing is accepted, being rejected again teaches nothing.
            self._slow_down(storm, fits, now, is_limit)
        if is_limit:
            told_s = storm.error.retry_after_s or 0.0
            self._pace.spread(len(self._queue), min(told_s * SPREAD, MAX_SPREAD_S))

    def _slow_down(self, storm: Storm, fits: int, now: float, is_limit: bool) -> None:
        is_learnt = is_limit
        kind = storm.error.kind
        if is_limit and kind == "overloaded":
            self._room.cut(CUT * storm.taken)
        elif is_limit and kind == "rate_limited" and storm.least > fits:
            self._room.cut(max(CUT * storm.taken, fits))
        if kind == "rate_limited":
            accepted, late = (
                accepted_before(storm.newest, self._left, seconds=seconds)
                for seconds in (WINDOW_S, WINDOW_S / 4)
            )
            is_even = accepted >= EVEN * max(late, FEW)
            if is_limit or is_even or self._pace.is_learnt:
                is_learnt = True
                told_s = storm.error.retry_after_s or 0.0
                self._pace.rejected(
                    now, accepted=accepted, told_s=told_s, is_sure=is_limit
                )
        if is_learnt:
            self._cut_at = now

    def _wake(self) -> None:
        """Let the one in front look again: it may leave sooner than it knew."""
        if self._doze is not None:
            self._doze.cancel()


def _need(counted: str, tokens: int, *, requests: int = 1) -> float:
    # What a reply will take is not known; there must be something left for it.
    return tokens if counted in _TOKENS else requests
