"""Model calls within a budget, with intent and outcome in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.agent.cache_watch import NOT_CACHED, CacheUse, Missed
from orchestrator.agent.counting import counted
from orchestrator.agent.head_start import FOLLOWS, Ahead, HeadStart
from orchestrator.agent.incoming import PARTS, ResultSizes
from orchestrator.agent.parking import Parking, Sending
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.reserving import Reserving
from orchestrator.agent.route import Route
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.context.view import View, make_view
from orchestrator.errors import ModelError, NotSent
from orchestrator.events import (
    CacheMissed,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
)
from orchestrator.ids import sha256
from orchestrator.messages import Block
from orchestrator.models.base import (
    ModelRequest,
    Reply,
    Retry,
    Usage,
    caches_prompts,
)
from orchestrator.store.eventlog import EventLog

__all__ = ["Caller"]


@dataclass(slots=True)
class Caller:
    """Makes the model calls of one agent.

    Attributes:
        route: where they go.
        reserving: sets their price aside.
        head_start: lets the first of alike requests of a run go ahead.
        parking: the gate before each of them.
        sizes: of what calls may bring.
        cache_use: which models have a prompt cache.
        outage_s: longest time to go on trying while nobody gets an answer, in seconds.
    """

    spec: AgentSpec
    route: Route
    reserving: Reserving
    log: EventLog
    head_start: HeadStart = field(default_factory=HeadStart)
    parking: Parking = field(default_factory=Parking)
    sizes: ResultSizes = field(default_factory=ResultSizes)
    cache_use: CacheUse = field(default_factory=CacheUse)
    outage_s: float = 300.0

    @property
    def budget(self) -> Budget:
        """Return what the calls are paid from."""
        return self.reserving.budget

    async def ask(
        self, state: AgentState, *, last: bool = False, pulse: Pulse | None = None
    ) -> Reply:
        """Send everything up to now and return the whole reply.

        Where the run is parked, before or by this request, it waits until cancelled.

        Args:
            state: its waiting user message is appended first.
            last: the last call, paid from what was held back for it.
            pulse: told of progress, and of waits that are not this call's own.

        Raises:
            LimitReached: the call does not fit the budget; nothing was sent.
            ModelError: no usable reply; it is in the log.
        """
        state.flush()
        pulse = pulse or Pulse()
        await self.parking.passed(pulse)
        try:
            with await self._turn(state, pulse, last=last) as turn:
                reply = await self._ask(state, pulse, last=last)
                turn.begun()
        except (ModelError, NotSent) as error:
            if not self.parking.takes(error, self.log.newest(self.spec.id)):
                raise
        else:
            return reply
        return await self.parking.waits(pulse)

    async def _turn(self, state: AgentState, pulse: Pulse, *, last: bool) -> Ahead:
        """Wait until the first request of an agent may leave; nothing is set aside."""
        is_first = state.previous_end is None
        if last or not is_first or not self._is_cached:
            return FOLLOWS
        with pulse.waiting_for_others():
            turn = await self.head_start.wait(self.route.head.data)
        pulse.on_first = turn.begun
        return turn

    @property
    def _is_cached(self) -> bool:
        """Return whether the service keeps the head of these requests for others."""
        head = self.route.head
        is_marked = head.shortest is not None and head.tokens >= head.shortest
        return is_marked and self._has_cache

    @property
    def _has_cache(self) -> bool:
        """Return whether there is a cache to be used, as far as is known."""
        is_without = self.route.name in self.cache_use.without
        return caches_prompts(self.route.model) and not is_without

    def _expect(self, state: AgentState) -> None:
        """Take note of what the request that leaves now should find in the cache."""
        head, is_first = self.route.head, state.previous_end is None
        is_shared = is_first and self._is_cached and self.head_start.knows(head.data)
        state.cache.sent(
            state.transcript.rewritten,
            head=head,
            shared_tokens=head.tokens if is_shared else 0,
        )

    def _compare(self, state: AgentState, reply: Reply) -> None:
        """Say so where a request read clearly less from the cache than it should."""
        usage, shortest = reply.usage, self.route.head.shortest
        began = state.clock.now() - timedelta(seconds=reply.seconds)
        missed = state.cache.answered(began, usage, reply.cache_miss)
        if shortest is None or not self._has_cache:
            return
        if self.cache_use.is_found_without(self.route.name, usage, shortest):
            missed = Missed(usage.context_tokens, 0, NOT_CACHED)
        if missed is not None:
            event = CacheMissed(turn=state.turns, **asdict(missed))
            self.log.append(event, agent=self.spec.id)

    async def _ask(self, state: AgentState, pulse: Pulse, *, last: bool) -> Reply:
        reserved, output = await self.reserving.reserve(
            state, self.route, pulse, last=last
        )
        used = NOTHING
        try:
            await self.parking.passed(pulse)  # the reserve may have taken a while
            view = make_view(
                self.route.head,
                state.transcript,
                max_output_tokens=output,
                previous_end=state.previous_end,
                previous_message=state.previous_message,
            )
            state.turns += 1
            self._intend(state, view, output, reserved)
            self._expect(state)
            await self.log.sync()
            self.head_start.sent(self.route.head.data)
            used = reserved.amount  # unknown usage is booked as reserved
            reply = await self._complete(state, view, output, reserved, pulse)
            if reply.usage.known:
                used = self._used(self._counted(state, reply))
        except ModelError as error:
            if not error.begun:
                used = NOTHING
            raise
        except NotSent:
            used = NOTHING
            raise
        finally:
            self.budget.settle(reserved, used)
        return reply

    def answered(self, state: AgentState, reply: Reply, *, kept: bool) -> None:
        """Write the outcome of a call down, and keep its message if `kept`."""
        price = self.route.price
        self.parking.answered()
        self.log.append(
            ModelAnswered(
                turn=state.turns,
                content=reply.content,
                stop_reason=reply.stop_reason,
                usage=asdict(reply.usage),
                usd=self._usd(reply),
                message_id=reply.message_id,
                model=reply.model,
                seconds=round(reply.seconds, 4),
                first_token_s=reply.first_token_s,
                queued_s=round(reply.queued_s, 1),
                kept=kept,
                cut_calls=sorted(reply.cut_calls),
                broken_calls=reply.broken_calls,
                stop_details=reply.stop_details,
                usd_parts=price.parts(reply.usage) if price else {},
                **self._doubt(state, reply),
            ),
            agent=self.spec.id,
        )
        self._compare(state, reply)
        state.answered(reply.message_id)
        if kept:
            state.take_reply(reply.content, reply.usage)

    def hold(self, state: AgentState, *, expected_tokens: int) -> None:
        """Keep back what a last call costs once `expected_tokens` have come in."""
        self.reserving.hold(state, self.route, expected_tokens=expected_tokens)

    async def beyond(self, state: AgentState, calls: Sequence[Block]) -> list[str]:
        """Return the ids of the calls of a step that may not run, for want of budget.

        What the others may bring is kept for from now on, and perhaps made smaller.

        Raises:
            LimitReached: none of them may.
        """
        asked = [call for call in calls if self.sizes.of(call["name"])]
        if not asked:
            return []
        parts = [self.sizes.part(each) for each in PARTS]
        sizes = [[part.of(call["name"]) for call in asked] for part in parts]
        place, count = await self.reserving.admit(state, self.route, sizes)
        state.result_sizes, state.incoming = parts[place], sum(sizes[place][:count])
        return [call["id"] for call in asked[count:]]

    def payable(self, state: AgentState, most: int) -> int:
        """Return how many tokens of findings the last call can be paid with, now."""
        return self.reserving.payable(state, self.route, most)

    def next_call(self, state: AgentState) -> Amount:
        """Return the most that the next call takes, with the least output of use."""
        return self.reserving.next_call(state, self.route)

    def last_output(self, state: AgentState) -> int:
        """Return how much output a last call could have now, in tokens."""
        return self.reserving.last_output(state, self.route)

    def _counted(self, state: AgentState, reply: Reply) -> Usage:
        """Return what limits count of a reply whose usage is known."""
        return counted(
            reply.usage,
            reply.content,
            sent_tokens=state.transcript.tokens,
            count=state.count,
        )

    def _used(self, usage: Usage) -> Amount:
        usd = self.route.price.usd(usage) if self.route.price else 0.0
        return Amount(round(usd, 8), usage.limited_tokens)

    def _doubt(self, state: AgentState, reply: Reply) -> dict[str, Any]:
        """Return what limits count, where that is not what the service told."""
        usage = self._counted(state, reply) if reply.usage.known else reply.usage
        if usage == reply.usage:
            return {}
        used = self._used(usage)
        return {
            "counted_usd": used.usd if self.route.price else None,
            "counted_tokens": used.tokens,
        }

    def _intend(
        self, state: AgentState, view: View, output: int, reserved: Reservation
    ) -> None:
        self.log.append(
            ModelRequested(
                turn=state.turns,
                sha256=sha256(view.body),
                bytes=len(view.body),
                max_output_tokens=output,
                estimated_tokens=state.transcript.tokens,
                reserved_usd=reserved.amount.usd if self.route.price else None,
                reserved_tokens=reserved.amount.tokens,
                composition=dict(state.composition),
            ),
            agent=self.spec.id,
        )

    async def _complete(
        self,
        state: AgentState,
        view: View,
        output: int,
        reserved: Reservation,
        pulse: Pulse,
    ) -> Reply:
        cached = state.cache.readable(state.clock.now())
        uncached = max(state.transcript.tokens - cached, 0)

        def on_retry(retry: Retry) -> None:
            pulse.excuse(retry.wait_s)
            self.log.append(
                ModelRetried(turn=state.turns, **asdict(retry)), agent=self.spec.id
            )
            if retry.begun:
                self.budget.repeat(reserved)

        try:
            with self.parking.sending() as sending:
                request = self._request(view, output, uncached, pulse, sending)
                return await self.route.model.complete(request, on_retry=on_retry)
        except NotSent as error:
            failed = ModelFailed(state.turns, "not_sent", str(error))
            self.log.append(failed, agent=self.spec.id)
            raise
        except ModelError as error:
            self.log.append(
                ModelFailed(
                    state.turns, error.kind, error.message, error.detail, error.begun
                ),
                agent=self.spec.id,
            )
            raise

    def _request(
        self, view: View, output: int, uncached: int, pulse: Pulse, sending: Sending
    ) -> ModelRequest:
        @contextmanager
        def waiting() -> Iterator[None]:
            with pulse.waiting_for_others(), sending.waiting():
                yield

        return ModelRequest(
            model=self.route.name,
            system=self.spec.system,
            tools=self.spec.tools,
            messages=view.messages,
            max_output_tokens=output,
            body=view.body,
            call_s=self.spec.call_s,
            silence_s=self.spec.silence_s,
            outage_s=self.outage_s,
            on_progress=pulse.beat,
            uncached_tokens=uncached,
            while_waiting=waiting,
        )

    def _usd(self, reply: Reply) -> float | None:
        return round(self.route.price.usd(reply.usage), 8) if self.route.price else None
