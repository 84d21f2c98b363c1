"""What earlier processes used, read from the events of a run."""

from __future__ import annotations

from collections.abc import Iterable
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
)
from orchestrator.models.base import Usage

__all__ = ["run_seconds", "seconds_of", "spent_in"]


def spent_in(events: Iterable[Event]) -> Amount:
    """Return what the calls in `events` used.

    A call of unknown usage (broken off, or never answered before the process died)
    counts as what was reserved for it.
    """
    spent = NOTHING
    under_way: dict[str, Amount] = {}
    for event in events:
        if event.kind == ModelRequested.KIND:
            spent += under_way.pop(event.agent, NOTHING)
            under_way[event.agent] = _reserved(event)
        elif event.kind == ModelRetried.KIND:
            if event.data.get("begun"):
                spent += under_way.get(event.agent, NOTHING)
        elif event.kind == ModelFailed.KIND:
            reserved = under_way.pop(event.agent, NOTHING)
            if event.data.get("begun"):
                spent += reserved
        elif event.kind == ModelAnswered.KIND:
            spent += _used(event, under_way.pop(event.agent, NOTHING))
    return sum(under_way.values(), spent)


def _reserved(event: Event) -> Amount:
    data = event.data
    tokens = data["estimated_tokens"] + data["max_output_tokens"]
    return Amount(data["reserved_usd"] or 0.0, tokens)


def _used(event: Event, reserved: Amount) -> Amount:
    usage = Usage(**event.data["usage"])
    if not usage.known:
        return reserved
    return Amount(event.data["usd"] or 0.0, usage.limited_tokens)


def run_seconds(events: Iterable[Event]) -> float:
    """Return the seconds that a run was at work, without the time between processes."""
    carried = 0.0
    began = last = ""
    for event in events:
        if event.kind == RunResumed.KIND:
            carried += _between(began, last)
        last = event.at or last
        if event.kind in (RunStarted.KIND, RunResumed.KIND):
            began = event.at
        elif event.kind == RunEnded.KIND:
            carried, began = event.data["seconds"], ""
    return carried + _between(began, last)


def seconds_of(agent: str, events: Iterable[Event]) -> float:
    """Return the seconds that an agent was at work, without those between processes.

    Args:
        agent: its id.
        events: of the whole run, in order.
    """
    seconds = 0.0
    began = last = ""
    has_started = False
    for event in events:
        if event.kind == RunResumed.KIND:
            seconds += _between(began, last)
            began = event.at if has_started else ""
        last = event.at or last
        if event.agent != agent:
            continue
        if event.kind == AgentStarted.KIND:
            began, has_started = event.at, True
        elif event.kind == AgentEnded.KIND:
            seconds += _between(began, last)
            began = ""
    return seconds + _between(began, last)


def _between(began: str, ended: str) -> float:
    """Return seconds, or 0 where a time is missing or the clock was set back."""
    try:
        span = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    except ValueError:
        return 0.0
    return max(span.total_seconds(), 0.0)
