"""What a model call is allowed to use: set aside before it, output lowered to fit."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.agent.budget import NOTHING, Amount, Budget, Reservation
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.route import Route
from orchestrator.agent.state import AgentState
from orchestrator.errors import LimitReached

__all__ = ["LAST_OUTPUT_TOKENS", "Reserving"]

LAST_OUTPUT_TOKENS = 4096
MIN_OUTPUT_TOKENS = 1024


@dataclass(frozen=True, slots=True)
class Reserving:
    """Sets the price of one agent's calls aside.

    Attributes:
        owner: the agent.
        budget: its own, within the run's.
    """

    owner: str
    budget: Budget

    async def reserve(
        self, state: AgentState, route: Route, pulse: Pulse, *, last: bool
    ) -> tuple[Reservation, int]:
        """Set the price of a call aside; less output if the whole does not fit.

        Where even that does not fit now, but may once the calls of others are
        settled, it waits for them.

        Args:
            state: with everything that the call sends.
            route: where it goes.
            pulse: told of the wait for others.
            last: the last call, paid from what was held back for it.

        Returns:
            What was set aside, and the most output of the call, in tokens.

        Raises:
            LimitReached: it does not fit; nothing was set aside.
        """
        context = state.transcript.tokens
        most = state.max_output_tokens
        outputs = _halves(min(most, LAST_OUTPUT_TOKENS) if last else most)
        while True:
            for output in outputs:
                amount = bound(route, context, output)
                keep = NOTHING if last else _last_bound(route, context, output)
                try:
                    return self.budget.reserve(self.owner, amount, keep=keep), output
                except LimitReached as error:
                    reached = error
            if not self.budget.may_fit_later(self.owner, amount + keep):
                raise reached
            with pulse.waiting_for_others():
                await self.budget.changed()

    def hold(self, state: AgentState, route: Route, *, expected_tokens: int) -> None:
        """Keep back what a last call costs once `expected_tokens` have come in."""
        context = state.transcript.tokens + expected_tokens
        self.budget.hold(self.owner, bound(route, context, LAST_OUTPUT_TOKENS))


def bound(route: Route, context_tokens: int, output_tokens: int) -> Amount:
    """Return the most that a call on `route` can use."""
    price = route.price
    usd = price.upper_bound(context_tokens, output_tokens) if price else 0.0
    return Amount(usd, context_tokens + output_tokens)


def _last_bound(route: Route, context: int, output: int) -> Amount:
    """Return the most that a last call can use after a call with `output`."""
    return bound(route, context + output, min(output, LAST_OUTPUT_TOKENS))


def _halves(output: int) -> list[int]:
    """Return `output` and what to try after it, down to the least that is of use."""
    outputs = [output]
    while outputs[-1] > MIN_OUTPUT_TOKENS:
        outputs.append(max(outputs[-1] // 2, MIN_OUTPUT_TOKENS))
    return outputs
