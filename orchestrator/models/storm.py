"""Requests that left, and what is to be learnt when some of them are rejected."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.errors import ModelError

__all__ = ["Evidence", "Storm", "Try", "accepted_before", "most_that_fit"]

ENOUGH, OUTWEIGHED_BY = 3, 6
"""So many rejections are no chance; so many accepted requests take one of them away.
Below one in seven they may go on for ever."""


@dataclass(slots=True, eq=False)
class Try:
    """One request that has left.

    Attributes:
        number: tries of a lane are counted in the order in which they left.
        left_at: when, in seconds of the clock.
        tokens: its estimated input that no cache holds.
        under_way: requests under way as it left, itself included.
        waited_s: how long it was held back.
        was_held: it would have left earlier, were it not for the pace.
        against: limits of headers by which it could not have left yet.
        is_pending: nothing was heard of it yet, and it may still be.
        was_heard: the service answered to it, whatever it said.
        was_rejected: the service had too much to do, or was asked too often.
        is_weighed: it is in the evidence.
    """

    number: int
    left_at: float
    tokens: int
    under_way: int
    waited_s: float
    was_held: bool
    against: tuple[str, ...] = ()
    is_pending: bool = True
    was_heard: bool = False
    was_rejected: bool = False
    is_weighed: bool = False

    @property
    def was_accepted(self) -> bool:
        """Whether it is known that the service took it."""
        return self.was_heard and not self.was_rejected

    @property
    def seems_accepted(self) -> bool:
        """Whether it was, or is at work: rejections come sooner than answers."""
        return self.was_accepted or (self.is_pending and not self.was_rejected)


@dataclass(slots=True)
class Storm:
    """Rejections of requests that had all left when the first of them came back.

    They are one piece of news, however many they are.

    Attributes:
        error: the first one.
        taken: requests under way at that moment, its own included.
        newest: of those rejected, the one that left last.
        least: requests that were under way when one of them left, at the least.
    """

    error: ModelError
    taken: int
    newest: Try
    least: int

    def add(self, tried: Try) -> None:
        """Take in another one."""
        self.least = min(self.least, tried.under_way)
        if tried.number > self.newest.number:
            self.newest = tried

    def is_for_room(self, fits: int, *, has_pace: bool) -> bool:
        """Return whether it is about what is under way at once, and not about the pace.

        Args:
            fits: most that were under way at once and were all accepted.
            has_pace: a pace is known already.
        """
        # One that was rejected though more fitted before is no matter of room.
        if self.error.kind != "rate_limited" or self.least <= fits:
            return False
        if "concurren" in self.error.message.lower():
            return True
        # A told time is rather for a pace, unless that held nothing back.
        is_untold = self.error.retry_after_s is None
        return has_pace and (is_untold or not self.newest.was_held)


class Evidence:
    """Tells a limit from rejections now and then, whatever the pace.

    A limit that is used up rejects what comes next as well; chance accepts most of it.
    """

    def __init__(self) -> None:
        self._weight = 0.0

    def is_enough(self, left: Iterable[Try]) -> bool:
        """Weigh those of `left` that are known; return whether they show a limit.

        Each is weighed once. Those that never reached the service say nothing of it.

        Args:
            left: in the order in which they left.
        """
        most = 0.0
        for each in left:
            if not each.is_weighed and (each.was_accepted or each.was_rejected):
                each.is_weighed = True
                by = 1 if each.was_rejected else -1 / OUTWEIGHED_BY
                self._weight = min(max(self._weight + by, 0), ENOUGH)
                most = max(most, self._weight)
        return most >= ENOUGH


def most_that_fit(left: Iterable[Try]) -> int:
    """Return the most that were under way when one of `left` left and was accepted."""
    return max((each.under_way for each in left if each.seems_accepted), default=0)


def accepted_before(rejected: Try, left: Iterable[Try], *, seconds: float) -> int:
    """Return how many of `left` left in the `seconds` before, and were accepted."""
    since = rejected.left_at - seconds
    return sum(
        since < each.left_at <= rejected.left_at and each.seems_accepted
        for each in left
    )
