from __future__ import annotations

from typing import Any

import pytest

from orchestrator.context.recorded import conversation_of, stub_like_live
from orchestrator.messages import Message, text_block, tool_result
from orchestrator.models.base import Usage

ASK: Message = {"role": "user", "content": "Look for 客户 4471."}


def call(call_id: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def said(*blocks: dict[str, Any]) -> Message:
    return {"role": "assistant", "content": list(blocks)}


def got(*blocks: dict[str, Any]) -> Message:
    return {"role": "user", "content": list(blocks)}


HISTORY = [
    ASK,
    said(text_block("Two reads."), call("a", "grep", pattern="x"), call("b", "glob")),
    got(tool_result("a", "one\n" * 50), tool_result("b", "三"), text_block("Go on.")),
    said(text_block("Done.")),
]


def test_each_assistant_message_is_a_turn_with_what_came_back() -> None:
    found = conversation_of(HISTORY, head_tokens=1000, labels={"b": "transient"})

    first, last = found.turns
    assert found.first_text == "Look for 客户 4471."
    assert found.first_tokens > 1000
    assert [each.call for each in first.results] == ["a", "b"]
    assert [each.label for each in first.results] == ["reference", "transient"]
    assert first.text.startswith("Two reads.")
    assert first.text.endswith("Go on.")
    assert first.results[0].tokens > first.results[1].tokens
    assert first.added_tokens > 0
    assert (last.results, last.added_tokens, last.text) == ((), 0, "Done.\n")


def test_a_stub_names_the_call_its_size_and_its_reference() -> None:
    found = conversation_of(HISTORY, head_tokens=0).turns[0].results[0]

    assert found.stub.startswith('[Cleared: grep("x"), ')
    assert 'read_ref("h1.1")' in found.stub
    assert found.stub == stub_like_live(HISTORY[1]["content"][1], "h1.1", found.text)


def test_the_only_result_of_a_step_has_its_reference() -> None:
    history = [ASK, said(call("a", "glob")), got(tool_result("a", "x"))]

    found = conversation_of(history, head_tokens=0).turns[0].results[0]

    assert 'read_ref("h1")' in found.stub


def test_pictures_and_thinking_have_a_size() -> None:
    picture = {"type": "image", "source": {"type": "base64", "data": "A" * 10**5}}
    thinking = {"type": "thinking", "thinking": "so " * 100, "signature": "s"}
    history = [
        ASK,
        said(thinking, call("a", "read_file", path="x.png")),
        got(tool_result("a", [picture, text_block("a plan")])),
    ]

    turn = conversation_of(history, head_tokens=0).turns[0]

    assert 1600 < turn.results[0].tokens < 1700
    assert turn.said_tokens > 100


def test_what_the_service_counted_is_taken_over() -> None:
    usages = [
        Usage(5000, output_tokens=77),
        Usage(0, 3000, 0, 6000, output_tokens=9),
    ]

    found = conversation_of(HISTORY, head_tokens=1000, usages=usages)

    assert found.first_tokens == 5000
    assert found.turns[0].tokens == pytest.approx(4000, abs=3)
    assert [each.output_tokens for each in found.turns] == [77, 9]


def test_a_count_that_fell_or_is_not_known_changes_no_size() -> None:
    plain = conversation_of(HISTORY, head_tokens=1000)
    fell = [Usage(5000, output_tokens=1), Usage(4000, output_tokens=1)]

    found = conversation_of(HISTORY, head_tokens=1000, usages=fell)
    unknown = conversation_of(HISTORY, head_tokens=1000, usages=[None, fell[0]])

    assert found.turns[0].tokens == plain.turns[0].tokens
    assert unknown.turns[0] == plain.turns[0]


def test_an_edit_and_the_same_read_again_make_a_read_stale() -> None:
    def step(call_id: str, name: str, **given: Any) -> list[Message]:
        return [said(call(call_id, name, **given)), got(tool_result(call_id, "ok"))]

    history = [
        ASK,
        *step("a", "read_file", path="x.py"),
        *step("b", "read_file", path="x.py", first_line=200),
        *step("c", "read_file", path="x.py"),
        *step("d", "edit_file", path="x.py", old="1", new="2"),
        *step("e", "read_file", path="y.py"),
    ]

    found = conversation_of(history, head_tokens=0)

    stale = [each.results[0].supersedes for each in found.turns]
    assert [sorted(each) for each in stale] == [[], [], ["a"], ["b", "c"], []]


def test_waits_are_taken_over() -> None:
    found = conversation_of(HISTORY, head_tokens=0, waited_s=[0.0, 400.0])

    assert [each.waited_s for each in found.turns] == [0.0, 400.0]


def test_nobody_has_spoken() -> None:
    assert conversation_of([ASK], head_tokens=10).turns == ()
