"""Try again where a failure may pass: with backoff, bounded in tries and in time."""

from __future__ import annotations

import random

from orchestrator.clock import Clock
from orchestrator.errors import ModelError
from orchestrator.models.base import (
    Model,
    ModelRequest,
    OnRetry,
    Reply,
    Retry,
    caches_prompts,
)

__all__ = ["Retrying"]

FIRST_WAIT_S = 0.5
MAX_WAIT_S = 30.0
MIN_JITTER = 0.75
"""Smallest share of a wait; waiters of one failure must not come back as one."""
TOLD_JITTER = 0.1
"""Most that is added to a time the service told, as a share of it."""
MAX_TOLD_JITTER_S = 3.0


class Retrying:
    """A model that repeats failed tries of another one.

    A try is repeated only for errors that may pass. Tries end after `attempts`, or
    when the next one would begin later than `outage_s` after the first failure; then
    the newest error is raised as it is.

    Attributes:
        caches_prompts: as the model it wraps.
    """

    def __init__(
        self,
        model: Model,
        clock: Clock,
        *,
        outage_s: float = 300.0,
        attempts: int = 16,
        rng: random.Random | None = None,
    ) -> None:
        """Wrap `model`, which this one owns and closes.

        Args:
            model: makes one try for each call.
            clock: waits between the tries.
            outage_s: longest time to go on after the first failure, in seconds.
            attempts: most tries of one call, 1 or more.
            rng: spreads the waits.
        """
        if attempts < 1:
            raise ValueError(f"`attempts` must be 1 or more, got {attempts}")
        self._model, self._clock = model, clock
        self._outage_s, self._attempts = outage_s, attempts
        self._rng = rng or random.SystemRandom()
        self.caches_prompts = caches_prompts(model)

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return the reply of the first try that gives one.

        Raises:
            ModelError: it is not worth another try, or no more tries are left;
                `retry_after_s` is the time that the service told, if it did.
        """
        attempt = 0
        first_failure: float | None = None
        while True:
            attempt += 1
            try:
                return await self._model.complete(request, on_retry=on_retry)
            except ModelError as error:
                now = self._clock.monotonic()
                if first_failure is None:
                    first_failure = now
                left_s = self._outage_s - (now - first_failure)
                wait_s = self._wait_s(error, attempt)
                if not error.is_retryable or attempt >= self._attempts:
                    raise
                if left_s <= 0 or (error.retry_after_s or 0) > left_s:
                    raise
                # The last try is made at the end of the time, not before it.
                wait_s = min(wait_s, left_s)
                on_retry(Retry(attempt, error.kind, error.message, wait_s, error.begun))
            await self._clock.sleep(wait_s)

    def _wait_s(self, error: ModelError, attempt: int) -> float:
        told = error.retry_after_s
        if told is not None and (told > 0 or attempt == 1):
            extra = min(told * TOLD_JITTER, MAX_TOLD_JITTER_S)
            return told + extra * self._rng.random()
        # "At once" is believed once; then it is no better than no word at all.
        wait_s = min(FIRST_WAIT_S * 2.0 ** (attempt - 1), MAX_WAIT_S)
        return wait_s * (MIN_JITTER + (1 - MIN_JITTER) * self._rng.random())

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._model.aclose()
