"""An agent whose log is damaged: whether it goes on with what was really sent.

Nothing here is at work while a log is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from orchestrator.agent.form import Form
from orchestrator.agent.state import AgentState
from orchestrator.context.marks import End
from orchestrator.context.view import Head, make_view
from orchestrator.events import (
    ContextCompacted,
    Event,
    LimitReachedEvent,
    ModelAnswered,
    ModelReplaced,
    ModelRequested,
    RunReopened,
    TextAdded,
    ThinkingDropped,
    ToolEnded,
    ToolStarted,
)
from orchestrator.ids import sha256
from orchestrator.messages import without_thinking

__all__ = ["RequestProof", "is_at_work"]

WHY_DROPPED = "records before it are lost, and it is bound to them"
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
_WITHOUT_THINKING = frozenset(
    (ThinkingDropped.KIND, ModelReplaced.KIND, ContextCompacted.KIND)
)
"""What leaves no thinking; a clear leaves what is before the first result that went."""


@dataclass(slots=True)
class RequestProof:
    """Proves a rebuilt conversation by the requests of the log, which hold its hash.

    Attributes:
        head_of: form of a request → its fixed start.
        proven: what stands before the newest thinking is what was sent then.
    """

    head_of: Callable[[Form], Head]
    proven: bool = False
    _next: dict[int, Event | None] = field(default_factory=dict)
    """`seq` of a request → what its agent did next."""
    _from: int = 0
    """`seq` of the first request that holds all that the newest thinking is bound to;
    0: there is no thinking."""

    @classmethod
    def of(
        cls, head_of: Callable[[Form], Head], events: Sequence[Event], lost: int
    ) -> RequestProof:
        """Return what is to be proven of one agent.

        Args:
            head_of: form of a request → its fixed start.
            events: its own, oldest first.
            lost: records of the log that are.
        """
        found = cls(head_of)
        newest: Event | None = None  # the newest reply with thinking
        follows: Event | None = None
        is_sent = True  # the thinking in what came before
        for event in reversed(events):
            if event.kind in _WORK:
                follows = event
            if event.kind in _WITHOUT_THINKING:
                is_sent = False
            elif event.kind == ModelAnswered.KIND and _thinks(event):
                if is_sent and newest is None:
                    newest, found._from = event, event.seq
            elif event.kind == ModelRequested.KIND and not event.data.get("purpose"):
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

    def check(self, request: Event, state: AgentState) -> None:
        """Compare a request with what the log says it was.

        Args:
            request: the event.
            state: as it was when the request left.
        """
        if self.proven or not self._from or request.seq < self._from:
            return
        shown = state.shown
        ends = [
            End(place, len(shown.messages[place]["content"]), shown.tokens)
            for place in range(len(shown) - 1, -1, -1)[:_NEAR]
        ]
        for previous_end in dict.fromkeys([state.previous_end, None, *ends]):
            view = make_view(
                self.head_of(state.form),
                shown,
                max_output_tokens=request.data["max_output_tokens"],
                previous_end=previous_end,
                previous_message=state.previous_message,
                newest_written=not request.data.get("newest_unwritten"),
            )
            if sha256(view.body) == request.data["sha256"]:
                self.proven = True
                return

    def drop_unproven(self, state: AgentState) -> None:
        """Take all thinking out of a conversation that is not proven."""
        if self.proven or not self._from:
            return
        blocks = state.shown.drop_thinking()
        if blocks:
            state.edits.append(ThinkingDropped(WHY_DROPPED, blocks))


def _thinks(answered: Event) -> bool:
    content = answered.data["content"]
    return (
        bool(answered.data.get("kept", True)) and without_thinking(content) != content
    )


def is_at_work(events: Sequence[Event]) -> bool:
    """Return whether the events of an agent tell of any work, whoever it is."""
    return any(event.kind in _WORK for event in events)
