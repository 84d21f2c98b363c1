"""The events of one agent, followed one by one: they bring its state along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from orchestrator.agent.barring import barred_calls
from orchestrator.agent.cache_watch import NOT_CACHED, start_of
from orchestrator.agent.damage import RequestProof
from orchestrator.agent.looking_back import PURPOSE as LOOKING_BACK
from orchestrator.agent.notes import NOTED, was_noted
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState, Limited
from orchestrator.agent.stops import judge
from orchestrator.agent.window import (
    learn_from_refusal,
    learn_from_reply,
    output_ceiling,
)
from orchestrator.errors import LimitReached
from orchestrator.events import (
    CacheMissed,
    ContextCleared,
    ContextCompacted,
    Event,
    FileSeen,
    LimitReachedEvent,
    ModelAdapted,
    ModelAnswered,
    ModelFailed,
    ModelReplaced,
    ModelRequested,
    NotesUpdated,
    ResultReplaced,
    RunReopened,
    SubagentAsked,
    TextAdded,
    ThinkingDropped,
    ToolEnded,
    ToolStarted,
    parse,
)
from orchestrator.events.arrivals import arrivals
from orchestrator.events.of_agent import UNKNOWN, Label
from orchestrator.models.base import Reply, Usage
from orchestrator.store.transcript import LOST
from orchestrator.tools.calls import Answered, Barred, CallResult, Known, OnRecord
from orchestrator.tools.notes import UpdateNotes

__all__ = ["Remade", "Remake", "Replay", "no_remake"]

LABELS: Final[dict[str, Label]] = {"critical": "critical", "transient": "transient"}
"""As a log has them; it leaves the usual one out."""


@dataclass(frozen=True, slots=True)
class Remade:
    """A lost result made again, or "", and the deliveries of subagents in it."""

    text: str = ""
    delivers: tuple[str, ...] = ()


Remake = Callable[[str], Remade]


def no_remake(_call: str) -> Remade:
    """Make no lost result again."""
    return Remade()


@dataclass(slots=True)
class Replay:
    """Follows the events of one agent. Then `close` says what must not run again.

    Attributes:
        spec: what the agent started with.
        state: of the fresh agent; it is brought along.
        replaced: what earlier processes sent in place of lost results, by call.
        remake: id of a call whose result is lost → that result made again.
        proof: whether the conversation is what was sent; None: the log is whole.
        may_have_begun: tools whose calls may have begun, though the log has no word
            of it.
    """

    spec: AgentSpec
    state: AgentState
    replaced: dict[str, ResultReplaced]
    remake: Remake = no_remake
    proof: RequestProof | None = None
    may_have_begun: frozenset[str] = frozenset()
    _begun: set[str] = field(default_factory=set)
    """Calls with effects that were started."""
    _turn: int = 0
    """Of the newest request."""
    _was_futile: bool = False
    """A summary was asked for, and nothing has come of it."""
    _recovered: int = 0
    """`seq` of the newest reply that is lost and of which calls are known."""

    @classmethod
    def of(cls, spec: AgentSpec, state: AgentState, events: Sequence[Event]) -> Replay:
        """Return the replay that `events` are to be applied to."""
        replaced = [
            parse(event, ResultReplaced)
            for event in events
            if event.kind == ResultReplaced.KIND
        ]
        return cls(spec, state, {each.call: each for each in replaced})

    def apply(self, event: Event) -> None:
        """Take over one event; they come in the order of the log."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event)

    def close(self) -> None:
        """Mark what must not run again, and what will be sent again."""
        state = self.state
        calls = {call["id"]: call["name"] for call in state.transcript.open_calls}
        state.prior = {
            call: each for call, each in state.prior.items() if call in calls
        }
        for call in state.waiting:
            if call in self._begun:
                state.prior[call] = Barred(UNKNOWN)
            elif calls[call] in self.may_have_begun:
                state.prior.setdefault(call, Barred(UNKNOWN))
        if self.proof:
            self.proof.drop_unproven(state)
        state.cache.is_resumed = True

    def _requested(self, event: Event) -> None:
        state = self.state
        if purpose := event.data.get("purpose"):
            if purpose == LOOKING_BACK:  # its work is over: a hand-in stays taken
                return
            self._receive()
            self._was_futile = purpose == "summary"
            return
        if self.proof and self.proof.is_void(event, state):
            return
        if state.limited is not None and state.limited.is_answered:
            state.raise_limit()
        self._end_step()
        state.flush()
        if self.proof:
            self.proof.check(event, state)
        self._turn = event.data["turn"]
        state.sight.rent_usd = event.data.get("rent_usd") or 0.0
        state.sight.clears_next = bool(event.data.get("newest_unwritten"))
        state.sight.fitted_for = self._turn
        state.sight.asides.clear()
        if self._was_futile:
            self._was_futile = False
            state.sight.tried(state.shown, turns=state.turns)
        state.cache.sent(state.shown.rewritten)

    def _failed(self, event: Event) -> None:
        if event.data.get("purpose"):
            return
        learn_from_refusal(
            self.state, event.data["error"], message=event.data["message"]
        )

    def _adapted(self, event: Event) -> None:
        state = self.state
        state.form = state.form.lacking(parse(event, ModelAdapted).without)

    def _model_replaced(self, event: Event) -> None:
        self.state.replace_model(parse(event, ModelReplaced))

    def _result_replaced(self, event: Event) -> None:
        if not self.state.waiting:
            self._receive()
        self.state.replace_result(parse(event, ResultReplaced))

    def _answered(self, event: Event) -> None:
        state, answered = self.state, parse(event, ModelAnswered)
        if answered.purpose:
            state.sight.asides[answered.purpose] = answered
            return
        self._receive()
        state.answered(answered.message_id)
        usage = Usage.stored(answered.usage)
        state.cache.answered(start_of(event), usage)
        state.turns = answered.turn  # one without an answer is made again
        reply = Reply(
            content=answered.content,
            stop_reason=answered.stop_reason,
            usage=usage,
            cut_calls=frozenset(answered.cut_calls),
            broken_calls=answered.broken_calls,
            stop_details=answered.stop_details,
        )
        learn_from_reply(state, reply)
        verdict, streaks = judge(reply, state.streaks)
        if state.limited is None:
            state.streaks, state.due = streaks, verdict.say
            state.ending = verdict if verdict.end else None
            if verdict.more_output:
                most = self.spec.max_output_tokens
                state.raise_output(output_ceiling(state.form.model, most))
        else:
            state.limited.is_answered = True
            state.ending = verdict if verdict.refused else None
        if answered.kept and answered.content:
            state.take_reply(answered.content, reply.usage)
            state.prior = dict(barred_calls(reply))

    def _cleared(self, event: Event) -> None:
        self._receive()
        self.state.clear(parse(event, ContextCleared))
        self.state.sight.fitted_for = event.data["turn"]

    def _compacted(self, event: Event) -> None:
        self._receive()
        self.state.compact(parse(event, ContextCompacted))
        self.state.sight.fitted_for = event.data["turn"]
        self._was_futile = False

    def _receive(self) -> None:
        """Make ready for a reply, whose request may be lost."""
        self._end_step()
        self.state.flush()

    def _cache_missed(self, event: Event) -> None:
        if event.data["cause"] == NOT_CACHED:
            self.state.cache.without.add(self.state.form.model)

    def _tool_started(self, event: Event) -> None:
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
            self._receive()
            state.answered("")
            self._recovered = event.cause
            state.turns = max(state.turns, self._turn)
            if state.limited is not None:
                state.limited.is_answered = True
            state.due, state.ending = "", None
        block = {"type": "tool_use", "id": data["call"], "name": data["name"]}
        state.take_reply([{**block, "input": data["input"]}], Usage(known=False))

    def _thinking_dropped(self, _event: Event) -> None:
        self.state.shown.drop_thinking()
        self.state.sight.is_bound = True

    def _tool_ended(self, event: Event) -> None:
        ended, prior = parse(event, ToolEnded), self.state.prior
        came = arrivals(event)
        self.state.delivered.update(came.ids, (came.call,) if came.call else ())
        # The first outcome counts; an accepted hand-in may have been answered anew.
        if not isinstance(prior.get(ended.call), Answered):
            form = OnRecord if ended.ends else Answered
            prior[ended.call] = form(_result(ended))

    def _noted(self, event: Event) -> None:
        """Take a note as done: an append must not be made again."""
        state, section, text = self.state, event.data["section"], event.data["text"]
        for call in state.transcript.open_calls:
            is_note = call["name"] == UpdateNotes.name
            is_new = is_note and call["id"] not in state.prior
            if is_new and was_noted(str(call["input"].get("text", "")), text):
                state.prior[call["id"]] = Known(NOTED.format(section=section))
                return

    def _text_added(self, event: Event) -> None:
        state = self.state
        if event.data["reason"] == "findings":
            state.add_late(event.data["text"], arrivals(event).ids)
            return
        added = parse(event, TextAdded)
        state.pending_texts.append(added.text)
        if added.reason != "steer":  # beside that there may be more to say
            state.due = ""
        state.sight.heard(added, turns=state.turns)
        if added.reason == "wrap_up":
            state.wrap_up = added.limit, added.allowed
        if added.reason != "limit":
            state.raise_limit()
        elif state.limited is not None:
            state.limited.is_told = True

    def _limit_reached(self, event: Event) -> None:
        data = event.data
        reached = LimitReached(
            data["limit"], data["used"], data["allowed"], data.get("set_aside")
        )
        self.state.limited = Limited(reached)

    def _reopened(self, event: Event) -> None:
        """Take the last hand-in as answered: there is more to do."""
        self._end_step()
        self.state.reopen()
        self.state.sight.words.append(event.data["text"])
        self.state.pending_texts.append(event.data["text"])

    def _asked(self, event: Event) -> None:
        """Take the last hand-in as answered: there is a further question."""
        self._end_step()
        self.state.ask(event.data["text"])

    def _end_step(self) -> None:
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
            made = self.remake(call)
            known = ResultReplaced(
                call, made.text or LOST, not made.text, list(made.delivers)
            )
            self.state.edits.append(known)
        self.state.delivered.update(known.delivers)
        return CallResult(
            call,
            name,
            known.content,
            is_error=known.is_error,
            tokens=self.state.count(known.content),
        )

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        ModelRequested.KIND: _requested,
        ModelFailed.KIND: _failed,
        ModelAdapted.KIND: _adapted,
        ModelReplaced.KIND: _model_replaced,
        ResultReplaced.KIND: _result_replaced,
        ModelAnswered.KIND: _answered,
        CacheMissed.KIND: _cache_missed,
        ContextCleared.KIND: _cleared,
        ContextCompacted.KIND: _compacted,
        ToolStarted.KIND: _tool_started,
        ToolEnded.KIND: _tool_ended,
        NotesUpdated.KIND: _noted,
        TextAdded.KIND: _text_added,
        ThinkingDropped.KIND: _thinking_dropped,
        LimitReachedEvent.KIND: _limit_reached,
        RunReopened.KIND: _reopened,
        SubagentAsked.KIND: _asked,
    }


def _seen(entry: FileSeen | dict[str, Any]) -> FileSeen:
    return entry if isinstance(entry, FileSeen) else FileSeen.stored(entry)


def _result(ended: ToolEnded) -> CallResult:
    return CallResult(
        call=ended.call,
        name=ended.name,
        content=ended.content,
        is_error=ended.is_error,
        ends=ended.ends,
        tokens=ended.tokens,
        delivers=tuple(ended.delivers),
        label=LABELS.get(ended.label, "reference"),
        files=tuple(map(_seen, ended.files)),
    )
