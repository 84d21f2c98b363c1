"""What an agent keeps back while its subagents spend."""

from __future__ import annotations

from typing import Any

import pytest
from run_bench import brief

from orchestrator.messages import Block
from orchestrator.subagents.expecting import FRAME_TOKENS, expected_tokens


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
