"""Where the cache marks of a request stand: at most four, each of use.

Candidates, the longest start of the request first: its end; the end of the request
before, which is found again however many blocks a turn adds; the end of what is
cleared, old and new, since a clear writes anew what stands behind the old one; the
first user message, which stays when what follows is rewritten; the system prompt, which
agents of a profile share and which must be marked to live on; the tools, which profiles
with the same tools share. The first four that the service would cache get a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from orchestrator.messages import Block, Message, is_empty_text
from orchestrator.models.caching import MOST_MARKS

__all__ = ["MARK", "End", "Marks", "Sizes", "can_carry", "choose_marks"]

MARK = {"type": "ephemeral"}
"""Value of `cache_control`."""
# Kinds of block that may carry one; those of the assistant go back untouched.
_MARKABLE = frozenset({"text", "tool_result", "image", "document"})


@dataclass(frozen=True, slots=True)
class End:
    """Where a request ended: blocks may have joined its last message since."""

    message: int
    """Index of its last message."""
    blocks: int
    """How many blocks that had."""
    tokens: int
    """Size of the request, reported or estimated."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Tokens of a request from its start up to each of its parts, that included."""

    tools: int
    system: int
    first: int
    """Up to the first user message."""
    whole: int


@dataclass(frozen=True, slots=True)
class Marks:
    """What carries a mark."""

    tools: bool = False
    """The last tool."""
    system: bool = False
    """The last text of the system prompt."""
    blocks: dict[int, set[int]] = field(default_factory=dict)
    """Index of a message → indices of its blocks."""


def choose_marks(
    messages: Sequence[Message],
    sizes: Sizes,
    *,
    previous: End | None,
    shortest: int,
    stubs: Sequence[End] = (),
    newest_written: bool = True,
) -> Marks:
    """Return the marks of a request.

    Args:
        messages: all that it holds, oldest first.
        sizes: of its parts.
        previous: end of the newest request that was answered, or None, also where what
            that held has changed since.
        shortest: start of a request that is cached, in tokens.
        stubs: where the results end that were cleared, those of the newest clear last.
        newest_written: whether what is new in the request is worth caching.
    """
    ends = []
    if newest_written:
        ends.append(End(len(messages) - 1, len(messages[-1]["content"]), sizes.whole))
    if previous is not None and previous.message < len(messages):
        ends += [previous, *stubs[-1:]]
    else:  # results were cleared since: what stands up to the old stubs is cached
        ends += reversed(stubs)
    ends.append(End(0, len(messages[0]["content"]), sizes.first))
    places: dict[int, set[int]] = {}
    for end in ends:
        place = _newest_markable(messages, end) if end.tokens >= shortest else None
        if place is not None:
            places.setdefault(place[0], set()).add(place[1])
    left = MOST_MARKS - sum(len(each) for each in places.values())
    system = left > 0 and sizes.system >= shortest
    tools = left > system and sizes.tools >= shortest
    return Marks(tools, system, places)


def _newest_markable(messages: Sequence[Message], end: End) -> tuple[int, int] | None:
    """Return message and block that can carry a mark, nearest before `end`, or None."""
    for index in range(end.message, -1, -1):
        message = messages[index]
        if message["role"] != "user":
            continue
        content: list[Block] = message["content"]
        upto = min(end.blocks, len(content)) if index == end.message else len(content)
        for place in range(upto - 1, -1, -1):
            if can_carry(content[place]):
                return index, place
    return None


def can_carry(block: Block) -> bool:
    """Return whether a block of the user may carry a mark."""
    return block.get("type") in _MARKABLE and not is_empty_text(block)
