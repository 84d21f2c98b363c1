"""Servers that speak the Messages API in a dialect of their own, as far as is known.

Each is a fake that lacks what such servers lack and says what they say (their sources
and documents, as of November 2026). Given the right reply of a model, a dialect refuses
the request in its own words, or puts the reply as it would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from fake_endpoint import Answer, Block, Event, body, events_of, message

__all__ = ["DIALECTS", "Dialect"]

Asked = Mapping[str, Any]
Whole = dict[str, Any]


@dataclass(frozen=True)
class Dialect:
    """How one kind of server answers.

    Attributes:
        refuses: request → the refusal, or None.
        puts: request, whole message → what is sent.
        lacks: optional features that it was found to lack in the end.
        counts: whether it reports any usage.
    """

    refuses: Callable[[Asked], Answer | None] = lambda _asked: None
    puts: Callable[[Asked, Whole], Answer] = lambda _asked, whole: Answer(
        events=tuple(events_of(whole))
    )
    lacks: frozenset[str] = field(default_factory=frozenset)
    counts: bool = True

    def answer(self, asked: Asked, content: list[Block]) -> Answer:
        """What is sent where a model says `content`."""
        refusal = self.refuses(asked)
        return refusal or self.puts(asked, message(*content))


def _error(status: int, **facts: Any) -> Answer:
    return body(orjson.dumps(facts), "application/json", status=status)


def _size(asked: Asked) -> int:
    """Tokens of a request, as such a server might count them."""
    return len(orjson.dumps(asked)) // 4


def _has(asked: Asked, name: str) -> bool:
    return f'"{name}"'.encode() in orjson.dumps(asked)


def _with_usage(event: Event, usage: dict[str, int] | None) -> Event:
    """The event with this usage in place of its own."""
    holder = event.get("message", event)
    if "usage" not in holder:
        return event
    changed = {key: value for key, value in holder.items() if key != "usage"}
    if usage is not None:
        changed["usage"] = usage
    return {**event, "message": changed} if "message" in event else changed


# ---- Ollama: optional fields are ignored; counts come at the end; a stray empty text;
# ---- a call ends with `end_turn`; a model that does not think says so.


def _ollama_refuses(asked: Asked) -> Answer | None:
    if "thinking" in asked:
        words = f'"{asked["model"]}" does not support thinking'
        error = {"type": "invalid_request_error", "message": words}
        return _error(400, type="error", error=error)
    return None


def _ollama_puts(_asked: Asked, whole: Whole) -> Answer:
    content = [{"type": "text", "text": ""}, *whole["content"]]
    events = events_of({**whole, "content": content, "stop_reason": "end_turn"})
    first = _with_usage(events[0], {"input_tokens": 0, "output_tokens": 0})
    last = {**events[-2], "usage": {"input_tokens": 120, "output_tokens": 20}}
    return Answer(events=(first, *events[2:-2], last, events[-1]))


# ---- vLLM: FastAPI's list of what does not fit; the output may not pass the window;
# ---- no classes of cached tokens.

WINDOW = 20_000


def _vllm_refuses(asked: Asked) -> Answer | None:
    if any("input_schema" not in tool for tool in asked.get("tools", ())):
        return _error(400, detail="input_schema is required")
    sent = _size(asked)
    if sent + asked["max_tokens"] > WINDOW:
        return _error(
            400,
            object="error",
            message=f"'max_tokens' or 'max_completion_tokens' is too large: "
            f"{asked['max_tokens']}. This model's maximum context length is {WINDOW} "
            f"tokens and your request has {sent} input tokens.",
            type="BadRequestError",
            code=400,
        )
    return None


def _vllm_puts(asked: Asked, whole: Whole) -> Answer:
    events = events_of(whole)
    first = _with_usage(events[0], {"input_tokens": _size(asked), "output_tokens": 0})
    said = len(orjson.dumps(whole["content"])) // 4
    last = _with_usage(events[-2], {"output_tokens": said})
    return Answer(events=(first, *events[1:-2], last, events[-1]))


# ---- llama.cpp: a window with a type of error of its own; no answer is streamed where
# ---- a template is asked for tools; OpenAI's words for why it stopped.


def _llama_puts(_asked: Asked, whole: Whole) -> Answer:
    told = {"tool_use": "tool_calls", "end_turn": "stop", "max_tokens": "length"}
    changed = {**whole, "stop_reason": told[whole["stop_reason"]]}
    changed["usage"] = {"input_tokens": 120, "output_tokens": 20}
    return body(orjson.dumps(changed), "application/json")


# ---- A strict proxy: everything that its backend has not is refused, one at a time.


def _proxy_refuses(asked: Asked) -> Answer | None:
    for name in ("thinking", "output_config", "diagnostics"):
        if name in asked:
            words = (
                "litellm.UnsupportedParamsError: hosted_vllm does not support "
                f"parameters: ['{name}'], for model={asked['model']}."
            )
            return _error(400, error={"message": words, "type": None, "code": "400"})
    if _has(asked, "cache_control"):
        detail = [
            {
                "type": "extra_forbidden",
                "loc": ["body", "system", 0, "cache_control"],
                "msg": "Extra inputs are not permitted",
                "input": {"type": "ephemeral"},
            }
        ]
        return _error(422, detail=detail)
    return None


def _proxy_puts(_asked: Asked, whole: Whole) -> Answer:
    return Answer(events=tuple(_with_usage(each, None) for each in events_of(whole)))


# ---- A server that says as little as it may: no reason, no id, no count.


def _bare_puts(_asked: Asked, whole: Whole) -> Answer:
    whole = {**whole, "stop_reason": None}
    events = [_with_usage(e, None) for e in events_of(whole) if e["type"] != "ping"]
    for name in ("id", "model", "stop_sequence"):
        events[0]["message"].pop(name)
    return Answer(events=tuple(events))


DIALECTS: dict[str, Dialect] = {
    "ollama": Dialect(_ollama_refuses, _ollama_puts, frozenset({"thinking"})),
    "vllm": Dialect(_vllm_refuses, _vllm_puts),
    "llama.cpp": Dialect(puts=_llama_puts),
    "proxy": Dialect(
        _proxy_refuses,
        _proxy_puts,
        frozenset({"thinking", "output_config", "diagnostics", "cache_control"}),
        counts=False,
    ),
    "bare": Dialect(puts=_bare_puts, counts=False),
}
