"""The answers of models in a replay: what they answered, when they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import cast

import anyio

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.events import (
    CacheMissed,
    Event,
    LimitReachedEvent,
    ModelAnswered,
    ModelFailed,
    ModelRetried,
    RunParked,
    parse,
)
from orchestrator.ids import sha256
from orchestrator.models.base import (
    CacheMiss,
    ModelRequest,
    OnRetry,
    Reply,
    Retry,
    Usage,
)
from orchestrator.runtime.replaying.conductor import Conductor

__all__ = ["OnRequest", "RecordedModel"]

OnRequest = Callable[[int, ModelRequest], None]
"""Told of each request, and of the place of its intent in the record, or -1."""

FAULT = "a fault of the program: "
"""Before the name of its class and what it says, in the reason of a subagent or run."""


@dataclass(frozen=True, slots=True)
class RecordedModel:
    """Answers as the models of a run answered, whatever it is asked.

    Attributes:
        conductor: says when.
        on_request: told of each request.
        caches_prompts: as the models of the run.
    """

    conductor: Conductor
    on_request: OnRequest
    caches_prompts: bool

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:
        """Return what was answered; wait for ever where nothing was.

        Raises:
            ModelError: as recorded.
            NotSent: the run was parked.
        """
        intent = self.conductor.asked(sha256(request.body))
        self.on_request(intent, request)
        happenings = [] if intent < 0 else self.conductor.happenings(intent)
        if intent >= 0 and not happenings:
            await self._fault(self.conductor.events[intent].agent)
        reply: Reply | None = None
        while not happenings:
            await anyio.sleep_forever()
        with self.conductor.beating(request.on_progress):
            for place in happenings:
                reply = await self._happens(place, request, on_retry) or reply
        while reply is None:  # it was cut off between two tries
            await anyio.sleep_forever()
        return reply

    async def _fault(self, agent: str) -> None:
        """Raise what ended the agent, where a fault of the program did."""
        found = self.conductor.fault(agent)
        if found is None:
            return
        place, said = found
        await self.conductor.until(place)
        name, _, what = said.removeprefix(FAULT).partition(": ")
        raise type(name, (Exception,), {})(what)

    async def _happens(
        self, place: int, request: ModelRequest, on_retry: OnRetry
    ) -> Reply | None:
        conductor = self.conductor
        event = conductor.events[place]
        if event.data.get("error") == ModelFailed.NOT_SENT:
            with request.while_waiting():  # it says so itself, once it is parked
                await conductor.until(place)
            await anyio.sleep_forever()
        await conductor.until(place)
        if event.kind == ModelRetried.KIND:
            told = parse(event, ModelRetried)
            on_retry(
                Retry(told.attempt, told.error, told.message, told.wait_s, told.begun)
            )
            return None
        if event.kind == ModelFailed.KIND:
            error = self._error(place)
            if error.begun and conductor.follows(place, LimitReachedEvent.KIND):
                # One more try did not fit the budget.
                on_retry(Retry(1, error.kind, error.message, 0.0, begun=True))
            raise error
        return self._reply(place)

    def _error(self, place: int) -> ModelError:
        event = self.conductor.events[place]
        failed = parse(event, ModelFailed)
        parked = self._parked(place, failed)
        wait_s = None
        if parked is not None and parked.resume_at:
            until = datetime.fromisoformat(parked.resume_at)
            wait_s = (until - datetime.fromisoformat(event.at)).total_seconds()
        return ModelError(
            cast("ModelErrorKind", failed.error),
            failed.message,
            retry_after_s=wait_s,
            detail=failed.detail,
            begun=failed.begun,
            is_down=parked is not None,
        )

    def _parked(self, place: int, failed: ModelFailed) -> RunParked | None:
        """Return what came of a failure, if it parked the run."""
        for event in self.conductor.events[place:]:
            if event.kind == RunParked.KIND and event.data["message"] == failed.message:
                return parse(event, RunParked)
        return None

    def _reply(self, place: int) -> Reply:
        event = self.conductor.events[place]
        told = parse(event, ModelAnswered)
        return Reply(
            content=told.content,
            stop_reason=told.stop_reason,
            usage=Usage.stored(told.usage),
            model=told.model,
            message_id=told.message_id,
            cut_calls=frozenset(told.cut_calls),
            broken_calls=told.broken_calls,
            stop_details=told.stop_details,
            cache_miss=self._miss(event),
            seconds=told.seconds,
            first_token_s=told.first_token_s,
            queued_s=told.queued_s,
        )

    def _miss(self, answered: Event) -> CacheMiss | None:
        """Return what the service said of its cache, as far as that was logged."""
        place = self.conductor.ahead(answered.agent, CacheMissed.KIND)
        missed = None if place is None else self.conductor.events[place]
        if missed is None or missed.data["turn"] != answered.data["turn"]:
            return None
        reported = str(missed.data.get("reported") or "")
        return CacheMiss(reported) if reported else None

    async def aclose(self) -> None:
        """Close nothing."""
