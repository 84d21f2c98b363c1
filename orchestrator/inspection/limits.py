"""How much of a run's limits is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["LimitUse", "limit_uses"]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of one limit is used, in its own unit."""

    name: str
    used: float
    allowed: float


def limit_uses(used: Mapping[str, float], allowed: Mapping[str, Any]) -> list[LimitUse]:
    """Return what is used of each limit that is set."""
    return [
        LimitUse(name, amount, allowed[name])
        for name, amount in used.items()
        if isinstance(allowed.get(name), (int, float))
    ]
