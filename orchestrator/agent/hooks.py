"""What an agent's loop is given by its role, and the words of the program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from orchestrator.agent.hearing import Hear, nothing_said
from orchestrator.agent.memory import NO_MEMORY, Remembers
from orchestrator.agent.records import NO_RECORDS, Records
from orchestrator.agent.team import NO_TEAM, Team
from orchestrator.tools.calls import CallResult

__all__ = ["NO_HOOKS", "Hooks", "Words"]


class Words(Protocol):
    """The program's own words to a model; the prompts folder behind a function."""

    def __call__(self, name: str, **values: str) -> str:
        """Return the prompt `name`, filled."""
        ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the role of an agent adds to its loop.

    Attributes:
        after_turn: texts to add after the results of a step (reminders).
        on_last_call: called before the last call: what it hands in is taken as it is.
        team: its subagents.
        records: what the program knows of its work.
        hear: what people said to it that it has not been told.
        memory: what outlives the run.
    """

    after_turn: Callable[[list[CallResult]], list[str]] = lambda _results: []
    on_last_call: Callable[[], None] = lambda: None
    team: Team = NO_TEAM
    records: Records = NO_RECORDS
    hear: Hear = nothing_said
    memory: Remembers = NO_MEMORY


NO_HOOKS = Hooks()
