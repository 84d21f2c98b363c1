"""Keeps what is sent of a conversation small: before a request, and where one fails.

What is done, and when, is decided by pure functions in `context/`; here it is carried
out, each edit as an event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import anyio.to_thread

from orchestrator.agent.caller import Caller
from orchestrator.agent.compacting import Compactor
from orchestrator.agent.hooks import Hooks
from orchestrator.agent.incoming import ResultSizes
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.reminding import Reminder
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import WINDOW
from orchestrator.agent.summarizing import Postponed
from orchestrator.context.digest import digest
from orchestrator.context.ladder import Clear, Compact, Nothing, decide, rent_of
from orchestrator.context.layout import Item, Layout
from orchestrator.context.numbers import Numbers, resolve
from orchestrator.context.schedule import Clearing, rates_at, to_free
from orchestrator.context.stubs import stub
from orchestrator.errors import LimitReached, ModelError, SpecError
from orchestrator.events import ContextCleared
from orchestrator.messages import Block, text_of
from orchestrator.models.base import Reply
from orchestrator.models.choose import smallest
from orchestrator.spec.policy import ContextPolicy
from orchestrator.spec.profiles import DELEGATION
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.notes import UpdateNotes

__all__ = ["Keeper", "layout_of"]

STUB_TOKENS: Final = 40
"""Of a stub without its digest, about."""
MOST_REACTIONS: Final = 3
"""How often one request is made shorter after it was refused as too long."""
STEP_SHARE: Final = 0.8
"""Of what is free beside a full state, that the results of one step may take."""
FREED: Final = 0.8
"""Of the window: so long may a request be that was refused as too long."""


@dataclass(slots=True)
class Keeper:
    """Keeps the conversation of one agent within its policy.

    Attributes:
        spec: what it started with.
        policy: of the task.
        caller: makes its calls.
        compactor: compacts.
        reminder: reminds it of what holds.
        hooks: what its role adds.
        log: the run's.
    """

    spec: AgentSpec
    policy: ContextPolicy
    caller: Caller
    compactor: Compactor
    reminder: Reminder
    hooks: Hooks
    log: EventLog
    _known: tuple[tuple[int | None, int], Numbers] | None = field(default=None)

    async def ask(self, state: AgentState, pulse: Pulse) -> Reply:
        """Send everything up to now, made to fit, and return the whole reply.

        Raises:
            LimitReached: it does not fit the budget, or cannot be made to fit the
                window.
            ModelError: no usable reply; it is in the log.
        """
        state.flush()
        await self.fit(state, pulse)
        state.sight.asides.clear()  # what was of no use now is none later
        for _ in range(MOST_REACTIONS):
            self._remind(state)
            try:
                return await self.caller.ask(state, pulse=pulse)
            except LimitReached as reached:
                is_full = reached.limit == WINDOW
                if not is_full or not await self.react(state, pulse, why="too_long"):
                    raise
            except ModelError as error:
                # Refused even without its thinking: nothing of it is sent as it was.
                if error.kind != "thinking_bound" or not await self._flatten(state):
                    raise
                state.turns -= 1  # one without an answer is made again
        self._remind(state)
        return await self.caller.ask(state, pulse=pulse)

    def _remind(self, state: AgentState) -> None:
        """Remind of what holds behind a compaction, as a later process would too."""
        if state.sight.remind:
            self.reminder.remind(state, self.numbers(state))

    async def _flatten(self, state: AgentState) -> bool:
        """Say the whole conversation in one message; return whether that is new."""
        if not state.sight.is_bound:  # there is nothing in it that could be bound
            return False
        numbers = self.numbers(state)
        return await self.compactor.flatten(state, numbers=numbers, why="thinking")

    async def fit(self, state: AgentState, pulse: Pulse) -> None:
        """Clear or compact what the policy says, before a request; once for a turn.

        So a request that is made again, by this process or a later one, is the same.
        """
        if state.sight.fitted_for == state.turns + 1:
            return
        numbers = self.numbers(state)
        state.sight.clears_next = False
        layout = layout_of(state, numbers, at_break=self._is_break(state))
        price = self.caller.route.price
        bands = price.bands if price else ()
        rates = rates_at(bands, layout.total_tokens)
        decision = decide(
            layout, numbers, rates=rates, bands=bands, rent_usd=state.sight.rent_usd
        )
        match decision:
            case Clear():
                await self._clear(state, decision, numbers)
            case Compact():
                await self._compact(state, decision, numbers, pulse)
            case Nothing():
                state.sight.rent_usd += rent_of(layout, numbers, rates)
                state.sight.clears_next = decision.predicts_clear
        state.sight.fitted_for = state.turns + 1

    async def react(self, state: AgentState, pulse: Pulse, *, why: str) -> bool:
        """Make a conversation shorter that its window does not hold.

        Args:
            state: the agent's.
            pulse: of the turn.
            why: `too_long` or `exceeded`.

        Returns:
            Whether it is shorter now.
        """
        state.flush()
        numbers = self.numbers(state)
        window = smallest(numbers.window_tokens, self.caller.route.window, state.window)
        goal = int((window or state.shown.tokens) * FREED) - numbers.output_tokens
        need = max(state.shown.tokens - goal, 1)
        layout = layout_of(state, numbers)
        clearing = to_free(layout, keep_results=1, need_tokens=need)
        if clearing.freed_tokens >= need:
            await self._clear(state, _forced(clearing, why=why), numbers)
            return True
        before = state.shown.tokens
        if await self._shorter(state, pulse, why=why, numbers=numbers):
            return True
        clearing = to_free(layout_of(state, numbers), keep_results=1, need_tokens=need)
        if clearing.calls:
            await self._clear(state, _forced(clearing, why=why), numbers)
        if state.shown.tokens < before:
            return True
        # The newest step alone is too long: what it says is said shorter.
        return await self.compactor.flatten(state, numbers=numbers, why=why)

    async def _shorter(
        self, state: AgentState, pulse: Pulse, *, why: str, numbers: Numbers
    ) -> bool:
        """Compact without a model: the conversation is too long to be asked about."""
        for keep in sorted({min(numbers.tail_steps, 2), 1}, reverse=True):
            if await self.compactor.compact(
                state,
                pulse,
                why=why,
                keep_steps=keep,
                numbers=numbers,
                by_model=False,
            ):
                return True
        return False

    def numbers(self, state: AgentState) -> Numbers:
        """Return the numbers of the policy, for the window as it is known now.

        What calls may bring follows them: the caller is told.
        """
        window = smallest(self.caller.route.window, state.window)
        fixed = max(state.shown.base_tokens, state.shown.base_counted)
        if self._known is None or self._known[0] != (window, fixed):
            most = self.spec.max_output_tokens
            try:
                numbers = resolve(
                    self.policy,
                    window_tokens=window,
                    fixed_tokens=fixed,
                    max_output_tokens=most,
                )
            except SpecError:  # the endpoint showed a window that holds no work
                if self._known is None:
                    numbers = resolve(
                        self.policy.model_copy(update={"window_tokens": None}),
                        window_tokens=None,
                        fixed_tokens=fixed,
                        max_output_tokens=most,
                    )
                else:
                    numbers = self._known[1]
            self._known = (window, fixed), numbers
            self.caller.sizes = ResultSizes(numbers.read_tokens, numbers.clip_tokens)
            self.caller.room = _room_for_results(numbers, fixed)
        return self._known[1]

    def _is_break(self, state: AgentState) -> bool:
        """Return whether a part of the work has just come to its end."""
        newest = state.newest_results
        if any(each.delivers for each in newest) and not self.hooks.team.is_out():
            return True
        calls = [state.transcript.calls.get(each.call) for each in newest]
        return any(
            made is not None
            and made.name == UpdateNotes.name
            and made.input.get("section") == "Plan"
            and "[x]" in str(made.input.get("text", "")).lower()
            for made in calls
        )

    async def _clear(self, state: AgentState, clear: Clear, numbers: Numbers) -> None:
        """Put stubs in the place of results."""
        make = partial(_stubs, state, clear.calls, digest_tokens=numbers.digest_tokens)
        stubs = await anyio.to_thread.run_sync(make)
        before = state.shown.tokens
        cleared = []
        for call, text in stubs.items():
            known, made = state.shown.results[call], state.transcript.calls[call]
            cleared.append(
                {
                    "call": call,
                    "name": known.name,
                    "ref": made.reference,
                    "tokens": known.tokens,
                    "stub_tokens": state.count(text),
                    "superseded": known.is_superseded,
                }
            )
        by_price = clear.why == "rent"
        event = ContextCleared(
            turn=state.turns + 1,
            why=clear.why,
            stubs=stubs,
            tokens_before=before,
            tokens_after=before,
            cleared=cleared,
            rent_usd=clear.rent_usd if by_price else None,
            cost_usd=clear.cost_usd if by_price else None,
            spares_newest=state.spares_newest,
        )
        thinking = state.clear(event)
        event = replace(event, thinking=thinking, tokens_after=state.shown.tokens)
        self.log.append(event, agent=self.spec.id)

    async def _compact(
        self, state: AgentState, compact: Compact, numbers: Numbers, pulse: Pulse
    ) -> None:
        try:
            await self.compactor.compact(
                state,
                pulse,
                why=compact.why,
                keep_steps=compact.keep_steps,
                numbers=numbers,
            )
        except Postponed:
            return


def _forced(clearing: Clearing, *, why: str) -> Clear:
    """Return a clear that is made whatever it costs."""
    return Clear(clearing.calls, why, clearing.freed_tokens, 0.0, 0.0)


def _room_for_results(numbers: Numbers, fixed_tokens: int) -> float:
    """Return what the results of one step may have beside all that must stay."""
    if numbers.window_tokens is None:
        return math.inf
    kept = fixed_tokens + numbers.state_tokens + numbers.summary_tokens
    room = numbers.window_tokens - numbers.output_tokens - kept
    return max(room * STEP_SHARE, 0.0)


def layout_of(state: AgentState, numbers: Numbers, *, at_break: bool = False) -> Layout:
    """Return what the next request of an agent holds, by size."""
    shown = state.shown
    newest = {each.call for each in state.newest_results}
    stub_tokens = STUB_TOKENS + numbers.digest_tokens
    return Layout(
        fixed_tokens=shown.first_tokens,
        items=tuple(
            Item(
                call=each.call,
                step=each.step,
                tokens=each.tokens,
                stub_tokens=min(stub_tokens, each.tokens),
                label=each.label,
                is_seen=each.call not in newest,
                is_superseded=each.is_superseded,
            )
            for each in shown.results.values()
            if each.name not in DELEGATION
        ),
        total_tokens=shown.tokens,
        steps=tuple(shown.steps),
        first_step=state.first_step,
        at_break=at_break,
        turns_since_compaction=state.turns - state.sight.compacted_at,
        compacted_to_tokens=state.sight.compacted_to_tokens,
    )


def _stubs(
    state: AgentState, calls: tuple[str, ...], *, digest_tokens: int
) -> dict[str, str]:
    """Return what stands in the place of each of these results."""
    wanted = set(calls)
    contents: dict[str, str | list[Block]] = {
        str(block["tool_use_id"]): block["content"]
        for message in state.shown.messages
        for block in message["content"]
        if block.get("tool_use_id") in wanted
    }
    stubs = {}
    for call in calls:
        made, known = state.transcript.calls[call], state.shown.results[call]
        text = text_of(contents[call])
        lines = ""
        if digest_tokens:
            lines = digest(text, limit_tokens=digest_tokens, count=state.count)
        stubs[call] = stub(
            made.name,
            made.input,
            ref=made.reference,
            tokens=known.tokens,
            digest=lines,
            form="" if isinstance(contents[call], str) else "with what is no text",
        )
    return stubs
