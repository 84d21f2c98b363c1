"""Model calls within a budget, with intent and outcome in the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from orchestrator.agent.budget import Amount, Budget, Reservation
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.context.view import Head, View, make_view
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import (
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
)
from orchestrator.ids import sha256
from orchestrator.messages import Block
from orchestrator.models.base import Model, ModelRequest, Reply, Retry
from orchestrator.models.pricing import Price
from orchestrator.store.eventlog import EventLog

__all__ = ["LAST_OUTPUT_TOKENS", "Caller"]

LAST_OUTPUT_TOKENS = 4096
MIN_OUTPUT_TOKENS = 1024
# Errors that come before the model has worked cost nothing.
_FREE_ERRORS = frozenset(
    {"rate_limited", "overloaded", "auth", "invalid", "too_long", "quota_exhausted"}
)


@dataclass(slots=True)
class Caller:
    """Makes the model calls of one agent.

    Attributes:
        price: of the model, or None where it is unknown: then only tokens count.
    """

    spec: AgentSpec
    model: Model
    price: Price | None
    budget: Budget
    head: Head
    log: EventLog

    async def ask(self, state: AgentState, *, last: bool = False) -> Reply:
        """Send everything up to now and return the whole reply.

        Args:
            state: its waiting user message is appended first.
            last: the last call, paid from what was held back for it.

        Raises:
            LimitReached: the call does not fit the budget; nothing was sent.
            ModelError: no usable reply; it is in the log.
        """
        state.flush()
        state.turns += 1
        output = state.max_output_tokens
        if last:
            output = min(output, LAST_OUTPUT_TOKENS)
        reserved, output = self._reserve(state.transcript.tokens, output, last=last)
        view = make_view(
            self.head,
            state.transcript,
            max_output_tokens=output,
            previous_end=state.previous_end,
        )
        state.previous_end = len(state.transcript) - 1
        self._intend(state, view, output, reserved)
        await self.log.sync()
        return await self._complete(state, view, output, reserved)

    def answered(
        self, state: AgentState, reply: Reply, content: Sequence[Block], *, kept: bool
    ) -> None:
        """Write the outcome of a call down, and keep its message if `kept`."""
        self.log.append(
            ModelAnswered(
                turn=state.turns,
                content=list(content if kept else reply.content),
                stop_reason=reply.stop_reason,
                usage=asdict(reply.usage),
                usd=self._usd(reply),
                message_id=reply.message_id,
                model=reply.model,
                seconds=round(reply.seconds, 4),
                first_token_s=reply.first_token_s,
                kept=kept,
                cut_calls=sorted(reply.cut_calls),
                broken_calls=reply.broken_calls,
                stop_details=reply.stop_details,
            ),
            agent=self.spec.id,
        )
        if kept:
            state.take_reply(content, reply.usage)
        self.budget.hold(
            self.spec.id, self._bound(state.transcript.tokens, LAST_OUTPUT_TOKENS)
        )

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
                reserved_usd=reserved.amount.usd if self.price else None,
                composition=dict(state.composition),
            ),
            agent=self.spec.id,
        )

    async def _complete(
        self, state: AgentState, view: View, output: int, reserved: Reservation
    ) -> Reply:
        request = ModelRequest(
            model=self.spec.model,
            system=self.spec.system,
            tools=self.spec.tools,
            messages=view.messages,
            max_output_tokens=output,
            body=view.body,
            call_s=self.spec.call_s,
            silence_s=self.spec.silence_s,
        )

        def on_retry(retry: Retry) -> None:
            self.log.append(
                ModelRetried(turn=state.turns, **asdict(retry)), agent=self.spec.id
            )

        used = reserved.amount  # unknown usage is booked as reserved
        try:
            reply = await self.model.complete(request, on_retry=on_retry)
            used = Amount(self._usd(reply) or 0.0, reply.usage.limited_tokens)
        except ModelError as error:
            if error.kind in _FREE_ERRORS:
                used = Amount()
            self.log.append(
                ModelFailed(state.turns, error.kind, error.message, error.detail),
                agent=self.spec.id,
            )
            raise
        finally:
            self.budget.settle(reserved, used)
        return reply

    def _reserve(
        self, context_tokens: int, output: int, *, last: bool
    ) -> tuple[Reservation, int]:
        """Set the price of a call aside, with less output if the whole does not fit."""
        while True:
            amount = self._bound(context_tokens, output)
            try:
                return self.budget.reserve(self.spec.id, amount, last=last), output
            except LimitReached:
                if output <= MIN_OUTPUT_TOKENS:
                    raise
                output = max(output // 2, MIN_OUTPUT_TOKENS)

    def _bound(self, context_tokens: int, output: int) -> Amount:
        usd = self.price.upper_bound(context_tokens, output) if self.price else 0.0
        return Amount(usd, context_tokens + output)

    def _usd(self, reply: Reply) -> float | None:
        return round(self.price.usd(reply.usage), 8) if self.price else None
