"""One request that is about to leave: of the conversation, or beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.agent.budget import Reservation
from orchestrator.agent.route import Route
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.context.shown import Shown
from orchestrator.context.view import View, make_head, make_view
from orchestrator.events import ModelRequested
from orchestrator.ids import sha256
from orchestrator.messages import Block, Message, encode, text_block, user_message
from orchestrator.models.base import Reply
from orchestrator.models.fields import request_fields

__all__ = [
    "Answer",
    "Aside",
    "Outgoing",
    "alone",
    "beside",
    "ordinary",
    "question",
    "size_of",
]


ASIDE_OUTAGE_S = 60.0
"""A question beside the conversation is given up after so long."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A question beside the conversation: nothing of it enters there.

    Attributes:
        purpose: what it is for: `summary` or `judge`.
        messages: behind what is shown, or all there is, for another model.
        output_tokens: bound of the reply.
        model: bare id of who is asked instead, without the conversation; "": the
            agent's own model, which has read that.
        effort: for another model; None: its default.
    """

    purpose: str
    messages: Sequence[Message]
    output_tokens: int
    model: str = ""
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered beside the conversation, and what it cost."""

    reply: Reply
    usd: float | None
    """None: the price is unknown."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What leaves, and where to.

    Attributes:
        route: where it goes.
        view: what is sent.
        tokens: estimated size of that.
        output_tokens: bound of the reply.
        system: of the request.
        tools: of the request.
        composition: of it, estimated tokens by layer.
        purpose: as for `Aside`; "": it is a turn of the conversation.
        newest_written: whether the service is to cache what is new in it.
    """

    route: Route
    view: View
    tokens: int
    output_tokens: int
    system: list[Block]
    tools: list[dict[str, Any]]
    composition: dict[str, int]
    purpose: str = ""
    newest_written: bool = True

    def outage_s(self, most: float) -> float:
        """Return how long to go on trying while nobody gets an answer, in seconds.

        Args:
            most: for a turn of the conversation.
        """
        return min(most, ASIDE_OUTAGE_S) if self.purpose else most

    def intent(
        self, turn: int, reserved: Reservation, *, rent_usd: float | None
    ) -> ModelRequested:
        """Return the event that is logged before it leaves.

        Args:
            turn: its number.
            reserved: what is set aside for it.
            rent_usd: paid since the last edit for carrying what could be cleared.
        """
        return ModelRequested(
            turn=turn,
            sha256=sha256(self.view.body),
            bytes=len(self.view.body),
            max_output_tokens=self.output_tokens,
            estimated_tokens=self.tokens,
            reserved_usd=reserved.amount.usd if self.route.price else None,
            reserved_tokens=reserved.amount.tokens,
            composition=self.composition,
            purpose=self.purpose,
            rent_usd=rent_usd,
            newest_unwritten=not self.newest_written,
            model=self.route.name if self.purpose else "",
        )


def ordinary(
    state: AgentState, spec: AgentSpec, route: Route, *, output_tokens: int
) -> Outgoing:
    """Return the next request of a conversation."""
    view = make_view(
        route.head,
        state.shown,
        max_output_tokens=output_tokens,
        previous_end=state.previous_end,
        previous_message=state.previous_message,
        newest_written=not state.sight.clears_next,
    )
    return Outgoing(
        route=route,
        view=view,
        tokens=state.shown.tokens,
        output_tokens=output_tokens,
        system=spec.system,
        tools=spec.tools,
        composition=dict(state.shown.composition),
        newest_written=not state.sight.clears_next,
    )


def beside(state: AgentState, spec: AgentSpec, route: Route, aside: Aside) -> Outgoing:
    """Return a question in the agent's own conversation, which the cache holds.

    What is new in it is not written there: nothing will read it.
    """
    view = make_view(
        route.head,
        state.shown,
        max_output_tokens=aside.output_tokens,
        previous_end=state.previous_end,
        previous_message=state.previous_message,
        newest_written=False,
        aside=aside.messages,
    )
    more = sum(size_of(each, state.count) for each in aside.messages)
    return Outgoing(
        route=route,
        view=view,
        tokens=state.shown.tokens + more,
        output_tokens=aside.output_tokens,
        system=spec.system,
        tools=spec.tools,
        composition={**state.shown.composition, "text": more},
        purpose=aside.purpose,
        newest_written=False,
    )


def alone(state: AgentState, route: Route, aside: Aside) -> Outgoing:
    """Return a question to another model, which is sent nothing else."""
    settings = request_fields(route.name, aside.effort)
    settings.pop("diagnostics", None)
    head = make_head(
        model=route.name, system=[], tools=[], settings=settings, tokens=0, marks=False
    )
    shown = Shown()
    for message in aside.messages:
        tokens = size_of(message, state.count)
        shown.append(message["role"], message["content"], tokens=tokens)
    view = make_view(
        head, shown, max_output_tokens=aside.output_tokens, previous_end=None
    )
    return Outgoing(
        route=route,
        view=view,
        tokens=shown.tokens,
        output_tokens=aside.output_tokens,
        system=[],
        tools=[],
        composition={"text": shown.tokens},
        purpose=aside.purpose,
    )


def size_of(message: Message, count: Callable[[str], int]) -> int:
    """Return the estimated tokens of a message, calls and thinking in it included."""
    return sum(
        count(str(block["text"]))
        if block.get("type") == "text"
        else count(encode(block).decode())
        for block in message["content"]
    )


def question(text: str) -> Message:
    """Return what is asked as a message of the user's."""
    return user_message([text_block(text)])
