"""The view: what is sent to the model this turn, as messages and as bytes.

Everything in it is from the transcript and from figures in the log, so that a resumed
run sends the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.context.marks import MARK, End, Marks, Sizes, can_carry, choose_marks
from orchestrator.context.shown import Shown
from orchestrator.messages import Block, Message, encode
from orchestrator.models.caching import shortest_cached

__all__ = ["Head", "View", "make_head", "make_view"]

_DIAGNOSTICS: Final = "diagnostics"
# Ids of the service's own; it would refuse those that a proxy made up.
_MESSAGE_ID: Final = re.compile(r"msg_[A-Za-z0-9_-]{1,200}")


@dataclass(frozen=True, slots=True)
class Head:
    """The part of a request that never changes for an agent: a JSON object, open."""

    data: bytes
    """Without marks: what requests that start alike have in common."""
    tokens: int
    """Estimated size of system prompt and tools."""
    tools_tokens: int = 0
    """Of the tools alone."""
    shortest: int | None = None
    """Start of a request that the model's service caches, in tokens; None: no request
    has marks."""
    diagnoses: bool = False
    """Requests ask why the cache was missed, if it was."""
    _marked: Mapping[tuple[bool, bool], bytes] = field(default_factory=dict, repr=False)
    """Whether tools and system are marked → the same with those marks."""

    def opened(self, marks: Marks) -> bytes:
        """Return it with `marks`, as far as they are on tools and system."""
        return self._marked[marks.tools, marks.system]


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
    settings: Mapping[str, Any],
    tokens: int,
    tools_tokens: int = 0,
    marks: bool = True,
) -> Head:
    """Return the fixed start of every request of one agent.

    Args:
        model: bare id.
        system: text blocks.
        tools: definitions, in their one order.
        settings: further fields of the request (`thinking`, `output_config`). With
            `diagnostics` each request names the answer before it.
        tokens: estimated size of system and tools.
        tools_tokens: of the tools alone.
        marks: whether requests have cache marks at all.
    """
    fixed = {name: each for name, each in settings.items() if name != _DIAGNOSTICS}

    def opened(*, in_tools: bool, in_system: bool) -> bytes:
        head: dict[str, Any] = {"model": model, "stream": True, **fixed}
        if tools:
            head["tools"] = _marked(tools, {len(tools) - 1} if in_tools else ())
        if system:
            head["system"] = _marked(system, texts[-1:] if in_system else ())
        return encode(head)[:-1]

    texts = [place for place, block in enumerate(system) if can_carry(block)]
    return Head(
        data=opened(in_tools=False, in_system=False),
        tokens=tokens,
        tools_tokens=tools_tokens,
        shortest=shortest_cached(model) if marks else None,
        diagnoses=_DIAGNOSTICS in settings,
        _marked={
            (in_tools, in_system): opened(in_tools=in_tools, in_system=in_system)
            for in_tools in (False, True)
            for in_system in (False, True)
        },
    )


def make_view(
    head: Head,
    shown: Shown,
    *,
    max_output_tokens: int,
    previous_end: End | None,
    previous_message: str = "",
    newest_written: bool = True,
    aside: Sequence[Message] = (),
) -> View:
    """Return what is sent now, marked for the cache.

    Args:
        head: from `make_head`.
        shown: of the conversation; its last message is the user's, or, where it is
            over and an aside follows, the model's.
        max_output_tokens: bound of the reply.
        previous_end: end of the newest request that was answered, or None, also where
            what it held has changed since.
        previous_message: id of that answer, or "".
        newest_written: whether the service is to cache what is new in it.
        aside: what is said for this request alone, behind the rest; it begins with a
            message of the user's.
    """
    marks = _marks(head, shown, previous_end, newest_written=newest_written)
    messages, pieces = list(shown.messages), shown.pieces
    for index, blocks in marks.blocks.items():
        content = _marked(messages[index]["content"], blocks)
        pieces[index] = encode({"role": "user", "content": content})
    if aside and messages[-1]["role"] == "assistant":
        messages, pieces = [*messages, *aside], [*pieces, *map(encode, aside)]
    elif aside:
        last, first = len(messages) - 1, [*messages[-1]["content"]]
        first = [*_marked(first, marks.blocks.get(last, ())), *aside[0]["content"]]
        joined: list[Message] = [{"role": "user", "content": first}, *aside[1:]]
        messages, pieces = [*messages[:-1], *joined], [*pieces[:-1]]
        pieces += map(encode, joined)
    tail = b""
    if head.diagnoses:
        is_known = _MESSAGE_ID.fullmatch(previous_message)
        asked = {"previous_message_id": previous_message if is_known else None}
        tail = b',"diagnostics":' + encode(asked)
    body = b"".join(
        (
            head.opened(marks),
            b',"messages":[',
            b",".join(pieces),
            b'],"max_tokens":%d' % max_output_tokens,
            tail,
            b"}",
        )
    )
    return View(messages, body)


def _marks(
    head: Head, shown: Shown, previous_end: End | None, *, newest_written: bool
) -> Marks:
    if head.shortest is None:
        return Marks()
    sizes = Sizes(head.tools_tokens, head.tokens, shown.first_tokens, shown.tokens)
    return choose_marks(
        shown.messages,
        sizes,
        previous=previous_end,
        shortest=head.shortest,
        stubs=shown.stub_ends,
        newest_written=newest_written,
    )


def _marked(blocks: Sequence[Block], places: Collection[int]) -> list[Block]:
    """Return `blocks`, those at `places` marked."""
    return [
        {**block, "cache_control": MARK} if place in places else block
        for place, block in enumerate(blocks)
    ]
