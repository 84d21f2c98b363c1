"""What one answer costs: in dollars as told, and as limits count it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from orchestrator.agent.budget import Amount
from orchestrator.agent.counting import counted
from orchestrator.models.base import Reply, Usage
from orchestrator.models.pricing import Price

__all__ = ["Bill", "bill"]


@dataclass(frozen=True, slots=True)
class Bill:
    """The price of one answer.

    Attributes:
        usd: dollars, by what the service told, or as estimated where it did not; None
            where the price is unknown.
        parts: the same by class of token.
        counted: what limits count.
        doubt: fields of the event where that is not what the service told.
    """

    usd: float | None
    counted: Amount
    parts: dict[str, float] = field(default_factory=dict)
    doubt: dict[str, Any] = field(default_factory=dict)


def bill(
    price: Price | None, reply: Reply, *, sent_tokens: int, count: Callable[[str], int]
) -> Bill:
    """Return what a reply costs.

    A refusal before any output costs no money (Anthropic, stop reasons, August 2026).

    Args:
        price: of its model, or None if unknown.
        reply: as it came.
        sent_tokens: of its request, estimated.
        count: estimates the tokens of a text.
    """
    if reply.stop_reason == "refusal" and not reply.content:
        free = 0.0 if price else None
        return Bill(free, Amount(0.0, reply.usage.limited_tokens))
    usage, told = reply.usage, reply.usage
    if told.known:
        usage = counted(told, reply.content, sent_tokens=sent_tokens, count=count)
    used = Amount(_usd(price, usage) or 0.0, usage.limited_tokens)
    counted_usd = used.usd if price else None
    doubt = {"counted_usd": counted_usd, "counted_tokens": used.tokens}
    return Bill(
        _usd(price, told),
        used,
        price.parts(told) if price else {},
        doubt if usage != told else {},
    )


def _usd(price: Price | None, usage: Usage) -> float | None:
    return round(price.usd(usage), 8) if price else None
