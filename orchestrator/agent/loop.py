"""The loop of one agent: ask, run the calls, ask again, until it hands in.

Order of one turn: limits → view → intent on disk → model → outcome on disk → calls →
next user message. Every way a turn can end is decided in `stops.py`; once a limit is
reached, `last_call.py` takes over. Turns and minutes include the last call, like money
and tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import anyio

from orchestrator.agent.barring import barred_calls
from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import NO_HOOKS, Hooks
from orchestrator.agent.incoming import BEYOND
from orchestrator.agent.keeping import Keeper
from orchestrator.agent.last_call import LastCall
from orchestrator.agent.memory import Ask
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.speaking import Speaker
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import (
    MAX_HAND_INS,
    WINDOW,
    Verdict,
    judge,
    usable,
)
from orchestrator.agent.timing import left_s, out_of_time
from orchestrator.agent.window import learn_from_reply, output_ceiling, window_full
from orchestrator.agent.wrapping_up import due, uses_of
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import AgentEnded
from orchestrator.messages import Block, tool_calls
from orchestrator.models.base import Reply
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import ToolContext
from orchestrator.tools.calls import Answered, Barred, CallResult, CallSpec, Prior
from orchestrator.tools.executor import Executor

__all__ = ["Agent"]


@dataclass(slots=True)
class Agent:
    """One agent at work. `run` is called once.

    Attributes:
        spec: what it started with.
        state: its transcript and what the loop keeps about it.
        caller: makes the model calls within the budget.
        keeper: keeps what they send within the policy.
        executor: runs the tools.
        context_for: makes the context of one call from its id.
        speaker: says what the program has to say.
        log: the run's log.
        look_back: state and the seconds that are left → what asks the model once more
            when the work is over, if it can be asked.
        hooks: what its role adds.
    """

    spec: AgentSpec
    state: AgentState
    caller: Caller
    keeper: Keeper
    executor: Executor
    context_for: Callable[[str], ToolContext]
    speaker: Speaker
    log: EventLog
    look_back: Callable[[AgentState, float], Ask | None] = lambda _state, _left: None
    hooks: Hooks = NO_HOOKS

    async def run(self) -> Outcome:
        """Work until the agent hands in, is stopped by a limit, or fails.

        Cancelling ends the model call and the tools; the log then holds what is
        finished, and nothing half.

        Returns:
            The outcome; a failing model is an outcome too.
        """
        self._hold_back(self.state.transcript.open_calls)
        try:
            outcome = await self._work()
        finally:
            self.caller.budget.release(self.spec.id)
        self.state.flush()
        outcome = replace(outcome, turns=self.state.turns)
        await self.hooks.memory.at_end(self._looking_back(outcome))
        self.log.append(
            AgentEnded(outcome.kind, outcome.reason, outcome.turns), agent=self.spec.id
        )
        return outcome

    async def _work(self) -> Outcome:
        try:
            if (ended := await self._reenter()) is not None:
                return ended
            while True:
                self._check_limits()
                reply = await self._ask()
                if (ended := await self._take(reply)) is not None:
                    return ended
        except LimitReached as reached:
            return await self._last_call().make(reached)
        except ModelError as error:
            return Outcome("failed", reason=str(error))

    def _looking_back(self, outcome: Outcome) -> Ask | None:
        """Return what asks the model once more; None: it has said its last word."""
        is_open = bool(self.state.transcript.open_calls)
        if outcome.kind == "failed" or is_open or self.left_s <= 0:
            return None
        return self.look_back(self.state, self.left_s)

    def _last_call(self) -> LastCall:
        return LastCall(
            spec=self.spec,
            state=self.state,
            caller=self.caller,
            speaker=self.speaker,
            hooks=self.hooks,
            log=self.log,
            answer_open=self._answer_open,
        )

    def _check_limits(self) -> None:
        """Raise `LimitReached` where only the last call is left."""
        turns = self.spec.limits.turns
        if turns is not None and self.state.turns >= turns - 1:
            raise LimitReached("turns", turns, turns)
        if self.left_s <= 0:
            raise out_of_time(self.spec, self.state)

    async def _ask(self) -> Reply:
        """Make one model call, within what is left of the time, while it gets on."""
        pulse = Pulse(self.spec.stall_s)
        with anyio.move_on_after(self.left_s) as pulse.limit, pulse.watching():
            return await self.keeper.ask(self.state, pulse)
        if pulse.has_stopped:
            raise LimitReached("stall_s", pulse.idle_s, pulse.stall_s)
        raise out_of_time(self.spec, self.state)

    @property
    def left_s(self) -> float:
        """Return the seconds left before the last call; infinite without a limit."""
        return left_s(self.spec, self.state)

    async def _take(self, reply: Reply) -> Outcome | None:
        """Take in a reply: keep it, run its calls, add what is to be said."""
        state = self.state
        reply = usable(reply, state.transcript.call_ids)
        verdict, state.streaks = judge(reply, state.streaks)
        learn_from_reply(state, reply)
        self.caller.answered(state, reply, kept=verdict.keep)
        self._hold_back([])
        if verdict.more_output:
            most = self.spec.max_output_tokens
            state.raise_output(output_ceiling(state.form.model, most))
        if verdict.end:
            return await self._finish(verdict)
        results: list[CallResult] = []
        if verdict.run:
            calls = tool_calls(reply.content)
            results = await self._run_calls(calls, barred_calls(reply))
        state.due = verdict.say
        return await self._after_step(results)

    async def _finish(self, verdict: Verdict) -> Outcome | None:
        """End as the newest reply demands; None: it goes on, in another way."""
        state = self.state
        if verdict.reason == WINDOW:
            if await self.keeper.react(state, Pulse(), why="exceeded"):
                return None
            raise window_full(state, self.caller.route.window)
        if verdict.end == "limit":
            raise LimitReached(verdict.reason, verdict.count, verdict.count)
        if verdict.refused:
            if self.caller.falls_back(state, verdict.refused):
                return None
            return Outcome("failed", reason=state.refused_by(verdict.refused))
        text = state.last_words if verdict.keep else ""
        return Outcome(
            "unvalidated" if verdict.end == "unvalidated" else "failed",
            text=text,
            reason=verdict.reason,
        )

    async def _run_calls(
        self, calls: list[Block], prior: Mapping[str, Prior]
    ) -> list[CallResult]:
        known, limit = dict(prior), anyio.CancelScope()

        def keep(result: CallResult) -> None:
            known[result.call] = Answered(result)

        try:
            if self.state.limited is None:  # else these belong to the last call
                known.update(await self._beyond_budget(calls, prior))
                limit.deadline = anyio.current_time() + self.left_s
            self._hold_back([call for call in calls if not _is_answered(call, prior)])
            specs = [
                CallSpec(call["id"], call["name"], call["input"], known.get(call["id"]))
                for call in calls
            ]
            results = await self.executor.run(
                specs, self.context_for, self.spec.allowed, limit=limit, on_result=keep
            )
            is_over = anyio.current_time() >= limit.deadline
            if is_over and not any(each.ends for each in results):
                raise out_of_time(self.spec, self.state)
        except LimitReached:
            self.state.prior = known  # all that the last call needs to know
            raise
        return results

    async def _beyond_budget(
        self, calls: list[Block], prior: Mapping[str, Prior]
    ) -> dict[str, Prior]:
        """Return the calls that may not run: what they bring could not be paid for."""
        new = [call for call in calls if call["id"] not in prior]
        with anyio.move_on_after(self.left_s):
            beyond = await self.caller.beyond(self.state, new)
            return dict.fromkeys(beyond, Barred(BEYOND))
        raise out_of_time(self.spec, self.state)

    def _hold_back(self, calls: list[Block]) -> None:
        """Keep enough for a last call, with what `calls` will add to it."""
        self.caller.hold(self.state, expected_tokens=self.hooks.team.expects(calls))

    async def _after_step(self, results: list[CallResult]) -> Outcome | None:
        """Put results and the program's words into the next message, or end.

        Words of this step that are in the log already are not said again.

        Args:
            results: of the step, in order of its calls.
        """
        state = self.state
        hand_ins = [each for each in results if each.name == self.spec.hand_in]
        accepted = next((each for each in hand_ins if each.ends), None)
        if accepted is not None:
            state.add(results, [])
            return Outcome("submitted", accepted.value)
        failed = state.streaks.hand_ins + bool(hand_ins)
        state.streaks = replace(state.streaks, hand_ins=failed)
        if hand_ins and failed >= MAX_HAND_INS:
            text = state.last_hand_in(self.spec.hand_in)
            state.add(results, [])
            reason = f"{failed} hand-ins were sent back"
            return Outcome("unvalidated", text=text, reason=reason)
        is_told = state.is_told and not state.due
        state.add(results, [])
        if state.due == "nudge_finish" and self.hooks.team.is_out():
            await self._wait_for_team()
        await self.speaker.late()
        await self.caller.in_turn()
        self.speaker.heard()
        if not is_told:
            self.speaker.after(results)
        self.keeper.reminder.remind(state, self.keeper.numbers(state))
        state.due = ""
        self._wrap_up()
        return None

    def _wrap_up(self) -> None:
        """Tell the agent to bring its work to an end, where a limit is near."""
        state, call = self.state, self.caller.next_call(self.state)
        budget, left_s = self.caller.budget, self.left_s
        uses = uses_of(state, self.spec.limits, budget, call=call, left_s=left_s)
        if (use := due(uses, state.wrap_up)) is not None:
            self.speaker.wrap_up(use)

    async def _wait_for_team(self) -> None:
        """Wait for the subagents that are at work, within what is left of the time."""
        with anyio.move_on_after(self.left_s):
            await self.hooks.team.wait()

    async def _reenter(self) -> Outcome | None:
        """Go on where an earlier process stopped: finish the step it was in."""
        state = self.state
        if state.ending is not None and state.ending.refused:
            self.caller.falls_back(state, state.ending.refused)
        if state.limited is not None:
            raise state.limited.reached
        if state.ending is not None:
            ending, state.ending = state.ending, None
            return await self._finish(ending)
        if not state.transcript.open_calls and not state.due:
            if state.pending_results or state.pending_texts:  # its message is not sent
                self.speaker.heard()
            return None
        return await self._after_step(await self._answer_open())

    async def _answer_open(self) -> list[CallResult]:
        """Return the results of all open calls, with those the log holds."""
        return await self._run_calls(self.state.transcript.open_calls, self.state.prior)


def _is_answered(call: Block, prior: Mapping[str, Prior]) -> bool:
    return isinstance(prior.get(call["id"]), Answered)
