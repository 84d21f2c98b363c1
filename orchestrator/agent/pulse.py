"""Whether a model call gets anywhere: one that makes no progress for long is ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

__all__ = ["Pulse"]

STEPS = 40
"""A deadline is moved at most so often in the time it stands for: moving has a price,
and thousands of beats come with one long answer."""


class Pulse:
    """Ends one model call that makes no progress for too long.

    The time is the event loop's own, as with all limits of waits.

    Attributes:
        stall_s: longest time without progress, in seconds; infinite without a limit.
        on_first: called at the first piece of an answer.
        limit: the scope of the call's time limit, or None.
    """

    def __init__(self, stall_s: float | None = None) -> None:
        """Watch a call for `stall_s` seconds without progress; None: never end it."""
        self.stall_s = float("inf") if stall_s is None else stall_s
        self.on_first: Callable[[], None] | None = None
        self.limit: anyio.CancelScope | None = None
        self._step_s = self.stall_s / STEPS
        self._scope = anyio.CancelScope()
        self._moved = self._newest = anyio.current_time()
        self._idle_s = 0.0

    @property
    def has_stopped(self) -> bool:
        """Return whether the call was ended for want of progress."""
        return self._scope.cancelled_caught

    @property
    def idle_s(self) -> float:
        """Return the seconds without progress, at the end of the call."""
        return self._idle_s

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what is done inside; it is left early where it stalls. For one use."""
        self._wait_until(anyio.current_time())
        with self._scope:
            try:
                yield
            finally:
                idle_s = anyio.current_time() - self._newest
                self._idle_s = round(max(idle_s, 0.0), 3)

    def beat(self) -> None:
        """Take note of progress. Cheap: it is called for each piece of an answer."""
        if self.on_first is not None:
            self.on_first()
            self.on_first = None
        now = self._newest = anyio.current_time()
        # After a wait that was told, `_moved` lies ahead.
        if not 0 <= now - self._moved < self._step_s:
            self._wait_until(now)

    def excuse(self, seconds: float) -> None:
        """Take note of progress, and of a wait after it that is not the call's own."""
        self._newest = anyio.current_time() + seconds
        self._wait_until(self._newest)

    @contextmanager
    def waiting_for_others(self) -> Iterator[None]:
        """Leave out the time inside: it is for others to make progress."""
        self._scope.deadline = float("inf")
        try:
            yield
        finally:
            self._newest = anyio.current_time()
            self._wait_until(self._newest)

    def stand_still(self) -> None:
        """Let no limit of time end the call any more: it waits for a later process."""
        self._scope.deadline = float("inf")
        if self.limit is not None:
            self.limit.deadline = float("inf")

    def _wait_until(self, newest: float) -> None:
        """Let the call go on for `stall_s` after `newest`.

        And for one step more, since a later beat within it may not move this again.
        """
        self._moved = newest
        self._scope.deadline = newest + self.stall_s + self._step_s
