"""A subagent: who it is, and what it is at work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from orchestrator.agent.budget import Budget
from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.brief import Brief
from orchestrator.events import SubagentAsked, SubagentEnded
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.brake import Brake

__all__ = ["Child", "Errand"]


@dataclass(frozen=True, slots=True)
class Child:
    """Who a subagent is: its id, its brief, and what earlier processes did with it."""

    id: str
    brief: Brief
    parent: str
    past: AgentPast = NOT_BEGUN
    brake: Brake = field(default_factory=Brake)

    def with_past(self, past: AgentPast) -> Child:
        """Return it with what earlier processes did; it is as stopped as before."""
        return replace(self, past=past)


@dataclass(frozen=True, slots=True)
class Errand:
    """What a subagent is at work on.

    Attributes:
        workspace: what it may see.
        budget: what its calls are paid from, within its own limits.
        asked: the further question; None: its brief.
        before: what it has delivered already, oldest first.
        minutes_left: of its parent's time.
        levels: of subagents that may be below it.
    """

    workspace: Workspace
    budget: Budget
    minutes_left: float
    levels: int = 0
    asked: SubagentAsked | None = None
    before: Sequence[SubagentEnded] = ()

    @property
    def first_item(self) -> int:
        """Return the number of the first item that it will deliver."""
        return 1 + sum(len(each.findings["items"]) for each in self.before)
