"""Edits in any order: what is sent has a legal shape, and the log tells the same."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.cuts import safe_cut
from orchestrator.context.layout import ShownResult
from orchestrator.context.shown import Shown
from orchestrator.context.transcript import Transcript
from orchestrator.events import ContextCleared, ContextCompacted, Event
from orchestrator.events.edits import with_edit
from orchestrator.messages import Block, Message, text_block, tool_result
from orchestrator.models.shape import shape_problem
from orchestrator.store.transcript import rebuild
from orchestrator.testing import say, think

EXAMPLES = 6000 if os.environ.get("HYPOTHESIS_PROFILE") == "search" else 150


@dataclass
class Life:
    """A conversation that grows and is edited, with the events that tell of it."""

    shown: Shown = field(default_factory=Shown)
    transcript: Transcript = field(default_factory=Transcript)
    events: list[Event] = field(default_factory=list)
    whole: list[Message] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        first = [text_block("the task"), text_block("and more of it")]
        self.shown.begin(first, layers={"task": 9}, head_tokens=9, tools=3)
        self.transcript.append("user", first)
        self.tell("agent.started", first=first)

    def tell(self, kind: str, **data: Any) -> None:
        self.events.append(
            Event(
                len(self.events) + 1,
                "2026-11-30T12:00:00.000Z",
                "r",
                "a",
                kind,
                0,
                data,
            )
        )

    def step(self, kinds: list[str], contents: list[Any], text: str) -> None:
        """One more answer; each call of it is answered, perhaps by an error."""
        self.count += 1
        made: dict[str, Block] = {
            "text": say(f"said 中文 {self.count}"),
            "thinking": think(f"thought {self.count}"),
            "redacted": {"type": "redacted_thinking", "data": f"x{self.count}"},
            "unknown": {"type": "server_thing", "id": self.count},
        }
        calls = [f"c{self.count}-{n}" for n in range(len(contents))]
        uses: list[Block] = [
            {"type": "tool_use", "id": each, "name": "t", "input": {}} for each in calls
        ]
        content = [*[made[kind] for kind in kinds], *uses]
        results = [
            tool_result(call, each, is_error=each == "an error")
            for call, each in zip(calls, contents, strict=True)
        ]
        text = text or ("" if results else "go on")
        texts = [text_block(text)] if text else []
        self.shown.append("assistant", content, tokens=10, layers={"assistant": 10})
        behind = [*results, *texts]
        layers = {"results:t": 30 * len(results), "text": 5 * len(texts)}
        layers = {name: tokens for name, tokens in layers.items() if tokens}
        size = sum(layers.values())
        self.shown.append("user", behind, tokens=size, layers=layers)
        step = self.count
        self.shown.took(ShownResult(each, "t", step, 30) for each in calls)
        self.transcript.append("assistant", content)
        self.transcript.append("user", behind)
        self.tell("model.answered", content=content, kept=True)
        for call, result in zip(calls, results, strict=True):
            is_error = bool(result.get("is_error"))
            self.tell(
                "tool.ended", call=call, content=result["content"], is_error=is_error
            )
        for block in texts:
            self.tell("text.added", text=block["text"], reason="nudge")

    def clear(self, share: float, *, spares: bool) -> None:
        calls = list(self.shown.results)[:-1]
        going = calls[: int(len(calls) * share) + 1]
        stubs = {each: f"[Cleared: {each}]" for each in going}
        before, sizes = [*self.shown.messages], dict.fromkeys(stubs, 5)
        thinking = self.shown.clear(stubs, sizes, spares_newest=spares)
        data = {"stubs": stubs, "thinking": thinking, "spares_newest": spares}
        self.edited(ContextCleared.KIND, before, data)

    def compact(self, keep: int, text: str, *, spares: bool) -> None:
        before = list(self.shown.messages)
        kept = len(before) - safe_cut(before, keep_steps=keep) if keep else 0
        thinking = self.shown.compact(
            text,
            kept=kept,
            parts={"state": 7} if text else {},
            spares_newest=spares,
        )
        data = {"kept_messages": kept, "text": text, "thinking": thinking}
        self.edited(ContextCompacted.KIND, before, {**data, "spares_newest": spares})

    def edited(self, kind: str, before: list[Message], data: dict[str, Any]) -> None:
        self.tell(kind, **data)
        assert with_edit(before, kind, data=data, begun=2) == self.shown.messages

    def check(self) -> None:
        shown = self.shown
        body = {"messages": shown.messages, "max_tokens": 9}
        assert shape_problem(body) == ""
        assert shown.pieces == [orjson.dumps(each) for each in shown.messages]
        assert rebuild(self.events, "a", as_sent=True) == shown.messages
        assert rebuild(self.events, "a", as_sent=False) == self.transcript.messages
        assert sum(shown.composition.values()) == shown.first_tokens + sum(shown.steps)
        assert min(shown.composition.values()) >= 0
        assert shown.tokens >= 0
        assert (
            shown.messages[0]["content"][:2]
            == self.transcript.messages[0]["content"][:2]
        )
        in_sight = {
            block["tool_use_id"]
            for message in shown.messages
            for block in message["content"]
            if block["type"] == "tool_result"
        }
        assert shown.results.keys() <= in_sight


KIND = st.sampled_from(["text", "thinking", "redacted", "unknown"])
KINDS = st.lists(KIND, min_size=1, max_size=3)
CONTENT = st.sampled_from(["found", "an error", [text_block("页")], "x" * 500])
STEP = st.tuples(
    st.just("step"),
    KINDS,
    st.lists(CONTENT, max_size=3),
    st.sampled_from(["", "as a reminder"]),
)
DO = st.one_of(
    STEP,
    STEP,
    STEP,
    st.tuples(st.just("clear"), st.floats(0, 1), st.booleans()),
    st.tuples(st.just("compact"), st.integers(0, 3), st.sampled_from(["so far", ""])),
    st.tuples(st.just("drop")),
    st.tuples(st.just("report"), st.integers(0, 900)),
)


@settings(max_examples=EXAMPLES)
@given(steps=st.lists(DO, max_size=25), spares=st.booleans())
def test_edits_in_any_order_give_what_the_log_says(
    steps: list[tuple[Any, ...]], *, spares: bool
) -> None:
    life = Life()
    for kind, *given_ in steps:
        if kind == "step":
            life.step(*given_)
        elif kind == "clear":
            life.clear(given_[0], spares=spares)
        elif kind == "compact":
            life.compact(*given_, spares=spares)
        elif kind == "report":
            life.shown.reported(given_[0])
        elif life.shown.drop_thinking():
            life.tell("thinking.dropped", why="refused", blocks=1)
        life.check()
