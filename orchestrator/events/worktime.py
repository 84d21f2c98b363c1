"""How long processes were at work on a run, as its events tell it.

Every event carries it (`worked_s`), told by a clock that neither jumps nor counts the
sleep of the machine. Older logs have only times of day: from them it is derived here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime

from orchestrator.events.base import Event
from orchestrator.events.of_run import RunEnded, RunReopened, RunResumed, RunStarted

__all__ = ["WorkTime"]

_FIRST = frozenset((RunStarted.KIND, RunReopened.KIND, RunResumed.KIND))
"""Kinds with which a process begins: nobody was at work on the run just before."""


@dataclass(slots=True)
class WorkTime:
    """Seconds at work of a run, without those between processes.

    Attributes:
        seconds: up to the newest event.
        last: time of day of the newest event, or "".
    """

    seconds: float = 0.0
    last: str = ""

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        if event.worked_s is not None:
            self.seconds = event.worked_s
        elif event.kind not in _FIRST:
            self.seconds = _told(event) or self.seconds + _between(self.last, event.at)
        self.last = event.at or self.last

    def until(self, now: datetime | None) -> float:
        """Return the seconds up to `now`; None: up to the newest event."""
        if now is None:
            return self.seconds
        return self.seconds + _between(self.last, now.isoformat())


def _told(event: Event) -> float:
    """Return what the end of a run says of it, or 0."""
    seconds = event.data.get("seconds") if event.kind == RunEnded.KIND else None
    is_told = isinstance(seconds, int | float) and math.isfinite(seconds)
    return float(seconds) if is_told and seconds else 0.0


def _between(began: str, ended: str) -> float:
    """Return seconds, or 0 where a time is missing or the clock was set back."""
    try:
        span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except (TypeError, ValueError):  # the former: only one of them has a zone
        return 0.0
    return max(span.total_seconds(), 0.0)
