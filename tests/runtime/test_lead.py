"""What the lead keeps back while its subagents spend, and its hint."""

from __future__ import annotations

from typing import Any

import pytest
from run_bench import brief

from orchestrator.messages import Block
from orchestrator.runtime.lead import FRAME_TOKENS, OwnReads, expected_tokens
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


def results(*names: str) -> list[CallResult]:
    return [CallResult("t", name, "x", is_error=False) for name in names]


def test_the_hint_comes_once_a_streak_of_own_reads() -> None:
    hint = OwnReads(lambda: "hint")

    said = [
        hint.after_turn(results("grep", "read_file")),
        hint.after_turn(results("glob", "list_dir")),
        hint.after_turn(results("read_file")),
        hint.after_turn(results("read_file")),
        hint.after_turn(results("delegate")),
        hint.after_turn(results(*["read_file"] * 5)),
        hint.after_turn([]),
        hint.after_turn(results(*["read_file"] * 4, "finish")),
    ]

    assert said == [[], [], ["hint"], [], [], ["hint"], [], []]
