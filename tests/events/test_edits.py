"""Edits of a conversation: what they keep, whatever it holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.events.edits import (
    THOUGHT_CHARS,
    with_edit,
    with_stubs,
    with_text,
    without_thinking_behind,
)
from orchestrator.messages import Block, Message, encode, is_empty_text, text_block

TEXT = "In place of what came before."
LATER = "In place of even more."
TASK = text_block("look for 令牌")
THINKING = {"thinking", "redacted_thinking"}


def use(call: str) -> Block:
    return {"type": "tool_use", "id": call, "name": "grep", "input": {"pattern": call}}


def result(call: str, content: Any = "found", **more: Any) -> Block:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def thought(text: str) -> Block:
    return {"type": "thinking", "thinking": text, "signature": "s" * 8}


def user(*blocks: Block) -> Message:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Block) -> Message:
    return {"role": "assistant", "content": list(blocks)}


IMAGE = {"type": "image", "source": {"type": "base64", "data": "AA=="}}
CONTENTS = st.sampled_from(["found", "找到了", "", [text_block("a"), IMAGE]])
THOUGHTS = st.one_of(
    st.sampled_from(["", "  \n", "想", "x" * 900, "I look. " * 60]).map(thought),
    st.just({"type": "redacted_thinking", "data": "zz"}),
)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Return a conversation in which every call has its result."""
    messages = [user(TASK, *([IMAGE] if draw(st.booleans()) else []))]
    for step in range(draw(st.integers(0, 7))):
        calls = [f"c{step}.{n}" for n in range(draw(st.integers(0, 3)))]
        said = [text_block("我看")] if draw(st.booleans()) or not calls else []
        thoughts = draw(st.lists(THOUGHTS, max_size=2))
        messages.append(assistant(*thoughts, *said, *map(use, calls)))
        more = {"is_error": True} if draw(st.booleans()) else {}
        results = [result(call, draw(CONTENTS), **more) for call in calls]
        told = [text_block("a reminder")] if draw(st.booleans()) or not calls else []
        messages.append(user(*results, *told))
    return messages


def calls_in(messages: list[Message]) -> list[str]:
    return [b["id"] for m in messages for b in m["content"] if b["type"] == "tool_use"]


def is_legal(messages: list[Message]) -> bool:
    """Return whether the service would take it: roles, pairs, no empty content."""
    roles = [each["role"] for each in messages]
    if roles != [("user", "assistant")[n % 2] for n in range(len(roles))]:
        return False
    for n, message in enumerate(messages):
        if not message["content"] or any(map(is_empty_text, message["content"])):
            return False
        answers = [b["tool_use_id"] for b in message["content"] if "tool_use_id" in b]
        if message["role"] == "user" and answers != calls_in(messages[n - 1 : n]):
            return False
    return True


def thinking_in(messages: list[Message]) -> int:
    return sum(b["type"] in THINKING for m in messages for b in m["content"])


@st.composite
def edits(draw: st.DrawFn, history: list[Message]) -> list[tuple[str, dict[str, Any]]]:
    calls = calls_in(history) or ["none"]
    made = []
    for n in range(draw(st.integers(1, 4))):
        thinking = draw(st.integers(0, 1))
        if draw(st.booleans()):
            chosen = draw(st.lists(st.sampled_from(calls), max_size=4))
            data: dict[str, Any] = {"stubs": {call: f"stub {call}" for call in chosen}}
            made.append(("context.cleared", {**data, "thinking": thinking}))
        else:
            data = {"kept_messages": draw(st.integers(0, 12)), "text": f"text {n}"}
            made.append(("context.compacted", {**data, "thinking": thinking}))
    return made


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_edited_in_whatever_order_stays_a_legal_request(
    data: st.DataObject,
) -> None:
    history = data.draw(histories())
    assert is_legal(history)
    before, shown, text = encode(history), history, ""
    for kind, fields in data.draw(edits(history)):
        shown = with_edit(shown, kind, data=fields, begun=1)
        text = fields.get("text", text)

        assert is_legal(shown)
        assert shown[0]["content"][0] == TASK
        texts = [b.get("text", "") for b in shown[0]["content"]]
        assert [t for t in texts if t.startswith("text ")] == [text][: bool(text)]
    assert encode(history) == before


@settings(max_examples=80, deadline=None)
@given(histories(), st.integers(0, 20))
def test_messages_kept_behind_the_text_are_those_of_before(
    history: list[Message], kept: int
) -> None:
    shown = with_text(history, kept=kept, text=TEXT, begun=1)

    same = min(kept, len(history) - 1)
    same -= bool(same) and history[-same]["role"] == "user"
    assert shown[1:] == history[len(history) - same :]
    assert text_block(TEXT) in shown[0]["content"]


@settings(max_examples=80, deadline=None)
@given(histories(), st.integers(0, 20))
def test_no_thinking_is_left_behind_the_place_and_none_is_touched_before_it(
    history: list[Message], index: int
) -> None:
    shown = without_thinking_behind(history, index)

    assert thinking_in(shown[index:]) == 0
    assert shown[:index] == history[:index]
    assert is_legal(shown)


def test_a_stub_takes_the_place_of_a_result_and_an_error_stays_one() -> None:
    history = [
        user(TASK),
        assistant(use("a"), use("b")),
        user(result("a", is_error=True), result("b"), text_block("more")),
    ]

    shown = with_stubs(history, {"a": "[cleared]", "unknown": "x"})

    assert shown[2] == user(
        result("a", "[cleared]", is_error=True), result("b"), text_block("more")
    )
    assert shown[1] is history[1]


def test_a_later_text_takes_the_place_of_the_earlier_one_and_what_had_joined_it() -> (
    None
):
    history = [
        user(TASK), assistant(text_block("one")), user(text_block("go on")),
        assistant(text_block("two")), user(text_block("more")),
    ]  # fmt: skip

    first = with_text(history, kept=3, text=TEXT, begun=1)
    second = with_text(first, kept=2, text=LATER, begun=1)

    assert first[0] == user(TASK, text_block(TEXT), text_block("go on"))
    assert second == [
        user(TASK, text_block(LATER)), assistant(text_block("two")),
        user(text_block("more")),
    ]  # fmt: skip


def test_a_result_whose_call_is_gone_goes_with_it() -> None:
    history = [user(TASK), assistant(use("a")), user(result("a"), text_block("told"))]

    assert with_text(history, kept=1, text=TEXT, begun=1) == [
        user(TASK, text_block(TEXT), text_block("told"))
    ]


def test_without_a_text_what_is_dropped_leaves_nothing() -> None:
    history = [user(TASK), assistant(text_block("one")), user(text_block("go on"))]

    assert with_text(history, kept=0, text="", begun=1) == [user(TASK)]


@pytest.mark.parametrize(
    ("block", "left"),
    [
        pytest.param(thought(" I look. "), "(thinking) I look.", id="short"),
        pytest.param(
            thought("x" * 900),
            "(thinking) " + "x" * (THOUGHT_CHARS - 1) + "…",
            id="long",
        ),
        pytest.param(thought("  "), "(thinking left out)", id="nothing shown"),
        pytest.param(
            {"type": "redacted_thinking", "data": "z"},
            "(thinking left out)",
            id="hidden",
        ),
    ],
)
def test_what_a_block_showed_takes_its_place(block: Block, left: str) -> None:
    shown = without_thinking_behind([user(TASK), assistant(block)], 0)

    assert shown[1] == assistant(text_block(left))


def test_only_thinking_behind_the_first_changed_result_goes_with_a_clear() -> None:
    history = [
        user(TASK),
        assistant(thought("early"), use("a")),
        user(result("a")),
        assistant(thought("late"), text_block("so")),
    ]

    shown = with_edit(
        history, "context.cleared", data={"stubs": {"a": "…"}, "thinking": 1}, begun=1
    )

    assert shown[1] == history[1]
    assert shown[3] == assistant(text_block("(thinking) late"), text_block("so"))


@pytest.mark.parametrize(
    "data", [{}, {"stubs": 3}, {"kept_messages": "x", "text": None}]
)
@pytest.mark.parametrize("kind", ["context.cleared", "context.compacted", "tool.ended"])
def test_odd_fields_of_an_edit_break_no_reader(kind: str, data: dict[str, Any]) -> None:
    assert with_edit([user(TASK)], kind, data=data, begun=1) == [user(TASK)]
    assert with_edit([], kind, data=data, begun=1) == []
