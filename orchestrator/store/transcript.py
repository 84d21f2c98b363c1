"""An agent's conversation, rebuilt from the events of the log.

The rule, the same for the runtime and for readers:

- `agent.started` gives the first user message.
- Each kept `model.answered` is an assistant message, as it came.
- The `tool.ended` of its calls, in the order of the calls, and after them the texts of
  `text.added` form one user message.
- The texts of `run.reopened` and `subagent.asked` are such texts too.
- `thinking.dropped` takes the thinking out of all messages that are sent up to there;
  so does `model.replaced`.
- Calls whose reply is lost stand where it stood, as far as `tool.started` tells them.
- A result that is lost is told as that, once a later reply is there.
- `result.replaced` says what answers a call from there on instead, in its place.
- Texts where no result is due extend the user message that has not been answered yet,
  or form one of their own.
- Answers to what the program asked for itself, a summary, are no part of it.
- `context.cleared` and `context.compacted` say what of it is no longer sent; the
  conversation stays whole without them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.events import Event
from orchestrator.events.edits import EDITS, with_edit
from orchestrator.messages import (
    Block,
    Message,
    encode,
    text_block,
    tool_calls,
    tool_result,
    user_message,
    without_thinking,
)

__all__ = ["LOST", "Edited", "as_jsonl", "edits_of", "rebuild"]

LOST = "The record of this result is damaged; make the call again if you need it."

_TELLING = frozenset(("text.added", "run.reopened", "subagent.asked"))
_LOST_START = "(the record of how this began is damaged)"


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit, and how many messages of the whole conversation had come before it."""

    messages: int
    event: Event


class _Conversation:
    """Messages so far, and the user message that is being put together."""

    def __init__(self, *, as_sent: bool) -> None:
        self.messages: list[Message] = []
        self.edits: list[Edited] = []
        self._as_sent = as_sent
        self._first_blocks = 1
        """Of the first user message: those that the agent began with."""
        self._calls: list[Block] = []
        self._results: dict[str, Block] = {}
        self._texts: list[Block] = []
        self._hand_ins: set[str] = set()
        self._known: set[str] = set()
        self._recovered = 0

    def start(self, first: list[Block]) -> None:
        if first:  # in a damaged log it may have happened before what stands there
            begun, later = len(first), self.messages
            if later and later[0]["role"] == "user":
                first, later = [*first, *later[0]["content"]], later[1:]
            self.messages = [user_message(first), *later]
            self._first_blocks = begun

    def begin_as_user(self) -> None:
        """Put a word where the first message is lost."""
        if self.messages and self.messages[0]["role"] != "user":
            self.messages.insert(0, user_message([text_block(_LOST_START)]))

    def answer(self, content: list[Block]) -> None:
        for call in self._calls:
            lost = tool_result(str(call["id"]), LOST, is_error=True)
            self._results.setdefault(str(call["id"]), lost)
        self.close()
        if self.messages and self.messages[-1]["role"] == "assistant":
            content = [*self.messages.pop()["content"], *content]
        self.messages.append({"role": "assistant", "content": content})
        # One without an id, in a damaged record, can have no result.
        self._calls = [each for each in tool_calls(content) if "id" in each]
        self._known |= {str(call["id"]) for call in self._calls}

    def begin(self, call: Block, reply: int) -> None:
        """Put a call where its reply, the event of that number, would be if lost."""
        if call["id"] in self._known:
            return
        if reply == self._recovered and self.messages[-1:]:
            self.messages[-1]["content"].append(call)
            self._calls.append(call)
            self._known.add(call["id"])
        else:
            self.answer([call])
        self._recovered = reply

    def drop_thinking(self) -> None:
        if not self._as_sent:
            return
        self.messages = [
            {**each, "content": without_thinking(each["content"])}
            if each["role"] == "assistant"
            else each
            for each in self.messages
        ]

    def result(self, call: str, block: Block, *, ends: bool) -> None:
        # The first outcome on disk counts, but a hand-in is answered anew on resume.
        if call in self._results and call not in self._hand_ins:
            return
        self._results[call] = block
        if ends:
            self._hand_ins.add(call)
        else:
            self._hand_ins.discard(call)

    def replace(self, call: str, block: Block) -> None:
        """Let `block` answer a call from now on, wherever that stands.

        Of the whole conversation nothing goes but what said that a result is lost.
        """
        known = self._results.get(call)
        is_due = any(each["id"] == call for each in self._calls)
        if is_due and (known is None or self._gives_way(known)):
            self._results[call] = block
        self.messages = [
            {
                **message,
                "content": [
                    block
                    if each.get("tool_use_id") == call and self._gives_way(each)
                    else each
                    for each in message["content"]
                ],
            }
            for message in self.messages
        ]

    def _gives_way(self, result: Block) -> bool:
        return self._as_sent or result["content"] == LOST

    def edit(self, event: Event) -> None:
        """Take over what is no longer sent, all up to here included."""
        self.close()
        self.begin_as_user()
        self.edits.append(Edited(len(self.messages), event))
        if not self._as_sent:
            return
        self.messages = with_edit(
            self.messages, event.kind, data=event.data, begun=self._first_blocks
        )

    def text(self, text: str) -> None:
        self._texts.append(text_block(text))

    def close(self) -> None:
        """Put what came since the last assistant message into a user message."""
        due = [str(call.get("id", "")) for call in self._calls]
        blocks = [self._results[call] for call in due if call in self._results]
        blocks += self._texts
        if blocks and self.messages and self.messages[-1]["role"] == "user":
            last = self.messages[-1]
            self.messages[-1] = user_message([*last["content"], *blocks])
        elif blocks:
            self.messages.append(user_message(blocks))
        self._calls, self._results, self._texts = [], {}, []


def rebuild(
    events: Iterable[Event], agent: str, *, as_sent: bool = True
) -> list[Message]:
    """Return the conversation of `agent`, oldest message first.

    Give the events up to a `model.requested` to get the messages of that request.

    Args:
        events: of the whole run or of this agent, in order, with full data (large
            fields loaded).
        agent: the agent's id.
        as_sent: what is sent; False: the whole conversation, also what was cleared or
            compacted.

    Returns:
        Messages that begin with a user message; user and assistant take turns. Where
        calls still run, their results are missing. Empty if the agent has not started.
    """
    return _followed(events, agent, as_sent=as_sent).messages


def edits_of(events: Iterable[Event], agent: str) -> list[Edited]:
    """Return what was cleared and compacted of the conversation of `agent`, in order.

    Args:
        events: as for `rebuild`.
        agent: the agent's id.
    """
    return _followed(events, agent, as_sent=False).edits


def _followed(events: Iterable[Event], agent: str, *, as_sent: bool) -> _Conversation:
    conversation = _Conversation(as_sent=as_sent)
    for event in events:
        if event.agent == agent:
            _take(conversation, event)
    conversation.close()
    conversation.begin_as_user()
    return conversation


def _take(conversation: _Conversation, event: Event) -> None:
    data = event.data
    call = str(data.get("call", ""))
    if event.kind == "agent.started":
        conversation.start(data.get("first") or [])
    elif event.kind == "model.answered":
        if data.get("kept", True) and data.get("content") and not data.get("purpose"):
            conversation.answer(data["content"])
    elif event.kind == "tool.started" and data.get("name"):
        used: Block = {"type": "tool_use", "id": call, "name": data["name"]}
        conversation.begin({**used, "input": data.get("input", {})}, event.cause)
    elif event.kind in ("tool.ended", "result.replaced"):
        is_error = bool(data.get("is_error"))
        block = tool_result(call, data.get("content", ""), is_error=is_error)
        if event.kind == "tool.ended":
            conversation.result(call, block, ends=bool(data.get("ends")))
        else:
            conversation.replace(call, block)
    elif event.kind in ("thinking.dropped", "model.replaced"):
        conversation.drop_thinking()
    elif event.kind in EDITS:
        conversation.edit(event)
    elif event.kind in _TELLING and data.get("text"):
        conversation.text(data["text"])


def as_jsonl(messages: Iterable[Message]) -> bytes:
    """Return the content of `transcript.jsonl`: one message a line."""
    return b"".join(encode(message) + b"\n" for message in messages)
