"""What fits into the context window: how much output, and what must go for a last call.

Sizes are those of the transcript, as reported and estimated. Where an endpoint says
how long a request was, or how long one may be, that is believed from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.agent.reserving import BLOCK_TOKENS, LEAST_OUTPUT_TOKENS
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import WINDOW
from orchestrator.context.shown import Shown
from orchestrator.errors import LimitReached
from orchestrator.messages import Block, Message, text_of, tool_calls
from orchestrator.models.base import EXCEEDED, Reply
from orchestrator.models.choose import known_window, max_output_tokens, smallest
from orchestrator.models.lengths import told_lengths

__all__ = [
    "Held",
    "held_results",
    "learn_from_refusal",
    "learn_from_reply",
    "likely_tokens",
    "output_ceiling",
    "output_within",
    "to_leave_out",
    "window_full",
]

MAX_OUTPUT_TOKENS: Final = 64_000
"""No reply is asked for that is longer, whatever the model can say."""
SHORT_PART: Final = 16
SHORT_OUTPUT_TOKENS: Final = 512
"""In small windows, replies of this part of it, and of so many tokens, are of use."""
MARGIN: Final = 1.1
"""Above what is only estimated."""
TURN_TOKENS: Final = 64
"""What templates of models put around the messages of a turn."""
LAST_OUTPUT_TOKENS: Final = 2048
"""Room that is made for a last call's."""
SOME_TOKENS: Final = 2048
"""What an endpoint may take beyond the longest conversation that it took: so much is
tried where it refuses a longer one and names no figure."""
POINTER_TOKENS: Final = 40
"""Of what stands in for a result that is left out; smaller ones stay."""


def output_within(state: AgentState, window: int | None) -> int:
    """Return how much output the next request may ask for, in tokens.

    Args:
        state: with everything that the request sends.
        window: of the model, in tokens, as far as is known; None: there is no bound.

    Raises:
        LimitReached: there is no room for an answer.
    """
    most, window = state.max_output_tokens, smallest(window, state.window)
    if window is None:
        return most
    short = max(window // SHORT_PART, SHORT_OUTPUT_TOKENS)
    least = min(most, LEAST_OUTPUT_TOKENS, short)
    room = window - state.shown.tokens
    if room < least:
        raise window_full(state, window)
    return min(most, max(window - likely_tokens(state.shown), least))


def likely_tokens(shown: Shown, *, more: int = 0) -> int:
    """Return how long a request is likely to be at most, in tokens.

    With less margin than for money: where it is longer, the endpoint says so, and that
    costs nothing.

    Args:
        shown: what it holds.
        more: tokens that come besides, in one block, estimated.
    """
    frame = TURN_TOKENS if shown.added_blocks else 0
    frame += BLOCK_TOKENS if more else 0
    factor = max(shown.dearness, MARGIN)
    return shown.at_most(factor, BLOCK_TOKENS, more=more) + frame


def output_ceiling(model: str, wanted: int) -> int:
    """Return how far the bound of a reply of `model` may be raised, in tokens.

    Args:
        model: bare id. One that nobody knows says so itself if it is too much.
        wanted: the bound that its agent began with.
    """
    longest = max_output_tokens(model)
    if known_window(model) is None:
        longest = max(longest, MAX_OUTPUT_TOKENS)
    return max(min(MAX_OUTPUT_TOKENS, longest), wanted)


def window_full(state: AgentState, window: int | None) -> LimitReached:
    """Return the limit that an agent has reached whose context is full."""
    used = state.shown.tokens
    return LimitReached(WINDOW, used, smallest(window, state.window) or used)


def learn_from_refusal(state: AgentState, kind: str, *, message: str) -> None:
    """Take over what the refusal of a request says of sizes.

    Args:
        state: as it was when the request left.
        kind: of the error.
        message: the endpoint's words.
    """
    if kind not in ("too_long", "invalid"):
        return
    told = told_lengths(message)
    if told.output:
        state.max_output_tokens = min(state.max_output_tokens, told.output)
    if told.input:
        state.shown.measured(told.input)
        state.shown.reported(told.input)
    if told.window:
        state.window = smallest(state.window, told.window)
    elif kind == "too_long" and not told.output:
        refused, taken = state.shown.tokens, state.taken_tokens
        at_most = min(refused, taken + SOME_TOKENS) if taken else refused
        state.window = smallest(state.window, at_most)


def learn_from_reply(state: AgentState, reply: Reply) -> None:
    """Take over what a reply that filled the window says of its size."""
    if reply.stop_reason == EXCEEDED and reply.usage.known:
        full = reply.usage.context_tokens + reply.usage.output_tokens
        state.window = smallest(state.window, full)


@dataclass(frozen=True, slots=True)
class Held:
    """A result in a conversation.

    Attributes:
        call: id of what it answers.
        name: of the tool.
        content: of the block.
        tokens: estimated.
        is_newest: no reply has come after it.
    """

    call: str
    name: str
    content: str | list[Block]
    tokens: int
    is_newest: bool


def held_results(
    messages: Sequence[Message], count: Callable[[str], int]
) -> Iterator[Held]:
    """Yield the results in a conversation, newest first.

    Args:
        messages: oldest first.
        count: estimates the tokens of a text.
    """
    names = {
        str(call["id"]): str(call["name"])
        for message in messages
        if message["role"] == "assistant"
        for call in tool_calls(message["content"])
    }
    for place in range(len(messages) - 1, -1, -1):
        for block in reversed(messages[place]["content"]):
            if block.get("type") == "tool_result":
                call, content = str(block["tool_use_id"]), block["content"]
                yield Held(
                    call,
                    names.get(call, ""),
                    content,
                    count(text_of(content)),
                    place == len(messages) - 1,
                )


def to_leave_out(
    held: Sequence[Held], excess: int, *, spared: Collection[str] = ()
) -> list[Held]:
    """Return the results to leave out so that a conversation is shorter by `excess`.

    The newest go first: the model has not seen those of the last step, and what comes
    before them stays as it was. Results of spared tools go only after all others. If
    all of them are too few, that is what there is.

    Args:
        held: newest first.
        excess: tokens that are too many.
        spared: names of tools.
    """
    chosen: list[Held] = []
    others = [each for each in held if each.name not in spared]
    for each in (*others, *(each for each in held if each.name in spared)):
        if excess <= 0:
            break
        if each.tokens > POINTER_TOKENS:
            chosen.append(each)
            excess -= each.tokens - POINTER_TOKENS
    return chosen
