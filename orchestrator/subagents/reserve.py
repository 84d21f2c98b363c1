"""What a subagent needs of the budget at the least, and what is kept for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from orchestrator.agent.budget import NOTHING, Amount, Budget
from orchestrator.agent.loop import Agent
from orchestrator.agent.reserving import (
    LEAST_OUTPUT_TOKENS,
    WORDS_TOKENS,
    amount_of,
    first_tokens,
    most_tokens,
)
from orchestrator.brief import Brief
from orchestrator.messages import encode
from orchestrator.models.pricing import Price
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.expecting import FRAME_TOKENS
from orchestrator.subagents.place import Place
from orchestrator.subagents.roster import Roster
from orchestrator.tools.base import Described
from orchestrator.tools.handin import SubmitFindings
from orchestrator.tools.notes import UpdateNotes
from orchestrator.tools.registry import definition_of

__all__ = ["Reserve"]

LIKELY = 0.5
"""Of an upper bound: more than this a short piece of work hardly ever uses, even where
nothing comes from a cache."""
SHARE_IN_LINE = 0.5
"""Of what is free: the most that is set aside, so that the others can work."""


class Reserve:
    """The least that the subagents of one agent need, and who of them may begin.

    The least is a call and a last one: who has that can look at something and hand it
    in, however much others spend. It is set aside for all in line, if that is no more
    than a half of what is free. It is an upper bound, and much of it comes back; so in
    a longer line it is a part of it for each, and the whole for the first. One begins
    beside others as long as that leaves them as much to work with as they all hold;
    else once they have ended.
    """

    def __init__(self, crew: Crew, roster: Roster, parent: str) -> None:
        """Make it.

        Args:
            crew: what subagents are made from.
            roster: who was sent.
            parent: who sends them.
        """
        self._crew = crew
        self._roster = roster
        self._parent = parent
        self._agent: Agent | None = None
        self._part = 1.0
        self._shared_tokens: dict[str, int] = {}
        self._line: dict[str, Amount] = {}
        self._wanted = self._largest = NOTHING
        self._begun: set[str] = set()
        self._turn = anyio.Lock()

    def attach(self, agent: Agent) -> None:
        """Say whose subagents these are."""
        self._agent = agent

    def budget(self) -> Budget:
        """Return what pays for them all."""
        agent = self._agent
        return agent.caller.budget if agent else self._crew.services.budget

    @property
    def likely(self) -> float:
        """Return which part of an upper bound is likely to be used, 0 to 1.

        All of it counts as used where the service does not tell.
        """
        return LIKELY if self._is_told else 1.0

    @property
    def _is_told(self) -> bool:
        agent = self._agent
        return agent is None or agent.state.shown.known_tokens > 0

    def keep(self, place: Place) -> None:
        """Set something aside for a subagent that is yet to begin, or to go on."""
        self._leave(place)
        self._line[place.id] = least = self._least(place)
        self._wanted += least
        self._largest = self._largest.or_more(least)
        self._part = self._part_of(self.budget().room("", is_next=True))
        self._set_aside()

    def kept_during(
        self, work: Callable[[Place], Awaitable[None]]
    ) -> Callable[[Place], Awaitable[None]]:
        """Return `work` on a subagent, with something kept for it until its end."""

        async def kept(place: Place) -> None:
            self.keep(place)
            try:
                await work(place)
            finally:
                self._leave(place)
                self._begun.discard(place.id)
                self._set_aside()
                self.budget().release(place.id)

        return kept

    async def begins(self, place: Place) -> None:
        """Wait until a subagent that has a place can be paid for beside the others.

        With nobody at work it begins with what there is.
        """
        async with self._turn:
            while not self._is_enough_for(place):
                await self.budget().changed()
            least = self._leave(place)
            self._begun.add(place.id)
            self.budget().hold(place.id, least, is_next=True)
            self._set_aside()

    def kept_for(self, place: Place) -> Amount:
        """Return what is kept for a subagent now."""
        if place.id in self._line:
            return self._line[place.id].part(self._part)
        return self.budget().holds.get(place.id, NOTHING)

    def _is_enough_for(self, place: Place) -> bool:
        in_place = self._crew.room.statistics().borrowers
        at_work = [each for each in self._begun if each in in_place]
        if not at_work or place.child.past.is_over:
            return True
        budget, least = self.budget(), self._line[place.id]
        holds = [budget.holds.get(each, NOTHING) for each in at_work]
        held = Amount(
            sum(each.usd for each in holds), sum(each.tokens for each in holds)
        )
        rest = self._wants(self._wanted - least) if len(self._line) > 1 else NOTHING
        return (held + least + least + rest).fits(budget.room(place.id, is_next=True))

    def _leave(self, place: Place) -> Amount:
        """Take a subagent out of the line; return what it needs."""
        least = self._line.pop(place.id, NOTHING)
        self._wanted -= least
        if not self._line:
            self._wanted = self._largest = NOTHING  # no dust of adding and taking away
        return least

    def _part_of(self, free: Amount) -> float:
        """Return which part of what those in line need is set aside, 0 to 1."""
        if not self._is_told:
            return 1.0
        parts, wanted = [1.0], self._wanted
        if wanted.usd:
            parts.append(SHARE_IN_LINE * free.usd / wanted.usd)
        if wanted.tokens:
            parts.append(SHARE_IN_LINE * free.tokens / wanted.tokens)
        return max(min(parts), 0.0)

    def _set_aside(self) -> None:
        wanted = self._wants(self._wanted) if self._line else NOTHING
        self.budget().set_aside(self._parent, wanted)

    def _wants(self, line: Amount) -> Amount:
        """Return what is set aside for a line that needs so much at the most."""
        return line.part(self._part) + self._largest.part(1 - self._part)

    def floor(self, brief: Brief) -> Amount:
        """Return what a subagent needs: a first call, and a last one after it."""
        return self._two_calls(brief, first_tokens(self._prefix_tokens(brief)))

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
            return self.floor(place.brief)
        return self._two_calls(place.brief, most_tokens(rebuilt.state.shown))

    def _two_calls(self, brief: Brief, context: int) -> Amount:
        """Return what a call takes, and a last one after it."""
        price, last = self._price(brief), context + LEAST_OUTPUT_TOKENS + WORDS_TOKENS
        first = amount_of(price, context, LEAST_OUTPUT_TOKENS)
        return first + amount_of(price, last, LEAST_OUTPUT_TOKENS)

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
        tools: list[Described] = [
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
