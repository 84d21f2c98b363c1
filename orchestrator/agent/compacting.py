"""Lets earlier steps of a conversation make room for one text: a compaction.

What stands in their place: the state from the program's records, a summary, the table
of subagents, and the files that the open work needs. Until its event is in the log the
old history holds, whatever dies.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import anyio.to_thread

from orchestrator.agent.hooks import Hooks, Words
from orchestrator.agent.judging import Judge
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.reopening import Reopened, wanted_files
from orchestrator.agent.replacement import (
    Replacement,
    heard,
    lines_of,
    references_up_to,
    said,
)
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.summarizing import Draft, Summarizer
from orchestrator.clock import Clock
from orchestrator.context.as_text import render
from orchestrator.context.cuts import safe_cut
from orchestrator.context.digest import digest
from orchestrator.context.fidelity import Checked, check_summary
from orchestrator.context.mechanical import mechanical_summary
from orchestrator.context.numbers import Numbers
from orchestrator.context.state import (
    StateRecord,
    files_touched,
    render_state,
    state_lines,
)
from orchestrator.context.stubs import short_call
from orchestrator.context.summary import Summary, fit, parse
from orchestrator.events import ContextCompacted
from orchestrator.messages import Message, tool_calls
from orchestrator.store.eventlog import EventLog

__all__ = ["Compactor", "Reopen"]

LEAST_GAIN: Final = 0.05
"""Of a request; a compaction that gives less is none."""
LEAST_SUMMARY_TOKENS: Final = 300
"""A summary may be as long, however little it stands for; else half of that."""
FLAT_PARTS: Final = (1.0, 0.5, 0.2)
"""Of their sizes, that all parts have where a conversation is said in one message: the
first with which it fits."""
MOST_PUT_BACK: Final = 40
"""Lines that checks of summaries have put back and that are kept."""

Reopen = Callable[[Sequence[str], int], Awaitable[Sequence[Reopened]]]


@dataclass(slots=True)
class _Made:
    """A summary, how it was made, and what its check found."""

    how: str
    summary: Summary = field(default_factory=Summary)
    draft: Draft = field(default_factory=Draft)
    checked: Checked | None = None
    judged: list[str] = field(default_factory=list)

    @property
    def added(self) -> list[str]:
        """Return what is put back, word for word."""
        found = list(self.checked.added) if self.checked else []
        return list(dict.fromkeys([*found, *self.judged]))

    @property
    def own_rules(self) -> list[str]:
        """Return rules that nobody gave."""
        return list(self.checked.own_rules) if self.checked else []


@dataclass(frozen=True, slots=True)
class Compactor:
    """Compacts the conversation of one agent.

    Attributes:
        spec: what it started with.
        log: the run's.
        clock: the time.
        words: the program's prompts.
        summarizer: asks for summaries.
        hooks: what its role adds: its records and its subagents.
        reopen: paths and most tokens of each → those files as they are now.
        judge: compares a summary with what it stands for; None: nobody does.
    """

    spec: AgentSpec
    log: EventLog
    clock: Clock
    words: Words
    summarizer: Summarizer
    hooks: Hooks
    reopen: Reopen
    judge: Judge | None = None

    async def compact(
        self,
        state: AgentState,
        pulse: Pulse,
        *,
        why: str,
        keep_steps: int,
        numbers: Numbers,
        by_model: bool = True,
    ) -> bool:
        """Compact, and return whether that made room.

        Args:
            state: the agent's; what waits for its next message is in it already.
            pulse: of the turn before which this happens.
            why: as in the event.
            keep_steps: how many of the newest steps stay whole, 1 or more.
            numbers: of its policy.
            by_model: a model is asked for the summary; else it is made mechanically.

        Raises:
            Postponed: the run is parked; nothing has changed.
        """
        began = self.clock.monotonic()
        shown = state.shown
        cut = safe_cut(shown.messages, keep_steps=keep_steps)
        dropped, tail = shown.messages[1:cut], shown.messages[cut:]
        state.sight.tried(shown, turns=state.turns)
        if not dropped:
            return False
        if numbers.policy != "ladder":
            made = _Made("none")
        else:
            made = await self._made(
                state, dropped, tail, pulse, numbers=numbers, by_model=by_model
            )
        text = await self._text(state, made, tail, numbers)
        return self._apply(
            state,
            made,
            text,
            why=why,
            kept=len(tail),
            room=_room(numbers),
            began=began,
        )

    async def flatten(self, state: AgentState, *, numbers: Numbers, why: str) -> bool:
        """Say all steps in one message; return whether that could be done.

        For an endpoint that takes nothing of the conversation back as it was, and for a
        step that is too long to stand whole.

        Args:
            state: the agent's.
            numbers: of its policy.
            why: as in the event.
        """
        began = self.clock.monotonic()
        messages = state.shown.messages
        if len(messages) < 2:
            return False
        cut = safe_cut(messages, keep_steps=1)
        dropped, tail = messages[1:cut], messages[cut:]
        first = len(state.transcript.steps) - _steps_in(tail) + 1
        for part in FLAT_PARTS:
            smaller = _part_of(numbers, part)
            made = _Made("mechanical")
            if dropped:
                made = await self._made(
                    state, dropped, tail, Pulse(), numbers=smaller, by_model=False
                )
            text = await self._text(state, made, tail, smaller)
            room = max(smaller.tail_tokens, smaller.read_tokens)
            text.newest = render(
                tail, count=state.count, limit_tokens=room, first_step=first
            )
            whole = text.filled(self.words, last=len(state.transcript.steps))
            parts = text.parts(whole, count=state.count)
            if state.shown.size_with(parts, kept=0) <= _room(numbers):
                break
        return self._apply(
            state,
            made,
            text,
            why=why,
            kept=0,
            room=_room(numbers),
            began=began,
        )

    def _apply(
        self,
        state: AgentState,
        made: _Made,
        text: Replacement,
        *,
        why: str,
        kept: int,
        room: float,
        began: float,
    ) -> bool:
        """Make the edit and write it down, if it makes the conversation shorter.

        That is by a share of it, or so that it fits `room`, which it does not yet.
        """
        shown = state.shown
        kept_steps = _steps_in(shown.messages[len(shown) - kept :])
        last = len(state.transcript.steps) - kept_steps
        whole = text.filled(self.words, last=last)
        parts = text.parts(whole, count=state.count)
        before = shown.tokens
        after = shown.size_with(parts, kept=kept)
        is_shorter = after <= before * (1 - LEAST_GAIN) or after <= room < before
        if not is_shorter and why != "thinking":
            return False
        event = ContextCompacted(
            turn=state.turns + 1,
            why=why,
            how=made.how,
            kept_messages=kept,
            first_dropped=state.first_step,
            last_dropped=last,
            text=whole,
            summary=text.summary,
            parts=parts,
            tokens_before=before,
            tokens_after=after,
            checks=made.checked.checks() if made.checked else [],
            mended=made.checked.mended() if made.checked else [],
            added=made.added,
            own_rules=made.own_rules,
            failures=made.draft.failures,
            usd=made.draft.usd,
            seconds=round(self.clock.monotonic() - began, 3),
            tokens_in=made.draft.tokens_in,
            tokens_out=made.draft.tokens_out,
            reopened=[each.path for each in text.reopened],
            opened=text.opened_in(whole),
            spares_newest=state.spares_newest,
            files=[seen for each in text.reopened for seen in each.files],
        )
        event = replace(event, thinking=state.compact(event))
        self.log.append(event, agent=self.spec.id)
        return True

    async def _made(
        self,
        state: AgentState,
        dropped: Sequence[Message],
        tail: Sequence[Message],
        pulse: Pulse,
        *,
        numbers: Numbers,
        by_model: bool,
    ) -> _Made:
        """Return the checked summary of the messages that go."""
        draft = Draft()
        if by_model:
            draft = await self.summarizer.draft(
                state, dropped, numbers=numbers, pulse=pulse
            )
        earlier = state.sight.compacted.summary if state.sight.compacted else ""
        made = _Made("model", draft=draft)
        record = self._record(state, [], kept=len(tail))
        gone = state.shown.tokens - state.shown.size_with({}, kept=len(tail))
        limit = min(numbers.summary_tokens, max(gone // 2, LEAST_SUMMARY_TOKENS))
        if draft.text.strip():
            check = partial(
                check_summary,
                draft.text,
                old=[*([earlier] if earlier else []), *said(dropped)],
                # It may tell of what stays as well.
                results=[*heard(state.shown.messages[1:]), *said(tail)],
                state=[*lines_of(state.transcript.messages[0]), *state_lines(record)],
                references=[
                    *references_up_to(len(state.transcript.steps)),
                    *record.files,
                ],
                used_later=[
                    short_call(call["name"], call["input"])
                    for message in tail
                    for call in tool_calls(message["content"])
                ],
                open_calls=(),
                limit_tokens=numbers.summary_tokens,
                count=state.count,
            )
            made.checked = await anyio.to_thread.run_sync(check)
        if made.checked is None or not made.checked.is_acceptable:
            mechanical = partial(
                mechanical_summary,
                [*dropped],
                digest=partial(
                    digest, limit_tokens=numbers.digest_tokens, count=state.count
                ),
                limit_tokens=limit,
                count=state.count,
                earlier=earlier,
                first_step=state.first_step,
            )
            made.how, made.checked = "mechanical", None
            made.summary = await anyio.to_thread.run_sync(mechanical)
            return made
        summary = parse(made.checked.corrected)
        made.summary = fit(summary, limit_tokens=limit, count=state.count)
        if self.judge is not None:
            made.judged = await self.judge.losses(
                state, dropped, summary=made.summary.render(), pulse=pulse
            )
        return made

    def _record(
        self, state: AgentState, added: Sequence[str], *, kept: int
    ) -> StateRecord:
        """Return what the program knows once all but `kept` messages have gone."""
        records = self.hooks.records
        notes = dict(records.notes())
        put_back = list(dict.fromkeys([*state.sight.put_back, *added]))
        return StateRecord(
            words=tuple(state.sight.words),
            pinned=state.pinned_after(kept),
            notes=notes,
            pinned_notes=frozenset(records.pinned()),
            findings=tuple(self.hooks.team.standing.facts()),
            put_back=tuple(put_back[-MOST_PUT_BACK:]),
            effects=tuple(records.effects()),
            files=files_touched(state.transcript.messages),
        )

    async def _text(
        self,
        state: AgentState,
        made: _Made,
        tail: Sequence[Message],
        numbers: Numbers,
    ) -> Replacement:
        """Return the parts of what stands in the place of the steps."""
        record = self._record(state, made.added, kept=len(tail))
        summary = made.summary.render()
        limit = numbers.state_tokens
        text = Replacement(
            state=render_state(record, limit_tokens=limit, count=state.count),
            summary=summary,
            own_rules="\n".join(f"- {rule}" for rule in made.own_rules),
            subagents=self.hooks.team.standing.table(),
        )
        open_work = "\n".join(
            [*made.summary.lines("open"), record.notes.get("Plan", "")]
        )
        wanted = wanted_files(
            record.files, open_work, tail=tail, most=numbers.reopen_files
        )
        if wanted and numbers.reopen_tokens:
            text.reopened = list(await self.reopen(wanted, numbers.reopen_tokens))
        text.memory = await self.hooks.memory.again(open_work)
        return text


def _room(numbers: Numbers) -> float:
    """Return how long a request may be, beside a whole reply."""
    if numbers.window_tokens is None:
        return math.inf
    return numbers.window_tokens - numbers.output_tokens


def _part_of(numbers: Numbers, part: float) -> Numbers:
    """Return the numbers with a part of the sizes of what a compaction leaves."""
    return replace(
        numbers,
        state_tokens=int(numbers.state_tokens * part),
        summary_tokens=int(numbers.summary_tokens * part),
        tail_tokens=int(numbers.tail_tokens * part),
        read_tokens=int(numbers.read_tokens * part),
        reopen_tokens=int(numbers.reopen_tokens * part),
    )


def _steps_in(messages: Sequence[Message]) -> int:
    return sum(message["role"] == "assistant" for message in messages)
