"""What headers say of a model's limits: how much is left, how fast it comes back.

Anthropic's service counts in buckets that fill up without a break. Cache reads take
nothing from those of input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

__all__ = ["COUNTED", "Allowance", "Bucket", "allowances"]

_PREFIX: Final = "anthropic-ratelimit-"
COUNTED: Final = ("requests", "tokens", "input-tokens", "output-tokens")
_NAMES: Final = {
    counted: tuple(
        f"{_PREFIX}{counted}-{each}" for each in ("limit", "remaining", "reset")
    )
    for counted in COUNTED
}
_LEAST, _MOST = 1e-3, 1e15
"""What is counted lies between; figures beyond are garbage."""
PERIOD_S = 60.0
"""What limits are counted over, where the headers do not say when one is full again."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """One limit at one moment.

    Attributes:
        limit: most that fits, more than 0.
        remaining: what is left, 0 or more.
        full_in_s: seconds until all of it is back, 0 or more, or None if not told.
    """

    limit: float
    remaining: float
    full_in_s: float | None = None

    @property
    def per_s(self) -> float:
        """Return how much comes back in a second."""
        if self.full_in_s and self.remaining < self.limit:
            return (self.limit - self.remaining) / self.full_in_s
        return self.limit / PERIOD_S


def allowances(headers: Mapping[str, str], now: datetime) -> dict[str, Allowance]:
    """Return the limits that `headers` tell, by what they count; garbage is left out.

    Args:
        headers: of a response; names in lower case.
        now: time of day, in UTC.
    """
    found: dict[str, Allowance] = {}
    told = {name: text for name, text in headers.items() if name.startswith(_PREFIX)}
    if not told:
        return found
    for counted, (limit_name, remaining_name, reset_name) in _NAMES.items():
        limit = _amount(told.get(limit_name))
        remaining = _amount(told.get(remaining_name))
        if limit and remaining is not None:
            full_at = _moment(told.get(reset_name, ""))
            full_in_s = None
            if full_at is not None:
                full_in_s = max((full_at - now).total_seconds(), 0.0)
            found[counted] = Allowance(limit, min(remaining, limit), full_in_s)
    return found


def _amount(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    is_sane = value == 0 or _LEAST <= value <= _MOST
    return value if is_sane else None


@lru_cache(maxsize=64)
def _moment(text: str) -> datetime | None:
    """Return the moment that is written in RFC 3339, or None if it is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


class Bucket:
    """What is left of one limit, as it is taken from and comes back."""

    def __init__(self, told: Allowance, now: float) -> None:
        """Begin with what was told at `now`, in seconds from any start."""
        self.told(told, now)

    def told(self, allowance: Allowance, now: float, *, pending: float = 0.0) -> None:
        """Believe what the service says, less what is on its way to it.

        Args:
            allowance: the newest word.
            now: seconds from the same start.
            pending: what requests take that have left and were not heard of yet.
        """
        self._limit, self._per_s = allowance.limit, allowance.per_s
        self._level, self._at = allowance.remaining - pending, now

    def take(self, amount: float, now: float) -> None:
        """Take out what a request needs as it leaves."""
        self._level = self._level_at(now) - min(amount, self._limit)
        self._at = now

    def wait_s(self, amount: float, now: float) -> float:
        """Return the seconds until there is enough; 0: there is."""
        # One that needs more than ever fits has to wait for a full bucket.
        missing = min(amount, self._limit) - self._level_at(now)
        return max(missing / self._per_s, 0.0)

    def _level_at(self, now: float) -> float:
        return min(self._level + (now - self._at) * self._per_s, self._limit)
