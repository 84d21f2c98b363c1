"""Asks an agent's model what it learned, once its work is over.

The agent's own model is asked in the same conversation, which its cache holds; another
one is sent the conversation as text. Nothing of it enters the conversation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import anyio

from orchestrator.agent.caller import Caller
from orchestrator.agent.outgoing import Aside, question
from orchestrator.agent.pulse import Pulse
from orchestrator.agent.state import AgentState
from orchestrator.agent.stops import refusal
from orchestrator.agent.summarizing import EVERY_S, THOUGHT_TOKENS
from orchestrator.context.as_text import render
from orchestrator.errors import LimitReached, ModelError, NotSent
from orchestrator.messages import text_of, tool_calls
from orchestrator.models.base import EXCEEDED, Reply, Usage

__all__ = ["PURPOSE", "RECORD", "LookingBack"]

PURPOSE: Final = "memory"
RECORD: Final = "{record}"
"""Stands in a question where the conversation goes, for who has not read it; only the
first counts, since what memory holds follows."""


@dataclass(frozen=True, slots=True)
class LookingBack:
    """Asks at the end of an agent; where nobody answers, nothing is lost.

    Attributes:
        state: of the agent; every call of it has its result.
        caller: makes the call.
        limit_s: longest time for it.
        model: bare id of another model that is asked; "": the agent's own.
        effort: for that one.
    """

    state: AgentState
    caller: Caller
    limit_s: float
    model: str = ""
    effort: str | None = None

    async def __call__(self, text: str, *, output_tokens: int) -> str:
        """Return the answer; "": there is none of use."""
        kept = self.state.sight.asides.pop(PURPOSE, None)
        if kept is not None:  # paid for by an earlier process
            usage = Usage.stored(kept.usage)
            return _useful(Reply(kept.content, kept.stop_reason, usage))
        output = output_tokens + THOUGHT_TOKENS
        asked = question(self._filled(text, output))
        aside = Aside(PURPOSE, [asked], output, self.model, self.effort)
        with anyio.move_on_after(min(EVERY_S, self.limit_s)):
            try:
                answered = await self.caller.aside(self.state, aside, Pulse())
            except (ModelError, LimitReached, NotSent):
                return ""
            return _useful(answered.reply)
        return ""

    def _filled(self, text: str, output: int) -> str:
        """Return the question, with the conversation in it if its reader needs that."""
        if not self.model:
            return text.replace(RECORD, "", 1)
        window = self.caller.window_of(self.model)
        record = render(
            self.state.shown.messages,
            count=self.state.count,
            limit_tokens=int((window - output) * 0.7),
            first_step=self.state.first_step,
        )
        return text.replace(RECORD, f"<record>\n{record}\n</record>\n\n", 1)


def _useful(reply: Reply) -> str:
    """Return what an answer says; "": it is none, or not whole."""
    is_cut = reply.stop_reason in ("max_tokens", EXCEEDED)
    if is_cut or refusal(reply) or tool_calls(reply.content):
        return ""
    return text_of(reply.content)
