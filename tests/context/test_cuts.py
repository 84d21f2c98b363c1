from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.cuts import safe_cut
from orchestrator.messages import Message, text_block, tool_result

ASK: Message = {"role": "user", "content": [text_block("go")]}


def said(*calls: str, thinks: bool = False) -> Message:
    content: list[dict[str, Any]] = []
    if thinks:
        content.append({"type": "thinking", "thinking": "嗯", "signature": "s"})
    content += [
        {"type": "tool_use", "id": each, "name": "read_file", "input": {}}
        for each in calls
    ]
    return {"role": "assistant", "content": content or [text_block("done")]}


def got(*calls: str, is_error: bool = False, text: str = "") -> Message:
    content = [tool_result(each, "42", is_error=is_error) for each in calls]
    texts = [text_block(text)] if text or not calls else []
    return (
        {"role": "user", "content": [*content, *(texts or [])]}
        if calls or text
        else ASK
    )


PLAIN = [ASK, said("a"), got("a"), said("b", "c"), got("b", "c"), said("d"), got("d")]


@pytest.mark.parametrize(
    ("messages", "keep_steps", "cut"),
    [
        pytest.param(PLAIN, 1, 5, id="the newest step"),
        pytest.param(PLAIN, 2, 3, id="a parallel group whole"),
        pytest.param(PLAIN, 9, 1, id="nothing dropped"),
        pytest.param([*PLAIN, said("e")], 1, 5, id="an open step is not the start"),
        pytest.param(
            [ASK, said("a"), got("a"), said("b", "c"), got("b")],
            1,
            1,
            id="a step with half of its results is open",
        ),
        pytest.param(
            [
                ASK,
                said("a", "b"),
                got("a"),
                said("c"),
                got("b", "c"),
                said("d"),
                got("d"),
            ],
            2,
            1,
            id="interleaved groups are not parted",
        ),
        pytest.param(
            [ASK, said("a"), got("a"), said(), said("b"), got("b")],
            1,
            3,
            id="an answer that goes on is one",
        ),
        pytest.param([ASK], 1, 1, id="nobody has spoken"),
        pytest.param([], 1, 0, id="empty"),
        pytest.param([ASK, said()], 1, 1, id="an answer without calls"),
        pytest.param(
            [ASK, said("a"), got("a"), said("b"), got("z"), said("c"), got("c")],
            3,
            1,
            id="nothing starts before a result without a call",
        ),
    ],
)
def test_where_a_tail_starts(
    messages: list[Message], keep_steps: int, cut: int
) -> None:
    assert safe_cut(messages, keep_steps=keep_steps) == cut


def test_content_that_is_a_text_has_no_calls() -> None:
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "继续"},
        {"role": "assistant", "content": "好"},
    ]

    assert safe_cut(messages, keep_steps=1) == 3


def test_a_tail_of_no_step_is_refused() -> None:
    with pytest.raises(ValueError, match="`keep_steps` must be 1 or more"):
        safe_cut(PLAIN, keep_steps=0)


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """A history as a run could leave it, or worse: late and missing results."""
    messages, late, count = [ASK], list[str](), 0
    for _ in range(draw(st.integers(0, 12))):
        calls = [f"t{count + n}" for n in range(draw(st.integers(0, 4)))]
        count += len(calls)
        messages.append(said(*calls, thinks=draw(st.booleans())))
        if draw(st.integers(0, 9)) == 0:
            continue
        answered = [*late, *calls]
        late = []
        if draw(st.integers(0, 5)) == 0:
            half = draw(st.integers(0, len(answered)))
            answered, late = answered[:half], answered[half:]
            if draw(st.booleans()):
                late = []
        text = draw(st.sampled_from(["", "还有 3 步", "go on"]))
        messages.append(got(*answered, is_error=draw(st.booleans()), text=text))
    return messages


def pairs(messages: list[Message]) -> tuple[set[str], set[str]]:
    blocks = [block for each in messages for block in each["content"]]
    return (
        {each["id"] for each in blocks if each["type"] == "tool_use"},
        {each["tool_use_id"] for each in blocks if each["type"] == "tool_result"},
    )


@given(histories(), st.integers(1, 15))
def test_a_cut_keeps_pairs_whole_and_roles_legal(
    messages: list[Message], keep_steps: int
) -> None:
    cut = safe_cut(messages, keep_steps=keep_steps)
    dropped, tail = messages[1:cut], messages[cut:]

    spoken = [each for each in messages if each["role"] == "assistant"]
    kept = [each for each in tail if each["role"] == "assistant"]
    assert cut >= 1
    assert len(kept) >= min(keep_steps, len(spoken))
    if not dropped:
        return
    assert tail[0]["role"] == "assistant"
    assert dropped[-1]["role"] == "user"
    asked, answered = pairs(dropped)
    assert asked == answered
    asked, answered = pairs(tail)
    assert answered <= asked
    assert pairs([tail[0]])[0] <= answered


@given(histories())
def test_more_steps_to_keep_never_cut_later(messages: list[Message]) -> None:
    cuts = [safe_cut(messages, keep_steps=keep) for keep in range(1, 15)]

    assert cuts == sorted(cuts, reverse=True)
