"""The last call of an agent: it is told of the limit and hands in what it has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import anyio

from orchestrator.agent.barring import barred_calls
from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import Hooks
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.speaking import Speaker
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.state import AgentState, Limited
from orchestrator.agent.stops import WINDOW, refusal, usable
from orchestrator.agent.timing import last_call_s, left_s
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import LimitReachedEvent
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.calls import Barred, CallResult

__all__ = ["LastCall"]

ONLY_HAND_IN = "Not run: a limit is reached. Only `{tool}` is answered now."


@dataclass(frozen=True, slots=True)
class LastCall:
    """The one call that is left to an agent once a limit is reached.

    Attributes:
        spec: what the agent started with.
        state: of the agent; it holds how far the last call is.
        caller: makes it, from what was held back for it.
        speaker: tells the agent.
        hooks: what its role adds.
        log: the run's log.
        answer_open: returns the results of all open calls; those that are barred do
            not run.
    """

    spec: AgentSpec
    state: AgentState
    caller: Caller
    speaker: Speaker
    hooks: Hooks
    log: EventLog
    answer_open: Callable[[], Awaitable[list[CallResult]]]

    async def make(self, reached: LimitReached) -> Outcome:
        """Tell the agent that a limit is reached and let it hand in what it has.

        Entered again after a crash, it goes on where it was: the limit is told once
        and the call is made once.
        """
        state, why = self.state, str(reached)
        if state.limited is None:
            state.limited = Limited(reached)
            event = LimitReachedEvent(
                reached.limit, reached.used, reached.allowed, reached.set_aside
            )
            self.log.append(event, agent=self.spec.id)
        self.hooks.on_last_call()
        if not state.limited.is_told:
            await self.hooks.team.settle(left_s(self.spec, state))
        if failure := await self._ask(state.limited, why):
            reason = f"{why}; the last call failed: {failure}"
            return Outcome("limit", reason=reason, limit=reached.limit)
        text = state.last_words or state.last_hand_in(self.spec.hand_in)
        self._bar_open(but=self.spec.hand_in)
        results = await self.answer_open()
        state.add(results, [])
        for each in results:
            if each.ends:
                return Outcome("submitted", each.value, reason=why, limit=reached.limit)
        return Outcome("limit", text=text, reason=why, limit=reached.limit)

    async def _ask(self, limited: Limited, why: str) -> str:
        """Make the call and keep its reply; return why it failed, or ""."""
        state, turns = self.state, self.spec.limits.turns
        if limited.is_answered:
            return state.refused_by(state.ending.refused) if state.ending else ""
        if turns is not None and state.turns >= turns:
            return "no turn is left for it"
        if state.transcript.open_calls and not state.pending_results:
            self._bar_open()
            state.add(await self.answer_open(), [])
        if not limited.is_told:
            await self.speaker.late()
            self.speaker.heard()
            self.speaker.last_call(why, self.caller.last_output(state))
            limited.is_told = True
        await self.caller.make_room(state)
        return await self._hear(limited)

    async def _hear(self, limited: Limited) -> str:
        """Send it, to another model if one refuses; return why it failed, or ""."""
        state = self.state
        pulse = Pulse()
        try:
            with anyio.fail_after(last_call_s(self.spec)) as pulse.limit:
                reply = await self.caller.ask(state, last=True, pulse=pulse)
        except TimeoutError:
            return f"no answer within {last_call_s(self.spec):.3g} s"
        except LimitReached as reached:
            is_full = reached.limit == WINDOW
            return "the context is full" if is_full else "too little is left for it"
        except ModelError as error:
            return str(error)
        reply = usable(reply, state.transcript.call_ids)
        refused = refusal(reply)
        kept = bool(reply.content) and not refused
        self.caller.answered(state, reply, kept=kept)
        state.prior = dict(barred_calls(reply)) if kept else {}
        limited.is_answered = True
        if not refused:
            return ""
        if self.caller.falls_back(state, refused):
            return await self._hear(limited)
        return state.refused_by(refused)

    def _bar_open(self, *, but: str = "") -> None:
        """Let no open call run of which nothing is known, but those of one tool."""
        why = ONLY_HAND_IN.format(tool=self.spec.hand_in)
        for call in self.state.transcript.open_calls:
            if call["name"] != but:
                self.state.prior.setdefault(call["id"], Barred(why))
