"""When an agent is told to bring its work to an end, and with which figures.

What counts as used is what was spent, of what is there to be spent: a limit without
what all agents keep back for their last calls. Calls under way do not count, since most
of what is set aside for them comes back; so a burst of them tells nobody. That the
money is gone before anybody was told is kept from happening by a second rule: once half
is used, an agent is told as soon as less than two more calls are sure to fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.agent.budget import Amount, Budget
from orchestrator.agent.hooks import Words
from orchestrator.agent.state import AgentState
from orchestrator.events import TextAdded
from orchestrator.spec.limits import AgentLimits

__all__ = ["Use", "due", "uses_of", "wrap_up"]

_PROMPTS = {"lead": "wrap_up_lead", "subagent": "wrap_up_subagent"}
TELL_AT = 0.85
NEAR_END_FROM = 0.5
NEAR_END_CALLS = 2


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used, in its own unit.

    Attributes:
        limit: its name.
        allowed: the whole limit.
        used: spent up to now.
        left: for work; the last calls are paid from something else.
        call: the most that one more call takes; 0: nobody can tell.
    """

    limit: str
    allowed: float
    used: float
    left: float
    call: float = 0.0

    @property
    def share(self) -> float:
        """Return which part of what there is for work is used, 0 to 1."""
        whole = self.used + max(self.left, 0.0)
        return self.used / whole if whole > 0 else 1.0

    @property
    def in_words(self) -> str:
        """Return how much is left for work, as in `0.012 of 0.1 dollars`."""
        left, allowed = max(self.left, 0.0), self.allowed
        match self.limit:
            case "usd":
                return f"{left:.2g} of {allowed:g} dollars"
            case "tokens":
                return f"{left:,.0f} of {allowed:,.0f} tokens"
            case "turns":
                return f"{left:.0f} of {allowed:.0f} answers"
            case _:
                # Those of a subagent are what was left: told no finer than they count.
                whole = f"{allowed:.1f}" if allowed >= 1 else f"{allowed:.2g}"
                return f"{left:.1f} of {whole.removesuffix('.0')} minutes"

    @property
    def is_near(self) -> bool:
        """Return whether its end is near enough to be told of."""
        few = self.left < NEAR_END_CALLS * self.call
        return self.share >= TELL_AT or (few and self.share >= NEAR_END_FROM)

    @property
    def is_over(self) -> bool:
        """Return whether nothing but the last call is left: that has its own words."""
        return self.left <= 0 or self.left < self.call


def uses_of(
    state: AgentState,
    limits: AgentLimits,
    budget: Budget,
    *,
    call: Amount,
    left_s: float,
) -> list[Use]:
    """Return the use of each limit of an agent, and of those above it.

    Args:
        state: how far the agent is.
        limits: its own.
        budget: its own, within the run's.
        call: the most that its next call takes.
        left_s: seconds before its last call; infinite without a limit.
    """
    uses = list(_uses_of_budget(budget, call))
    if limits.turns is not None:  # those for a further question are counted from it
        turns = state.turns - state.asked_at
        allowed = limits.turns - state.asked_at
        uses.append(Use("turns", allowed, turns, allowed - 1 - turns, 1))
    if limits.minutes is not None:
        left = left_s / 60
        uses.append(Use("minutes", limits.minutes, state.seconds / 60, left))
    return uses


def _uses_of_budget(budget: Budget, call: Amount) -> Iterator[Use]:
    for level in budget.levels():
        spent, held = level.spent, level.held
        if level.usd is not None:
            left = level.usd - spent.usd - held.usd
            yield Use("usd", level.usd, spent.usd, left, call.usd)
        if level.tokens is not None:
            left = level.tokens - spent.tokens - held.tokens
            yield Use("tokens", level.tokens, spent.tokens, left, call.tokens)


def due(uses: Sequence[Use], told: tuple[str, float] | None) -> Use | None:
    """Return the limit that an agent must be told of now, or None.

    The tightest one counts. Nothing is said where only the last call is left, and
    nothing twice, unless the limit that it was told of has been raised since.

    Args:
        uses: of all its limits.
        told: the limit that it was told of, and the size of that.
    """
    near = [each for each in uses if each.is_near]
    if not near or any(each.is_over for each in uses):
        return None
    if told is not None and not _is_raised(uses, told):
        return None
    return max(near, key=lambda each: each.share)


def _is_raised(uses: Sequence[Use], told: tuple[str, float]) -> bool:
    name, allowed = told
    now = [each.allowed for each in uses if each.limit == name]
    return not now or min(now) > allowed


def wrap_up(words: Words, role: str, hand_in: str, use: Use) -> TextAdded:
    """Return what an agent is told.

    Args:
        words: the program's prompts.
        role: of the agent.
        hand_in: the tool that ends it.
        use: of the limit that is near.
    """
    text = words(_PROMPTS[role], left=use.in_words, tool=hand_in)
    return TextAdded("wrap_up", text, limit=use.limit, allowed=use.allowed)
