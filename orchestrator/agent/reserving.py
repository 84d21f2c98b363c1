"""What a model call is allowed to use: set aside before it, output lowered to fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.route import Route
from orchestrator.agent.spec import MAX_HAND_IN_TOKENS
from orchestrator.agent.state import AgentState
from orchestrator.context.shown import Shown
from orchestrator.errors import LimitReached
from orchestrator.models.pricing import Price

__all__ = [
    "LEAST_OUTPUT_TOKENS",
    "WORDS_TOKENS",
    "Admitted",
    "Reserving",
    "amount_of",
    "bound",
    "findings_part",
    "first_tokens",
    "hand_in_tokens",
    "most_tokens",
]

LEAST_OUTPUT_TOKENS = 1024
"""The smallest bound that a reply is asked with: a thought and a call."""
LEAST_FINDINGS_TOKENS = 100
HAND_IN_SHARE = 0.15
FINDINGS_SHARE = 0.2
"""Most of a limit that is kept for the reply of one last call, and for the findings
that it holds: more would leave a small budget nothing to work with. A shorter reply is
asked for then, and findings are delivered as far as they can be paid for."""
SAFETY = 1.5
"""Of what is only estimated. Models since 2026 count some 30 % more than those before
(Anthropic, token counting), of which our weights are no fit, and 22 % is what the
estimate of a text was off at worst."""
MEASURED_SAFETY = 1.2
"""Above the dearest text that this conversation has shown."""
BLOCK_TOKENS = 16
"""What the service adds for a block: its kind, the id of its call."""
PREAMBLE_TOKENS = 512
"""What it adds to a request with tools: 346 and 12 for each, as far as is told."""
WORDS_TOKENS = 400
"""What the program may say besides before the last call, and with it."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """What of the calls of a step can be paid for.

    Attributes:
        place: which of the sizes that were asked for.
        count: how many of the calls, from the first on.
    """

    place: int
    count: int


@dataclass(frozen=True, slots=True)
class Reserving:
    """Sets the price of one agent's calls aside.

    Attributes:
        owner: the agent.
        budget: its own, within the run's.
        hand_in_tokens: what its hand-in needs of a reply.
    """

    owner: str
    budget: Budget
    hand_in_tokens: int = MAX_HAND_IN_TOKENS

    async def reserve(
        self,
        state: AgentState,
        route: Route,
        pulse: Pulse,
        *,
        last: bool,
        most: int | None = None,
    ) -> tuple[Reservation, int]:
        """Set the price of a call aside; less output if the whole does not fit.

        Where even that does not fit now, but may once the calls of others are
        settled, it waits for them.

        Args:
            state: with everything that the call sends.
            route: where it goes.
            pulse: told of the wait for others.
            last: the last call, paid from what was held back for it.
            most: output that is wanted, in tokens; None: as the agent stands.

        Returns:
            What was set aside, and the most output of the call, in tokens.

        Raises:
            LimitReached: it does not fit; nothing was set aside.
        """
        context = most_tokens(state.shown)
        most = most or state.max_output_tokens
        outputs = _halves(min(most, MAX_HAND_IN_TOKENS) if last else most)
        while True:
            for output in outputs:
                amount = bound(route, context, output)
                keep = NOTHING if last else self._last(route, context + output, output)
                try:
                    return self.budget.reserve(self.owner, amount, keep=keep), output
                except LimitReached as error:
                    reached = error
            if not self.budget.may_fit_later(self.owner, amount + keep):
                raise reached
            with pulse.waiting_for_others():
                await self.budget.changed()

    def reserve_aside(
        self, state: AgentState, route: Route, *, sent_tokens: int, output: int
    ) -> Reservation:
        """Set the price of a question beside the conversation aside.

        Args:
            state: the agent's.
            route: where it goes.
            sent_tokens: estimated size of it.
            output: bound of the reply.

        Raises:
            LimitReached: it does not fit beside what is kept for the last call.
        """
        more = max(sent_tokens - state.shown.tokens, 0)
        amount = bound(route, most_tokens(state.shown, more), output)
        kept = self.budget.holds.get(self.owner, NOTHING)
        return self.budget.reserve(self.owner, amount, keep=kept)

    def hold(self, state: AgentState, route: Route, *, expected_tokens: int) -> None:
        """Keep back what a last call costs once findings have come in.

        Before its first call an agent keeps what it has begun with: that call is paid
        from it too.

        Args:
            state: the agent's.
            route: where its calls go.
            expected_tokens: of findings that may come, estimated.
        """
        if not state.turns and self.budget.holds_for(self.owner):
            return
        brought = amount_of(route.price, math.ceil(expected_tokens * SAFETY), 0)
        part = findings_part(brought, self.budget.tightest())
        expected = int(expected_tokens * part)
        self.budget.hold(self.owner, self._kept(state, route, expected))

    def payable(self, state: AgentState, route: Route, *, most: int) -> int:
        """Return how many tokens of findings the last call can be paid with, now.

        Args:
            state: the agent's.
            route: where its calls go.
            most: how many there may be at most.
        """
        room, tokens = self.budget.room(self.owner), most
        while tokens >= LEAST_FINDINGS_TOKENS:
            if self._kept(state, route, tokens, least=True).fits(room):
                return tokens
            tokens = tokens * 3 // 4
        return 0

    async def admit(
        self, state: AgentState, route: Route, sizes: Sequence[Sequence[int]]
    ) -> Admitted:
        """Keep enough for a last call with what the calls of a step may bring.

        Where none of them fits now, but may once the model calls of others are
        settled, it waits for those.

        Args:
            state: the agent's.
            route: where its model calls go.
            sizes: the most that each call brings, in estimated tokens; whole first,
                then smaller and smaller.

        Returns:
            What fits: all calls, unless even the smallest sizes do not fit.

        Raises:
            LimitReached: there is no room for any of them.
        """
        tries = [(place, len(each)) for place, each in enumerate(sizes)]
        tries += [(len(sizes) - 1, count) for count in range(len(sizes[-1]) - 1, 0, -1)]
        while True:
            for place, count in tries:
                more = sum(sizes[place][:count])
                keep = self._kept(state, route, more, least=True)
                try:
                    self.budget.keep(self.owner, keep)
                except LimitReached as error:
                    reached = error
                else:
                    return Admitted(place, count)
            if not self.budget.may_fit_later(self.owner, keep):
                raise reached
            await self.budget.changed()

    def next_call(self, state: AgentState, route: Route) -> Amount:
        """Return the most that the next call takes, with the least output of use."""
        return bound(route, self._context(state, 0), LEAST_OUTPUT_TOKENS)

    def last_output(self, state: AgentState, route: Route) -> int:
        """Return how much output a last call could have now, in tokens."""
        room = self.budget.room(self.owner)
        context = self._context(state, 0) + WORDS_TOKENS
        outputs = _halves(min(state.max_output_tokens, MAX_HAND_IN_TOKENS))
        fitting = (each for each in outputs if bound(route, context, each).fits(room))
        return next(fitting, outputs[-1])

    def _kept(
        self, state: AgentState, route: Route, expected: int, *, least: bool = False
    ) -> Amount:
        """Return what a last call costs once `expected` tokens have come in."""
        output = min(state.max_output_tokens, MAX_HAND_IN_TOKENS)
        if least:
            output = min(output, LEAST_OUTPUT_TOKENS)
        return self._last(route, self._context(state, expected), output)

    def _last(self, route: Route, context: int, most: int) -> Amount:
        """Return what a last call with so much context costs.

        Args:
            route: where it goes.
            context: the most that it sends, our words not in it.
            most: bound of its reply.
        """
        output = min(most, self._last_output(route))
        return bound(route, context + WORDS_TOKENS, output)

    def _last_output(self, route: Route) -> int:
        """Return what is kept for the reply of the last call, in tokens."""
        wanted, limit = self.hand_in_tokens, self.budget.tightest()
        price = bound(route, 0, wanted)
        shares = [
            HAND_IN_SHARE * allowed / of_it
            for allowed, of_it in ((limit.usd, price.usd), (limit.tokens, price.tokens))
            if of_it
        ]
        return max(int(wanted * min(1.0, *shares)), LEAST_OUTPUT_TOKENS)

    @staticmethod
    def _context(state: AgentState, expected: int) -> int:
        """Return the most that the next request holds, with what waits for it."""
        waiting = max(state.pending_tokens, state.incoming) + expected
        return most_tokens(state.shown, waiting)


def bound(route: Route, context_tokens: int, output_tokens: int) -> Amount:
    """Return the most that a call on `route` can use."""
    return amount_of(route.price, context_tokens, output_tokens)


def amount_of(price: Price | None, context_tokens: int, output_tokens: int) -> Amount:
    """Return the most that a call can use; no dollars where the price is unknown."""
    usd = price.upper_bound(context_tokens, output_tokens) if price else 0.0
    return Amount(usd, context_tokens + output_tokens)


def findings_part(brought: Amount, limit: Amount) -> float:
    """Return for which part of the findings to come money is kept, 0 to 1.

    Args:
        brought: what all of them would cost.
        limit: the tightest limits there are.
    """
    parts = [1.0]
    if brought.usd:
        parts.append(FINDINGS_SHARE * limit.usd / brought.usd)
    if brought.tokens:
        parts.append(FINDINGS_SHARE * limit.tokens / brought.tokens)
    return min(parts)


def most_tokens(shown: Shown, more: int = 0) -> int:
    """Return the most tokens that a request with all of `shown` can have.

    What the service has counted is known; what came since is an estimate, and gets a
    margin.

    Args:
        shown: what is sent of the conversation.
        more: tokens that come besides, estimated.
    """
    factor = max(SAFETY, shown.dearness * MEASURED_SAFETY)
    preamble = 0 if shown.known_tokens else PREAMBLE_TOKENS
    return shown.at_most(factor, BLOCK_TOKENS, more=more) + preamble


def first_tokens(estimated: int) -> int:
    """Return the most tokens of a first request that was estimated so."""
    return math.ceil(estimated * SAFETY) + BLOCK_TOKENS + PREAMBLE_TOKENS


def hand_in_tokens(deliverable_tokens: int) -> int:
    """Return the output that a hand-in of so many tokens needs.

    A quarter more for its form, and some for a thought before it.
    """
    return min(deliverable_tokens * 5 // 4 + 512, MAX_HAND_IN_TOKENS)


def _halves(output: int) -> list[int]:
    """Return `output` and what to try after it, down to the least that is of use."""
    outputs = [output]
    while outputs[-1] > LEAST_OUTPUT_TOKENS:
        outputs.append(max(outputs[-1] // 2, LEAST_OUTPUT_TOKENS))
    return outputs
