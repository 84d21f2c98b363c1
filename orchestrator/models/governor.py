"""What all agents of a process share on their way to the models of one endpoint.

Each try of each call goes through the lane of its model, since limits hold for a model.
A call that failed waits without a place there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial

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
from orchestrator.models.lane import Lane
from orchestrator.models.retry import Patience
from orchestrator.models.storm import Try
from orchestrator.settings import MOST_AT_ONCE

__all__ = ["Governor", "OnClosed"]

_CLOSED = ("quota_exhausted", "auth")

OnClosed = Callable[[ModelError], None]


class Governor:
    """A model that keeps the limits of another one, and repeats its failed tries.

    One for a process and its credentials, whatever runs are in it.

    Attributes:
        caches_prompts: as the model it wraps.
    """

    def __init__(
        self,
        model: Model,
        clock: Clock,
        *,
        most_at_once: int = MOST_AT_ONCE,
        rng: random.Random | None = None,
    ) -> None:
        """Wrap `model`, which this one owns and closes.

        Args:
            model: makes one try for each call.
            clock: waits between the tries.
            most_at_once: tries of one model under way at the same time, 1 or more.
            rng: spreads the waits.
        """
        if most_at_once < 1:
            raise ValueError(f"`most_at_once` must be 1 or more, got {most_at_once}")
        self._model, self._clock = model, clock
        self._most_at_once = most_at_once
        self._rng = rng or random.SystemRandom()
        self._lanes: dict[str, Lane] = {}
        self._listeners: list[OnClosed] = []
        self.caches_prompts = caches_prompts(model)

    def on_closed(self, listener: OnClosed) -> Callable[[], None]:
        """Tell `listener` of each call that ends because the key is refused or used up.

        It is told before the call ends, and must not raise. Return what ends that.
        """
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return the reply of the first try that gives one.

        Raises:
            ModelError: it is not worth another try, or no more tries are left;
                `retry_after_s` is the time that the service told, if it did, and
                `is_down` whether nobody gets answers from this model now.
        """
        lane = self._lane(request.model)
        patience = Patience(request.outage_s, self._rng)
        queued_s = 0.0
        while True:
            tried = await lane.enter(request, failing_since=patience.failing_since)
            queued_s += tried.waited_s
            try:
                reply = await self._try(lane, tried, request, on_retry)
            except ModelError as error:
                wait_s = self._wait_s(lane, patience, error)
                told_s, count = max(wait_s, lane.opens_in_s), patience.tries
                on_retry(Retry(count, error.kind, error.message, told_s, error.begun))
            else:
                return replace(reply, queued_s=queued_s) if queued_s else reply
            with request.while_waiting():
                await self._clock.sleep(wait_s)

    async def _try(
        self, lane: Lane, tried: Try, request: ModelRequest, on_retry: OnRetry
    ) -> Reply:
        """Make one try, and let the lane know how it went."""
        asked = replace(request, on_headers=partial(lane.hears, tried))
        try:
            reply = await self._model.complete(asked, on_retry=on_retry)
        except ModelError as error:
            lane.failed(tried, error)
            raise
        else:
            lane.answered(tried)
            return reply
        finally:
            lane.leave(tried)

    def _wait_s(self, lane: Lane, patience: Patience, error: ModelError) -> float:
        try:
            return patience.wait_s(
                error, now=self._clock.monotonic(), answered=lane.answered_at
            )
        except ModelError:
            if error.kind in _CLOSED:
                for listener in tuple(self._listeners):
                    listener(error)
            raise

    def _lane(self, model: str) -> Lane:
        lane = self._lanes.get(model)
        if lane is None:
            lane = Lane(self._clock, self._most_at_once, self._rng)
            self._lanes[model] = lane
        return lane

    async def aclose(self) -> None:
        """Close the wrapped model."""
        await self._model.aclose()
