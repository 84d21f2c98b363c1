"""The view: what is sent to the model this turn, as messages and as bytes.

Up to four cache marks, none on an empty text: the prefix (tools and system), the first
user message, the end of the previous request, the end of this one. The mark on the
previous end keeps the cache in reach where a turn adds more blocks than the service
looks back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.context.transcript import Transcript
from orchestrator.messages import Block, Message, encode

__all__ = ["Head", "View", "make_head", "make_view"]

CACHE_MARK = {"type": "ephemeral"}
# Kinds of block that may carry a mark; thinking blocks must go back untouched.
MARKABLE = frozenset({"text", "tool_result", "image", "document"})


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a request that never changes for an agent: a JSON object, open."""

    data: bytes
    tokens: int
    """Estimated size of system prompt and tools."""


@dataclass(frozen=True, slots=True)
class View:
    """One request: its messages, and its body with cache marks."""

    messages: list[Message]
    body: bytes


def make_head(
    *,
    model: str,
    system: Sequence[Block],
    tools: Sequence[dict[str, Any]],
    settings: dict[str, Any],
    tokens: int,
) -> Head:
    """Return the fixed start of every request of one agent.

    Args:
        model: bare id.
        system: text blocks; the last one is marked for the cache.
        tools: definitions, in their one order.
        settings: further fields of the request (`thinking`, `output_config`).
        tokens: estimated size of system and tools.
    """
    head: dict[str, Any] = {"model": model, "stream": True, **settings}
    if tools:
        head["tools"] = list(tools)
    if system:
        head["system"] = [*system[:-1], {**system[-1], "cache_control": CACHE_MARK}]
    return Head(encode(head)[:-1], tokens)


def make_view(
    head: Head,
    transcript: Transcript,
    *,
    max_output_tokens: int,
    previous_end: int | None,
) -> View:
    """Return what is sent now: the whole transcript, marked for the cache.

    Args:
        head: from `make_head`.
        transcript: its last message is the user's.
        max_output_tokens: bound of the reply.
        previous_end: index of the last message of the request before, or None.
    """
    marked = {0, len(transcript) - 1}
    if previous_end is not None:
        marked.add(previous_end)
    pieces = [
        _marked(transcript.messages[index]) if index in marked else piece
        for index, piece in enumerate(transcript.pieces)
    ]
    body = b"".join(
        (
            head.data,
            b',"messages":[',
            b",".join(pieces),
            b'],"max_tokens":%d}' % max_output_tokens,
        )
    )
    return View(list(transcript.messages), body)


def _marked(message: Message) -> bytes:
    content: list[Block] = message["content"]
    if message["role"] != "user" or content[-1].get("type") not in MARKABLE:
        return encode(message)
    last = {**content[-1], "cache_control": CACHE_MARK}
    return encode({"role": "user", "content": [*content[:-1], last]})
