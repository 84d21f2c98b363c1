"""How fast the requests of one model leave, learnt from those that were rejected.

For services that say when to come again, but not what they allow. It begins without a
limit. A rejection sets it a little below what was accepted just before; later ones cut
it; while nothing is rejected it grows, slowly at first, then faster, so that a limit
which was lifted is found to be gone within minutes.
"""

from __future__ import annotations

import math

__all__ = ["WINDOW_S", "Pace"]

WINDOW_S = 1.0
"""What was accepted is counted over so long before the rejected request left."""
SHARE = 0.95
"""Of what was accepted: at the very limit, each hiccup of a network is too much."""
CUT = 0.85
"""For a pace that was too fast from the start."""
TRIM = 0.95
"""For one that was right for a while, and then grew too far."""
SLOWEST = 0.05
"""Requests a second; slower ones are for the service to ask for."""
QUIET_S = 15.0
MAX_QUIET_S = 120.0
FIRST_STEP = 0.05
STEP_GROWTH = 1.5
MAX_STEP = 1.0
CONFIRMED = 1.15
"""A ceiling within so much of the one before is the same one."""
FORGET_S = 900.0


class Pace:
    """Spaces requests evenly. All times are seconds from one start.

    Attributes:
        per_s: requests a second; infinite before the first rejection.
    """

    def __init__(self) -> None:
        self.per_s = math.inf
        self._next_at = -math.inf
        self._changed_at = self._rejected_at = 0.0
        self._ceiling = 0.0
        self._quiet_s, self._step = QUIET_S, FIRST_STEP
        self._spacing_s, self._spaced = 0.0, 0

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next request may leave; 0: at once."""
        return max(self._next_at - now, 0.0)

    def left(self, now: float, *, was_held: bool) -> None:
        """Take note that a request leaves.

        Args:
            now: the moment.
            was_held: it would have left earlier without this pace.
        """
        spacing_s = 1 / self.per_s
        if self._spaced:
            self._spaced -= 1
            spacing_s = max(spacing_s, self._spacing_s)
        self._next_at = now + spacing_s
        if was_held:
            self._may_grow(now)

    def spread(self, requests: int, over_s: float) -> None:
        """Let the next `requests` leave spread over at least `over_s` seconds."""
        self._spaced = requests
        self._spacing_s = over_s / max(requests, 1)

    def rejected(self, now: float, *, accepted: int) -> None:
        """Slow down; to be called once for all that left before the last cut.

        Args:
            now: the moment.
            accepted: requests that left in the last `WINDOW_S` before the rejected
                one did, and were not rejected.
        """
        before, was_quiet = self.per_s, now - self._rejected_at >= QUIET_S
        if math.isinf(before):
            self.per_s = max(accepted, 1) / WINDOW_S * SHARE
            self._quiet_s = QUIET_S
        else:
            self.per_s = max(before * (TRIM if was_quiet else CUT), SLOWEST)
            is_same = before <= self._ceiling * CONFIRMED
            self._quiet_s = min(self._quiet_s * 2, MAX_QUIET_S) if is_same else QUIET_S
            self._ceiling = before
        self._step = FIRST_STEP
        self._changed_at = self._rejected_at = now

    def _may_grow(self, now: float) -> None:
        if now - self._rejected_at >= FORGET_S:
            self.per_s = math.inf
        elif now - self._changed_at >= self._quiet_s:
            self.per_s *= 1 + self._step
            self._step = min(self._step * STEP_GROWTH, MAX_STEP)
            self._changed_at = now
