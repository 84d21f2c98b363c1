"""An agent whose log is damaged: what can be told of what is lost.

Nothing here is at work while a log is whole.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from orchestrator.agent.build import Services, head_of
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.context.view import Head, make_view
from orchestrator.events import (
    AgentStarted,
    Event,
    FindingsSubmitted,
    LimitReachedEvent,
    ModelAnswered,
    ModelRequested,
    ReportSubmitted,
    RunReopened,
    TextAdded,
    ThinkingDropped,
    ToolEnded,
    ToolStarted,
)
from orchestrator.ids import sha256
from orchestrator.messages import without_thinking

__all__ = ["Witnesses", "is_headless", "times_sent_back"]

WHY = "records before it are lost, and it is bound to them"
_NEAR = 8
"""So many of the newest messages are tried as the end of the request before."""
_WORK = frozenset(
    kind.KIND
    for kind in (
        ModelAnswered, ToolStarted, ToolEnded, TextAdded, LimitReachedEvent,
        RunReopened,
    )
)  # fmt: skip
"""What follows a request once it is answered, or its agent goes on without it."""


@dataclass(slots=True)
class Witnesses:
    """What the rest of a damaged log says about its requests.

    Attributes:
        effects: tools that have effects.
        proven: what stands before the newest thinking is what was sent then.
    """

    head: Head
    effects: frozenset[str]
    proven: bool = False
    _next: dict[int, Event | None] = field(default_factory=dict)
    """`seq` of a request → what its agent did next."""
    _from: int = 0
    """`seq` of the first request that holds all that the newest thinking is bound to;
    0: there is no thinking."""

    @classmethod
    def of(
        cls, services: Services, spec: AgentSpec, events: Sequence[Event], lost: int
    ) -> Witnesses:
        """Return the witnesses of one agent.

        Args:
            services: of the live run.
            spec: what the agent started with.
            events: of this agent, oldest first.
            lost: records of the log that are.
        """
        effects = (
            tool.name for tool in services.base_tools if tool.effects == "effects"
        )
        found = cls(head_of(services, spec), frozenset(effects))
        newest: Event | None = None  # the newest reply with thinking
        follows: Event | None = None
        is_sent = True  # the thinking in what came before
        for event in reversed(events):
            if event.kind in _WORK:
                follows = event
            if event.kind == ThinkingDropped.KIND:
                is_sent = False
            elif event.kind == ModelAnswered.KIND and _thinks(event):
                if is_sent and newest is None:
                    newest, found._from = event, event.seq
            elif event.kind == ModelRequested.KIND:
                found._next[event.seq] = follows
                if newest and event.data["turn"] == newest.data["turn"]:
                    found._from = min(found._from, event.seq)
        if newest and found._from == newest.seq:
            # Its request is lost. If nothing else is, all that it held is there.
            found.proven = lost == 1
        return found

    def is_void(self, request: Event, state: AgentState) -> bool:
        """Return whether `request` is to be taken as never made.

        Results that belong in it are lost, and its answer never came: then the calls
        are still open, and those that may be run again are.
        """
        lacking = state.waiting
        if not lacking:
            return False
        follows = self._next.get(request.seq)
        return follows is None or follows.data.get("call") in lacking

    def compare(
        self, request: Event, state: AgentState, *, ends: Sequence[int | None]
    ) -> None:
        """Compare a request with what the log says it was.

        Args:
            request: the event.
            state: as it was when the request left.
            ends: where the request before may have ended.
        """
        if self.proven or not self._from or request.seq < self._from:
            return
        last = len(state.transcript) - 1
        near = range(last, max(last - _NEAR, -1), -1)
        for previous_end in dict.fromkeys([*ends, None, *near]):
            view = make_view(
                self.head,
                state.transcript,
                max_output_tokens=request.data["max_output_tokens"],
                previous_end=previous_end,
            )
            if sha256(view.body) == request.data["sha256"]:
                self.proven = True
                return

    def settle(self, state: AgentState) -> None:
        """Take all thinking out of a conversation that is not proven."""
        if self.proven or not self._from:
            return
        blocks = state.transcript.drop_thinking()
        if blocks:
            state.edits.append(ThinkingDropped(WHY, blocks))


def _thinks(answered: Event) -> bool:
    content = answered.data["content"]
    return bool(answered.data["kept"]) and without_thinking(content) != content


def is_headless(events: Sequence[Event]) -> bool:
    """Return whether an agent is at work whose start is lost."""
    kinds = {event.kind for event in events}
    return AgentStarted.KIND not in kinds and not _WORK.isdisjoint(kinds)


def times_sent_back(events: Sequence[Event], hand_ins: Collection[str]) -> int:
    """Return how many hand-ins were sent back to an agent, since it was reopened."""
    times, waiting = 0, False
    for event in events:
        if event.kind in (ReportSubmitted.KIND, FindingsSubmitted.KIND):
            waiting = not event.data["accepted"]
        elif event.kind == ToolEnded.KIND and event.data["name"] in hand_ins:
            times, waiting = times + waiting, False
        elif event.kind == RunReopened.KIND:
            times, waiting = 0, False
    return times
