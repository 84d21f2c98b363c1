"""The rules of the Messages API about the shape of a request, checked without it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from orchestrator.messages import THINKING, Block, Message
from orchestrator.models.caching import MOST_MARKS

__all__ = ["shape_problem"]

_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CALL_ID: Final = re.compile(r"[a-zA-Z0-9_-]+")
_RESULT_PARTS: Final = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)
_ASSISTANT_ONLY: Final = THINKING | {"tool_use"}


def shape_problem(body: Mapping[str, Any]) -> str:
    """Return why the service would refuse `body`, or "" if its shape is right.

    Stricter than the service in one point: two messages of one role in a row are
    refused, as compatible servers do.

    Args:
        body: a decoded request: `messages`, and `system`, `tools`, `max_tokens` where
            they are.
    """
    try:
        orjson.dumps(body)
    except TypeError as error:
        return f"the request cannot be sent as JSON: {error}"
    return next(_problems(body), "")


def _problems(body: Mapping[str, Any]) -> Iterator[str]:
    limit = body.get("max_tokens", 1)
    if not isinstance(limit, int) or limit < 1:
        yield f"max_tokens: must be 1 or more, found {limit!r}"
    yield from _system(body.get("system"))
    yield from _tools(body.get("tools") or ())
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from _roles(messages)
    for place, message in enumerate(messages):
        yield from _content(message, f"messages.{place}")
    yield from _pairs(messages)
    marks = sum(1 for _ in _marked(body))
    if marks > MOST_MARKS:
        yield (
            f"A maximum of {MOST_MARKS} blocks with cache_control may be provided."
            f" Found {marks}."
        )


def _system(system: object) -> Iterator[str]:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        yield "system: must be a text or a list"
        return
    for place, block in enumerate(system):
        if not isinstance(block, dict) or block.get("type") != "text":
            yield f"system.{place}: must be a text block"
        else:
            yield from _text(block, f"system.{place}")


def _tools(tools: Sequence[Any]) -> Iterator[str]:
    names = set()
    for place, tool in enumerate(tools):
        name = tool.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            yield f"tools.{place}.name: `{name}` is not allowed"
        if name in names:
            yield "tools: Tool names must be unique."
        names.add(name)
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield f"tools.{place}.input_schema: must be of type object"


def _roles(messages: Sequence[Message]) -> Iterator[str]:
    roles = [message.get("role") for message in messages]
    for place, role in enumerate(roles):
        if role not in ("user", "assistant"):
            yield f"messages.{place}.role: found {role!r}"
        if place and role == roles[place - 1]:
            yield f"messages.{place}: two messages of role {role} in a row"
    if roles[0] != "user":
        yield 'messages: first message must use the "user" role'
    if roles[-1] != "user":
        yield "messages: the conversation must end with a user message"


def _content(message: Message, where: str) -> Iterator[str]:
    content = message.get("content")
    if set(message) - {"role", "content"}:
        yield f"{where}: extra fields {sorted(set(message) - {'role', 'content'})}"
    if isinstance(content, str):
        yield from _text({"text": content}, where)
        return
    if not isinstance(content, list) or not content:
        yield f"{where}: all messages must have non-empty content"
        return
    for place, block in enumerate(content):
        yield from _block(block, str(message.get("role")), f"{where}.content.{place}")


def _block(block: object, role: str, where: str) -> Iterator[str]:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        yield f"{where}: a block must be an object with a type"
        return
    kind = block["type"]
    if kind in _ASSISTANT_ONLY and role != "assistant":
        yield f"{where}: `{kind}` blocks can not be in `{role}` messages"
    if kind in THINKING and "cache_control" in block:
        yield f"{where}: cache_control cannot be set for thinking blocks"
    if kind == "text":
        yield from _text(block, where)
    elif kind == "tool_use":
        yield from _call(block, where)
    elif kind == "tool_result":
        if role != "user":
            yield f"{where}: `tool_result` blocks can only be in `user` messages"
        yield from _result(block, where)


def _text(block: Block, where: str) -> Iterator[str]:
    text = block.get("text")
    if not isinstance(text, str):
        yield f"{where}.text: must be a text"
    elif not text:
        yield f"{where}: text content blocks must be non-empty"
    elif not text.strip():
        yield f"{where}: text content blocks must contain non-whitespace text"


def _call(block: Block, where: str) -> Iterator[str]:
    if not isinstance(block.get("id"), str) or not _CALL_ID.fullmatch(block["id"]):
        yield f"{where}.id: found {block.get('id')!r}"
    if not isinstance(block.get("name"), str) or not 1 <= len(block["name"]) <= 200:
        yield f"{where}.name: must have 1 to 200 characters"
    if not isinstance(block.get("input"), dict):
        yield f"{where}.input: must be an object"


def _result(block: Block, where: str) -> Iterator[str]:
    content = block.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        yield f"{where}.content: must be a text or a list"
        return
    for place, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _RESULT_PARTS:
            yield f"{where}.content.{place}: `{kind}` is not allowed in a result"
        elif kind == "text":
            yield from _text(part, f"{where}.content.{place}")
        elif block.get("is_error"):
            yield f"{where}: all content must be text if `is_error` is true"


def _pairs(messages: Sequence[Message]) -> Iterator[str]:
    """Each call is answered once, at the start of the very next message."""
    seen: set[str] = set()
    asked: list[str] = []
    for place, message in enumerate(messages):
        blocks = [b for b in _blocks(message) if isinstance(b, dict)]
        answered = [b.get("tool_use_id") for b in blocks if _is(b, "tool_result")]
        leading = 0
        while leading < len(blocks) and _is(blocks[leading], "tool_result"):
            leading += 1
        missing = [call for call in asked if call not in answered]
        if missing:
            yield (
                f"messages.{place - 1}: `tool_use` ids were found without `tool_result`"
                f" blocks immediately after: {', '.join(missing)}"
            )
        for call in answered:
            if call not in asked:
                yield f"messages.{place}: unexpected `tool_use_id` {call}"
        if len(answered) != len(set(answered)):
            yield f"messages.{place}: each tool_use must have a single result"
        if leading < len(answered):
            yield f"messages.{place}: results must come before anything else"
        asked = [str(b.get("id")) for b in blocks if _is(b, "tool_use")]
        if len(asked) != len(set(asked)) or seen & set(asked):
            yield f"messages.{place}: `tool_use` ids must be unique"
        seen.update(asked)
    if asked:
        yield f"`tool_use` ids were found without `tool_result` blocks: {asked}"


def _is(block: Block, kind: str) -> bool:
    return block.get("type") == kind


def _blocks(message: Message) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _marked(body: Mapping[str, Any]) -> Iterator[Block]:
    """Yield whatever carries a cache mark."""
    system = body.get("system")
    parts: list[Any] = [body, *(body.get("tools") or ())]
    parts.extend(system if isinstance(system, list) else ())
    for message in body.get("messages") or ():
        for block in _blocks(message):
            parts.append(block)
            inner = block.get("content") if isinstance(block, dict) else None
            parts.extend(inner if isinstance(inner, list) else ())
    for part in parts:
        if isinstance(part, dict) and part.get("cache_control"):
            yield part
