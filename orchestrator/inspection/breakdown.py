"""The figures of a run by tool, by model and by what was waited for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.run import RunView
from orchestrator.inspection.usage import WAITS, ModelUse, Peak, ToolUse

__all__ = ["Fullest", "by_model", "by_tool", "fullest_of", "waits_of"]


@dataclass(frozen=True, slots=True)
class Fullest:
    """The agent whose context was fullest.

    Attributes:
        agent: its id.
        peak: its largest request.
        window: what it may be sent at most; 0: the log does not tell.
        share: how full that was, 0 to 1; 0 where the window is unknown.
    """

    agent: str
    peak: Peak
    window: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        return {
            "agent": self.agent,
            **self.peak.to_dict(),
            "window_tokens": self.window or None,
            "share": round(self.share, 4) if self.window else None,
        }


def by_tool(agents: Iterable[AgentView]) -> dict[str, ToolUse]:
    """Return the calls of each tool, the one that brought most tokens in first."""
    sums: dict[str, ToolUse] = {}
    for agent in agents:
        for name, use in agent.usage.tools.items():
            sums.setdefault(name, ToolUse()).add(use)
    return dict(sorted(sums.items(), key=lambda each: -each[1].tokens))


def by_model(agents: Iterable[AgentView]) -> dict[str, ModelUse]:
    """Return the requests to each model, the one that was asked most first."""
    sums: dict[str, ModelUse] = {}
    for agent in agents:
        for name, use in agent.usage.models.items():
            sums.setdefault(name, ModelUse()).add(use)
    return dict(sorted(sums.items(), key=lambda each: -each[1].requests))


def waits_of(
    agents: Iterable[AgentView], now: datetime | None = None
) -> dict[str, float]:
    """Return the seconds that agents waited, by what for, added up.

    Args:
        agents: of one run; those side by side count each.
        now: while the run is at work; None: up to its last event.
    """
    sums = dict.fromkeys(WAITS, 0.0)
    for agent in agents:
        for what, seconds in agent.usage.waits(now).items():
            sums[what] += seconds
    return sums


def fullest_of(view: RunView) -> Fullest | None:
    """Return the agent whose context was fullest; None: nothing was sent."""
    found = [
        Fullest(agent.id, peak, window, peak.tokens / window if window else 0.0)
        for agent in view.agents.values()
        if (peak := agent.usage.peak) is not None
        for window in [agent.usage.window_tokens]
    ]
    return max(found, key=lambda each: (each.share, each.peak.tokens), default=None)
