"""What the lead keeps back while its subagents spend, and its hint."""

from __future__ import annotations

from typing import Any

import pytest
from run_bench import brief

from orchestrator.messages import Block, Message, text_block, user_message
from orchestrator.runtime.lead import OwnReads
from orchestrator.subagents.expecting import FRAME_TOKENS, expected_tokens
from orchestrator.tools.calls import CallResult


def use(name: str, **given: Any) -> Block:
    return {"type": "tool_use", "id": "t", "name": name, "input": given}


@pytest.mark.parametrize(
    ("calls", "tokens"),
    [
        pytest.param([], 0, id="nothing"),
        pytest.param([use("read_file", path="a")], 0, id="a read"),
        pytest.param(
            [use("delegate", briefs=[brief("A"), brief("B")])],
            2 * (1200 + FRAME_TOKENS),
            id="two briefs",
        ),
        pytest.param(
            [
                use("delegate", briefs=[brief("A", deliverable={"max_tokens": 300})]),
                use("delegate", briefs=[brief("B")]),
            ],
            300 + 1200 + 2 * FRAME_TOKENS,
            id="two calls",
        ),
        pytest.param([use("delegate", briefs="none")], 0, id="refused"),
    ],
)
def test_findings_are_expected_at_their_largest(
    calls: list[Block], tokens: int
) -> None:
    assert expected_tokens(calls) == tokens


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
