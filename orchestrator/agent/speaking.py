"""What the program says to an agent: on record first, then in its next message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.agent.hooks import Hooks, Words
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.wrapping_up import Use, wrap_up
from orchestrator.events import TextAdded
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.calls import CallResult

__all__ = ["Speaker"]

MOST_WORDS_TOKENS = 4000
"""Of people, in one step, if it is not a single text that is longer."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """Says what there is to be said to one agent.

    Attributes:
        spec: what it started with.
        state: its next message takes the texts.
        prompts: the program's words to a model.
        log: the run's log.
        hooks: what its role adds.
    """

    spec: AgentSpec
    state: AgentState
    prompts: Words
    log: EventLog
    hooks: Hooks

    def after(self, results: list[CallResult]) -> None:
        """Say what a step calls for: what its role adds, then what is due.

        Args:
            results: of the step.
        """
        say, texts = self.state.due, self.hooks.after_turn(results)
        if say:
            values = {"tool": self.spec.hand_in} if say == "nudge_finish" else {}
            texts = [*texts, self.prompts(say, **values)]
        self._say(texts, "nudge" if say else "reminder")

    def wrap_up(self, use: Use) -> None:
        """Tell it to bring its work to an end.

        Args:
            use: of the limit that is near.
        """
        added = wrap_up(self.prompts, self.spec.role, self.spec.hand_in, use)
        self.log.append(added, agent=self.spec.id)
        self.state.wrap_up = use.limit, use.allowed
        self.state.add([], [added.text])

    def heard(self) -> None:
        """Tell it what people have said meanwhile; much of it in several steps."""
        room = MOST_WORDS_TOKENS
        for count, said in enumerate(self.hooks.hear()):
            room -= self.state.count(said.text)
            if count and room < 0:
                return
            added = TextAdded("steer", said.text, words=said.words)
            self.log.append(added, agent=self.spec.id, cause=said.seq)
            self.state.sight.heard(added, turns=self.state.turns)
            self.state.add([], [said.text])

    async def late(self) -> None:
        """Deliver the findings that have come in meanwhile."""
        late = await self.hooks.team.late()
        if late is not None:
            added = TextAdded("findings", late.text, list(late.delivers))
            self.log.append(added, agent=self.spec.id)
            self.state.add_late(late.text, late.delivers)

    def last_call(self, why: str, output_tokens: int) -> None:
        """Tell it that a limit is reached, and how much it can still say.

        Args:
            why: the limit, for people.
            output_tokens: the most that its last answer can have.
        """
        text = self.prompts("last_call", limit=why, tool=self.spec.hand_in)
        size = self.prompts("last_call_size", tokens=f"{output_tokens:,}")
        self._say([f"{text} {size}"], "limit")

    def _say(
        self, texts: Sequence[str], reason: Literal["nudge", "reminder", "limit"]
    ) -> None:
        for text in texts:
            added = TextAdded(reason, text)
            self.log.append(added, agent=self.spec.id)
            self.state.sight.heard(added, turns=self.state.turns)
        self.state.add([], texts)
