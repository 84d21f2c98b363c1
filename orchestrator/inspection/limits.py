"""How much of a run's limits is used."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LimitUse"]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of one limit is used, in its own unit."""

    name: str
    used: float
    allowed: float
