"""A conversation by steps: one assistant message each, and what answers its calls."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.messages import Block, Message, tool_calls

__all__ = ["Part", "StepFilter", "of_calls", "parts_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """One step of a conversation, or what stands before the first.

    Attributes:
        step: number of the assistant message, from 1; 0: before the first.
        start: how many messages stand before it.
        messages: the assistant's, then what answers it; of step 0, the task.
    """

    step: int
    start: int
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class StepFilter:
    """Which steps are wanted; every part narrows it further.

    Attributes:
        turn: only this step; None: any.
        last: only the newest so many of what the others leave; None: all.
        tool: only steps that call it, and of them only these calls; "": any.
        text: only where a text of the step has it, in upper or lower case; "": any.
    """

    turn: int | None = None
    last: int | None = None
    tool: str = ""
    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether all steps are wanted."""
        return self == StepFilter()

    def of(self, messages: Sequence[Message]) -> list[Part]:
        """Return the steps that are wanted, oldest first."""
        found: list[Part] = []
        for part in parts_of(messages):
            if self.turn is not None and part.step != self.turn:
                continue
            kept = _of_tool(part, self.tool) if self.tool else part
            text = self.text.casefold()
            if not kept.messages or (text and not _holds(kept.messages, text)):
                continue
            found.append(kept)
        return found if self.last is None else found[-self.last :]


def parts_of(messages: Sequence[Message]) -> Iterator[Part]:
    """Yield all steps, oldest first; what stands before the first is step 0."""
    step = start = 0
    part: list[Message] = []
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            if part or step:
                yield Part(step, start, part)
            step, start, part = step + 1, index, []
        part.append(message)
    if part:
        yield Part(step, start, part)


def _of_tool(part: Part, tool: str) -> Part:
    """Return what of a step belongs to calls of one tool; nothing if there are none."""
    if not part.step:
        return replace(part, messages=[])
    calls = {
        str(call.get("id"))
        for call in tool_calls(part.messages[0]["content"])
        if call.get("name") == tool
    }
    return replace(part, messages=of_calls(part.messages, calls))


def of_calls(messages: Iterable[Message], calls: Container[str]) -> list[Message]:
    """Return what of messages belongs to calls, by their ids; no empty ones."""
    kept: list[Message] = []
    for message in messages:
        content = message["content"]
        blocks = [] if isinstance(content, str) else content
        own = [each for each in blocks if _call_of(each) in calls]
        kept += [{**message, "content": own}] if own else []
    return kept


def _call_of(block: Block) -> str:
    return str(block.get("id") or block.get("tool_use_id"))


def _holds(value: Any, text: str) -> bool:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return text in value.casefold()
    if isinstance(value, dict):
        return any(_holds(each, text) for each in value.values())
    return isinstance(value, list) and any(_holds(each, text) for each in value)
