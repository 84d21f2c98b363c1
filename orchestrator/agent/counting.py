"""What a reply counts for limits, where the service tells fewer tokens than can be.

Some servers count only what was not in their cache, and some do not count at all. What
they tell is what is shown; what limits count must not be less than what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from orchestrator.messages import Block, encode
from orchestrator.models.base import Usage

__all__ = ["counted", "is_too_few"]

DOUBT = 5
"""A count below this part of our estimate cannot be right. An estimate is at most twice
too high for any text and vocabulary that we know of, rows of one sign apart."""
LEAST_TOKENS = 500
"""Smaller texts say nothing: a script of a test, or a head that is counted apart."""
_CHARS_PER_TOKEN = 4


def counted(
    usage: Usage,
    content: Sequence[Block],
    *,
    sent_tokens: int,
    count: Callable[[str], int],
) -> Usage:
    """Return `usage`, or what limits count in its place.

    Args:
        usage: as the service told it, and known.
        content: the reply.
        sent_tokens: estimated size of the request.
        count: estimates the tokens of a text.
    """
    sent, said = usage.context_tokens, usage.output_tokens
    if is_too_few(sent, sent_tokens):
        usage = replace(usage, input_tokens=usage.input_tokens + sent_tokens - sent)
    chars = sum(map(_chars, content))
    if is_too_few(said, chars // _CHARS_PER_TOKEN):
        usage = replace(usage, output_tokens=count(encode(list(content)).decode()))
    return usage


def is_too_few(told: int, estimated: int) -> bool:
    """Return whether a count that was told cannot be right."""
    return estimated >= LEAST_TOKENS and told * DOUBT < estimated


def _chars(block: Block) -> int:
    """Return how much of a block the model wrote; a signature is not its work."""
    if block.get("type") == "tool_use":
        return len(encode(block["input"]))
    return len(str(block.get("text") or block.get("thinking") or ""))
