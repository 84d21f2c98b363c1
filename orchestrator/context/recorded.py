"""A conversation as it was recorded, by size: what a policy can be tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from orchestrator.context.digest import digest
from orchestrator.context.layout import Label
from orchestrator.context.state import FILE_EDITS, FILE_READS
from orchestrator.context.stubs import stub
from orchestrator.context.tokens import estimate
from orchestrator.ids import reference_of
from orchestrator.messages import Block, Message, encode, text_of
from orchestrator.models.base import Usage

__all__ = ["Conversation", "Result", "Turn", "conversation_of", "stub_like_live"]

BLOCK_TOKENS: Final = 12
"""What the form of a block adds to its text, about."""
PICTURE_TOKENS: Final = 1600
"""Of an image or a document that is not text: what the service makes of a large one."""

StubOf = Callable[[Block, str, str], str]
"""From a call, its reference and the text of its result to the stub."""


@dataclass(frozen=True, slots=True)
class Result:
    """One tool result, and the stub that can stand in its place.

    Sizes are in tokens. The texts are there to look for facts in; `supersedes` names
    the calls whose results this one makes stale. Decisions about a live conversation
    go by estimates: `estimated_tokens`, where they are not the same.
    """

    call: str
    tokens: int
    stub_tokens: int
    label: Label = "reference"
    supersedes: tuple[str, ...] = ()
    text: str = ""
    stub: str = ""
    estimated_tokens: int | None = None

    @property
    def seen_tokens(self) -> int:
        """Return the size that decisions go by."""
        return self.tokens if self.estimated_tokens is None else self.estimated_tokens


@dataclass(frozen=True, slots=True)
class Turn:
    """A request's answer, and what came back on it.

    Attributes:
        said_tokens: the assistant message as it is sent again.
        results: of its calls, in order.
        added_tokens: texts behind the results.
        output_tokens: what the service billed for the answer.
        text: of the message and of what was added.
        at_break: work came to a natural break with this turn.
        waited_s: seconds from the request before to this one.
        estimated_tokens: of all of it, what decisions go by; None: as `tokens`.
    """

    said_tokens: int
    results: tuple[Result, ...] = ()
    added_tokens: int = 0
    output_tokens: int = 0
    text: str = ""
    at_break: bool = False
    waited_s: float = 0.0
    estimated_tokens: int | None = None

    @property
    def seen_tokens(self) -> int:
        """Return the size that decisions go by."""
        return self.tokens if self.estimated_tokens is None else self.estimated_tokens

    @property
    def tokens(self) -> int:
        """Return by how much it makes the requests behind it longer."""
        of_results = sum(each.tokens for each in self.results)
        return self.said_tokens + of_results + self.added_tokens


@dataclass(frozen=True, slots=True)
class Conversation:
    """What one agent was sent and said.

    Attributes:
        first_tokens: system prompt, tools and first user message.
        turns: oldest first; each has had one request.
        first_text: of the part that is never dropped.
        cached_tokens: what of it others had cached before its first request.
    """

    first_tokens: int
    turns: tuple[Turn, ...] = field(repr=False)
    first_text: str = ""
    cached_tokens: int = 0


def stub_like_live(call: Block, ref: str, text: str, *, digest_tokens: int = 60) -> str:
    """Return the stub that a run would put in the place of a result.

    Args:
        call: the `tool_use` block.
        ref: reference of the result, like `h12` or `h12.2`.
        text: of the result.
        digest_tokens: longest digest in it.
    """
    return stub(
        str(call.get("name") or ""),
        call.get("input") or {},
        ref=ref,
        tokens=estimate(text),
        digest=digest(text, limit_tokens=digest_tokens, count=estimate),
    )


def conversation_of(
    messages: Sequence[Message],
    *,
    head_tokens: int,
    usages: Sequence[Usage | None] = (),
    labels: Mapping[str, Label] | None = None,
    stub_of: StubOf = stub_like_live,
    waited_s: Sequence[float] = (),
) -> Conversation:
    """Return the conversation that `messages` record, sizes estimated.

    Args:
        messages: of a whole transcript in the API's form, nothing cleared from it.
        head_tokens: size of system prompt and tools.
        usages: what the service counted, one for each assistant message, or None;
            where two in a row are known, the turn between them is scaled to fit.
        labels: of results by call id; the others are `reference`.
        stub_of: makes the stubs.
        waited_s: for each assistant message, the seconds from the request before.
    """
    starts = [at for at, each in enumerate(messages) if each["role"] == "assistant"]
    first = [_blocks(each) for each in messages[: starts[0] if starts else None]]
    first_tokens = head_tokens + sum(_size(block) for each in first for block in each)
    read: dict[str, list[str]] = {}
    turns: list[Turn] = []
    for at, (start, end) in enumerate(pairwise([*starts, len(messages)])):
        turn = _turn(messages[start:end], at + 1, labels or {}, stub_of)
        calls = {each["id"]: each for each in _calls(messages[start])}
        results = [
            replace(each, supersedes=_superseded(calls.get(each.call), read))
            for each in turn.results
        ]
        waited = waited_s[at] if at < len(waited_s) else 0.0
        turns.append(replace(turn, results=tuple(results), waited_s=waited))
    known = [*usages, *[None] * (len(turns) + 1 - len(usages))]
    if known[0] is not None:
        first_tokens = known[0].context_tokens
    fitted = [_fitted(turn, *known[at : at + 2]) for at, turn in enumerate(turns)]
    text = "\n".join(text_of(each) for each in first)
    return Conversation(first_tokens, tuple(fitted), text)


def _turn(
    messages: Sequence[Message],
    number: int,
    labels: Mapping[str, Label],
    stub_of: StubOf,
) -> Turn:
    said, *behind = [_blocks(each) for each in messages]
    calls = {each["id"]: each for each in _calls(messages[0])}
    refs = {call: reference_of(number, place=at) for at, call in enumerate(calls, 1)}
    if len(calls) == 1:
        refs = dict.fromkeys(calls, reference_of(number))
    results, texts = list[Result](), list[Block]()
    for block in (block for each in behind for block in each):
        call = block.get("tool_use_id", "")
        if block.get("type") != "tool_result" or call not in calls:
            texts.append(block)
            continue
        text = text_of(block.get("content") or "")
        shown = stub_of(calls[call], refs[call], text)
        label = labels.get(call, "reference")
        sizes = _size(block), estimate(shown) + BLOCK_TOKENS
        results.append(Result(call, *sizes, label, (), text, shown))
    said_tokens = sum(map(_size, said))
    return Turn(
        said_tokens=said_tokens,
        results=tuple(results),
        added_tokens=sum(map(_size, texts)),
        output_tokens=said_tokens,
        text="\n".join([*map(_text, said), text_of(texts)]),
    )


def _superseded(call: Block | None, read: dict[str, list[str]]) -> tuple[str, ...]:
    """Return whose results this call makes stale; take note of it if it reads."""
    if call is None or call["name"] not in FILE_READS | FILE_EDITS:
        return ()
    asked = call.get("input") or {}
    path = f"{asked.get('path')}\n"
    page = path + encode(sorted(asked.items())).decode()
    if call["name"] in FILE_READS:
        earlier = read.pop(page, [])
        read[page] = [call["id"]]
        return tuple(earlier)
    stale = [key for key in read if key.startswith(path)]
    return tuple(each for key in stale for each in read.pop(key))


def _fitted(turn: Turn, usage: Usage | None, following: Usage | None) -> Turn:
    """Return the turn with the sizes that the service counted, where it did."""
    if usage is None:
        return turn
    turn = replace(turn, output_tokens=usage.output_tokens)
    grown = (following.context_tokens if following else 0) - usage.context_tokens
    if grown <= 0 or not turn.tokens:
        return turn
    factor = grown / turn.tokens
    results = [
        replace(
            each,
            tokens=round(each.tokens * factor),
            stub_tokens=round(each.stub_tokens * factor),
        )
        for each in turn.results
    ]
    return replace(
        turn,
        said_tokens=round(turn.said_tokens * factor),
        results=tuple(results),
        added_tokens=round(turn.added_tokens * factor),
    )


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)


def _calls(message: Message) -> list[Block]:
    return [each for each in _blocks(message) if each.get("type") == "tool_use"]


def _text(block: Block) -> str:
    """Return what can be read in a block of the assistant."""
    if block.get("type") == "tool_use":
        return encode(block.get("input") or {}).decode()
    return str(block.get("thinking") or block.get("text") or "")


def _size(block: Block) -> int:
    kind = block.get("type")
    if kind == "tool_result":
        content = block.get("content") or ""
        parts = [] if isinstance(content, str) else content
        pictures = [_size(each) for each in parts if each.get("type") != "text"]
        return estimate(text_of(content)) + sum(pictures) + BLOCK_TOKENS
    if kind in {"image", "document"}:
        return PICTURE_TOKENS
    name = str(block.get("name") or "")
    return estimate(name + _text(block)) + BLOCK_TOKENS
