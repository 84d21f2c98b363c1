"""How fast the requests of one model leave, learnt from those that were rejected.

For services that say when to come again, but not what they allow. It begins without a
limit. A rejection sets it a little below what was accepted just before; later ones cut
it; where that is in vain it is given up. While nothing is rejected it grows, slowly at
first, then faster, so that a limit which was lifted is found to be gone within minutes.
"""

from __future__ import annotations

import math

__all__ = ["WINDOW_S", "Pace"]

WINDOW_S = 1.0
"""What was accepted is counted over so long before the rejected request left."""
SHARE = 0.93
"""Of what was accepted: at the very limit, each hiccup of a network is too much."""
CUT, TRIM = 0.85, 0.95
"""The second for a pace that went well for a while."""
SLOWEST, FASTEST = 0.05, 1000.0
"""Requests a second: slower is for the service to ask for, faster is no pace."""
QUIET_S, MAX_QUIET_S = 15.0, 120.0
QUIET_TIMES = 20.0
"""It grows for the first time after so many told times without a rejection: the dearer
one is, the later. The more often the same ceiling was met, the later still."""
HASTE, MIN_QUIET_S = 0.5, 10.0
"""Each time it grows, less time passes before the next."""
FIRST_STEP, STEP_GROWTH, MAX_STEP = 0.03, 2.0, 1.0
IN_VAIN, TENTATIVE = 4, 2
"""After so many rejections in a row that may be chance it is given up; a pace that
began with such a one after fewer: it has that many already."""
LONG = 60
"""Requests without a rejection end the row."""
CONFIRMED = 1.1
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
        self._ceiling = self._proven = 0.0
        self._first_quiet_s = self._quiet_s = QUIET_S
        self._step = FIRST_STEP
        self._spacing_s, self._spaced = 0.0, 0
        self._departed = self._doubts = 0
        self._is_by_chance = False

    @property
    def is_learnt(self) -> bool:
        """Whether anything holds requests back."""
        return not math.isinf(self.per_s)

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
        self._departed += 1
        if was_held:
            self._may_grow(now)

    def spread(self, requests: int, over_s: float) -> None:
        """Let the next `requests` leave spread over at least `over_s` seconds."""
        self._spaced = requests
        self._spacing_s = over_s / max(requests, 1)

    def rejected(
        self, now: float, *, accepted: int, told_s: float = 0.0, is_sure: bool = True
    ) -> None:
        """Slow down; to be called once for all that left before the last cut.

        Args:
            now: the moment.
            accepted: requests that left in the last `WINDOW_S` before the rejected
                one did, and were not rejected.
            told_s: how long the service closed for all.
            is_sure: it is not by chance; otherwise it counts less, and a pace that does
                not make rejections rarer is given up.
        """
        quiet_s = min(max(told_s * QUIET_TIMES, QUIET_S), MAX_QUIET_S)
        if not self.is_learnt:
            if not is_sure and self._is_by_chance:
                return
            self._doubts = 0 if is_sure else TENTATIVE
            self._first_quiet_s = quiet_s
            self.per_s = max(accepted, 1) / WINDOW_S * SHARE
        elif self._is_in_vain(is_sure):
            self.per_s = math.inf
        else:
            self._first_quiet_s = self._quieter_s(quiet_s)
            self._ceiling = self.per_s
            self.per_s = max(self._slower(now), SLOWEST)
        self._is_by_chance = not self.is_learnt
        self._proven *= 0 if is_sure else TRIM
        self._departed = 0
        self._step, self._quiet_s = FIRST_STEP, self._first_quiet_s
        self._changed_at = self._rejected_at = now

    def _is_in_vain(self, is_sure: bool) -> bool:
        """Return whether rejections go on as before, however slow it is."""
        if is_sure or self._departed >= LONG:
            self._doubts = 0
        elif self._step == FIRST_STEP:  # else it may be that it grew too far
            self._doubts += 1
        return self._doubts >= IN_VAIN

    def _quieter_s(self, quiet_s: float) -> float:
        """Return how long it is not to grow: longer where the ceiling is the same."""
        is_same = self.per_s / CONFIRMED <= self._ceiling <= self.per_s * CONFIRMED
        longer_s = min(self._first_quiet_s * 2, MAX_QUIET_S)
        return max(longer_s, quiet_s) if is_same else quiet_s

    def _slower(self, now: float) -> float:
        if self._proven:
            return self._proven  # where it went well, before it grew too far
        is_lately = now - self._changed_at < MIN_QUIET_S
        return self.per_s * (CUT if is_lately else TRIM)

    def _may_grow(self, now: float) -> None:
        if now - self._rejected_at >= FORGET_S or self.per_s >= FASTEST:
            self.per_s = math.inf
        elif now - self._changed_at >= self._quiet_s:
            self._proven = self.per_s
            self.per_s *= 1 + self._step
            self._step = min(self._step * STEP_GROWTH, MAX_STEP)
            self._quiet_s = max(self._quiet_s * HASTE, MIN_QUIET_S)
            self._changed_at = now
