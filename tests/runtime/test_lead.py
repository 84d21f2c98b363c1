"""The hint of the lead that it can delegate."""

from __future__ import annotations

from typing import Any

from orchestrator.messages import Block, Message, text_block, user_message
from orchestrator.runtime.lead import OwnReads
from orchestrator.tools.calls import CallResult


def use(name: str, **given: Any) -> Block:
    return {"type": "tool_use", "id": "t", "name": name, "input": given}


def test_the_hint_comes_once_a_streak_of_own_reads() -> None:
    messages: list[Message] = [user_message([text_block("go")])]
    hint = OwnReads(lambda: "hint", lambda: messages)
    steps = [
        ["grep", "read_file"],
        ["glob", "list_dir"],
        ["read_file"],
        ["read_file"],
        ["delegate"],
        ["read_file"] * 5,
        [],
        [*["read_file"] * 4, "finish"],
    ]

    said = []
    for names in steps:
        content = [use(name) for name in names] or [text_block("well")]
        messages.append({"role": "assistant", "content": content})
        results = [CallResult("t", name, "x", is_error=False) for name in names]
        said.append(hint.after_turn(results))
        messages.append(user_message([text_block("results")]))

    assert said == [[], [], ["hint"], [], [], ["hint"], [], []]
