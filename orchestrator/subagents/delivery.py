"""All findings of one delivery together: bounded, what is over as references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.store.artifacts import Artifacts
from orchestrator.subagents.render import (
    Delivered,
    Refused,
    Row,
    body_of,
    delivery_text,
    for_parent,
)
from orchestrator.subagents.shortening import cut, share_out

__all__ = ["Delivery", "delivery"]

Count = Callable[[str], int]

MIN_SUMMARY_CHARS = 80


@dataclass(frozen=True, slots=True)
class Delivery:
    """What an agent is told of its subagents, and its size in tokens."""

    text: str
    tokens: int


def delivery(
    delivered: Sequence[Delivered],
    refused: Sequence[Refused],
    total: int,
    count: Count,
    artifacts: Artifacts,
    *,
    rows: Sequence[Row] = (),
    told: str = "",
) -> Delivery:
    """Return what an agent is told of its subagents, findings within `total` tokens.

    Where they are over it, later items become references: their numbers stay, so that
    they can be cited, and one look-up opens them. It may write; call it in a thread.

    Args:
        delivered: findings, each within its own limit, in the order of the briefs.
        refused: briefs that were sent back.
        total: what all findings may take together, in tokens; frames are kept even
            where there is no room for them.
        count: tokens of a text.
        artifacts: where the whole of what is cut is kept.
        rows: those of whom nothing is delivered now.
        told: the program's own words about the whole, or "".

    Raises:
        StoreError: it cannot be kept.
    """
    sizes = [count(for_parent(each)) for each in delivered]
    if sum(sizes) > total:
        shares = share_out(sizes, max(total, 0))
        delivered = [
            each if size <= share else _within(each, share, count, artifacts)
            for each, size, share in zip(delivered, sizes, shares, strict=True)
        ]
    text = delivery_text(delivered, refused, rows, told)
    return Delivery(text, count(text))


def _within(
    delivered: Delivered, share: int, count: Count, artifacts: Artifacts
) -> Delivered:
    """Return findings of which only the first items are written out."""
    findings = delivered.findings
    pointer = artifacts.put(body_of(delivered).encode())

    def with_items(shown: int) -> Delivered:
        return replace(delivered, shown=shown, pointer=pointer)

    def with_summary(chars: int) -> Delivered:
        brief = findings.model_copy(update={"summary": cut(findings.summary, chars)})
        return replace(with_items(0), findings=brief)

    def fits(tried: Delivered) -> bool:
        return count(for_parent(tried)) <= share

    if fits(with_items(0)):
        return with_items(
            _largest(0, len(findings.items), lambda n: fits(with_items(n)))
        )
    chars = _largest(
        MIN_SUMMARY_CHARS, len(findings.summary), lambda n: fits(with_summary(n))
    )
    return with_summary(chars)


def _largest(low: int, high: int, is_right: Callable[[int], bool]) -> int:
    """Return the largest number from `low` to `high` that is right, or `low`."""
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_right(middle) else (low, middle - 1)
    return low
