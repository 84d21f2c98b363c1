"""Model calls within a budget, with intent and outcome in the log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial

import anyio

from orchestrator.agent.billing import Bill, bill
from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.agent.caching import Caching
from orchestrator.agent.form import Form
from orchestrator.agent.incoming import PARTS, ResultSizes
from orchestrator.agent.mending import Mender
from orchestrator.agent.outgoing import (
    Answer,
    Aside,
    Outgoing,
    alone,
    beside,
    ordinary,
)
from orchestrator.agent.outside import LIVE, Outside
from orchestrator.agent.parking import Asked, Parking, Sending
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.reserving import Reserving
from orchestrator.agent.route import Route
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.window import output_within, window_full
from orchestrator.errors import LimitReached, ModelError, NotSent
from orchestrator.events import (
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
)
from orchestrator.messages import Block
from orchestrator.models.base import OUTAGE_S, Model, ModelRequest, Reply, Retry
from orchestrator.models.choose import window_tokens
from orchestrator.store.eventlog import EventLog

__all__ = ["Caller"]


@dataclass(slots=True)
class Caller:
    """Makes the model calls of one agent.

    Attributes:
        form: of its requests, as far as they have it.
        route: where they go.
        routes: form of a request → where it goes.
        mender: changes what was refused.
        reserving: sets their price aside.
        caching: follows what they find in the service's cache.
        parking: the gate before each of them.
        sizes: of what calls may bring.
        room: most that all calls of one step should bring, in tokens.
        outage_s: longest time to go on trying while nobody gets an answer, in seconds.
        outside: says whose turn it is.
    """

    spec: AgentSpec
    form: Form
    route: Route
    routes: Callable[[Form], Route]
    mender: Mender
    reserving: Reserving
    caching: Caching
    log: EventLog
    parking: Parking = field(default_factory=Parking)
    sizes: ResultSizes = field(default_factory=ResultSizes)
    room: float = math.inf
    outage_s: float = OUTAGE_S
    outside: Outside = LIVE

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
            LimitReached: the call, or one more try of it, does not fit the budget or
                the window.
            ModelError: no usable reply; it is in the log.
        """
        state.flush()
        pulse = pulse or Pulse()
        await self.in_turn()
        await self.parking.passed(pulse)
        try:
            turn = await self.caching.turn(state, self.route, pulse, last=last)
            with turn:
                reply = await self._mended(state, pulse, last=last)
                turn.begun()
        except (ModelError, NotSent) as error:
            cause = self.log.newest(self.spec.id)
            asked = Asked(self.spec.id, state.turns)
            if not self.parking.takes(error, cause, asked=asked):
                raise
        else:
            return reply
        return await self.parking.waits(pulse)

    async def _mended(self, state: AgentState, pulse: Pulse, *, last: bool) -> Reply:
        """Ask; where a refusal says what is wrong, change it and ask again, once."""
        mended: set[str] = set()
        while True:
            self.mender.adapt(state)
            self._follow(state.form)
            reserved, output = await self._reserve(state, pulse, last=last)
            outgoing = ordinary(state, self.spec, self.route, output_tokens=output)
            try:
                return await self._send(state, pulse, reserved, outgoing)
            except ModelError as error:
                change = self.mender.mends(state, error, output=output)
                if last and not change and error.kind == "too_long":
                    change = await self.mender.make_room(state, self.route.window)
                is_new = change not in {"", *mended}
                if not is_new and error.kind != "too_long":
                    raise
                state.turns -= 1  # one without an answer is made again
                if not is_new:
                    raise window_full(state, self.route.window) from error
                mended.add(change)

    async def in_turn(self) -> None:
        """Wait until it is this agent's turn; live, it always is."""
        await self.outside.turn(self.spec.id)

    def _follow(self, form: Form) -> None:
        """Ask by this form from now on."""
        if form is not self.form:
            self.form, self.route = form, self.routes(form)

    def falls_back(self, state: AgentState, category: str) -> bool:
        """Let another model go on after a refusal; return whether there is one."""
        if not self.mender.falls_back(state, category):
            return False
        self._follow(state.form)
        return True

    async def make_room(self, state: AgentState) -> None:
        """Leave out what a last call has no room for."""
        state.flush()
        await self.mender.make_room(state, self.route.window)

    async def _reserve(
        self, state: AgentState, pulse: Pulse, *, last: bool
    ) -> tuple[Reservation, int]:
        """Set the price of the next request aside; return it and its most output."""
        most = output_within(state, self.route.window)
        return await self.reserving.reserve(
            state, self.route, pulse, last=last, most=most
        )

    async def aside(self, state: AgentState, aside: Aside, pulse: Pulse) -> Answer:
        """Ask something beside the conversation, and return what is answered.

        It is paid like a turn, but is none, and nothing of it enters the conversation.

        Raises:
            LimitReached: it does not fit the budget.
            ModelError: no usable reply; it is in the log.
            NotSent: the run is parked or paused.
        """
        await self.parking.passed(pulse)
        if aside.model:
            route = self.routes(Form(aside.model))
            outgoing = alone(state, route, aside)
        else:
            outgoing = beside(state, self.spec, self.route, aside)
        reserved = self.reserving.reserve_aside(
            state,
            outgoing.route,
            sent_tokens=outgoing.tokens,
            output=outgoing.output_tokens,
        )
        reply = await self._send(state, pulse, reserved, outgoing)
        cost = self._write_answer(state, reply, outgoing, kept=False)
        return Answer(reply, cost.usd)

    def window_of(self, model: str) -> int:
        """Return the window of another model, in tokens; small if it is unknown."""
        return self.routes(Form(model)).window or window_tokens(model)

    async def _send(
        self,
        state: AgentState,
        pulse: Pulse,
        reserved: Reservation,
        outgoing: Outgoing,
    ) -> Reply:
        """Send one request and settle what was set aside for it."""
        used, is_turn = NOTHING, not outgoing.purpose
        try:
            await self.parking.passed(pulse)  # the reserve may have taken a while
            state.turns += is_turn
            turn = state.turns + (not is_turn)
            intent = outgoing.intent(
                turn, reserved, rent_usd=state.sight.rent_usd or None
            )
            self.log.append(intent, agent=self.spec.id)
            if is_turn:
                self.caching.expect(state, self.route)
            await self.log.sync()
            self.caching.leaves(outgoing.route)
            with self._sending(turn, outgoing.purpose) as sending:
                request = self._request(state, outgoing, pulse, sending)
                try:
                    reply = await self._complete(
                        outgoing.route.model, intent, request, reserved, pulse
                    )
                finally:  # unknown usage is booked as reserved
                    used = reserved.amount if sending.is_out else NOTHING
            if reply.usage.known:
                used = self._bill(state, reply, outgoing).counted
        except ModelError as error:
            if not error.begun:
                used = NOTHING
            raise
        finally:
            self.budget.settle(reserved, used)
        return reply

    @contextmanager
    def _sending(self, turn: int, purpose: str) -> Iterator[Sending]:
        """Send one request inside; where it ends before it has left, that is logged."""
        why, sending = "", None
        try:
            with self.parking.sending() as sending:
                yield sending
        except NotSent as error:
            why = str(error)
            raise
        except anyio.get_cancelled_exc_class():
            if sending is not None and not sending.is_out:
                why = "it was given up while it waited to leave"
            raise
        finally:
            if why:
                failed = ModelFailed(turn, ModelFailed.NOT_SENT, why, purpose=purpose)
                self.log.append(failed, agent=self.spec.id)

    def answered(self, state: AgentState, reply: Reply, *, kept: bool) -> None:
        """Write the outcome of a call down, and keep its message if `kept`."""
        self._write_answer(state, reply, None, kept=kept)
        self.caching.compare(state, self.route, reply)
        state.answered(reply.message_id)
        if kept:
            state.take_reply(reply.content, reply.usage)

    def _write_answer(
        self, state: AgentState, reply: Reply, outgoing: Outgoing | None, *, kept: bool
    ) -> Bill:
        """Write an answer down, return its price; `outgoing` asked it, None: a turn."""
        cost = self._bill(state, reply, outgoing)
        purpose = outgoing.purpose if outgoing else ""
        self.parking.answered()
        self.log.append(
            ModelAnswered(
                turn=state.turns + bool(purpose),
                content=reply.content,
                stop_reason=reply.stop_reason,
                usage=asdict(reply.usage),
                usd=cost.usd,
                message_id=reply.message_id,
                model=reply.model,
                seconds=round(reply.seconds, 4),
                first_token_s=reply.first_token_s,
                queued_s=round(reply.queued_s, 1),
                kept=kept,
                cut_calls=sorted(reply.cut_calls),
                broken_calls=reply.broken_calls,
                stop_details=reply.stop_details,
                usd_parts=cost.parts,
                purpose=purpose,
                **cost.doubt,
            ),
            agent=self.spec.id,
        )
        return cost

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
        await self.in_turn()
        fits = await self.reserving.admit(state, self.route, sizes)
        place = fits.place
        while place < len(parts) - 1 and sum(sizes[place][: fits.count]) > self.room:
            place += 1
        state.result_sizes = parts[place]
        state.incoming = sum(sizes[place][: fits.count])
        return [call["id"] for call in asked[fits.count :]]

    def payable(self, state: AgentState, most: int) -> int:
        """Return how many tokens of findings the last call can be paid with, now."""
        return self.reserving.payable(state, self.route, most=most)

    def next_call(self, state: AgentState) -> Amount:
        """Return the most that the next call takes, with the least output of use."""
        return self.reserving.next_call(state, self.route)

    def last_output(self, state: AgentState) -> int:
        """Return how much output a last call could have now, in tokens."""
        return self.reserving.last_output(state, self.route)

    def _bill(
        self, state: AgentState, reply: Reply, outgoing: Outgoing | None = None
    ) -> Bill:
        sent = outgoing.tokens if outgoing else state.shown.tokens
        price = outgoing.route.price if outgoing else self.route.price
        return bill(price, reply, sent_tokens=sent, count=state.count)

    async def _complete(
        self,
        model: Model,
        intent: ModelRequested,
        request: ModelRequest,
        reserved: Reservation,
        pulse: Pulse,
    ) -> Reply:
        def write(event: ModelRetried | ModelFailed) -> None:
            self.log.append(event, agent=self.spec.id)

        def on_retry(retry: Retry) -> None:
            pulse.excuse(retry.wait_s)
            try:
                if retry.begun:
                    self.budget.repeat(reserved)
            except LimitReached:
                write(failed(retry.error, retry.message, begun=True))
                raise
            write(ModelRetried(turn=intent.turn, **asdict(retry)))

        failed = partial(ModelFailed, intent.turn, purpose=intent.purpose)
        try:
            return await model.complete(request, on_retry=on_retry)
        except ModelError as error:
            write(failed(error.kind, error.message, error.detail, begun=error.begun))
            raise

    def _request(
        self,
        state: AgentState,
        outgoing: Outgoing,
        pulse: Pulse,
        sending: Sending,
    ) -> ModelRequest:
        @contextmanager
        def waiting() -> Iterator[None]:
            with pulse.waiting_for_others(), sending.waiting():
                yield

        return ModelRequest(
            model=outgoing.route.name,
            system=outgoing.system,
            tools=outgoing.tools,
            messages=outgoing.view.messages,
            max_output_tokens=outgoing.output_tokens,
            body=outgoing.view.body,
            call_s=self.spec.call_s,
            silence_s=self.spec.silence_s,
            outage_s=outgoing.outage_s(self.outage_s),
            on_progress=pulse.beat,
            uncached_tokens=self.caching.uncached_tokens(state),
            while_waiting=waiting,
        )
