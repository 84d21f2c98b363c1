"""What a run came to: its state, and the exit status that goes with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from orchestrator.runtime.totals import Totals

__all__ = ["EXIT_CODES", "RunResult", "State"]

State = Literal["done", "failed", "partial", "parked", "interrupted", "paused"]

EXIT_CODES: dict[State, int] = {
    "done": 0,
    "failed": 1,
    "partial": 3,
    "parked": 75,
    "interrupted": 130,
    "paused": 130,  # what it comes to if its process ends there
}
BUG = 70
"""Exit status of a run that failed by a fault of this program."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that is over, or stopped for now.

    Attributes:
        id: the run's id.
        folder: its folder.
        state: `done`, `partial` (there is a report; `missing` says what it lacks),
            `failed`, `parked` (the service takes no requests for now: its quota is used
            up, the key refused, the endpoint down) or `interrupted`; the last two are
            resumable. So is `paused`, which a process waits in unless it is told to
            let go then.
        exit_code: what the command line exits with.
        reason: why the state is not `done`, in one line.
        missing: what was asked for and is not there, a line each.
        report: Markdown, or "" if there is none.
        result: `finish.result`, where the task asks for JSON.
        totals: tokens by class and dollars (None if a price is unknown).
        seconds: at work.
        resume_at: when a parked run can go on, in UTC; None: nobody knows.
    """

    id: str
    folder: Path
    state: State
    exit_code: int
    reason: str = ""
    missing: list[str] = field(default_factory=list)
    report: str = ""
    result: Any = None
    totals: Totals = field(default_factory=Totals)
    seconds: float = 0.0
    resume_at: datetime | None = None
