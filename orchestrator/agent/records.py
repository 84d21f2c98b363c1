"""What the program knows of an agent's work, beside its conversation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["NO_RECORDS", "Records"]


@dataclass(frozen=True, slots=True)
class Records:
    """Where the state of an agent's work is read from, at any time.

    Attributes:
        notes: section → text, as it noted it down.
        pinned: sections that must stay word for word.
        constraints: of the task, word for word.
        effects: what was changed outside, a line each, oldest first.
        stale: sections that nobody touched since its last fan-out began, once that has
            brought findings.
    """

    notes: Callable[[], Mapping[str, str]]
    pinned: Callable[[], Collection[str]] = frozenset
    constraints: Sequence[str] = ()
    effects: Callable[[], Sequence[str]] = tuple
    stale: Callable[[], Sequence[str]] = tuple


NO_RECORDS = Records(dict)
