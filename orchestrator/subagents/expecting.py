"""How many tokens of findings an agent must have room for, and money."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from orchestrator.errors import ToolError
from orchestrator.messages import Block
from orchestrator.subagents.mail import Mail
from orchestrator.subagents.place import Place
from orchestrator.tools.arguments import parse_arguments
from orchestrator.tools.delegate import DelegateArgs

__all__ = ["FRAME_TOKENS", "expected_tokens", "outstanding_tokens"]

FRAME_TOKENS = 200
"""What stands around the findings of one subagent."""


def expected_tokens(calls: Sequence[Block]) -> int:
    """Return how many tokens of findings the `delegate` calls of a step may bring.

    They come while the subagents spend, so that the parent must have kept enough.
    """
    total = 0
    for call in calls:
        if call["name"] != "delegate":
            continue
        with suppress(ToolError):  # briefs that will be refused bring nothing
            args = parse_arguments("delegate", DelegateArgs, call["input"])
            sizes = (brief.deliverable.max_tokens for brief in args.briefs)
            total += sum(size + FRAME_TOKENS for size in sizes)
    return total


def outstanding_tokens(places: Sequence[Place], mail: Mail) -> int:
    """Return how many tokens those may bring that their parent has not got yet."""
    due = {each.place.id for each in mail.due(places)}
    return sum(
        place.brief.deliverable.max_tokens + FRAME_TOKENS
        for place in places
        if place.ended is None or place.id in due
    )
