"""What a subagent needs of the budget at the least, and what is kept for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from orchestrator.agent.budget import Amount, Budget
from orchestrator.agent.reserving import (
    LEAST_OUTPUT_TOKENS,
    WORDS_TOKENS,
    amount_of,
    first_tokens,
    hand_in_tokens,
    most_tokens,
)
from orchestrator.brief import Brief
from orchestrator.messages import encode
from orchestrator.models.pricing import Price
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.expecting import FRAME_TOKENS
from orchestrator.subagents.place import Place
from orchestrator.subagents.roster import Roster
from orchestrator.tools.base import Tool
from orchestrator.tools.handin import SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import definition_of

__all__ = ["Reserve"]


class Reserve:
    """The least that the subagents of one agent need.

    From its acceptance on, each has a call and a last one kept for it: one that waits
    in line while others spend can look at something and hand it in all the same.
    """

    def __init__(
        self, crew: Crew, roster: Roster, parent: str, budget: Callable[[], Budget]
    ) -> None:
        """Make it.

        Args:
            crew: what subagents are made from.
            roster: who was sent.
            parent: who sends them.
            budget: what pays for them all.
        """
        self._crew = crew
        self._roster = roster
        self._parent = parent
        self._budget = budget
        self._shared_tokens: dict[str, int] = {}

    def keep(self, place: Place) -> None:
        """Keep a call and a last one for a subagent that is yet to begin, or go on."""
        self._budget().hold(place.id, self._least(place))

    def kept_during(
        self, work: Callable[[Place], Awaitable[None]]
    ) -> Callable[[Place], Awaitable[None]]:
        """Return `work` on a subagent, with its least kept for it until it begins."""

        async def kept(place: Place) -> None:
            self.keep(place)
            try:
                await work(place)
            finally:
                self._budget().release(place.id)

        return kept

    def floor(self, brief: Brief, *, is_beside: bool) -> Amount:
        """Return what a subagent needs: a first call, and a last one after it.

        Args:
            brief: what it is asked.
            is_beside: others are at work beside it and keep the whole of their last
                calls back, so that the whole of its own must fit too; one that is
                alone, or waits for its turn, can do with less.
        """
        held = hand_in_tokens(brief.deliverable.max_tokens) if is_beside else 0
        first = first_tokens(self._prefix_tokens(brief))
        return self._two_calls(brief, first, max(held, LEAST_OUTPUT_TOKENS))

    def brought(self, brief: Brief) -> Amount:
        """Return what the findings on a brief cost the parent once they have come."""
        crew, tokens = self._crew, brief.deliverable.max_tokens + FRAME_TOKENS
        place, model = self._roster.get(self._parent), crew.models.lead
        if place is not None:
            model = crew.models.of_profile(crew.profiles[place.brief.agent].model)
        return amount_of(crew.services.price_of(model), tokens, 0)

    def _least(self, place: Place) -> Amount:
        rebuilt = place.child.past.rebuilt
        if rebuilt is None:
            return self.floor(place.brief, is_beside=False)
        context = most_tokens(rebuilt.state.transcript)
        return self._two_calls(place.brief, context, LEAST_OUTPUT_TOKENS)

    def _two_calls(self, brief: Brief, context: int, held: int) -> Amount:
        """Return what a call takes, and a last one after it with `held` of output."""
        price, last = self._price(brief), context + LEAST_OUTPUT_TOKENS + WORDS_TOKENS
        first = amount_of(price, context, LEAST_OUTPUT_TOKENS)
        return first + amount_of(price, last, held)

    def _price(self, brief: Brief) -> Price | None:
        crew = self._crew
        model = crew.models.of_profile(crew.profiles[brief.agent].model)
        return crew.services.price_of(model)

    def _prefix_tokens(self, brief: Brief) -> int:
        """Return about how long the first request of a subagent is, in tokens."""
        shared = self._shared_tokens.get(brief.agent)
        if shared is None:
            shared = self._shared_tokens[brief.agent] = self._count_shared(brief.agent)
        return shared + self._crew.services.count(brief.model_dump_json())

    def _count_shared(self, profile: str) -> int:
        """Return how many tokens all subagents of a profile begin with."""
        crew, count = self._crew, self._crew.services.count
        tools: list[Tool[Any] | type[Tool[Any]]] = [
            *crew.services.base_tools,
            SubmitFindings,
            UpdateNotes,
        ]
        texts = [
            crew.profiles[profile].prompt,
            crew.facts,
            *(encode(definition_of(tool)).decode() for tool in tools),
            *(each.text for each in crew.context_files),
        ]
        return sum(count(text) for text in texts)
