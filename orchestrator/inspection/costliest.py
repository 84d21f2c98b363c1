"""Which subagent cost most, and in what it differs from the others."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.run import RunView

__all__ = ["Costliest", "Factor", "costliest_of"]

MIN_RATIO = 1.5
"""Of the others' median: from here on a figure is a reason."""
MOST = 5
Figure = Callable[[AgentView], float]

_MORE: dict[str, Figure] = {
    "turns": lambda agent: agent.turns,
    "explored_tokens": lambda agent: agent.explored_tokens,
    "output_tokens": lambda agent: agent.tokens.output,
    "tool_calls": lambda agent: agent.calls,
    "repeated_reads": lambda agent: agent.usage.repeats,
    "retries": lambda agent: agent.usage.retries,
    "tool_errors": lambda agent: agent.call_errors,
    "compactions": lambda agent: agent.compactions,
    "further_questions": lambda agent: len(agent.answers.further),
    "tokens_per_turn": lambda agent: agent.tokens.sent / max(agent.turns, 1),
}
"""Figures that make an agent dear where they are high."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A figure of the costliest subagent, beside that of the others.

    Attributes:
        name: `turns`, `explored_tokens`, `output_tokens`, `tool_calls`,
            `repeated_reads`, `retries`, `tool_errors`, `compactions`,
            `further_questions`, `tokens_per_turn` or `cache_share` (0 to 1).
        value: of the costliest subagent.
        others: the median of the other subagents.
    """

    name: str
    value: float
    others: float


@dataclass(frozen=True, slots=True)
class Costliest:
    """The subagent that cost most.

    Attributes:
        agent: its id.
        measure: `usd`, or `tokens` where no dollars are known or all are 0.
        amount: what it took, in that measure; tokens are those sent and written.
        share: of what all subagents took, 0 to 1.
        factors: in what it differs most, the largest difference first.
        model: that it asked, where others asked another; else "".
    """

    agent: str
    measure: Literal["usd", "tokens"]
    amount: float
    share: float
    factors: tuple[Factor, ...]
    model: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        factors = [
            {"name": each.name, "value": each.value, "others": each.others}
            for each in self.factors
        ]
        return {
            "agent": self.agent,
            "measure": self.measure,
            "amount": round(self.amount, 6),
            "share": round(self.share, 4),
            "factors": factors,
            "model": self.model,
        }


def costliest_of(view: RunView) -> Costliest | None:
    """Return the subagent that cost most; None: there are not two that cost anything.

    Args:
        view: of the run; what subagents of a subagent cost counts for these alone.
    """
    began = [each for each in view.subagents if each.tokens.sent]
    if len(began) < 2:
        return None
    is_priced = any(each.cost.usd for each in began)
    amounts = {each.id: _amount(each, is_priced=is_priced) for each in began}
    first = max(began, key=lambda agent: amounts[agent.id])
    others = [each for each in began if each is not first]
    models = {each.model for each in others}
    return Costliest(
        first.id,
        "usd" if is_priced else "tokens",
        amounts[first.id],
        amounts[first.id] / sum(amounts.values()),
        _factors(first, others),
        first.model if models != {first.model} else "",
    )


def _amount(agent: AgentView, *, is_priced: bool) -> float:
    return agent.cost.usd if is_priced else agent.tokens.sent + agent.tokens.output


def _factors(first: AgentView, others: list[AgentView]) -> tuple[Factor, ...]:
    found: list[tuple[float, Factor]] = []
    for name, figure in _MORE.items():
        value = figure(first)
        usual = statistics.median(figure(each) for each in others)
        if value >= usual * MIN_RATIO and value > usual:
            # One where the others have none says more than twice as many.
            found.append((value / max(usual, 0.5), Factor(name, value, usual)))
    share = first.tokens.cache_share
    usual = statistics.median(each.tokens.cache_share for each in others)
    if usual > 0.1 and share * MIN_RATIO <= usual:
        ratio = usual / max(share, 0.05)
        found.append((ratio, Factor("cache_share", round(share, 4), round(usual, 4))))
    found.sort(key=lambda each: -each[0])
    return tuple(factor for _, factor in found[:MOST])
