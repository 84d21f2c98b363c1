"""What earlier processes used of money, tokens and time: folds over the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
    RunEnded,
    RunResumed,
    RunStarted,
    SubagentEnded,
)
from orchestrator.models.base import Usage

__all__ = ["Spent", "Worked", "spent_in"]

RUN = ""
"""Stands for the run itself where agents are named."""


@dataclass(slots=True)
class Spent:
    """What the calls of each agent used.

    A call of unknown usage (broken off, or never answered before the process died)
    counts as what was reserved for it.

    Attributes:
        booked: agent → what its calls with an outcome used.
        under_way: agent → what is reserved for its call without an outcome.
    """

    booked: dict[str, Amount] = field(default_factory=dict)
    under_way: dict[str, Amount] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        who = event.agent
        if event.kind == ModelRequested.KIND:
            self._book(who, self.under_way.pop(who, NOTHING))
            self.under_way[who] = _reserved(event)
        elif event.kind == ModelRetried.KIND:
            if event.data.get("begun"):
                self._book(who, self.under_way.get(who, NOTHING))
        elif event.kind == ModelFailed.KIND:
            reserved = self.under_way.pop(who, NOTHING)
            self._book(who, reserved if event.data.get("begun") else NOTHING)
        elif event.kind == ModelAnswered.KIND:
            self._book(who, _used(event, self.under_way.pop(who, NOTHING)))

    def of(self, agent: str) -> Amount:
        """Return what one agent used."""
        return self.booked.get(agent, NOTHING) + self.under_way.get(agent, NOTHING)

    @property
    def total(self) -> Amount:
        """Return what all of them used."""
        return sum(self.under_way.values(), sum(self.booked.values(), NOTHING))

    def _book(self, agent: str, amount: Amount) -> None:
        self.booked[agent] = self.booked.get(agent, NOTHING) + amount


def spent_in(events: Iterable[Event]) -> Amount:
    """Return what the calls in `events` used; see `Spent`."""
    spent = Spent()
    for event in events:
        spent.apply(event)
    return spent.total


def _reserved(event: Event) -> Amount:
    data = event.data
    tokens = data["estimated_tokens"] + data["max_output_tokens"]
    return Amount(data["reserved_usd"] or 0.0, tokens)


def _used(event: Event, reserved: Amount) -> Amount:
    usage = Usage(**event.data["usage"])
    if not usage.known:
        return reserved
    return Amount(event.data["usd"] or 0.0, usage.limited_tokens)


@dataclass(slots=True)
class Worked:
    """Seconds at work of the run and of each agent, without those between processes.

    Attributes:
        seconds: agent, or "" for the run → seconds in spans that are over.
        began: the same → when the span began that is still open, or "".
        last: time of the newest event.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    began: dict[str, str] = field(default_factory=dict)
    last: str = ""

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        if event.kind == RunResumed.KIND:
            # Also those that had ended: an agent may be given more to do.
            for who in (RUN, *self.began):
                self._close(who)
                self.began[who] = event.at
        self.last = event.at or self.last
        if event.kind == RunStarted.KIND:
            self.began[RUN] = event.at
        elif event.kind == RunEnded.KIND:
            self.began[RUN], self.seconds[RUN] = "", event.data["seconds"]
        elif event.kind == AgentStarted.KIND:
            self.began[event.agent] = event.at
        elif event.kind == AgentEnded.KIND:
            self._close(event.agent)
        elif event.kind == SubagentEnded.KIND:
            self.began.pop(event.data["id"], None)

    def of(self, agent: str = RUN) -> float:
        """Return the seconds of one agent, or of the run."""
        carried = self.seconds.get(agent, 0.0)
        return carried + _between(self.began.get(agent, ""), self.last)

    def _close(self, who: str) -> None:
        self.seconds[who], self.began[who] = self.of(who), ""


def _between(began: str, ended: str) -> float:
    """Return seconds, or 0 where a time is missing or the clock was set back."""
    try:
        span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return 0.0
    return max(span.total_seconds(), 0.0)
