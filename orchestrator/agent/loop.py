"""The loop of one agent: ask, run the calls, ask again, until it hands in.

Order of one turn: limits → view → intent on disk → model → outcome on disk → calls →
next user message. Every way a turn can end is decided in `stops.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import anyio

from orchestrator.agent.caller import Caller
from orchestrator.agent.spec import AgentSpec, Outcome
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import MAX_HAND_INS, Say, judge, usable_content
from orchestrator.clock import Clock
from orchestrator.errors import LimitReached, ModelError
from orchestrator.events import AgentEnded, LimitReachedEvent, TextAdded
from orchestrator.messages import Block, encode, text_of, tool_calls
from orchestrator.models.base import Reply
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.base import ToolContext
from orchestrator.tools.executor import CallResult, CallSpec, Executor

__all__ = ["Agent", "Words", "call_problems"]

CUT = (
    "This call was cut by the output limit before it was complete, so it was not run. "
    "The limit is now higher. Send the whole call again, or do the work in smaller "
    "parts."
)
BROKEN = "The input of this call is not a JSON object, so it was not run: {text}"
ONLY_HAND_IN = "Not run: a limit is reached. Only `{tool}` is answered now."
LAST_CALL_S = 120.0
MAX_OUTPUT_TOKENS = 64_000


class Words(Protocol):
    """The program's own words to a model; the prompts folder behind a function."""

    def __call__(self, name: str, **values: str) -> str:
        """Return the prompt `name`, filled."""
        ...


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
        after_turn: text blocks to add to the next user message (reminders).
    """

    spec: AgentSpec
    state: AgentState
    caller: Caller
    executor: Executor
    context_for: Callable[[str], ToolContext]
    words: Words
    log: EventLog
    clock: Clock
    after_turn: Callable[[list[CallResult]], list[str]] = lambda _results: []

    async def run(self) -> Outcome:
        """Work until the agent hands in, is stopped by a limit, or fails.

        Cancelling ends the model call and the tools; the log then holds what is
        finished, and nothing half.

        Returns:
            The outcome; a failing model is an outcome too.
        """
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
        turns = self.spec.limits.turns
        if turns is not None and self.state.turns >= turns:
            raise LimitReached("turns", self.state.turns, turns)
        minutes = self.spec.limits.minutes
        if minutes is not None and self.state.seconds >= minutes * 60:
            raise LimitReached("minutes", self.state.seconds / 60, minutes)

    async def _ask(self) -> Reply:
        """Make one model call, within what is left of the time."""
        minutes = self.spec.limits.minutes
        if minutes is None:
            return await self.caller.ask(self.state)
        with anyio.move_on_after(minutes * 60 - self.state.seconds):
            return await self.caller.ask(self.state)
        raise LimitReached("minutes", self.state.seconds / 60, minutes)

    async def _take(self, reply: Reply) -> Outcome | None:
        """Take in a reply: keep it, run its calls, add what is to be said."""
        state = self.state
        content = usable_content(reply.content, state.transcript.call_ids)
        verdict, state.streaks = judge(reply, content, state.streaks)
        self.caller.answered(state, reply, content, kept=verdict.keep)
        if verdict.more_output:
            state.raise_output(MAX_OUTPUT_TOKENS)
        if verdict.end == "limit":
            raise LimitReached(verdict.reason, verdict.count, verdict.count)
        if verdict.end:
            text = text_of(content)
            return self._end(verdict.end, text=text, reason=verdict.reason)
        results: list[CallResult] = []
        if verdict.run:
            problems = call_problems(reply, content)
            results = await self._run_calls(tool_calls(content), problems)
        return self._after_step(results, verdict.say)

    async def _run_calls(
        self, calls: list[Block], problems: dict[str, str], *, only: str = ""
    ) -> list[CallResult]:
        specs = []
        for call in calls:
            problem = problems.get(call["id"], "")
            if only and call["name"] != only:
                problem = ONLY_HAND_IN.format(tool=only)
            specs.append(CallSpec(call["id"], call["name"], call["input"], problem))
        return await self.executor.run(specs, self.context_for, self.spec.allowed)

    def _after_step(self, results: list[CallResult], say: Say) -> Outcome | None:
        """Put results and the program's words into the next message, or end."""
        texts = self.after_turn(results)
        if say:
            values = {"tool": self.spec.hand_in} if say == "nudge_finish" else {}
            texts = [*texts, self.words(say, **values)]
        hand_ins = [each for each in results if each.name == self.spec.hand_in]
        accepted = next((each for each in hand_ins if each.ends), None)
        if accepted is not None:
            self.state.add(results, [])
            return self._end("submitted", value=accepted.value)
        failed = self.state.streaks.hand_ins + bool(hand_ins)
        self.state.streaks = replace(self.state.streaks, hand_ins=failed)
        if hand_ins and failed >= MAX_HAND_INS:
            self.state.add(results, [])
            text, reason = self._last_hand_in(), f"{failed} hand-ins were sent back"
            return self._end("unvalidated", text=text, reason=reason)
        self._say(results, texts, "nudge" if say else "reminder")
        return None

    def _say(self, results: list[CallResult], texts: list[str], reason: str) -> None:
        for text in texts:
            self.log.append(TextAdded(reason, text), agent=self.spec.id)
        self.state.add(results, texts)

    def _last_hand_in(self) -> str:
        """Return the input of the newest hand-in as text: useful, though not valid."""
        for call in reversed(self.state.transcript.open_calls):
            if call["name"] == self.spec.hand_in:
                return encode(call["input"]).decode()
        return ""

    async def _last_call(self, reached: LimitReached) -> Outcome:
        """Tell the agent that a limit is reached and let it hand in what it has."""
        limit, why = reached.limit, str(reached)
        event = LimitReachedEvent(limit, reached.used, reached.allowed)
        self.log.append(event, agent=self.spec.id)
        self._say(
            [], [self.words("last_call", limit=why, tool=self.spec.hand_in)], "limit"
        )
        try:
            with anyio.fail_after(min(LAST_CALL_S, self.spec.call_s)):
                reply = await self.caller.ask(self.state, last=True)
        except (ModelError, LimitReached, TimeoutError) as error:
            reason = f"{why}; the last call failed: {error}"
            return self._end("limit", reason=reason, limit=limit)
        content = usable_content(reply.content, self.state.transcript.call_ids)
        kept = bool(content) and reply.stop_reason != "refusal"
        self.caller.answered(self.state, reply, content, kept=kept)
        calls = tool_calls(content) if kept else []
        problems = call_problems(reply, content)
        results = await self._run_calls(calls, problems, only=self.spec.hand_in)
        self.state.add(results, [])
        for each in results:
            if each.ends:
                return self._end("submitted", value=each.value, reason=why, limit=limit)
        text = text_of(content) or self._last_hand_in()
        return self._end("limit", text=text, reason=why, limit=limit)

    async def _reenter(self) -> Outcome | None:
        """Go on where an earlier process stopped: answer the calls left open."""
        state = self.state
        calls = state.transcript.open_calls
        if not calls:
            return None
        missing = [call for call in calls if call["id"] not in state.done_results]
        fresh = await self._run_calls(missing, state.problems)
        found = {**state.done_results, **{each.call: each for each in fresh}}
        return self._after_step([found[call["id"]] for call in calls], "")

    def _end(
        self,
        kind: Any,  # noqa: ANN401 - one of the kinds of `Outcome`
        *,
        value: Any = None,  # noqa: ANN401 - whatever was handed in
        text: str = "",
        reason: str = "",
        limit: str = "",
    ) -> Outcome:
        return Outcome(kind, value, text, reason, limit, self.state.turns)


def call_problems(reply: Reply, content: list[Block]) -> dict[str, str]:
    """Return call id → what it is told, for the calls that must not run."""
    problems: dict[str, str] = {}
    for old, new in zip(tool_calls(reply.content), tool_calls(content), strict=True):
        if old["id"] in reply.cut_calls:
            problems[new["id"]] = CUT
        elif old["id"] in reply.broken_calls:
            text = reply.broken_calls[old["id"]][:200]
            problems[new["id"]] = BROKEN.format(text=text)
    return problems
