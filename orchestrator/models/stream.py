"""From the events of a streamed answer to one whole reply, without any network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.errors import ModelError
from orchestrator.messages import Block
from orchestrator.models.base import Reply, Usage
from orchestrator.models.classify import Failure, classify
from orchestrator.models.sse import broken, joined, loads, mended, shown

__all__ = ["Accumulator", "whole_reply"]

MAX_BROKEN_CHARS = 2000
MAX_DEPTH = 100
"""Of what a block holds. Deeper, it could not be written down or sent again."""
MAX_COUNT = 10**12
"""Of tokens in one reply; whatever tells more does not count."""

# The answer stopped before its end, so that the last block may be half of itself.
_CUT_BY: Final = ("max_tokens", "model_context_window_exceeded", "refusal")


class _Growing:
    """One content block and the pieces that arrived for it."""

    __slots__ = ("block", "json_pieces", "pieces")

    def __init__(self, block: Block) -> None:
        self.block = block
        self.pieces: dict[str, list[str]] = {}
        self.json_pieces: list[str] | None = None

    def add(self, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type")
        if kind == "text_delta":
            self._append("text", delta.get("text"))
        elif kind == "input_json_delta":
            if self.json_pieces is None:
                self.json_pieces = []
            self.json_pieces.append(str(delta.get("partial_json") or ""))
        elif kind == "thinking_delta":
            self._append("thinking", delta.get("thinking"))
        elif kind == "citations_delta":
            self.block["citations"] = [
                *(self.block.get("citations") or ()),
                delta.get("citation"),
            ]
        else:
            # A signature comes whole; so does what we do not know.
            self.block.update({k: v for k, v in delta.items() if k != "type"})

    def _append(self, name: str, piece: object) -> None:
        self.pieces.setdefault(name, []).append(str(piece or ""))

    def finish(self) -> Block:
        for name, pieces in self.pieces.items():
            self.block[name] = joined([str(self.block.get(name) or ""), *pieces])
        return self.block


class Accumulator:
    """Builds one reply from the events of a stream, in order.

    Blocks keep their order and their fields; unknown ones stay as they came. One
    accumulator is for one try: what a broken try left behind is never continued.
    """

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self._blocks: list[_Growing] = []
        self._open: dict[object, _Growing] = {}
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

    def feed(self, event: Mapping[str, Any]) -> None:
        """Take in one event; unknown kinds and pings change nothing.

        Raises:
            ModelError: the event tells an error, or does not fit what came before.
        """
        kind = event.get("type")
        if kind == "content_block_delta":
            growing = self._open.get(_index(event))
            delta = event.get("delta")
            if growing is None or not isinstance(delta, dict):
                raise broken("a delta belongs to no block", "bad_event")
            growing.add(delta)
        elif kind == "content_block_start":
            block = event.get("content_block")
            if not isinstance(block, dict):
                raise broken("a block has no content", "bad_event")
            growing = _Growing(dict(block))
            self._blocks.append(growing)
            self._open[_index(event)] = growing
        elif kind == "message_start":
            self._start(event.get("message"))
        elif kind == "message_delta":
            delta = event.get("delta")
            self._merge(delta if isinstance(delta, dict) else {})
            self._add_usage(event.get("usage"))
        elif kind == "message_stop":
            self._is_complete = True
        elif kind == "error":
            raise error_of(event)

    def _start(self, message: object) -> None:
        if not isinstance(message, dict):
            raise broken("the message has no head", "bad_event")
        self._message = {**message}
        self._add_usage(self._message.pop("usage", None))
        content = self._message.pop("content", None) or []
        if not isinstance(content, list) or not all(
            isinstance(b, dict) for b in content
        ):
            raise broken("the content of the message is no list of blocks", "bad_event")
        self._blocks += [_Growing(dict(block)) for block in content]

    def _merge(self, delta: Mapping[str, Any]) -> None:
        self._message.update({k: v for k, v in delta.items() if v is not None})

    def _add_usage(self, usage: object) -> None:
        """Replace what `usage` names; what it does not name keeps its value."""
        if isinstance(usage, dict):
            self._usage.update({k: v for k, v in usage.items() if v is not None})

    def reply(self) -> Reply:
        """Return the whole reply.

        Raises:
            ModelError: the stream ended before the reply did.
        """
        if not self._is_complete:
            raise broken("the stream ended before the reply did", "stream_cut")
        return _reply(self._message, self._blocks, self._usage)


def whole_reply(body: bytes) -> Reply:
    """Return the reply that a body without events holds.

    Raises:
        ModelError: it is no reply.
    """
    text = body.strip()
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
        raise error_of(message)
    content = message.get("content")
    if not isinstance(content, list) or not all(isinstance(b, dict) for b in content):
        raise broken(f"the answer is no message: {shown(text)}", "bad_json")
    usage = message.get("usage")
    return _reply(
        message,
        [_Growing(dict(block)) for block in content],
        usage if isinstance(usage, dict) else {},
    )


def error_of(event: Mapping[str, Any]) -> ModelError:
    """Return the error that a body or an event of type `error` tells."""
    told = event.get("error")
    if not isinstance(told, dict):
        return classify(Failure(200, message=str(told or "an error without a text")))
    details = told.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    return classify(
        Failure(
            200,
            type=str(told.get("type") or ""),
            code=str(code or ""),
            message=str(told.get("message") or ""),
        )
    )


def _index(event: Mapping[str, Any]) -> int | str | None:
    index = event.get("index")
    if index is None or isinstance(index, int | str):
        return index
    raise broken("the place of a block is no number", "bad_event")


def _reply(
    message: Mapping[str, Any], growing: list[_Growing], usage: Mapping[str, Any]
) -> Reply:
    stop_reason = message.get("stop_reason")
    if not isinstance(stop_reason, str):
        raise broken("the reply does not say why it stopped", "no_stop_reason")
    content: list[Block] = []
    no_objects: dict[str, str] = {}
    for place, each in enumerate(growing):
        block = each.finish()
        if _is_empty_text(block):
            # The service refuses such a block when it comes back.
            continue
        # A mark for the cache is ours to set; one too many is refused.
        block.pop("cache_control", None)
        if block.get("type") == "tool_use":
            block["id"] = str(block.get("id") or f"toolu_{place}")
            block["name"] = str(block.get("name") or "")
            _set_input(each, no_objects)
        elif each.json_pieces:
            _set_input(each, {})
        if problem := _block_problem(block):
            raise broken(problem, "bad_block")
        content.append(block)
    cut = frozenset[str]()
    if stop_reason in _CUT_BY and content and content[-1].get("type") == "tool_use":
        # Its input may look whole and still lack what did not fit.
        cut = frozenset({str(content[-1]["id"])})
    details = message.get("stop_details")
    return Reply(
        content=content,
        stop_reason=stop_reason,
        usage=_usage(usage),
        model=str(message.get("model") or ""),
        message_id=str(message.get("id") or ""),
        cut_calls=cut,
        broken_calls={
            call: text for call, text in no_objects.items() if call not in cut
        },
        stop_details=details if isinstance(details, dict) else None,
    )


def _block_problem(block: Block) -> str:
    """Return why `block` can be neither kept nor sent back, or ""."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return "a block does not say of what type it is"
    if kind == "tool_result":
        return "the reply holds a `tool_result`, which only requests may hold"
    if kind == "text" and not isinstance(block.get("text"), str):
        return "the text of a block is no text"
    if _is_deeper(block, MAX_DEPTH):
        return f"a block is nested more than {MAX_DEPTH} deep"
    return ""


def _is_deeper(value: object, levels: int) -> bool:
    """Return whether `value` holds more than `levels` of lists and objects."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def _is_empty_text(block: Block) -> bool:
    return (
        block.get("type") == "text"
        and not str(block.get("text") or "").strip()
        and not block.get("citations")
    )


def _set_input(growing: _Growing, no_objects: dict[str, str]) -> None:
    """Parse the input once; one that is no JSON object is noted and becomes `{}`."""
    block = growing.block
    text = joined(growing.json_pieces or [])
    value: object = block.get("input")
    if text.strip():
        try:
            value = mended(loads(text.encode()))
        except ValueError:
            value = None
    elif value is None:
        value = {}
    else:
        text = json.dumps(value)
    if not isinstance(value, dict) or _is_deeper(value, MAX_DEPTH - 1):
        no_objects[str(block.get("id") or "")] = text[:MAX_BROKEN_CHARS]
        value = {}
    block["input"] = value


def _usage(told: Mapping[str, Any]) -> Usage:
    """Return each class of token once."""
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
    if usage.context_tokens:
        return usage
    # No request is free of input: the service did not count.
    return Usage(output_tokens=usage.output_tokens, known=False)


def _count(told: Mapping[str, Any], name: str) -> int:
    value = told.get(name)
    if not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return int(value) if 0 < value <= MAX_COUNT else 0
