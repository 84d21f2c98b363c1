"""What an agent is reminded of from time to time, and after each compaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import Hooks, Words
from orchestrator.agent.sight import FILLING
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.timing import left_s
from orchestrator.agent.wrapping_up import Use, uses_of
from orchestrator.context.numbers import Numbers
from orchestrator.events import TextAdded
from orchestrator.messages import one_line, shortened
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.notes import UpdateNotes

__all__ = ["Reminder", "reminders"]

TOLD_FROM = 0.25
"""Of a limit that is used: below that nobody has to think of it."""
MAX_RULE_CHARS = 240
FILLING_WORDS = (
    "Your context is filling, and earlier steps will give way to a summary: put what "
    "you must not lose into `update_notes` now"
)


@dataclass(frozen=True, slots=True)
class Reminder:
    """Reminds one agent of what holds now, where there is something to be said.

    Attributes:
        spec: what it started with.
        caller: knows its budget.
        hooks: what its role adds.
        words: the program's prompts.
        log: the run's.
    """

    spec: AgentSpec
    caller: Caller
    hooks: Hooks
    words: Words
    log: EventLog

    def remind(self, state: AgentState, numbers: Numbers) -> None:
        """Say what there is, in the next user message, if it is time for that."""
        since = state.turns - state.sight.reminded_at
        can_note = UpdateNotes.name in self.spec.allowed
        is_filling = can_note and _is_filling(state, numbers)
        if not (state.sight.remind or is_filling or since >= numbers.reminder_turns):
            return
        uses = uses_of(
            state,
            self.spec.limits,
            self.caller.budget,
            call=self.caller.next_call(state),
            left_s=left_s(self.spec, state),
        )
        frame = state.count(self.words("reminder", items=""))
        room = numbers.reminder_tokens - frame
        lines = reminders(
            state, self.hooks, uses=uses, is_filling=is_filling, limit_tokens=room
        )
        if lines:
            items = "\n".join(f"- {line}" for line in lines)
            text = self.words("reminder", items=items)
            added = TextAdded("reminder", text, limit=FILLING if is_filling else "")
            self.log.append(added, agent=self.spec.id)
            state.add([], [text])
            state.sight.heard(added, turns=state.turns)
        state.sight.remind = False


def _is_filling(state: AgentState, numbers: Numbers) -> bool:
    """Return whether an agent is to be told that its earlier steps will go."""
    if numbers.soft_tokens is None or state.sight.is_warned:
        return False
    since = state.turns - state.sight.compacted_at
    is_over = state.shown.tokens + state.pending_tokens > numbers.soft_tokens
    return is_over and since >= numbers.reminder_turns


def reminders(
    state: AgentState,
    hooks: Hooks,
    *,
    uses: Sequence[Use],
    is_filling: bool,
    limit_tokens: int,
) -> list[str]:
    """Return what there is to be reminded of, a line each, within a limit.

    Args:
        state: the agent's.
        hooks: what its role adds.
        uses: how much of each limit is used.
        is_filling: its context has passed the soft mark.
        limit_tokens: of all lines together.
    """
    lines: list[str] = [FILLING_WORDS] if is_filling else []
    limit_tokens -= sum(map(state.count, lines))
    for line in _all(state, hooks, uses):
        tokens = state.count(line) + 2
        if tokens <= limit_tokens:
            lines.append(line)
            limit_tokens -= tokens
    return lines


def _all(state: AgentState, hooks: Hooks, uses: Sequence[Use]) -> Iterator[str]:
    """Yield what there is, the most binding first."""
    if said := state.sight.newest_words:
        yield f"Said last: {_cut(said)}"
    for rule in hooks.records.constraints:
        yield f"Still binding: {_cut(rule)}"
    if out := hooks.team.standing.running():
        yield f"At work: {', '.join(out)}"
    if stale := hooks.records.stale():
        yield (
            f"Your notes under {', '.join(stale)} are older than the newest findings: "
            "bring them up to date"
        )
    told = [use for use in uses if use.share >= TOLD_FROM]
    if told:
        nearest = max(told, key=lambda use: use.share)
        yield f"Left for work: {nearest.in_words}"


def _cut(text: str) -> str:
    return shortened(one_line(text), MAX_RULE_CHARS)
