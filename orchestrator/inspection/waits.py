"""What kept requests of an agent from being answered at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.events.phrases import count_phrase, duration, number, one_line

__all__ = ["Waits", "waits_phrase"]

WORTH_S = 5.0
"""Less than that in line, in all, is not of note."""
RATE_LIMITED = "rate_limited"


@dataclass(slots=True)
class Waits:
    """Tries that failed and were made again, and the time in line for a rate limit."""

    retries: dict[str, int] = field(default_factory=dict)
    """By the kind of error."""
    queued_s: float = 0.0
    """Of requests that were answered; no part of the time of their answers."""

    def retried(self, data: Mapping[str, Any]) -> None:
        """Take over `model.retried`."""
        error = one_line(data.get("error"))
        self.retries[error] = self.retries.get(error, 0) + 1

    def answered(self, data: Mapping[str, Any]) -> None:
        """Take over `model.answered`."""
        self.queued_s += number(data.get("queued_s"))

    def add(self, other: Waits) -> None:
        """Add those of another agent."""
        self.queued_s += other.queued_s
        for error, count in other.retries.items():
            self.retries[error] = self.retries.get(error, 0) + count

    @property
    def is_of_note(self) -> bool:
        """Return whether anybody needs to hear of it."""
        return bool(self.retries) or self.queued_s >= WORTH_S

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines."""
        return {
            "retries": sum(self.retries.values()),
            "retries_by_error": dict(self.retries),
            "queued_s": round(self.queued_s, 1),
        }


def waits_phrase(of: Mapping[str, Waits]) -> str:
    """Return what agents waited for, in one line; "" where it is not of note.

    Args:
        of: agent → its waits.
    """
    total = Waits()
    for each in of.values():
        total.add(each)
    return "; ".join(_parts(total, of)) if total.is_of_note else ""


def _parts(total: Waits, of: Mapping[str, Waits]) -> Iterator[str]:
    if limited := total.retries.get(RATE_LIMITED, 0):
        yield f"rate-limited {count_phrase(limited, 'time')}"
    others = {n: count for n, count in total.retries.items() if n != RATE_LIMITED}
    if others:
        named = ", ".join(f"{error} {count}" for error, count in others.items())
        yield f"tried again for other errors ({named})"
    if total.queued_s >= 1:
        busiest = max(of, key=lambda agent: of[agent].queued_s)
        most = of[busiest].queued_s
        is_alone = most > total.queued_s * 0.999
        whose = busiest if is_alone else f"most: {busiest} {duration(most)}"
        yield f"{duration(total.queued_s)} waited in line ({whose})"
