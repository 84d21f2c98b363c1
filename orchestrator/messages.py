"""Content blocks and messages in the API's own form, as plain dicts.

They stay dicts from end to end: unknown blocks survive, signatures stay intact,
and a dict is the fastest form to send.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

__all__ = [
    "THINKING",
    "Block",
    "Message",
    "clean_text",
    "encode",
    "is_empty_text",
    "list_items",
    "one_line",
    "shortened",
    "text_block",
    "text_of",
    "tool_calls",
    "tool_result",
    "user_message",
    "whole_chars",
    "with_texts",
    "without_thinking",
]

Block = dict[str, Any]
Message = dict[str, Any]

THINKING = frozenset({"thinking", "redacted_thinking"})
"""Kinds of block that hold what a model thought."""
_LEFT_OUT = "(thinking left out)"
_LIST_ITEM = re.compile(r"^\s*[-*]\s+(.+)$", re.MULTILINE)
_HALF = re.compile("[\ud800-\udfff]")
# Characters that JSON or UTF-8 cannot carry, or that only confuse: NUL, lone
# surrogates, and the C0 controls except tab and line ends.
_UNCLEAN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return `text` with what cannot be sent replaced by U+FFFD.

    NUL, lone surrogates and control characters go; tabs and line ends stay.
    """
    return _UNCLEAN.sub("\ufffd", text)


def whole_chars(text: str) -> str:
    """Return `text` with U+FFFD for half characters, which UTF-8 cannot carry."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def one_line(text: str, limit_chars: int | None = None) -> str:
    """Return `text` without line ends and repeated blanks, cut at a length."""
    return " ".join(text.split())[:limit_chars]


def shortened(text: str, most_chars: int) -> str:
    """Return `text`, or as much of its start as fits with `…` behind it."""
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"


def with_texts(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - JSON
    """Return the JSON value with every text in it changed, keys included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [with_texts(each, change) for each in value]
    if isinstance(value, dict):
        return {change(key): with_texts(each, change) for key, each in value.items()}
    return value


def text_block(text: str) -> Block:
    """Return a text block; `text` must hold more than blanks."""
    return {"type": "text", "text": text}


def is_empty_text(block: Block) -> bool:
    """Return whether `block` is a text that says nothing: the service refuses it."""
    return block.get("type") == "text" and not str(block.get("text") or "").strip()


def tool_result(
    call_id: str, content: str | list[Block], *, is_error: bool = False
) -> Block:
    """Return the result block that answers the call `call_id`."""
    block: Block = {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
    }
    if is_error:
        block["is_error"] = True
    return block


def user_message(blocks: Sequence[Block]) -> Message:
    """Return a user message: results first, then text."""
    return {"role": "user", "content": list(blocks)}


def tool_calls(content: Iterable[Block]) -> list[Block]:
    """Return the `tool_use` blocks of an assistant message, in order."""
    return [block for block in content if block.get("type") == "tool_use"]


def without_thinking(content: Iterable[Block]) -> list[Block]:
    """Return the content of an assistant message, all thinking left out.

    A message needs content, so that one of nothing else becomes a short text.
    """
    kept = [block for block in content if block.get("type") not in THINKING]
    return kept or [text_block(_LEFT_OUT)]


def list_items(text: str) -> list[str]:
    """Return what stands behind `-` or `*` at the start of a line, in order."""
    return _LIST_ITEM.findall(text)


def text_of(content: str | Iterable[Block]) -> str:
    """Return all text of a message or of a tool result, joined by line ends."""
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content:
        if block.get("type") == "text":
            parts.append(str(block.get("text", "")))
        elif block.get("type") == "tool_result":
            parts.append(text_of(block.get("content") or ""))
    return "\n".join(part for part in parts if part)


def encode(value: object) -> bytes:
    """Return `value` as compact UTF-8 JSON; the same value gives the same bytes."""
    return orjson.dumps(value)
