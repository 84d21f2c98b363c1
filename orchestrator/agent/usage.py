"""What earlier processes used of money, tokens and time: folds over the log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
    RunResumed,
    SubagentAsked,
    SubagentEnded,
    WorkTime,
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
    tokens = data.get("reserved_tokens")
    if tokens is None:
        tokens = data["estimated_tokens"] + data["max_output_tokens"]
    return Amount(data["reserved_usd"] or 0.0, tokens)


def _used(event: Event, reserved: Amount) -> Amount:
    usage = Usage.stored(event.data["usage"])
    if not usage.known:
        return reserved
    if (tokens := event.data.get("counted_tokens")) is not None:
        return Amount(event.data.get("counted_usd") or 0.0, tokens)
    return Amount(event.data["usd"] or 0.0, usage.limited_tokens)


@dataclass(slots=True)
class Worked:
    """Seconds at work of the run and of each agent, without those between processes.

    Attributes:
        run: of the run.
        seconds: agent → seconds in spans that are over.
        began: agent that has not delivered → the run's seconds when the span began that
            is still open, or None.
    """

    run: WorkTime = field(default_factory=WorkTime)
    seconds: dict[str, float] = field(default_factory=dict)
    began: dict[str, float | None] = field(default_factory=dict)

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        self.run.apply(event)
        if event.kind == RunResumed.KIND:
            # Also those that had ended: an agent may be given more to do.
            for who in self.began:
                self._open(who)
        elif event.kind in (AgentStarted.KIND, SubagentAsked.KIND):
            self._open(event.agent)
        elif event.kind == AgentEnded.KIND:
            self._close(event.agent)
        elif event.kind == SubagentEnded.KIND:
            self._close(event.data["id"])
            self.began.pop(event.data["id"])

    def of(self, agent: str = RUN) -> float:
        """Return the seconds of one agent, or of the run."""
        if agent == RUN:
            return self.run.seconds
        began = self.began.get(agent)
        open_s = 0.0 if began is None else max(self.run.seconds - began, 0.0)
        return self.seconds.get(agent, 0.0) + open_s

    def _open(self, agent: str) -> None:
        if self.began.get(agent) is None:
            self.began[agent] = self.run.seconds

    def _close(self, agent: str) -> None:
        self.seconds[agent], self.began[agent] = self.of(agent), None
