"""Parts that the tests of the store share."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.events import ToolStarted
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog

RUN = "20261129-201500-survey-7f3a"


class SteadyClock:
    """A clock that goes on by one millisecond each time it is read."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 29, 20, 15, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def monotonic(self) -> float:
        return self._now.timestamp()

    async def sleep(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


def started(number: int, text: str = "x") -> ToolStarted:
    return ToolStarted(
        call=f"t{number}", name="grep", input={"pattern": text}, effects="reads"
    )


def new_log(folder: Path) -> EventLog:
    (folder / "artifacts").mkdir(parents=True, exist_ok=True)
    return EventLog.create(
        folder / "events.jsonl", RUN, Artifacts(folder / "artifacts"), SteadyClock()
    )


def reopened(folder: Path) -> EventLog:
    return EventLog.reopen(
        folder / "events.jsonl", RUN, Artifacts(folder / "artifacts"), SteadyClock()
    )


@contextmanager
def full_disk(at_bytes: int) -> Iterator[None]:
    """Let no file grow beyond `at_bytes`; the system then behaves as if full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (at_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
