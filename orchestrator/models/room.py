"""How many requests of one model are under way at once: wide at first, then adapted."""

from __future__ import annotations

import math

__all__ = ["Room"]

GROWTH = 0.05
MAX_ROUNDS = 32
"""Rounds of successes before it grows, the more often the same bound was met."""


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
        self._bound = self._successes = 0
        self._rounds = 1

    @property
    def is_full(self) -> bool:
        """Whether the next request has to wait for the end of another."""
        return self.taken >= self.most

    def cut(self, to: float, *, is_bound: bool = False) -> None:
        """Allow `to` from now on, but one at least; it is never more than before.

        Args:
            to: how many.
            is_bound: just as many fit, and no more.
        """
        self._cut_from = self.most
        self.most = max(min(math.floor(to), self.most), 1)
        is_known = is_bound and self.most == self._bound
        self._rounds = min(self._rounds * 2, MAX_ROUNDS) if is_known else 1
        self._bound = self.most if is_bound else 0
        self._successes = 0

    def succeeded(self) -> None:
        """Grow after some rounds of successes, if the room was needed.

        Slowly; but quickly back to what went well before a cut that went too far, and
        on, once it is beyond a bound that was met: that is there no more.
        """
        if self.most == self._ceiling or not self.is_full:
            return
        self._successes += 1
        rounds = self._rounds if self.most <= self._bound else 1
        if self._successes >= self.most * rounds:
            back = min(self.most, (self._cut_from - self.most) // 2)
            self.most += max(int(self.most * GROWTH), back, 1)
            self.most = min(self.most, self._ceiling)
            self._successes = 0
