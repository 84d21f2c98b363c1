"""Where the requests of an agent go, what they cost, and how they begin."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.context.view import Head
from orchestrator.models.base import Model
from orchestrator.models.pricing import Price

__all__ = ["Route"]


@dataclass(frozen=True, slots=True)
class Route:
    """The model that an agent asks now.

    Attributes:
        name: bare id.
        model: what answers for it.
        price: its price, or None where it is unknown: then only tokens count.
        head: the fixed start of its requests.
        window: most tokens of a request and its answer, or None where it is unknown.
    """

    name: str
    model: Model
    price: Price | None
    head: Head
    window: int | None = None
