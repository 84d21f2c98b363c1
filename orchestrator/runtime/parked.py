"""Bringing a run that is parked or paused to rest, and saying when it can go on."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

import anyio

from orchestrator.agent.parking import Parking
from orchestrator.errors import ModelError, StoreError
from orchestrator.events import AgentEnded, Event, RunParked, ToolEnded, ToolStarted
from orchestrator.runtime.session import Session
from orchestrator.spec.profiles import DELEGATION

__all__ = [
    "Parked",
    "Paused",
    "Underway",
    "all_is_in",
    "goes_on_at",
    "let_come_in",
    "stamp",
    "when",
]

MAX_GRACE_S = 120.0
"""Longest wait for answers that are under way: they are paid for."""
QUIET_S = 0.2
"""With nothing under way and no event for so long, all that came in is on record."""
MAX_AHEAD: Final = timedelta(days=366)
"""A time to go on that is later than that is none."""

# Anthropic's words, November 2026: "You will regain access on 2026-12-01 at 00:00 UTC."
_DATE: Final = re.compile(r"\b(\d{4}-\d\d-\d\d)(?:(?: at |T| )(\d\d:\d\d))?")

# What is to be told of an error, and what `resume` needs where no time is known.
_WORDS: Final = {
    "quota_exhausted": ("the quota is used up", "once there is some again"),
    "auth": ("the key is refused", "with a key that is good"),
    "rate_limited": ("the endpoint lets nothing through", "later"),
    "overloaded": ("the endpoint is overloaded", "later"),
}
_DOWN: Final = ("the endpoint is down", "once it answers")


@dataclass(frozen=True, slots=True)
class Parked:
    """Why nothing more is sent for a run.

    Attributes:
        reason: what the endpoint said and with what `resume` goes on, in one line.
        resume_at: when to go on, in UTC; None: nobody knows.
    """

    reason: str
    resume_at: datetime | None = None

    @classmethod
    def by(cls, error: ModelError, now: datetime, *, handle: str) -> Parked:
        """Return what `error` means for a run.

        Args:
            error: that parked it.
            now: time of day when it was heard.
            handle: what commands call the run.
        """
        what, need = _WORDS.get(error.kind, _DOWN)
        at = goes_on_at(error, now)
        then = f"from {when(at)} on" if at else need
        said = error.message.rstrip(". ")
        return cls(f"{what}: {said}; {then}, `orchestrate resume {handle}` goes on", at)


@dataclass(frozen=True, slots=True)
class Paused:
    """A person lets nothing more be sent for a run.

    Attributes:
        reason: with what it goes on, in one line.
    """

    reason: str

    @classmethod
    def of(cls, handle: str) -> Paused:
        """Return it for the run that commands call `handle`."""
        return cls(f"a person paused it; `orchestrate resume {handle}` goes on")


def when(at: datetime) -> str:
    """Return a time to the minute, never too early a one."""
    return f"{at.astimezone(UTC) + timedelta(seconds=59):%Y-%m-%d %H:%M} UTC"


def stamp(at: datetime | None) -> str:
    """Return a time as events hold it; "" for none."""
    return at.isoformat(timespec="seconds") if at else ""


def goes_on_at(error: ModelError, now: datetime) -> datetime | None:
    """Return when requests are answered again as `error` says, or None.

    Args:
        error: of the endpoint; the later one of two times counts.
        now: time of day.
    """
    found: list[datetime] = []
    if error.retry_after_s is not None:  # it may be of any size
        seconds = min(error.retry_after_s, 2 * MAX_AHEAD.total_seconds())
        found.append(now + timedelta(seconds=seconds))
    if error.kind == "quota_exhausted":
        for day, clock in _DATE.findall(error.message):
            with suppress(ValueError):  # such as the 30th of February
                found.append(datetime.fromisoformat(f"{day}T{clock or '00:00'}+00:00"))
    return max((at for at in found if now < at <= now + MAX_AHEAD), default=None)


@dataclass(slots=True)
class Underway:
    """What is at work in a run besides its model calls; fed with all of its events."""

    events: int = 0
    calls: dict[str, set[str]] = field(default_factory=dict)
    """Agent → its tool calls, but for those that wait for subagents."""

    def apply(self, event: Event) -> None:
        """Take in one event."""
        self.events += 1
        if event.kind == ToolStarted.KIND:
            if event.data["name"] not in DELEGATION:
                self.calls.setdefault(event.agent, set()).add(event.data["call"])
        elif event.kind == ToolEnded.KIND:
            self.calls.get(event.agent, set()).discard(event.data["call"])
        elif event.kind == AgentEnded.KIND:
            self.calls.pop(event.agent, None)

    @property
    def has_calls(self) -> bool:
        """Return whether a tool call runs."""
        return any(self.calls.values())


async def let_come_in(
    session: Session, underway: Underway, then: Callable[[], object]
) -> None:
    """Wait until the gate is closed, and until what is under way has come in.

    Nobody waits for a parked run, so that its process soon lets go. For a paused one
    somebody does: all that is under way has the time that a call may take.

    Args:
        session: the live run.
        underway: fed with its events.
        then: called at the end.
    """
    parking, call_s = session.services.parking, session.prepared.task.limits.call_s
    error = await parking.closed()
    if error is not None:
        await _take_note(session, error)
    with anyio.move_on_after(call_s if error is None else min(MAX_GRACE_S, call_s)):
        await all_is_in(parking, underway)
    then()


async def _take_note(session: Session, error: ModelError) -> None:
    """Write down that the run is being parked."""
    parking, log = session.services.parking, session.log
    parking.noticed_at = session.services.clock.now()
    at = goes_on_at(error, parking.noticed_at)
    parked = RunParked(
        error=error.kind,
        message=error.message,
        detail=error.detail,
        resume_at=stamp(at),
        under_way=parking.under_way,
        by=parking.asked.agent,
        turn=parking.asked.turn,
    )
    with suppress(StoreError):  # whoever writes the end will meet it
        log.append(parked, cause=parking.cause)
        await log.sync()


async def all_is_in(
    parking: Parking, underway: Underway, *, quiet_s: float = QUIET_S
) -> None:
    """Wait until nothing is under way any more, and what came in is on record.

    Args:
        parking: of the run.
        underway: fed with its events.
        quiet_s: how long there must be no event, in seconds.
    """
    before = -1
    while parking.under_way or underway.has_calls or underway.events != before:
        before = underway.events
        await anyio.sleep(quiet_s)
