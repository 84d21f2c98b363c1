"""What one agent used and read in all its time, added up from its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from orchestrator.events import Event, ModelAnswered, ModelRequested, ToolEnded
from orchestrator.runtime.totals import Totals
from orchestrator.spec.foreign import EXPLORE_NOTHING

__all__ = ["AgentSums"]


@dataclass(slots=True)
class AgentSums:
    """Sums over the events of one agent.

    Attributes:
        turns: model calls that it was given, repeated ones once.
        explored_tokens: of all that its reading tools had, before clipping.
        used: tokens and dollars of its model calls.
    """

    turns: int = 0
    explored_tokens: int = 0
    used: Totals = field(default_factory=Totals)

    def apply(self, event: Event) -> None:
        """Take in one event of the agent."""
        data = event.data
        if event.kind == ModelRequested.KIND and not data.get("purpose"):
            self.turns = max(self.turns, data["turn"])
        elif event.kind == ModelAnswered.KIND:
            self.used = self.used.plus(data)
        elif event.kind == ToolEnded.KIND and data["name"] not in EXPLORE_NOTHING:
            self.explored_tokens += data["full_tokens"]
