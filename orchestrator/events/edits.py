"""What is sent, from what was said and the edits of it: pure functions on messages.

The runtime makes requests with them, and readers tell from the log what was sent.
Nothing given is changed; what stays is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.events.of_context import ContextCleared, ContextCompacted
from orchestrator.messages import (
    Block,
    Message,
    text_block,
    user_message,
    without_thinking,
)

__all__ = ["EDITS", "with_edit", "with_stubs", "with_text", "without_thinking_behind"]

EDITS = frozenset({ContextCleared.KIND, ContextCompacted.KIND})
"""Kinds of the events that `with_edit` knows."""
THOUGHT_CHARS = 400
"""Of the shown text of a thinking block that stays."""
_THOUGHT = "(thinking) "


def with_edit(
    messages: Sequence[Message], kind: str, *, data: Mapping[str, Any], begun: int
) -> list[Message]:
    """Return what is sent of `messages` after one edit.

    Args:
        messages: as they were sent before it, oldest first.
        kind: of the event; one that is no edit changes nothing.
        data: of the event, with large fields loaded.
        begun: as for `with_text`.
    """
    if kind == ContextCleared.KIND:
        stubs = _texts(data.get("stubs"))
        start = _first_answer(messages, stubs)
        edited = with_stubs(messages, stubs)
    elif kind == ContextCompacted.KIND:
        start = 0
        edited = with_text(
            messages,
            kept=_count(data.get("kept_messages")),
            text=str(data.get("text") or ""),
            begun=begun,
        )
    else:
        return list(messages)
    if not data.get("thinking"):
        return edited
    spared = data.get("spares_newest") is True
    return without_thinking_behind(edited, start, spares_newest=spared)


def with_stubs(messages: Sequence[Message], stubs: Mapping[str, str]) -> list[Message]:
    """Return `messages` with a short text in the place of some results.

    Args:
        messages: oldest first.
        stubs: call id → what stands in the place of its result; an error stays one.
    """

    def stubbed(block: Block) -> Block:
        call = block.get("tool_use_id")
        is_cleared = block.get("type") == "tool_result" and call in stubs
        return {**block, "content": stubs[str(call)]} if is_cleared else block

    return [
        {**each, "content": [stubbed(block) for block in each["content"]]}
        if any(block.get("tool_use_id") in stubs for block in each["content"])
        else each
        for each in messages
    ]


def with_text(
    messages: Sequence[Message], *, kept: int, text: str, begun: int
) -> list[Message]:
    """Return `messages` with one text in the place of those in the middle.

    The first user message stays, then comes the text, then the last messages. Where
    those begin with a user message it joins the first; results whose calls are not kept
    go with them.

    Args:
        messages: oldest first; the first is the user's.
        kept: how many of the last messages stay, 0 or more; never the first.
        text: what stands in the place of the others; "": nothing does.
        begun: how many blocks the first message began with. What has joined them goes,
            the text of an earlier compaction and all.
    """
    if not messages:
        return []
    first = messages[0]["content"][:begun]
    tail = list(messages[max(len(messages) - max(kept, 0), 1) :])
    head = [*first, *([text_block(text)] if text.strip() else [])]
    if tail and tail[0]["role"] == "user":
        head += _not_results(tail.pop(0)["content"])
    return [user_message(head), *tail]


def without_thinking_behind(
    messages: Sequence[Message], index: int, *, spares_newest: bool = False
) -> list[Message]:
    """Return `messages` without thinking in those from `index` on.

    What a block showed, shortened, takes its place as a text; a block that showed
    nothing goes.

    Args:
        messages: oldest first.
        index: of the first message that is changed, from 0.
        spares_newest: the newest message of the assistant stays as it is.
    """
    upto = len(messages)
    if spares_newest:
        said = (n for n, m in enumerate(messages) if m["role"] == "assistant")
        upto = max(said, default=0)
    return [
        _unbound(each) if index <= at < upto and each["role"] == "assistant" else each
        for at, each in enumerate(messages)
    ]


def _unbound(message: Message) -> Message:
    content = without_thinking(map(_as_text, message["content"]))
    return message if content == message["content"] else {**message, "content": content}


def _as_text(block: Block) -> Block:
    """Return what stands in the place of a block that is thinking."""
    shown = str(block.get("thinking") or "").strip()
    if block.get("type") != "thinking" or not shown:
        return block
    if len(shown) > THOUGHT_CHARS:
        shown = shown[: THOUGHT_CHARS - 1].rstrip() + "…"
    return text_block(_THOUGHT + shown)


def _not_results(content: Sequence[Block]) -> list[Block]:
    return [block for block in content if block.get("type") != "tool_result"]


def _first_answer(messages: Sequence[Message], stubs: Mapping[str, str]) -> int:
    """Return the index of the first message that answers one of the calls."""
    return next(
        (
            at
            for at, each in enumerate(messages)
            if any(block.get("tool_use_id") in stubs for block in each["content"])
        ),
        len(messages),
    )


def _texts(value: object) -> dict[str, str]:
    found = value if isinstance(value, dict) else {}
    return {str(call): text for call, text in found.items() if isinstance(text, str)}


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
