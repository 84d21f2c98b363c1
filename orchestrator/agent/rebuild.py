"""An agent's state, rebuilt from the events of earlier processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.agent.build import Services, new_state
from orchestrator.agent.loop import MAX_OUTPUT_TOKENS, call_problems
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import judge
from orchestrator.events import (
    AgentStarted,
    Event,
    ModelAnswered,
    ModelRequested,
    TextAdded,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.models.base import Reply, Usage
from orchestrator.tools.executor import CallResult

__all__ = ["Resumed", "rebuild"]

UNKNOWN = (
    "Interrupted: the program was stopped while this call was at work, and its outcome "
    "is unknown. Check what it did before you make it again."
)


@dataclass(frozen=True, slots=True)
class Resumed:
    """An agent of an earlier process: what it started with, and how far it is."""

    spec: AgentSpec
    state: AgentState


def rebuild(services: Services, agent: str, events: Iterable[Event]) -> Resumed | None:
    """Return an agent as its log left it, or None if it has not started.

    Replies are judged again, so that streaks and output bound are what they were.
    Calls without an outcome stay open; those with effects are not run again.

    Args:
        services: of the live run.
        agent: its id.
        events: of the whole run, oldest first.
    """
    mine = [event for event in events if event.agent == agent]
    started = next((event for event in mine if event.kind == AgentStarted.KIND), None)
    if started is None:
        return None
    spec = AgentSpec.from_event(agent, parse(started, AgentStarted))
    state = new_state(services, spec)
    _replay(state, mine)
    return Resumed(spec, state)


def _replay(state: AgentState, events: Iterable[Event]) -> None:
    begun: set[str] = set()
    for event in events:
        match event.kind:
            case ModelRequested.KIND:
                _settle(state)
                state.flush()
                state.turns = event.data["turn"]
                state.previous_end = len(state.transcript) - 1
            case ModelAnswered.KIND:
                _answer(state, parse(event, ModelAnswered))
            case ToolStarted.KIND if event.data["effects"] == "effects":
                begun.add(event.data["call"])
            # An accepted hand-in is checked again: its value lives in no log.
            case ToolEnded.KIND if not event.data.get("ends"):
                result = _result(parse(event, ToolEnded))
                state.done_results.setdefault(result.call, result)
            case TextAdded.KIND:
                state.pending_texts.append(event.data["text"])
            case _:
                pass
    _leave_open(state, begun)


def _answer(state: AgentState, answered: ModelAnswered) -> None:
    usage = Usage(**answered.usage)
    reply = Reply(
        content=answered.content,
        stop_reason=answered.stop_reason,
        usage=usage,
        cut_calls=frozenset(answered.cut_calls),
        broken_calls=answered.broken_calls,
        stop_details=answered.stop_details,
    )
    verdict, state.streaks = judge(reply, answered.content, state.streaks)
    if verdict.more_output:
        state.raise_output(MAX_OUTPUT_TOKENS)
    state.problems = {}
    state.done_results = {}
    if answered.kept:
        state.take_reply(answered.content, usage)
        state.problems = call_problems(reply, answered.content)


def _settle(state: AgentState) -> None:
    """Put the results of the last step into the message that was sent."""
    calls = [call["id"] for call in state.transcript.open_calls]
    results = [state.done_results[call] for call in calls if call in state.done_results]
    state.pending_results = results
    state.done_results = {}


def _leave_open(state: AgentState, begun: set[str]) -> None:
    """Mark what must not run again; put finished steps where the loop expects them."""
    calls = [call["id"] for call in state.transcript.open_calls]
    for call in calls:
        if call in begun and call not in state.done_results:
            state.problems[call] = UNKNOWN


def _result(ended: ToolEnded) -> CallResult:
    return CallResult(
        call=ended.call,
        name=ended.name,
        content=ended.content,
        is_error=ended.is_error,
        ends=ended.ends,
        tokens=ended.tokens,
    )
