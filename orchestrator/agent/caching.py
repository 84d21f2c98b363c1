"""How the requests of one agent use the service's cache: what they find, who leads."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import timedelta

from orchestrator.agent.cache_watch import NOT_CACHED, CacheUse, Missed
from orchestrator.agent.head_start import FOLLOWS, Ahead, HeadStart
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.route import Route
from orchestrator.agent.state import AgentState
from orchestrator.events import CacheMissed
from orchestrator.models.base import Reply, caches_prompts
from orchestrator.store.eventlog import EventLog

__all__ = ["Caching"]


@dataclass(frozen=True, slots=True)
class Caching:
    """Follows the requests of one agent, from before they leave to their answers.

    Attributes:
        agent: its id.
        log: where a miss is written down.
        head_start: lets the first of alike requests of a run go ahead.
        use: which models have a prompt cache, as all agents of the run have found out.
    """

    agent: str
    log: EventLog
    head_start: HeadStart
    use: CacheUse

    async def turn(
        self, state: AgentState, route: Route, pulse: Pulse, *, last: bool
    ) -> Ahead:
        """Wait until the next request may leave: an agent's first may follow another.

        Args:
            state: the agent's.
            route: where the request goes.
            pulse: told of the wait, and of whom to tell when the answer begins.
            last: it is a last call, which waits for nobody.
        """
        if last or state.previous_end is not None or not self._is_cached(route):
            return FOLLOWS
        with pulse.waiting_for_others():
            turn = await self.head_start.wait(route.head.data)
        pulse.on_first = turn.begun
        return turn

    def expect(self, state: AgentState, route: Route) -> None:
        """Take note of what the request that leaves now should find in the cache."""
        head, is_first = route.head, state.previous_end is None
        is_cached = is_first and self._is_cached(route)
        is_shared = is_cached and self.head_start.knows(head.data)
        state.cache.sent(
            state.shown.rewritten,
            head=head,
            shared_tokens=head.tokens if is_shared else 0,
        )

    def leaves(self, route: Route) -> None:
        """Take note that a request leaves: what it reads lives on in the cache."""
        self.head_start.sent(route.head.data)

    def uncached_tokens(self, state: AgentState) -> int:
        """Return how much of a request that leaves now the cache does not hold."""
        cached = state.cache.readable(state.clock.now())
        return max(state.shown.tokens - cached, 0)

    def compare(self, state: AgentState, route: Route, reply: Reply) -> None:
        """Say so where a request read clearly less from the cache than it should."""
        usage, shortest = reply.usage, route.head.shortest
        began = state.clock.now() - timedelta(seconds=reply.seconds)
        missed = state.cache.answered(began, usage, reply.cache_miss)
        if shortest is None or not self._has_cache(route):
            return
        if self.use.is_found_without(route.name, usage, shortest):
            missed = Missed(usage.context_tokens, 0, NOT_CACHED)
        if missed is not None:
            event = CacheMissed(turn=state.turns, **asdict(missed))
            self.log.append(event, agent=self.agent)

    def _is_cached(self, route: Route) -> bool:
        """Return whether the service keeps the head of these requests for others."""
        head = route.head
        is_marked = head.shortest is not None and head.tokens >= head.shortest
        return is_marked and self._has_cache(route)

    def _has_cache(self, route: Route) -> bool:
        """Return whether there is a cache to be used, as far as is known."""
        return caches_prompts(route.model) and route.name not in self.use.without
