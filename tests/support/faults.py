"""What may be answered in place of the right reply, by name.

A fault is made from the message of the right reply. `WIRE`: no whole answer, which may
pass by itself. `REPLIES`: a whole answer of a model that slipped. `HARMLESS`: odd, and
still the right reply. `DOWN`: nobody gets answers for now. `CLOSED`: nobody gets any
with this key. `WRONG`: what one conversation meets again and again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
from fake_endpoint import (
    Answer,
    Block,
    Event,
    body,
    dropped,
    events_of,
    message,
    raw,
    refused,
    stream_error,
    text,
    thinking,
)

__all__ = ["CLOSED", "DOWN", "HARMLESS", "REPLIES", "WIRE", "WRONG", "Fault"]

Whole = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """Something that is answered in place of the right reply.

    Attributes:
        make: from the right reply's message to what is sent.
        limits: of the task, for what takes time.
    """

    make: Callable[[Whole], Answer]
    limits: Mapping[str, float] = field(default_factory=dict)


def _status(status: int, kind: str = "", words: str = "no", **facts: Any) -> Fault:
    return Fault(lambda _whole: refused(status, kind, words, **facts))


def _page(status: int) -> Fault:
    page = b"<html><title>Bad gateway</title></html>"
    return Fault(lambda _whole: body(page, "text/html", status=status))


def _always(answer: Answer, **limits: float) -> Fault:
    return Fault(lambda _whole: answer, limits)


def _reply(*content: Block, **facts: Any) -> Fault:
    """Another reply, whatever the right one is."""
    return Fault(lambda _whole: raw(*events_of(message(*content, **facts))))


def _content(whole: Whole) -> list[Block]:
    blocks: list[Block] = whole["content"]
    return blocks


def _changed(change: Callable[[list[Event]], list[Event]]) -> Fault:
    """The right reply, its events changed."""
    return Fault(lambda whole: raw(*change(events_of(whole, piece=40))))


def _of_call(**facts: Any) -> Fault:
    """The right reply, its last call changed."""

    def make(whole: Whole) -> Answer:
        *before, last = _content(whole)
        return raw(*events_of({**whole, "content": [*before, {**last, **facts}]}))

    return Fault(make)


def _cut(whole: Whole) -> Answer:
    """Cut by the output limit, inside the last block."""
    events = events_of({**whole, "stop_reason": "max_tokens"}, piece=40)
    at = max(n for n, each in enumerate(events) if "delta" in each and "index" in each)
    return raw(*events[:at], *events[at + 1 :])


def _no_json(events: list[Event]) -> list[Event]:
    at = max(n for n, each in enumerate(events) if each["type"] == "content_block_stop")
    more = {"type": "input_json_delta", "partial_json": "]"}
    odd = {"type": "content_block_delta", "index": events[at]["index"], "delta": more}
    return [*events[:at], odd, *events[at:]]


def _with_empty_text(whole: Whole) -> Answer:
    *before, last = _content(whole)
    content = [*before, text(""), last]
    return raw(*events_of({**whole, "content": content, "stop_reason": "end_turn"}))


def _without_usage(events: list[Event]) -> list[Event]:
    return [{k: v for k, v in each.items() if k != "usage"} for each in events]


_numbers = itertools.count()


def _at_another_place(whole: Whole) -> Answer:
    words = text(f"Now, for the {next(_numbers)}. time, I will do it.")
    return dropped(words, *_content(whole))


_SHORT = {"silence_s": 0.6, "call_s": 1.2}

WIRE: dict[str, Fault] = {
    "429": _status(429, "rate_limit_error"),
    "429 and a time": _status(429, "rate_limit_error", headers={"retry-after": "20"}),
    "500": _status(500, "api_error"),
    "502 of a proxy": _page(502),
    "503 of a proxy": _page(503),
    "504": _status(504, "timeout_error"),
    "529": _status(529, "overloaded_error"),
    "408": _status(408),
    "overload inside": _always(stream_error("overloaded_error")),
    "rate limit inside": _always(stream_error("rate_limit_error")),
    "error inside": _always(stream_error("api_error")),
    "unknown error inside": _always(stream_error("never_heard_of")),
    "reset before headers": _always(raw(ending="gone")),
    "reset after headers": _always(raw(ending="abort")),
    "reset midway": Fault(lambda whole: dropped(*_content(whole))),
    "end midway": Fault(lambda whole: dropped(*_content(whole), ending="close")),
    "no message_stop": _changed(lambda events: events[:-1]),
    "tried again on the way": _changed(lambda events: events[:-3] + events),
    "empty 200": _always(body(b"")),
    "204": _always(Answer(status=204, body=b"")),
    "web page at 200": _always(body(b"<html>", "text/html")),
    "half a JSON": Fault(lambda whole: body(orjson.dumps(whole)[:-60])),
    "no JSON": _always(body(b"data: {half}\n\n")),
    "bytes of no kind": _always(body(b"\x00\xff")),
    "silence": _always(raw(ending="hang"), **_SHORT),
    "silence midway": Fault(
        lambda whole: dropped(*_content(whole), ending="hang"), _SHORT
    ),
    "pings": _always(raw(ending="ping"), **_SHORT),
    "pings midway": Fault(
        lambda whole: replace(raw(*events_of(whole)[:5]), ending="ping"), _SHORT
    ),
    "trickle": Fault(
        lambda whole: Answer(
            events=tuple(events_of(whole, piece=2)), chunk_bytes=30, pause_s=0.02
        ),
        _SHORT,
    ),
}

REPLIES: dict[str, Fault] = {
    "cut by the output limit": Fault(_cut),
    "cut text": _reply(text("It is long"), stop_reason="max_tokens"),
    "nothing said": _reply(),
    "thinking alone": _reply(thinking("hm", "sig")),
    "a pause": _reply(text("I go on."), stop_reason="pause_turn"),
    "words instead of a call": _reply(text("I am at it.")),
    "input that is no JSON": _changed(_no_json),
    "input that does not fit": _of_call(input={"x": 1}),
    "a tool that is not there": _of_call(name="nope"),
    "a tool without a name": _of_call(name=""),
    "a name of 1,000 letters": _of_call(name="x" * 1000),
}

HARMLESS: dict[str, Fault] = {
    "an id of 1,000 letters": _of_call(id="x" * 1000),
    "an id that is not legal": _of_call(id="é.!"),
    "a call at end_turn": Fault(
        lambda whole: raw(*events_of({**whole, "stop_reason": "end_turn"}))
    ),
    "no stop reason": Fault(
        lambda whole: raw(*events_of({**whole, "stop_reason": None}))
    ),
    "a stop reason of another API": Fault(
        lambda whole: raw(*events_of({**whole, "stop_reason": "tool_calls"}))
    ),
    "an empty text beside": Fault(_with_empty_text),
    "no usage": _changed(_without_usage),
    "no stream": Fault(lambda whole: body(orjson.dumps(whole), "application/json")),
    "a second message behind the end": _changed(lambda events: events + events),
}

DOWN: dict[str, Fault] = {
    **{
        name: WIRE[name]
        for name in (
            "429", "429 and a time", "500", "502 of a proxy", "529", "overload inside",
            "reset before headers", "empty 200", "web page at 200", "silence",
        )
    },
    "a reset, elsewhere each time": Fault(_at_another_place),
    "429 and a time beyond reason": _status(
        429, "rate_limit_error", headers={"retry-after": "999999"}
    ),
}  # fmt: skip

CLOSED: dict[str, Fault] = {
    "402": _status(402, "billing_error"),
    "429 for money": _status(
        429, "rate_limit_error", code="enforced_spend_limit_reached"
    ),
    "400 for money": _status(
        400, "invalid_request_error", "Your credit balance is too low to go on."
    ),
    "money told inside": _always(stream_error("billing_error", "no money")),
    "401": _status(401, "authentication_error"),
    "403": _status(403, "permission_error"),
    "key told inside": _always(stream_error("authentication_error", "bad key")),
}

WRONG: dict[str, Fault] = {
    "400": _status(400, "invalid_request_error", "messages.1: it does not fit"),
    "404": _status(404, "not_found_error", "no such model"),
    "422 of another server": Fault(
        lambda _whole: body(b'{"detail": "no"}', "application/json", status=422)
    ),
    "a redirect": Fault(
        lambda _whole: Answer(
            status=307, headers={"location": "https://example.org/"}, body=b""
        )
    ),
    "invalid told inside": _always(stream_error("invalid_request_error", "no")),
    "a refusal": _reply(text("I must not."), stop_reason="refusal"),
    "too long": _status(413, "request_too_large", "too large"),
    "the window": _reply(
        text("It is"), stop_reason="model_context_window_exceeded"
    ),
    **{
        name: WIRE[name]
        for name in ("reset midway", "no message_stop", "half a JSON")
    },
    **REPLIES,
}  # fmt: skip
