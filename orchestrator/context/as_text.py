"""A conversation as text, for a model that has not been part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.context.clipping import safe_end, safe_start
from orchestrator.context.framing import kept_inside
from orchestrator.context.tokens import Count
from orchestrator.ids import reference_of
from orchestrator.messages import Block, Message, encode, is_empty_text, text_of

__all__ = ["render", "shorten"]

Kind = Literal["result", "call", "said"]

# What each round of shortening leaves of pieces of each kind, oldest first.
_ROUNDS: Final[tuple[tuple[Kind, int], ...]] = (
    ("result", 400),
    ("result", 100),
    ("call", 100),
    ("said", 400),
    ("result", 30),
    ("call", 30),
    ("said", 60),
)
_GONE_TOKENS: Final = 20
_TAGS: Final = ("user", "assistant", "call", "result", "record")


@dataclass(slots=True)
class _Piece:
    """One block as text; only its body is ever shortened."""

    kind: Kind
    open: str
    body: str
    close: str
    tokens: int

    def __str__(self) -> str:
        return f"{self.open}\n{self.body}\n{self.close}\n"


def render(
    messages: Sequence[Message],
    *,
    count: Count,
    limit_tokens: int,
    first_step: int = 1,
) -> str:
    """Return what was said, called and answered, oldest first, within a limit.

    Results are shortened first, the oldest before the newest, then inputs of calls,
    then what was said; if that is not enough, the oldest pieces go and a line says how
    many. A call and its result carry the reference of their step (`h12.2`).

    Args:
        messages: in the API's form; thinking is left out, but for its displayed text
            where a message says nothing else.
        count: tokens of a text.
        limit_tokens: most that the text may have by `count`.
        first_step: number of the first assistant message among `messages`.
    """
    pieces = list(_pieces(messages, first_step))
    for piece in pieces:
        piece.tokens = count(str(piece))
    total = sum(piece.tokens for piece in pieces)
    for kind, left in _ROUNDS:
        for piece in pieces:
            if total <= limit_tokens:
                break
            if piece.kind == kind and piece.tokens > left:
                total -= piece.tokens
                piece.body = shorten(piece.body, limit_tokens=left, count=count)
                piece.tokens = count(str(piece))
                total += piece.tokens
    return _within(pieces, total, limit_tokens, count)


def _within(pieces: list[_Piece], total: int, limit_tokens: int, count: Count) -> str:
    first = 0
    room = limit_tokens
    while first < len(pieces) and total > room:
        room = limit_tokens - _GONE_TOKENS
        total -= pieces[first].tokens
        first += 1
    text = "".join(map(str, pieces[first:]))
    if first:
        text = f"[… {first:,} earlier parts left out …]\n{text}"
    return text if count(text) <= limit_tokens else ""


def shorten(text: str, *, limit_tokens: int, count: Count) -> str:
    """Return `text`, or its head and tail with how much lies between them.

    Args:
        text: any.
        limit_tokens: about the most that is left of it by `count`.
        count: tokens of a text.
    """
    total = count(text)
    if total <= limit_tokens:
        return text
    kept = len(text) * limit_tokens // total
    first = safe_end(text, kept * 2 // 3)
    last = safe_start(text, len(text) - kept // 3)
    return f"{text[:first]} …[{last - first:,} characters left out]… {text[last:]}"


def _pieces(messages: Sequence[Message], first_step: int) -> Iterator[_Piece]:
    step = first_step - 1
    refs: dict[str, tuple[str, str]] = {}
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        content: Any = message["content"]
        blocks: list[Block] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        if role == "assistant":
            step += 1
            calls = [block for block in blocks if block.get("type") == "tool_use"]
            for place, call in enumerate(calls, 1):
                ref = reference_of(step, place=place if len(calls) > 1 else 0)
                refs[str(call["id"])] = (ref, str(call["name"]))
        says_nothing = all(b.get("type") == "thinking" for b in blocks)
        for block in blocks:
            piece = _piece(block, role, refs, with_thinking=says_nothing)
            if piece:
                yield piece


def _piece(
    block: Block, role: str, refs: dict[str, tuple[str, str]], *, with_thinking: bool
) -> _Piece | None:
    match block.get("type"):
        case "text" if not is_empty_text(block):
            return _tagged("said", role, "", str(block["text"]))
        case "tool_use":
            ref, name = refs[str(block["id"])]
            body = encode(block.get("input") or {}).decode()
            return _tagged("call", "call", f' ref="{ref}" tool="{name}"', body)
        case "tool_result":
            ref, name = refs.get(str(block.get("tool_use_id")), ("", ""))
            error = ' error="true"' if block.get("is_error") else ""
            body = text_of(block.get("content") or "") or "(no text)"
            return _tagged(
                "result", "result", f' ref="{ref}" tool="{name}"{error}', body
            )
        case "thinking" if with_thinking and str(block.get("thinking") or "").strip():
            return _tagged("said", role, "", str(block["thinking"]))
        case "image" | "document" as kind:
            return _tagged("said", role, "", f"({kind})")
    return None


def _tagged(kind: Kind, tag: str, attributes: str, body: str) -> _Piece:
    body = kept_inside(body, _TAGS)
    return _Piece(kind, f"<{tag}{attributes}>", body, f"</{tag}>", 0)
