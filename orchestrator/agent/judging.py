"""Another model compares a summary with what it stands for, if the task names one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio

from orchestrator.agent.caller import Caller
from orchestrator.agent.hooks import Words
from orchestrator.agent.outgoing import Aside, question
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.state import AgentState
from orchestrator.agent.summarizing import EVERY_S
from orchestrator.context.as_text import render
from orchestrator.errors import LimitReached, ModelError, NotSent
from orchestrator.messages import Block, Message, list_items, one_line, text_of

__all__ = ["Judge"]

MOST_LOSSES: Final = 10
MAX_LOSS_CHARS: Final = 300
OUTPUT_TOKENS: Final = 1500


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model what a summary lacks; where it cannot say, nothing is lost.

    Attributes:
        caller: makes the call.
        words: the program's prompts.
        model: bare id.
    """

    caller: Caller
    words: Words
    model: str

    async def losses(
        self,
        state: AgentState,
        dropped: Sequence[Message],
        *,
        summary: str,
        pulse: Pulse,
    ) -> list[str]:
        """Return what must be put back, a line each.

        Args:
            state: of the agent.
            dropped: the messages that go.
            summary: what stands for them.
            pulse: of the turn before which it is asked.
        """
        if (kept := state.sight.asides.pop("judge", None)) is not None:
            return _found(kept.content)  # paid for by an earlier process
        limit = int((self.caller.window_of(self.model) - OUTPUT_TOKENS) * 0.7)
        record = render(
            [state.shown.messages[0], *dropped],
            count=state.count,
            limit_tokens=limit,
            first_step=state.first_step,
        )
        asked = self.words("judge", record=record, summary=summary)
        aside = Aside("judge", [question(asked)], OUTPUT_TOKENS, self.model)
        with anyio.move_on_after(min(EVERY_S, self.caller.spec.call_s)):
            try:
                answered = await self.caller.aside(state, aside, pulse)
            except (ModelError, LimitReached, NotSent):
                return []
            return _found(answered.reply.content)
        return []


def _found(content: Sequence[Block]) -> list[str]:
    found = list_items(text_of(content))
    return [one_line(each, MAX_LOSS_CHARS) for each in found[:MOST_LOSSES]]
