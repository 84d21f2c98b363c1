"""Where a history may be cut so that what stays is one the service accepts."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.messages import Block, Message

__all__ = ["safe_cut"]


def safe_cut(messages: Sequence[Message], *, keep_steps: int) -> int:
    """Return the index at which the kept tail of `messages` starts.

    The tail starts with an assistant message behind one of the user, whose calls are
    all answered behind it; no result in it answers a call before it, and every call
    before it is answered there. It holds at least `keep_steps` assistant messages, and
    more where only an earlier cut is safe. Where no cut is, it starts with the first
    assistant message, so that nothing is dropped.

    Args:
        messages: of a transcript, oldest first; the first is never in the tail.
        keep_steps: how many assistant messages stay at least, 1 or more.

    Returns:
        An index from 1 to `len(messages)`; the latter where no assistant has spoken.

    Raises:
        ValueError: `keep_steps` is less than 1.
    """
    if keep_steps < 1:
        raise ValueError(f"`keep_steps` must be 1 or more, got {keep_steps}")
    starts = [at for at, each in enumerate(messages) if each["role"] == "assistant"]
    starts = [at for at in starts if at]
    if not starts:
        return len(messages)
    safe = _safe(messages)
    for at in reversed(starts[: max(len(starts) - keep_steps + 1, 1)]):
        if safe[at]:
            return at
    return starts[0]


def _safe(messages: Sequence[Message]) -> list[bool]:
    """Return for each index whether a tail may start there."""
    count = len(messages)
    asked: dict[str, int] = {}
    # Of each pair the messages between; a call without a result is open to the end.
    answered: dict[tuple[str, int], int] = {}
    orphans = -1
    for at, message in enumerate(messages):
        for block in _blocks(message):
            if block.get("type") == "tool_use":
                asked[block["id"]] = at
                answered[block["id"], at] = count
            elif block.get("type") == "tool_result":
                call = block["tool_use_id"]
                if call in asked:
                    answered[call, asked[call]] = at
                else:
                    orphans = at
    crossing = [0] * (count + 1)
    for (_, first), last in answered.items():
        crossing[first + 1] += 1
        if last < count:
            crossing[last + 1] -= 1
    open_calls = {first for (_, first), last in answered.items() if last == count}
    safe, across = [], 0
    for at, message in enumerate(messages):
        across += crossing[at]
        is_start = message["role"] == "assistant" and at not in open_calls
        follows_user = at > 0 and messages[at - 1]["role"] == "user"
        safe.append(is_start and follows_user and not across and at > orphans)
    return safe


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    return content if isinstance(content, list) else []
