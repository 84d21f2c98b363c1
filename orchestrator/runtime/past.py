"""A run of earlier processes, as its log tells it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.agent.parking import Asked
from orchestrator.events import (
    Event,
    ModelAdapted,
    RunEnded,
    RunParked,
    RunReopened,
    RunResumed,
    RunStarted,
    parse,
)
from orchestrator.events.base import moment
from orchestrator.ids import LEAD
from orchestrator.runtime.history import History
from orchestrator.runtime.prepare import Prepared
from orchestrator.store.layout import RunFolder

__all__ = ["Past", "parked_until", "state_of"]

MAX_PARKED = 2
"""So often one request of a subagent may park a run that others have no share in."""


@dataclass(frozen=True, slots=True)
class Past:
    """A run that is to go on.

    Attributes:
        folder: its folder.
        prepared: its task and what that names, limits changed as asked for.
        started: how it began; None if it died before that, or the record is damaged.
        history: all of its log, folded.
        events: those about the run as a whole.
        overrides: the limits that change.
        state: in which it ended.
        question: a further question to it, or "".
        notices: for the user, a line each.
    """

    folder: RunFolder
    prepared: Prepared
    started: RunStarted | None
    history: History
    events: Sequence[Event]
    overrides: Mapping[str, str]
    state: str
    question: str = ""
    notices: tuple[str, ...] = ()

    @property
    def facts(self) -> str:
        """Return what its agents were told of the workspace, or ""."""
        return self.started.facts if self.started else ""

    @property
    def adapted(self) -> list[ModelAdapted]:
        """Return what its agents found the endpoint to lack."""
        return [
            parse(event, ModelAdapted)
            for event in self.events
            if event.kind == ModelAdapted.KIND
        ]

    @property
    def was_answered(self) -> bool:
        """Return whether a model has answered it."""
        return self.history.totals.calls > 0

    @property
    def hopeless(self) -> set[Asked]:
        """Return the requests of subagents that have parked it `MAX_PARKED` times.

        The lead's are not among them: without it there is no run to go on with. A quota
        that is used up is no request's own fault.
        """
        parked = [
            parse(event, RunParked)
            for event in self.events
            if event.kind == RunParked.KIND
        ]
        met = Counter(
            Asked(each.by, each.turn) for each in parked if each.error == "transient"
        )
        return {
            asked
            for asked, times in met.items()
            if times >= MAX_PARKED and asked.agent not in ("", LEAD)
        }

    @property
    def has_report(self) -> bool:
        """Return whether it has a report by now."""
        return self.folder.report.exists()

    @property
    def reopened(self) -> RunReopened | None:
        """Return what the lead was told last where it had ended, if it was."""
        told = [event for event in self.events if event.kind == RunReopened.KIND]
        return parse(told[-1], RunReopened) if told else None


def parked_until(events: Sequence[Event], now: datetime) -> datetime | None:
    """Return until when a run is parked, if that is later than `now`, or None."""
    ended = [event for event in events if event.kind == RunEnded.KIND]
    if state_of(events) != "parked":
        return None
    at = moment(parse(ended[-1], RunEnded).resume_at)
    return at if at is not None and at > now else None


def state_of(events: Sequence[Event]) -> str:
    """Return the state that a log ends in."""
    state = "running"
    for event in events:
        if event.kind == RunEnded.KIND:
            state = event.data["state"]
        elif event.kind in (RunResumed.KIND, RunReopened.KIND):
            state = "running"
    return state
