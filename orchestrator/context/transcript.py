"""The transcript of one agent: everything that was ever said in it, append-only.

What is sent may be less; see `shown.py`. Nothing here is ever changed or taken out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.ids import REFERENCE, reference_of
from orchestrator.messages import Block, Message, encode, text_of, tool_calls

__all__ = ["CallMade", "Transcript"]


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call of a tool, and where it stands.

    Attributes:
        name: of the tool.
        input: as the model wrote it.
        step: in which it was made, from 1.
        place: of it among the calls of its step, from 1; 0: it is the only one.
    """

    name: str
    input: dict[str, Any]
    step: int
    place: int = 0

    @property
    def reference(self) -> str:
        """Return the name under which it and its result can be opened."""
        return reference_of(self.step, place=self.place)

    @property
    def key(self) -> bytes:
        """Return what is the same for the same call made again."""
        return encode([self.name, self.input])


class Transcript:
    """An agent's whole conversation, oldest first; user and assistant take turns.

    Attributes:
        messages: in the API's own form. The first is the task; each of the assistant
            begins a step.
        calls: those made up to now, by id.
        steps: index of the message that begins each step, in order.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.calls: dict[str, CallMade] = {}
        self.steps: list[int] = []
        self._refs: set[str] = set()

    def __len__(self) -> int:
        return len(self.messages)

    def append(self, role: str, content: Sequence[Block]) -> None:
        """Append one message; what a role adds to its own last message joins that.

        So user and assistant take turns, whatever was discarded between.

        Args:
            role: `user` or `assistant`.
            content: one block or more, none of them an empty text.

        Raises:
            ValueError: there is no content.
        """
        if not content:
            raise ValueError("a message needs content")
        blocks = list(content)
        if self.messages and self.messages[-1]["role"] == role:
            blocks = [*self.messages.pop()["content"], *blocks]
        elif role == "assistant":
            self.steps.append(len(self.messages))
        self.messages.append({"role": role, "content": blocks})
        if role == "assistant":
            self._note_calls(tool_calls(blocks))
        if role == "user":
            self._refs.update(REFERENCE.findall(text_of(content)))

    @property
    def call_ids(self) -> Collection[str]:
        """Return the ids of all calls."""
        return self.calls.keys()

    def _note_calls(self, calls: Sequence[Block]) -> None:
        """Take note of the calls of the newest step, all of them."""
        for place, call in enumerate(calls, 1):
            self.calls[call["id"]] = CallMade(
                str(call["name"]),
                call["input"],
                len(self.steps),
                place if len(calls) > 1 else 0,
            )

    @property
    def open_calls(self) -> list[Block]:
        """Return the calls of a last assistant message: they wait for results."""
        if self.messages and self.messages[-1]["role"] == "assistant":
            return tool_calls(self.messages[-1]["content"])
        return []

    def knows(self, reference: str) -> bool:
        """Return whether an artifact's name occurs in anything the agent was sent.

        What it said itself does not count: saying a name must not make it known.
        """
        return reference in self._refs

    def texts(self, role: str) -> Iterable[str]:
        """Yield the text blocks of `role`, newest first."""
        for message in reversed(self.messages):
            if message["role"] == role:
                for block in reversed(message["content"]):
                    if block.get("type") == "text":
                        yield str(block["text"])
