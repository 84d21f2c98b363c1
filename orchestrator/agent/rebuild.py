"""An agent's state, rebuilt from the events of earlier processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.agent.build import Services, new_state
from orchestrator.agent.damage import Witnesses, is_headless, times_sent_back
from orchestrator.agent.loop import barred_calls, output_ceiling
from orchestrator.agent.notes import NOTED
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import judge
from orchestrator.agent.usage import spent_in
from orchestrator.errors import LimitReached
from orchestrator.events import (
    AgentEnded,
    AgentStarted,
    Event,
    FindingsSubmitted,
    LimitReachedEvent,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    NotesUpdated,
    ReportSubmitted,
    ResultReplaced,
    RunReopened,
    TextAdded,
    ThinkingDropped,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.messages import clean_text
from orchestrator.models.base import Reply, Usage
from orchestrator.store.transcript import LOST
from orchestrator.tools.calls import Answered, Barred, CallResult, Known, OnRecord
from orchestrator.tools.executor import TERMINAL
from orchestrator.tools.grace import UNKNOWN
from orchestrator.tools.notes import UpdateNotes

__all__ = ["NOT_BEGUN", "Again", "Left", "Resumed", "leave", "rebuild"]

Again = Callable[[str], str]
_HAND_INS = (ReportSubmitted.KIND, FindingsSubmitted.KIND)


@dataclass(frozen=True, slots=True)
class Resumed:
    """An agent of an earlier process: what it started with, and how far it is.

    Attributes:
        spec: what it started with.
        state: how far it is.
        returned: hand-ins that were sent back to it.
        is_over: its loop had ended.
    """

    spec: AgentSpec
    state: AgentState
    returned: int = 0
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Left:
    """Where earlier processes left an agent.

    Attributes:
        resumed: its state; None if it has not started.
        told: hand-ins that were sent back to it, and it was told.
        returned: the findings among them, oldest first.
        headless: its start is lost, but not its work: goes on with that, and the spec
            that it would have started with.
    """

    resumed: Resumed | None = None
    told: int = 0
    returned: tuple[dict[str, Any], ...] = ()
    headless: Callable[[AgentSpec], Resumed] | None = None


NOT_BEGUN = Left()


def leave(
    services: Services,
    agent: str,
    events: Sequence[Event],
    *,
    seconds: float,
    lost: int = 0,
    again: Again = lambda _call: "",
) -> Left:
    """Return where the log leaves an agent; arguments as for `rebuild`."""
    resumed = rebuild(services, agent, events, seconds=seconds, lost=lost, again=again)
    told = resumed.returned if resumed else 0

    def headless(spec: AgentSpec) -> Resumed:
        services.log.append(spec.started(), agent=agent)
        return _replayed(services, spec, events, seconds, max(lost, 1), again)

    is_lost = resumed is None and is_headless(events)
    if is_lost:
        told = times_sent_back(events, TERMINAL)
    returned = [
        event.data["findings"]
        for event in events
        if event.kind == FindingsSubmitted.KIND and not event.data["accepted"]
    ]
    rest = headless if is_lost else None
    return Left(resumed, told, tuple(returned[:told]), rest)


def rebuild(
    services: Services,
    agent: str,
    events: Sequence[Event],
    *,
    seconds: float = 0.0,
    lost: int = 0,
    again: Again = lambda _call: "",
) -> Resumed | None:
    """Return an agent as its log left it, or None if it has not started.

    Replies are judged again, so that streaks and output bound are what they were.
    Calls without an outcome stay open; those with effects are not run again.

    Args:
        services: of the live run.
        agent: its id.
        events: of this agent, oldest first, with full data.
        seconds: it was at work.
        lost: records of the log that are. What is rebuilt is proved against the log
            then, and thinking that is bound to what is lost is taken out.
        again: id of a call whose result is lost → that result made again, or "".
    """
    started = next((event for event in events if event.kind == AgentStarted.KIND), None)
    if started is None:
        return None
    spec = AgentSpec.from_event(agent, parse(started, AgentStarted))
    return _replayed(services, spec, events, seconds, lost, again)


def _replayed(
    services: Services,
    spec: AgentSpec,
    events: Sequence[Event],
    seconds: float,
    lost: int,
    again: Again,
) -> Resumed:
    state = new_state(services, spec)
    state.spent, state.carried_s = spent_in(events), seconds
    replaced = [
        parse(event, ResultReplaced)
        for event in events
        if event.kind == ResultReplaced.KIND
    ]
    replay = _Replay(spec, state, {each.call: each for each in replaced})
    if lost:
        replay.again = again
        replay.witnesses = Witnesses.of(services, spec, events, lost)
    for event in events:
        replay.apply(event)
    replay.close()
    life = (AgentEnded.KIND, ModelRequested.KIND)
    is_over = [e.kind for e in events if e.kind in life][-1:] == [AgentEnded.KIND]
    return Resumed(spec, state, replay.returned, is_over)


@dataclass(slots=True)
class _Replay:
    """Follows the events of one agent and brings its state along."""

    spec: AgentSpec
    state: AgentState
    replaced: dict[str, ResultReplaced]
    """What earlier processes sent in place of lost results, by call."""
    returned: int = 0
    again: Again = lambda _call: ""
    witnesses: Witnesses | None = None
    """Of a damaged log."""
    _begun: set[str] = field(default_factory=set)
    """Calls with effects that were started."""
    _sent_back: bool = False
    """A hand-in was sent back, but its agent was not told yet."""
    _end_before: int | None = None
    """What `previous_end` was before the request that has no outcome."""
    _under_way: bool = False
    _turn: int = 0
    """Of the newest request."""
    _recovered: int = 0
    """`seq` of the newest reply that is lost and of which calls are known."""

    def apply(self, event: Event) -> None:
        handler = _HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event)

    def close(self) -> None:
        """Mark what must not run again, and what will be sent again."""
        state = self.state
        if self._under_way:
            # The same request leaves once more, marks included.
            state.previous_end = self._end_before
        calls = {call["id"]: call["name"] for call in state.transcript.open_calls}
        state.prior = {
            call: each for call, each in state.prior.items() if call in calls
        }
        for call in state.waiting & self._begun:
            state.prior[call] = Barred(UNKNOWN)
        if self.witnesses:
            # That a call with effects began may be what is lost.
            for call in state.waiting:
                if calls[call] in self.witnesses.effects:
                    state.prior.setdefault(call, Barred(UNKNOWN))
        if self.witnesses:
            self.witnesses.settle(state)

    def requested(self, event: Event) -> None:
        state = self.state
        if self.witnesses and self.witnesses.is_void(event, state):
            return
        self._settle()
        if self._under_way and not (state.pending_results or state.pending_texts):
            state.previous_end = self._end_before  # the same once more
        state.flush()
        if self.witnesses:
            ends = (state.previous_end, self._end_before)
            self.witnesses.compare(event, state, ends=ends)
        self._turn = event.data["turn"]
        self._sent()

    def _sent(self) -> None:
        state = self.state
        self._end_before, self._under_way = state.previous_end, True
        state.previous_end = len(state.transcript) - 1

    def failed(self, _event: Event) -> None:
        self._under_way = False

    def answered(self, event: Event) -> None:
        state, answered = self.state, parse(event, ModelAnswered)
        self._settle()
        state.flush()
        if not self._under_way:  # its request is lost
            self._sent()
        self._under_way = False
        state.turns = answered.turn  # one without an answer is made again
        reply = Reply(
            content=answered.content,
            stop_reason=answered.stop_reason,
            usage=Usage(**answered.usage),
            cut_calls=frozenset(answered.cut_calls),
            broken_calls=answered.broken_calls,
            stop_details=answered.stop_details,
        )
        state.last_answered = state.reached is not None
        if not state.last_answered:
            verdict, state.streaks = judge(reply, state.streaks)
            state.due = verdict.say
            state.ending = verdict if verdict.end else None
            if verdict.more_output:
                state.raise_output(output_ceiling(self.spec))
        if answered.kept:
            state.take_reply(answered.content, reply.usage)
            state.prior = dict(barred_calls(reply))

    def tool_started(self, event: Event) -> None:
        if event.data["call"] not in self.state.transcript.call_ids:
            self._recover(event)
        if event.data["effects"] == "effects":
            self._begun.add(event.data["call"])

    def _recover(self, event: Event) -> None:
        """Put a call where its reply would be, which is lost.

        So its result is of use, and what it began is not begun anew.
        """
        state, data = self.state, event.data
        if event.cause != self._recovered:
            self._settle()
            state.flush()
            if not self._under_way:
                self._sent()
            self._under_way, self._recovered = False, event.cause
            state.turns = max(state.turns, self._turn)
            state.last_answered = state.reached is not None
            state.due, state.ending = "", None
        block = {"type": "tool_use", "id": data["call"], "name": data["name"]}
        state.take_reply([{**block, "input": data["input"]}], Usage(known=False))

    def thinking_dropped(self, _event: Event) -> None:
        self.state.transcript.drop_thinking()

    def tool_ended(self, event: Event) -> None:
        ended, prior = parse(event, ToolEnded), self.state.prior
        if ended.name == self.spec.hand_in:
            self.returned += self._sent_back
            self._sent_back = False
        # The first outcome counts; an accepted hand-in may have been answered anew.
        if not isinstance(prior.get(ended.call), Answered):
            form = OnRecord if ended.ends else Answered
            prior[ended.call] = form(_result(ended))

    def noted(self, event: Event) -> None:
        """Take a note as done: an append must not be made again."""
        state, section, text = self.state, event.data["section"], event.data["text"]
        for call in state.transcript.open_calls:
            is_note = call["name"] == UpdateNotes.name
            is_new = is_note and call["id"] not in state.prior
            if is_new and clean_text(str(call["input"].get("text", ""))) == text:
                state.prior[call["id"]] = Known(NOTED.format(section=section))
                return

    def handed_in(self, event: Event) -> None:
        self._sent_back = not event.data["accepted"]

    def text_added(self, event: Event) -> None:
        self.state.pending_texts.append(event.data["text"])
        self.state.due = ""
        self.state.last_told = self.state.reached is not None

    def limit_reached(self, event: Event) -> None:
        data = event.data
        self.state.reached = LimitReached(data["limit"], data["used"], data["allowed"])

    def reopened(self, event: Event) -> None:
        """Take the last hand-in as answered: there is more to do."""
        state = self.state
        self._settle()
        state.reopen()
        state.pending_texts.append(event.data["text"])
        self.returned, self._sent_back = 0, False

    def _settle(self) -> None:
        """Put the results of the last step into the message that was sent."""
        state = self.state
        results = [
            self._sent_for(call["id"], call["name"])
            for call in state.transcript.open_calls
        ]
        state.pending_results, state.prior = results, {}
        if any(each.name == self.spec.hand_in for each in results):
            failed = state.streaks.hand_ins + 1
            state.streaks = replace(state.streaks, hand_ins=failed)

    def _sent_for(self, call: str, name: str) -> CallResult:
        """Return the result that was sent for a call, or is from now on."""
        prior = self.state.prior.get(call)
        if isinstance(prior, Answered | OnRecord):
            return prior.result
        known = self.replaced.get(call)
        if known is None:
            made = self.again(call)
            known = ResultReplaced(call, made or LOST, is_error=not made)
            self.state.edits.append(known)
        return CallResult(
            call,
            name,
            known.content,
            is_error=known.is_error,
            tokens=self.state.count(known.content),
        )


def _result(ended: ToolEnded) -> CallResult:
    return CallResult(
        call=ended.call,
        name=ended.name,
        content=ended.content,
        is_error=ended.is_error,
        ends=ended.ends,
        tokens=ended.tokens,
    )


_HANDLERS: dict[str, Callable[[_Replay, Event], None]] = {
    ModelRequested.KIND: _Replay.requested,
    ModelFailed.KIND: _Replay.failed,
    ModelAnswered.KIND: _Replay.answered,
    ToolStarted.KIND: _Replay.tool_started,
    ToolEnded.KIND: _Replay.tool_ended,
    NotesUpdated.KIND: _Replay.noted,
    TextAdded.KIND: _Replay.text_added,
    ThinkingDropped.KIND: _Replay.thinking_dropped,
    LimitReachedEvent.KIND: _Replay.limit_reached,
    RunReopened.KIND: _Replay.reopened,
    **dict.fromkeys(_HAND_INS, _Replay.handed_in),
}
