"""What a call does after a try that failed: how long it waits, when it gives up."""

from __future__ import annotations

import math
import random
from typing import Final

from orchestrator.errors import ModelError

__all__ = ["Patience", "backoff_s", "nobody_answered"]

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
MIN_JITTER = 0.75
"""Smallest share of a wait; waiters of one failure must not come back as one."""
MOST_TRIES = 16
MOST_BEGUN = 5
"""Of tries that the service may have begun to answer: each of them may be billed."""
SAME_HALVES = 3
_DOWN: Final = "nobody answered for {outage_s:g} s (`limits.outage_s`): {told}"
_SAME: Final = "the answer broke off {count} times, each time at the same place: {told}"


def backoff_s(failures: int, rng: random.Random) -> float:
    """Return the seconds to wait after so many failures in a row, 1 or more."""
    wait_s = min(FIRST_WAIT_S * 2.0 ** min(failures - 1, MOST_TRIES), MAX_WAIT_S)
    return wait_s * (MIN_JITTER + (1 - MIN_JITTER) * rng.random())


def nobody_answered(
    error: ModelError, outage_s: float, *, begun: bool = False
) -> ModelError:
    """Return the error of a call for which the endpoint was down for too long.

    Args:
        error: how the newest try ended, whoever's it was; left as it is.
        outage_s: how long nobody had an answer, in seconds.
        begun: the service may have begun to answer this call.
    """
    told = _DOWN.format(outage_s=outage_s, told=error.message)
    wait_s = error.retry_after_s
    return ModelError(error.kind, told, wait_s, error.detail, begun, is_down=True)


class Patience:
    """How often and for how long one call is tried.

    Attributes:
        tries: those that failed up to now.
        failing_since: when the first of them did; infinite: none did.
    """

    def __init__(self, outage_s: float, rng: random.Random) -> None:
        """Begin without a failure.

        Args:
            outage_s: longest time to go on while nobody gets an answer, in seconds.
            rng: spreads the waits.
        """
        self.tries = 0
        self._outage_s, self._rng = outage_s, rng
        self.failing_since = self._failing_again_since = math.inf
        self._begun = 0
        self._half, self._halves = "", 0

    def wait_s(self, error: ModelError, *, now: float, answered: float) -> float:
        """Return the seconds until the call may go back to its lane.

        A time that the service told is not among them: the lane keeps it for all.

        Args:
            error: how the newest try ended.
            now: seconds, from any start.
            answered: when a call of this lane last had an answer; `-inf`: never.

        Raises:
            ModelError: `error`, where there is no other try. Its `is_down` says
                whether that holds for everybody.
        """
        self.tries += 1
        if self.tries == 1:
            self.failing_since = now
        elif self.tries == 2:
            self._failing_again_since = now
        if not error.is_retryable:
            raise error
        # While others get answers, the endpoint is there, and a try may be next.
        left_s = self._outage_s - (now - max(self.failing_since, answered))
        if (error.retry_after_s or -math.inf) > left_s:
            error.is_down = True
            raise error
        self._check_half(error)
        self._begun += error.begun
        is_over = self.tries >= MOST_TRIES or self._begun >= MOST_BEGUN
        if is_over or left_s <= 0:
            # One answer may have been on its way when the first try failed.
            error.is_down = left_s <= 0 or answered < self._failing_again_since
            if left_s <= 0:
                raise nobody_answered(error, self._outage_s, begun=error.begun)
            raise error
        # The last try is made at the end of the time, not before it.
        return min(self._own_wait_s(error), left_s)

    def _own_wait_s(self, error: ModelError) -> float:
        told_s = error.retry_after_s
        if told_s is None:
            is_kept_by_lane = error.kind == "rate_limited"
        else:
            # "At once" is believed once; then it is no better than no word at all.
            is_kept_by_lane = told_s > 0 or self.tries == 1
        return 0.0 if is_kept_by_lane else backoff_s(self.tries, self._rng)

    def _check_half(self, error: ModelError) -> None:
        """End a call whose answers break at the same place again and again."""
        is_same = bool(error.half) and error.half == self._half
        self._halves = self._halves + 1 if is_same else 1
        self._half = error.half
        if is_same and self._halves >= SAME_HALVES:
            error.message = _SAME.format(count=self._halves, told=error.message)
            raise error
