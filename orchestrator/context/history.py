"""An agent's own conversation by reference: `h0` its first message, `h12` a step.

Step n is the n-th message of the assistant with the results and texts that answer it;
`h12.2` is the second call of step 12 with its result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.context.framing import kept_inside
from orchestrator.ids import HISTORY_REFERENCE, reference_of
from orchestrator.messages import (
    THINKING,
    Block,
    Message,
    encode,
    is_empty_text,
    text_of,
)

__all__ = ["Step", "item_text", "result_text", "steps"]

_TAGS = ("message", "said", "thought", "call", "result", "told")


@dataclass(frozen=True, slots=True)
class Step:
    """One step, taken apart.

    Attributes:
        number: 0 for what stands before the first message of the assistant.
        said: blocks of the assistant that are no calls, in order.
        calls: its calls, in order.
        results: call id → the block that answers it.
        told: all other blocks of the user.
    """

    number: int
    said: list[Block] = field(default_factory=list)
    calls: list[Block] = field(default_factory=list)
    results: dict[str, Block] = field(default_factory=dict)
    told: list[Block] = field(default_factory=list)

    @property
    def ref(self) -> str:
        """Return its reference."""
        return reference_of(self.number)

    def result_of(self, place: int) -> Block | None:
        """Return what answers the call at `place`, from 1; None: nothing does yet."""
        return self.results.get(str(self.calls[place - 1].get("id")))


def steps(messages: Sequence[Message], *, first: int = 0) -> Iterator[Step]:
    """Yield the steps of a conversation, oldest first, step 0 included.

    Args:
        messages: the whole transcript, oldest first.
        first: number of the first step that is wanted.
    """
    number = 0
    step = Step(0)
    for message in messages:
        content = _blocks(message)
        if message["role"] == "assistant":
            if number >= first:
                yield step
            number += 1
            step = Step(number)
            for block in content:
                is_call = block.get("type") == "tool_use"
                (step.calls if is_call else step.said).append(block)
            continue
        for block in content:
            if block.get("type") == "tool_result":
                step.results[str(block.get("tool_use_id"))] = block
            else:
                step.told.append(block)
    if number >= first:
        yield step


def item_text(messages: Sequence[Message], ref: str) -> str:
    """Return what stands behind a reference, as text with a tag around each part.

    Args:
        messages: the whole transcript, oldest first.
        ref: like `h12` or `h12.2`.

    Raises:
        LookupError: there is no such item; the message says what there is.
    """
    step, place = _found(messages, ref)
    if place:
        return _call_text(step, place)
    parts = [text for block in step.said if (text := _said(block))]
    parts += [_call_text(step, place) for place in range(1, len(step.calls) + 1)]
    known = {str(call.get("id")) for call in step.calls}
    parts += [
        _tagged("result", "", _content(block))
        for call, block in step.results.items()
        if call not in known
    ]
    tag = "told" if step.number else "message"
    parts += [
        _tagged(tag, "", text) for block in step.told if (text := _content([block]))
    ]
    return "\n".join(parts) or "(nothing)"


def result_text(messages: Sequence[Message], ref: str) -> str:
    """Return the text of the results behind a reference, and nothing around it.

    Raises:
        LookupError: there is no such item; the message says what there is.
    """
    step, place = _found(messages, ref)
    places = [place] if place else range(1, len(step.calls) + 1)
    found = (step.result_of(each) for each in places)
    return "\n".join(_content(block) for block in found if block is not None)


def _found(messages: Sequence[Message], ref: str) -> tuple[Step, int]:
    match = HISTORY_REFERENCE.fullmatch(ref)
    if match is None:
        raise LookupError(f"`{ref[:40]}` is no reference to this conversation")
    number, place = int(match[1]), int(match[2] or 0)
    step = next(steps(messages, first=number), None)
    if step is None:
        last = sum(message["role"] == "assistant" for message in messages)
        raise LookupError(f"there is no `{ref}`; this conversation has h0 to h{last}")
    if match[2] is not None and not 1 <= place <= len(step.calls):
        raise LookupError(f"there is no `{ref}`; {_calls_phrase(step)}")
    return step, place


def _calls_phrase(step: Step) -> str:
    count = len(step.calls)
    if not count:
        return f"`{step.ref}` has no calls"
    if count == 1:
        return f"`{step.ref}` has one call, `{step.ref}.1`"
    return f"`{step.ref}` has calls `{step.ref}.1` to `{step.ref}.{count}`"


def _call_text(step: Step, place: int) -> str:
    call, ref = step.calls[place - 1], reference_of(step.number, place=place)
    name = str(call.get("name"))
    given = encode(call.get("input") or {}).decode()
    called = _tagged("call", f' ref="{ref}" tool="{name}"', given)
    result = step.result_of(place)
    if result is None:
        return f"{called}\n(no result yet)"
    error = ' error="true"' if result.get("is_error") else ""
    answered = _tagged("result", f' ref="{ref}"{error}', _content(result))
    return f"{called}\n{answered}"


def _said(block: Block) -> str:
    match block.get("type"):
        case "text" if not is_empty_text(block):
            return _tagged("said", "", str(block["text"]))
        case "thinking" if text := str(block.get("thinking") or "").strip():
            return _tagged("thought", "", text)
        case kind if kind in {"text", *THINKING}:
            return ""
        case kind:
            return _tagged("said", "", f"({kind})")


def _content(block: Block | Sequence[Block]) -> str:
    """Return the text of a result or of blocks; what is no text is named."""
    content: Any = block.get("content") if isinstance(block, Mapping) else block
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for each in content or ():
        if each.get("type") == "text":
            parts.append(text_of([each]))
        else:
            parts.append(f"({each.get('type')})")
    return "\n".join(part for part in parts if part)


def _tagged(tag: str, attributes: str, body: str) -> str:
    return f"<{tag}{attributes}>\n{kept_inside(body, _TAGS)}\n</{tag}>"


def _blocks(message: Message) -> list[Block]:
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content)
