"""What a scripted model says: texts, calls, failures, and several conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Final

from orchestrator.errors import ModelError, ModelErrorKind
from orchestrator.messages import Block, text_of
from orchestrator.models.base import ModelRequest, Reply, Usage

__all__ = [
    "BROKEN",
    "Hangs",
    "Says",
    "Script",
    "Step",
    "as_says",
    "broken_call",
    "call",
    "called",
    "conversations",
    "fail",
    "first_text",
    "hang",
    "reply",
    "say",
    "step_at",
    "think",
]

BROKEN: Final = "_broken"
"""Key of the text that stands for a call's input until the reply is given."""


@dataclass(frozen=True, slots=True)
class Says:
    """A reply whose call ids and usage are filled in when it is given."""

    parts: tuple[Block, ...]
    stop_reason: str | None
    usage: Usage | None
    is_cut: bool
    stop_details: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Hangs:
    """No answer until the caller gives up."""


Step = Reply | ModelError | str | Block | Sequence[Block] | Says | Hangs
"""One answer: a text, one or more blocks, `reply()`, `fail()`, `hang()`, a `Reply`."""
Script = Sequence[Step] | Callable[[ModelRequest], Step | Awaitable[Step]]


def say(text: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": text}


def think(text: str, signature: str = "") -> Block:
    """Return a thinking block; its signature is made from its text if none is given."""
    sign = signature or f"signature-{len(text)}-{text[:24]}"
    return {"type": "thinking", "thinking": text, "signature": sign}


def call(name: str, /, **arguments: Any) -> Block:  # noqa: ANN401 - JSON
    """Return a call of the tool `name`; its id is made when it is given."""
    return {"type": "tool_use", "id": "", "name": name, "input": arguments}


def broken_call(name: str, text: str) -> Block:
    """Return a call whose input is `text`, which is no JSON object."""
    return {**call(name), BROKEN: text}


def reply(
    *parts: Block | str,
    stop_reason: str | None = None,
    usage: Usage | None = None,
    is_cut: bool = False,
    stop_details: dict[str, Any] | None = None,
) -> Step:
    """Return a reply of several parts.

    Args:
        parts: texts or blocks, in order.
        stop_reason: by default `tool_use` with a call in it, else `end_turn`.
        usage: by default counted from the request and the reply.
        is_cut: the output limit was reached: the last block, if it is a call, is cut.
        stop_details: of a refusal.
    """
    blocks = tuple(say(part) if isinstance(part, str) else part for part in parts)
    return Says(blocks, stop_reason, usage, is_cut, stop_details)


def fail(
    kind: ModelErrorKind, message: str = "told to fail", *, retry_after_s: float = -1
) -> ModelError:
    """Return an error that the model raises; a negative time means none is told."""
    told = None if retry_after_s < 0 else retry_after_s
    return ModelError(kind, message, told, detail="scripted")


def hang() -> Step:
    """Return a step that never answers; cancelling ends it."""
    return Hangs()


def first_text(request: ModelRequest) -> str:
    """Return the text of the first user message, which tells conversations apart."""
    return text_of(request.messages[0]["content"])


def conversations(
    scripts: Mapping[str, Script],
) -> Callable[[ModelRequest], Awaitable[Step]]:
    """Return a script that plays several conversations at once.

    Args:
        scripts: by a text that the first user message of the conversation holds; the
            first that fits is taken. A list is played once per conversation.
    """
    places: dict[str, int] = {}

    async def play(request: ModelRequest) -> Step:
        text = first_text(request)
        for needle, script in scripts.items():
            if needle in text:
                if callable(script):
                    return await called(script, request)
                places[text] = places.get(text, 0) + 1
                return step_at(script, places[text] - 1, text)
        raise AssertionError(f"no script for a conversation that starts: {text[:300]}")

    return play


async def called(
    script: Callable[[ModelRequest], Step | Awaitable[Step]], request: ModelRequest
) -> Step:
    """Return what `script` says to `request`, awaited if it must be."""
    step = script(request)
    return await step if isawaitable(step) else step


def step_at(script: Sequence[Step], place: int, text: str) -> Step:
    """Return one step of a list.

    Raises:
        AssertionError: the list is over.
    """
    if place >= len(script):
        raise AssertionError(
            f"the script has {len(script)} steps and one more was asked for; the "
            f"conversation starts: {text[:300]}"
        )
    return script[place]


def as_says(step: str | Block | Sequence[Block] | Says) -> Says:
    """Return a step that is no failure as the parts it says."""
    if isinstance(step, Says):
        return step
    if isinstance(step, str):
        return _said(say(step))
    return _said(step) if isinstance(step, dict) else _said(*step)


def _said(*parts: Block) -> Says:
    return Says(parts, None, None, is_cut=False, stop_details=None)
