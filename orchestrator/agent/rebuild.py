"""An agent as earlier processes left it, rebuilt from its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.build import Services, head_of, new_state
from orchestrator.agent.damage import RequestProof, is_at_work
from orchestrator.agent.replay import Remake, Replay, no_remake
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.usage import spent_in
from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    Event,
    FindingsSubmitted,
    ModelRequested,
    ReportSubmitted,
    RunReopened,
    SubagentAsked,
    ToolEnded,
    parse,
)
from orchestrator.tools.executor import TERMINAL

__all__ = [
    "NOT_BEGUN",
    "AgentPast",
    "AgentRecords",
    "Rebuilt",
    "agent_past",
    "rebuild",
    "rebuild_headless",
]


@dataclass(frozen=True, slots=True)
class AgentRecords:
    """What the log holds of one agent.

    Attributes:
        events: its own, oldest first, with full data.
        seconds: it was at work.
        lost: records of the log that are. What is rebuilt is proved against the log
            then, and thinking that is bound to what is lost is taken out.
        remake: id of a call whose result is lost → that result made again.
        below: what subagents of its own, and theirs, used.
    """

    events: Sequence[Event]
    seconds: float = 0.0
    lost: int = 0
    remake: Remake = no_remake
    below: Amount = NOTHING


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """An agent that goes on.

    Attributes:
        spec: what it started with.
        state: how far it is.
        is_over: its loop had ended.
        cancelled: why it was cancelled, where that is how its loop had ended.
    """

    spec: AgentSpec
    state: AgentState
    is_over: bool = False
    cancelled: str = ""


@dataclass(frozen=True, slots=True)
class AgentPast:
    """What earlier processes did with an agent.

    Attributes:
        rebuilt: the agent as they left it; None if nothing is known of its start.
        returned: hand-ins that were sent back to it, and it was told; oldest first,
            as they stand in the log.
        accepted: the newest hand-in that was taken, as it stands in the log.
        headless: what the log holds, if only the start is lost: the agent goes on with
            that, and the spec that it would have started with.
    """

    rebuilt: Rebuilt | None = None
    returned: tuple[dict[str, Any], ...] = ()
    accepted: Mapping[str, Any] = field(default_factory=dict)
    headless: AgentRecords | None = None

    @property
    def is_handed_in(self) -> bool:
        """Return whether a hand-in of its newest message was accepted."""
        return self.rebuilt is not None and self.rebuilt.state.is_handed_in

    @property
    def is_over(self) -> bool:
        """Return whether its loop had ended."""
        return self.rebuilt is not None and self.rebuilt.is_over

    @property
    def cancelled(self) -> str:
        """Return why it was cancelled, if that is how its loop had ended."""
        return self.rebuilt.cancelled if self.rebuilt is not None else ""


NOT_BEGUN = AgentPast()


def agent_past(services: Services, agent: str, records: AgentRecords) -> AgentPast:
    """Return the past of an agent; arguments as for `rebuild`."""
    rebuilt = rebuild(services, agent, records)
    is_headless = rebuilt is None and is_at_work(records.events)
    return AgentPast(
        rebuilt,
        tuple(_returned(records.events)),
        _accepted(records.events),
        records if is_headless else None,
    )


def rebuild(services: Services, agent: str, records: AgentRecords) -> Rebuilt | None:
    """Return an agent as its log left it, or None if the log has no start of it.

    Replies are judged again, so that streaks and output bound are what they were.
    Calls without an outcome stay open; those with effects are not run again.

    Args:
        services: of the live run.
        agent: its id.
        records: what the log holds of it.
    """
    for event in records.events:
        if event.kind == AgentStarted.KIND:
            spec = AgentSpec.from_event(agent, parse(event, AgentStarted))
            return _rebuilt(services, spec, records)
    return None


def rebuild_headless(
    services: Services, spec: AgentSpec, records: AgentRecords
) -> Rebuilt:
    """Return an agent whose start is lost, as if it had started with `spec`.

    The caller logs that start.
    """
    return _rebuilt(services, spec, replace(records, lost=max(records.lost, 1)))


def _rebuilt(services: Services, spec: AgentSpec, records: AgentRecords) -> Rebuilt:
    events = records.events
    state = new_state(services, spec)
    state.spent = spent_in(_since_asked(events)) + records.below
    state.carried_s = records.seconds
    replay = Replay.of(spec, state, events)
    if records.lost:
        replay.remake = records.remake
        heads = partial(head_of, services, spec)
        replay.proof = RequestProof.of(heads, events, records.lost)
        replay.may_have_begun = frozenset(
            tool.name for tool in services.base_tools if tool.effects == "effects"
        )
    for event in events:
        replay.apply(event)
    replay.close()
    life = (AgentEnded.KIND, ModelRequested.KIND, SubagentAsked.KIND)
    newest = next((each for each in reversed(events) if each.kind in life), None)
    if newest is None or newest.kind != AgentEnded.KIND:
        return Rebuilt(spec, state)
    ended = parse(newest, AgentEnded)
    cancelled = ended.reason if ended.outcome == "cancelled" else ""
    return Rebuilt(spec, state, is_over=True, cancelled=cancelled)


def _since_asked(events: Sequence[Event]) -> Sequence[Event]:
    """Return the events since the newest further question: it has limits of its own."""
    for place in range(len(events) - 1, -1, -1):
        if events[place].kind == SubagentAsked.KIND:
            return events[place:]
    return events


def _accepted(events: Sequence[Event]) -> dict[str, Any]:
    """Return the newest hand-in that was taken, or nothing."""
    for event in reversed(events):
        if event.kind in (ReportSubmitted.KIND, FindingsSubmitted.KIND):
            return event.data if event.data["accepted"] else {}
    return {}


def _returned(events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return the hand-ins that an agent was told are sent back, since it was reopened.

    One that was sent back, but died with its process, is checked again.
    """
    returned: list[dict[str, Any]] = []
    newest: dict[str, Any] | None = None
    for event in events:
        if event.kind in (ReportSubmitted.KIND, FindingsSubmitted.KIND):
            newest = None if event.data["accepted"] else event.data
        elif event.kind == ToolEnded.KIND and event.data["name"] in TERMINAL:
            returned += [newest] if newest else []
            newest = None
        elif event.kind in (RunReopened.KIND, SubagentAsked.KIND):
            returned, newest = [], None
    return returned
