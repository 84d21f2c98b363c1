"""Asks a model for the summary of what is about to go, and says what went wrong.

The agent's own model is asked in the same conversation, which its cache holds; another
one is sent the conversation as text. An answer of no use is asked for again, once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import Words
from orchestrator.agent.outgoing import Aside, question, size_of
from orchestrator.agent.parking import Asked
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.spec import AgentSpec
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import refusal, usable
from orchestrator.agent.window import likely_tokens
from orchestrator.context.as_text import render
from orchestrator.context.numbers import Numbers
from orchestrator.context.summary import is_nothing
from orchestrator.errors import LimitReached, ModelError, NotSent
from orchestrator.messages import (
    Block,
    Message,
    text_block,
    text_of,
    tool_calls,
    tool_result,
    user_message,
)
from orchestrator.models.base import EXCEEDED, Reply, Usage
from orchestrator.models.choose import smallest
from orchestrator.models.lengths import told_lengths

__all__ = ["EVERY_S", "Draft", "Postponed", "Summarizer"]

TRIES: Final = 2
THOUGHT_TOKENS: Final = 2048
"""Room for thinking before a summary is written."""
LEAST_OUTPUT_TOKENS: Final = 256
TOO_LONG: Final = 1.5
"""Times the length that was asked for; what is less is shortened here."""
EVERY_S: Final = 240.0
"""Longest time for one question, tries of the same request included, in seconds."""
_WHY_AGAIN: Final = {
    "tool call": "it called a tool, and none runs now",
    "empty": "it was empty",
    "three times too long": "it was far longer than there is room for",
    "cut off": "it was cut off, since it was too long",
}
_NOT_NOW: Final = "Not run: the summary was asked for, and no tool runs now."


class Postponed(Exception):
    """No summary now: the run is parked, or about to be."""


@dataclass(slots=True)
class Draft:
    """What came of asking.

    Attributes:
        text: the summary as it was written; "": there is none.
        failures: what went wrong, in order.
        usd: what all of it cost; None: the price is unknown.
        tokens_in: input of all of it.
        tokens_out: output of all of it.
    """

    text: str = ""
    failures: list[str] = field(default_factory=list)
    usd: float | None = 0.0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, usage: Usage, usd: float | None) -> None:
        """Add what one answer cost."""
        self.usd = None if usd is None or self.usd is None else self.usd + usd
        self.tokens_in += usage.context_tokens
        self.tokens_out += usage.output_tokens


@dataclass(frozen=True, slots=True)
class Summarizer:
    """Asks for summaries of one agent's conversation.

    Attributes:
        spec: what the agent started with.
        caller: makes the calls.
        words: the program's prompts.
        model: bare id of another model that writes them; "": the agent's own.
        effort: for that one.
    """

    spec: AgentSpec
    caller: Caller
    words: Words
    model: str = ""
    effort: str | None = None

    async def draft(
        self,
        state: AgentState,
        dropped: Sequence[Message],
        *,
        numbers: Numbers,
        pulse: Pulse,
    ) -> Draft:
        """Return a summary of all but the newest steps, or why there is none.

        Args:
            state: the agent's; nothing in it is changed.
            dropped: the messages that are about to go.
            numbers: of its policy.
            pulse: of the turn before which it is asked for.

        Raises:
            Postponed: the run is parked.
        """
        draft = Draft()
        output = self._output(state, numbers)
        if output < LEAST_OUTPUT_TOKENS:
            draft.failures.append("no room in the window")
            return draft
        asked = self._asked(state, dropped, numbers, output)
        for _ in range(TRIES):
            reply = await self._ask(state, asked, output, draft, pulse)
            if reply is None:
                break
            limit = int(numbers.summary_tokens * TOO_LONG)
            problem = _problem(reply, state.count, limit_tokens=limit)
            if not problem:
                draft.text = text_of(reply.content)
                break
            draft.failures.append(problem)
            if problem in ("three times too long", "cut off"):
                draft.text = text_of(reply.content)
            if problem not in _WHY_AGAIN:
                break
            tokens = f"{numbers.summary_tokens:,}"
            again = self.words(
                "summarize_again", reason=_WHY_AGAIN[problem], tokens=tokens
            )
            asked = _again(asked, reply, again)
            # What was answered is in the next request too.
            output = self._output(state, numbers, asked=asked)
            if output < LEAST_OUTPUT_TOKENS:
                break
        return draft

    def _output(
        self, state: AgentState, numbers: Numbers, *, asked: Sequence[Message] = ()
    ) -> int:
        """Return how long the answer may be, in tokens; thinking included.

        Args:
            state: the agent's.
            numbers: of its policy.
            asked: what is said behind the conversation, if that is more than the
                request for a summary.
        """
        wanted = int(numbers.summary_tokens * TOO_LONG) + THOUGHT_TOKENS
        if self.model:
            return wanted
        window = smallest(numbers.window_tokens, self.caller.route.window, state.window)
        if window is None:
            return wanted
        prompt = state.count(self._prompt(numbers))
        if asked:
            prompt = sum(size_of(each, state.count) for each in asked)
        return min(wanted, window - likely_tokens(state.shown, more=prompt))

    def _prompt(self, numbers: Numbers) -> str:
        form = self.words("sections/summary_form", source="conversation")
        tokens = f"{numbers.summary_tokens:,}"
        return self.words("summarize", form=form, tokens=tokens)

    def _asked(
        self,
        state: AgentState,
        dropped: Sequence[Message],
        numbers: Numbers,
        output: int,
    ) -> list[Message]:
        if not self.model:
            return [question(self._prompt(numbers))]
        window = self.caller.window_of(self.model)
        limit = int((window - output) * 0.8)
        before = [state.shown.messages[0], *dropped]
        record = render(
            before,
            count=state.count,
            limit_tokens=limit,
            first_step=state.first_step,
        )
        asked = self.words(
            "summarize_text",
            form=self.words("sections/summary_form", source="record"),
            record=record,
            tokens=f"{numbers.summary_tokens:,}",
        )
        return [question(asked)]

    async def _ask(
        self,
        state: AgentState,
        asked: Sequence[Message],
        output: int,
        draft: Draft,
        pulse: Pulse,
        *,
        is_lower: bool = False,
    ) -> Reply | None:
        """Return an answer; None: there is none, and `draft` says why.

        Where the endpoint says that there is room for a shorter answer only, that is
        asked for, once.
        """
        if (kept := state.sight.asides.pop("summary", None)) is not None:
            # Paid for by an earlier process, which died before it was of use.
            usage = Usage.stored(kept.usage)
            draft.add(usage, kept.usd)
            return usable(
                Reply(
                    kept.content,
                    kept.stop_reason,
                    usage,
                    stop_details=kept.stop_details,
                ),
                state.transcript.call_ids,
            )
        aside = Aside("summary", asked, output, self.model, self.effort)
        why, room = "timeout", 0
        with anyio.move_on_after(min(EVERY_S, self.spec.call_s)):
            try:
                answered = await self.caller.aside(state, aside, pulse)
            except NotSent as error:
                raise Postponed from error
            except LimitReached:
                why = "no room in the budget"
            except ModelError as error:
                if self._parks(state, error):
                    raise Postponed from error
                why = f"error: {error}"
                room = _room(error, output) if error.kind == "too_long" else 0
            else:
                draft.add(answered.reply.usage, answered.usd)
                return usable(answered.reply, state.transcript.call_ids)
        if room and not is_lower:
            return await self._ask(state, asked, room, draft, pulse, is_lower=True)
        draft.failures.append(why)
        return None

    def _parks(self, state: AgentState, error: ModelError) -> bool:
        """Park the run if no other request fares better than this one."""
        if error.kind not in ("quota_exhausted", "auth"):
            return False
        cause = self.caller.log.newest(self.spec.id)
        asked = Asked(self.spec.id, state.turns + 1)
        return self.caller.parking.takes(error, cause, asked=asked)


def _problem(reply: Reply, count: Callable[[str], int], *, limit_tokens: int) -> str:
    """Return why an answer is no summary, or ""."""
    if category := refusal(reply):
        return f"refused: {category}"
    if tool_calls(reply.content):
        return "tool call"
    text = text_of(reply.content)
    if not text.strip() or is_nothing(text):
        return "empty"
    if count(text) > 2 * limit_tokens:
        return "three times too long"
    return "cut off" if reply.stop_reason in ("max_tokens", EXCEEDED) else ""


def _room(error: ModelError, output: int) -> int:
    """Return how much output there is room for as an endpoint tells; 0: too little."""
    told = told_lengths(error.message)
    room = told.window - told.input - 1 if told.input else 0
    return room if LEAST_OUTPUT_TOKENS <= room < output else 0


def _again(asked: Sequence[Message], reply: Reply, again: str) -> list[Message]:
    """Return what is said after an answer of no use."""
    if not reply.content:
        first, *rest = asked
        content = [*first["content"], text_block(again)]
        return [user_message(content), *rest]
    results: list[Block] = [
        tool_result(call["id"], _NOT_NOW, is_error=True)
        for call in tool_calls(reply.content)
    ]
    answer: Message = {"role": "assistant", "content": reply.content}
    return [*asked, answer, user_message([*results, text_block(again)])]
