"""The loop of one agent: ask, run the calls, ask again, until it hands in.

Order of one turn: limits → view → intent on disk → model → outcome on disk → calls →
next user message. Every way a turn can end is decided in `stops.py`. Turns and minutes
include the last call, like money and tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import anyio

from orchestrator.agent.barring import barred_calls
from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import NO_HOOKS, Hooks, Words
from orchestrator.agent.incoming import BEYOND
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import (
    MAX_HAND_INS,
    WINDOW,
    Say,
    Verdict,
    judge,
    refusal,
    refused_by,
    usable,
)
from orchestrator.agent.timing import last_call_s, left_s, out_of_time
from orchestrator.agent.window import learn_from_reply, output_ceiling, window_full
from orchestrator.agent.wrapping_up import due, uses_of, wrap_up
from orchestrator.clock import Clock
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import AgentEnded, LimitReachedEvent, TextAdded
from orchestrator.messages import Block, tool_calls
from orchestrator.models.base import Reply
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import ToolContext
from orchestrator.tools.calls import Answered, Barred, CallResult, CallSpec, Prior
from orchestrator.tools.executor import Executor

__all__ = ["Agent"]

ONLY_HAND_IN = "Not run: a limit is reached. Only `{tool}` is answered now."


@dataclass(slots=True)
class Agent:
    """One agent at work. `run` is called once.

    Attributes:
        spec: what it started with.
        state: its transcript and what the loop keeps about it.
        caller: makes the model calls within the budget.
        executor: runs the tools.
        context_for: makes the context of one call from its id.
        words: the program's prompts.
        log: the run's log.
        clock: the time.
        hooks: what its role adds.
    """

    spec: AgentSpec
    state: AgentState
    caller: Caller
    executor: Executor
    context_for: Callable[[str], ToolContext]
    words: Words
    log: EventLog
    clock: Clock
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
            return await self._last_call(reached)
        except ModelError as error:
            return self._end("failed", reason=str(error))

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
            return await self.caller.ask(self.state, pulse=pulse)
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
            return self._finish(verdict)
        results: list[CallResult] = []
        if verdict.run:
            calls = tool_calls(reply.content)
            results = await self._run_calls(calls, barred_calls(reply))
        state.due = verdict.say
        return await self._after_step(results)

    def _finish(self, verdict: Verdict) -> Outcome | None:
        """End as the newest reply demands; None: another model goes on."""
        state = self.state
        if verdict.reason == WINDOW:
            raise window_full(state, self.caller.route.window)
        if verdict.end == "limit":
            raise LimitReached(verdict.reason, verdict.count, verdict.count)
        if verdict.refused:
            if self.caller.falls_back(state, verdict.refused):
                return None
            return self._end(verdict.end, reason=self._refused(verdict.refused))
        text = self.state.last_words if verdict.keep else ""
        return self._end(verdict.end, text=text, reason=verdict.reason)

    def _refused(self, category: str) -> str:
        """Return why nothing comes of a refusal, with those of models before."""
        return refused_by({**self.state.refused, self.state.form.model: category})

    async def _run_calls(
        self, calls: list[Block], prior: Mapping[str, Prior]
    ) -> list[CallResult]:
        known, limit = dict(prior), anyio.CancelScope()

        def keep(result: CallResult) -> None:
            known[result.call] = Answered(result)

        try:
            if self.state.reached is None:  # else these belong to the last call
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
            return self._end("submitted", value=accepted.value)
        failed = state.streaks.hand_ins + bool(hand_ins)
        state.streaks = replace(state.streaks, hand_ins=failed)
        if hand_ins and failed >= MAX_HAND_INS:
            text, reason = (
                self.state.last_hand_in(self.spec.hand_in),
                f"{failed} hand-ins were sent back",
            )
            state.add(results, [])
            return self._end("unvalidated", text=text, reason=reason)
        is_told = state.is_told and not state.due
        state.add(results, [])
        if state.due == "nudge_finish" and self.hooks.team.is_out():
            await self._wait_for_team()
        await self._say_late()
        if not is_told:
            self._say(self._words_after(results, state.due))
        state.due = ""
        self._wrap_up()
        return None

    def _wrap_up(self) -> None:
        """Tell the agent to bring its work to an end, where a limit is near."""
        state, call = self.state, self.caller.next_call(self.state)
        budget, left_s = self.caller.budget, self.left_s
        uses = uses_of(state, self.spec.limits, budget, call=call, left_s=left_s)
        if (use := due(uses, state.wrap_up)) is not None:
            added = wrap_up(self.words, self.spec.role, self.spec.hand_in, use)
            self.log.append(added, agent=self.spec.id)
            state.wrap_up = use.limit, use.allowed
            state.add([], [added.text])

    async def _wait_for_team(self) -> None:
        """Wait for the subagents that are at work, within what is left of the time."""
        with anyio.move_on_after(self.left_s):
            await self.hooks.team.wait()

    async def _say_late(self) -> None:
        """Deliver the findings that have come in meanwhile."""
        late = await self.hooks.team.late()
        if late is not None:
            added = TextAdded("findings", late.text, list(late.delivers))
            self.log.append(added, agent=self.spec.id)
            self.state.add_late(late.text, late.delivers)

    def _words_after(self, results: list[CallResult], say: Say) -> list[str]:
        texts = self.hooks.after_turn(results)
        if say:
            values = {"tool": self.spec.hand_in} if say == "nudge_finish" else {}
            texts = [*texts, self.words(say, **values)]
        return texts

    def _say(self, texts: list[str], reason: str = "") -> None:
        reason = reason or ("nudge" if self.state.due else "reminder")
        for text in texts:
            self.log.append(TextAdded(reason, text), agent=self.spec.id)
        self.state.add([], texts)

    async def _last_call(self, reached: LimitReached) -> Outcome:
        """Tell the agent that a limit is reached and let it hand in what it has.

        Entered again after a crash, it goes on where it was: the limit is told once
        and the call is made once.
        """
        state, why = self.state, str(reached)
        if state.reached is None:
            state.reached = reached
            event = LimitReachedEvent(reached.limit, reached.used, reached.allowed)
            self.log.append(event, agent=self.spec.id)
        self.hooks.on_last_call()
        if not state.last_told:
            await self.hooks.team.settle(self.left_s)
        if failure := await self._ask_last(why):
            reason = f"{why}; the last call failed: {failure}"
            return self._end("limit", reason=reason, limit=reached.limit)
        text = self.state.last_words or self.state.last_hand_in(self.spec.hand_in)
        self._bar_open(but=self.spec.hand_in)
        results = await self._answer_open()
        state.add(results, [])
        for each in results:
            if each.ends:
                return self._end(
                    "submitted", value=each.value, reason=why, limit=reached.limit
                )
        return self._end("limit", text=text, reason=why, limit=reached.limit)

    async def _ask_last(self, why: str) -> str:
        """Make the last call and keep its reply; return why it failed, or ""."""
        state, turns = self.state, self.spec.limits.turns
        if state.last_answered:
            return self._refused(state.ending.refused) if state.ending else ""
        if turns is not None and state.turns >= turns:
            return "no turn is left for it"
        if state.transcript.open_calls and not state.pending_results:
            self._bar_open()
            state.add(await self._answer_open(), [])
        if not state.last_told:
            await self._say_late()
            tokens = f"{self.caller.last_output(state):,}"
            text = self.words("last_call", limit=why, tool=self.spec.hand_in)
            size = self.words("last_call_size", tokens=tokens)
            self._say([f"{text} {size}"], "limit")
            state.last_told = True
        await self.caller.make_room(state)
        return await self._hear_last()

    async def _hear_last(self) -> str:
        """Make the last call, by another model if one refuses; "" if it is answered."""
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
        state.last_answered = True
        if not refused:
            return ""
        if self.caller.falls_back(state, refused):
            return await self._hear_last()
        return self._refused(refused)

    async def _reenter(self) -> Outcome | None:
        """Go on where an earlier process stopped: finish the step it was in."""
        state = self.state
        if state.ending is not None and state.ending.refused:
            self.caller.falls_back(state, state.ending.refused)
        if state.reached is not None:
            raise state.reached
        if state.ending is not None:
            return self._finish(state.ending)
        if not state.transcript.open_calls and not state.due:
            return None
        return await self._after_step(await self._answer_open())

    async def _answer_open(self) -> list[CallResult]:
        """Return the results of all open calls, with those the log holds."""
        return await self._run_calls(self.state.transcript.open_calls, self.state.prior)

    def _bar_open(self, *, but: str = "") -> None:
        """Let no open call run of which nothing is known, but those of one tool."""
        why = ONLY_HAND_IN.format(tool=self.spec.hand_in)
        for call in self.state.transcript.open_calls:
            if call["name"] != but:
                self.state.prior.setdefault(call["id"], Barred(why))

    def _end(
        self,
        kind: Any,  # noqa: ANN401 - one of the kinds of `Outcome`
        *,
        value: Any = None,  # noqa: ANN401 - whatever was handed in
        text: str = "",
        reason: str = "",
        limit: str = "",
    ) -> Outcome:
        self.state.flush()
        return Outcome(kind, value, text, reason, limit, self.state.turns)


def _is_answered(call: Block, prior: Mapping[str, Prior]) -> bool:
    return isinstance(prior.get(call["id"]), Answered)
