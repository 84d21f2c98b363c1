"""How many requests of one model are under way at once: wide at first, then adapted."""

from __future__ import annotations

import math

__all__ = ["Room"]

GROWTH = 0.05
MAX_ROUNDS = 32


class Room:
    """A bound that is cut when a service has too much to do, and grows in use.

    Attributes:
        most: requests at once now.
        taken: requests under way.
    """

    def __init__(self, ceiling: int) -> None:
        """Begin at the ceiling, 1 or more, which is never passed."""
        self.most = ceiling
        self.taken = 0
        self._ceiling = self._cut_from = ceiling
        self._successes = 0
        self._rounds = 1

    @property
    def is_full(self) -> bool:
        """Whether the next request has to wait for the end of another."""
        return self.taken >= self.most

    def cut(self, to: float) -> None:
        """Allow `to` from now on, but one at least; it is never more than before."""
        # A bound that was met before is tried less and less often.
        is_known = self.most <= self._cut_from
        self._rounds = min(self._rounds * 2, MAX_ROUNDS) if is_known else 1
        self._cut_from = self.most
        self.most = max(min(math.floor(to), self.most), 1)
        self._successes = 0

    def succeeded(self) -> None:
        """Grow after some rounds of successes, if the room was needed."""
        if self.most == self._ceiling or not self.is_full:
            return
        self._successes += 1
        if self._successes >= self.most * self._rounds:
            self.most += max(int(self.most * GROWTH), 1)
            self.most = min(self.most, self._ceiling)
            self._successes = 0
