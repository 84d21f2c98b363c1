"""From the events of a streamed answer to one whole reply, without any network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from orchestrator.errors import ModelError
from orchestrator.messages import Block, is_empty_text
from orchestrator.models.base import EXCEEDED, CacheMiss, Reply, Usage
from orchestrator.models.classify import bounded, classify
from orchestrator.models.failures import failure
from orchestrator.models.growing import (
    MAX_DEPTH,
    Growing,
    block_problem,
    digest,
    in_place,
    is_deeper,
)
from orchestrator.models.sse import BOM, broken, loads, mended, shown

__all__ = ["Accumulator", "whole_reply"]

MAX_COUNT = 10**12
"""Of tokens in one reply; whatever tells more does not count."""

# The answer stopped before its end, so that the last block may be half of itself.
_CUT_BY: Final = ("max_tokens", EXCEEDED, "refusal")
# Words of other servers → the service's own.
_STOP_REASONS: Final = {
    "stop": "end_turn",
    "eos": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class Accumulator:
    """Builds one reply from the events of a stream, in order.

    Blocks keep their order and their fields; unknown ones stay as they came. One
    accumulator is for one try: what a broken try left behind is never continued.
    """

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: list[Growing] = []
        self._open: dict[object, Growing] = {}
        self._is_complete = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream said that it is over."""
        return self._is_complete

    @property
    def has_anything(self) -> bool:
        """Whether any event but pings has arrived."""
        return bool(self._message or self._blocks or self._is_complete)

    @property
    def has_begun(self) -> bool:
        """Whether the model has said anything yet."""
        return bool(self._blocks)

    @property
    def half(self) -> str:
        """Digest of what the model has said so far; "" if it is nothing."""
        said = [growing.said() for growing in self._blocks]
        return digest(said) if any(said) else ""

    def feed(self, event: Mapping[str, Any]) -> bool:
        """Take in one event; return whether it says anything.

        Pings and unknown kinds change nothing, and so does whatever comes after the
        end of the message.

        Raises:
            ModelError: the event tells an error, or does not fit what came before.
        """
        kind = event.get("type")
        if self._is_complete:
            return False
        if kind == "content_block_delta":
            growing = self._open.get(_index(event))
            delta = event.get("delta")
            if growing is None or not isinstance(delta, dict):
                raise broken("a delta belongs to no open block", "bad_event")
            growing.add(delta)
        elif kind == "content_block_start":
            self._open_block(event)
        elif kind == "content_block_stop":
            self._open.pop(_index(event), None)
        elif kind == "message_start":
            self._start(event.get("message"))
        elif kind == "message_delta":
            delta = event.get("delta")
            self._merge(delta if isinstance(delta, dict) else {})
            self._add_usage(event.get("usage"))
        elif kind == "message_stop":
            self._is_complete = True
        elif kind == "error" or event.get("error"):
            raise _error_of(event)
        else:
            return False
        return True

    def _open_block(self, event: Mapping[str, Any]) -> None:
        block = event.get("content_block")
        if not isinstance(block, dict):
            raise broken("a block has no content", "bad_event")
        place = _index(event)
        growing = Growing(dict(block), place)
        self._blocks.append(growing)
        self._open[place] = growing

    def _start(self, message: object) -> None:
        if not isinstance(message, dict):
            raise broken("the message has no head", "bad_event")
        if self._blocks:
            # Something on the way has tried again: two answers are none.
            raise broken("a second message began inside the first", "bad_event")
        self._message = {**message}
        usage = self._message.pop("usage", None)
        if isinstance(usage, dict):
            # How much was said is known at the end only.
            self._add_usage({k: v for k, v in usage.items() if k != "output_tokens"})
        content = self._message.pop("content", None) or []
        if not isinstance(content, list) or not all(
            isinstance(b, dict) for b in content
        ):
            raise broken("the content of the message is no list of blocks", "bad_event")
        self._blocks += [Growing(dict(block)) for block in content]

    def _merge(self, delta: Mapping[str, Any]) -> None:
        self._message.update({k: v for k, v in delta.items() if v is not None})

    def _add_usage(self, usage: object) -> None:
        """Replace what `usage` names; what it does not name keeps its value.

        So does what it names as 0: nothing that was counted is taken back.
        """
        if isinstance(usage, dict):
            self._usage.update({k: v for k, v in usage.items() if _says(v)})

    def reply(self) -> Reply:
        """Return the whole reply.

        Raises:
            ModelError: the stream ended before the reply did.
        """
        if not self._is_complete:
            raise broken("the stream ended before the reply did", "stream_cut")
        return _reply(self._message, in_place(self._blocks), self._usage)


def _says(value: object) -> bool:
    """Return whether a figure, or an object of figures, is more than nothing."""
    inner = value.values() if isinstance(value, dict) else [value]
    return any(each not in (None, 0) for each in inner)


def whole_reply(body: bytes) -> Reply:
    """Return the reply that a body without events holds.

    Raises:
        ModelError: it is no reply.
    """
    text = body.removeprefix(BOM).strip()
    if not text:
        raise broken("the answer is empty", "empty_answer")
    if text.startswith(b"<"):
        raise broken(
            "the endpoint answered with a web page; is its address right? "
            + shown(text),
            "not_json",
        )
    try:
        message = mended(loads(text))
    except ValueError as error:
        raise broken(f"the answer is not JSON: {shown(text)}", "bad_json") from error
    if not isinstance(message, dict):
        raise broken(f"the answer is no message: {shown(text)}", "bad_json")
    if message.get("error"):
        raise _error_of(message)
    content = message.get("content")
    if not isinstance(content, list) or not all(isinstance(b, dict) for b in content):
        raise broken(f"the answer is no message: {shown(text)}", "bad_json")
    usage = message.get("usage")
    return _reply(
        message,
        [Growing(dict(block)) for block in content],
        usage if isinstance(usage, dict) else {},
    )


def _error_of(event: Mapping[str, Any]) -> ModelError:
    """Return the error that a body or an event inside an answer tells."""
    return classify(failure(200, event))


def _index(event: Mapping[str, Any]) -> int | str | None:
    index = event.get("index")
    if index is None or isinstance(index, int | str):
        return index
    raise broken("the place of a block is no number", "bad_event")


def _reply(
    message: Mapping[str, Any], growing: list[Growing], usage: Mapping[str, Any]
) -> Reply:
    stop_reason = message.get("stop_reason")
    if isinstance(stop_reason, str):
        stop_reason = _STOP_REASONS.get(stop_reason, stop_reason)
    elif stop_reason is not None or not growing:
        # Some servers never say; but what holds nothing else either is no reply.
        raise broken("the reply does not say why it stopped", "no_stop_reason")
    content: list[Block] = []
    no_objects: dict[str, str] = {}
    for place, each in enumerate(growing):
        block = each.finish()
        if is_empty_text(block):
            continue
        # A mark for the cache is ours to set; one too many is refused.
        block.pop("cache_control", None)
        if block.get("type") == "tool_use":
            block["id"] = str(block.get("id") or f"toolu_{place}")
            block["name"] = str(block.get("name") or "")
            each.set_input(no_objects)
        elif each.json_pieces:
            each.set_input({})
        problem = block_problem(block)
        if problem or each.has_strange_pieces:
            raise broken(problem or "a block got pieces of another", "bad_block")
        content.append(block)
    cut = frozenset[str]()
    if stop_reason in _CUT_BY and content and content[-1].get("type") == "tool_use":
        # Its input may look whole and still lack what did not fit.
        cut = frozenset({str(content[-1]["id"])})
    details = message.get("stop_details")
    is_fit = isinstance(details, dict) and not is_deeper(details, MAX_DEPTH)
    return Reply(
        content=content,
        stop_reason=stop_reason,
        usage=_usage(usage, has_content=bool(growing)),
        model=str(message.get("model") or ""),
        message_id=str(message.get("id") or ""),
        cut_calls=cut,
        broken_calls={
            call: text for call, text in no_objects.items() if call not in cut
        },
        stop_details=details if is_fit else None,
        cache_miss=_cache_miss(message.get("diagnostics")),
    )


def _cache_miss(told: object) -> CacheMiss | None:
    """Return why the cache was missed, or None where that is not told."""
    reason = told.get("cache_miss_reason") if isinstance(told, dict) else None
    kind = reason.get("type") if isinstance(reason, dict) else None
    if not isinstance(reason, dict) or not isinstance(kind, str):
        return None
    return CacheMiss(bounded(kind), _count(reason, "cache_missed_input_tokens"))


def _usage(told: Mapping[str, Any], *, has_content: bool) -> Usage:
    """Return each class of token once; not `known` where the service did not count."""
    written = _count(told, "cache_creation_input_tokens")
    parts = told.get("cache_creation")
    long_lived = short_lived = 0
    if isinstance(parts, dict):
        long_lived = _count(parts, "ephemeral_1h_input_tokens")
        short_lived = _count(parts, "ephemeral_5m_input_tokens")
    # The total may be newer than its parts.
    written = written or long_lived + short_lived
    long_lived = min(long_lived, written)
    details = told.get("output_tokens_details")
    usage = Usage(
        input_tokens=_count(told, "input_tokens"),
        cache_write_5m_tokens=written - long_lived,
        cache_write_1h_tokens=long_lived,
        cache_read_tokens=_count(told, "cache_read_input_tokens"),
        output_tokens=_count(told, "output_tokens"),
        thinking_tokens=_count(details, "thinking_tokens")
        if isinstance(details, dict)
        else 0,
        known=True,
    )
    # No request is free of input, no answer of output: the service did not count.
    is_counted = usage.context_tokens and (usage.output_tokens or not has_content)
    return usage if is_counted else replace(usage, known=False)


def _count(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    if not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return int(value) if 0 < value <= MAX_COUNT else 0
