"""The offline model as a subagent: by its role, its hand-ins and further questions."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.models.offline.answers import is_unfinished
from orchestrator.models.offline.explorer import HAND_IN, Step, explore
from orchestrator.models.offline.handing_in import mended
from orchestrator.models.offline.reading import Call, Conversation, asked_in
from orchestrator.models.offline.reviewer import review
from orchestrator.models.offline.roles import role_of
from orchestrator.models.offline.summarizer import digest

__all__ = ["subagent", "wait_after"]


def subagent(conversation: Conversation) -> list[Step]:
    """Return the calls of a subagent's next turn."""
    asked = [opening for opening in conversation.openings if opening.question]
    if asked:
        conversation = _from_then_on(conversation, asked[-1].turn, asked[-1].question)
    handed_in = conversation.named(HAND_IN)
    if handed_in and handed_in[-1].answered:
        if not is_unfinished(handed_in[-1].result):
            return [(HAND_IN, mended(handed_in))]
        if waits := wait_after(conversation, handed_in[-1]):
            return waits
    role = role_of(conversation.system)
    if role == "reviewer":
        return review(conversation)
    # What it is asked further is about one matter, not about the whole document.
    if role == "summarizer" and not asked:
        return digest(conversation)
    return explore(conversation)


def wait_after(conversation: Conversation, held_back: Call) -> list[Step]:
    """Return a wait for all subagents, unless there was one since a hand-in."""
    waited = any(c.turn > held_back.turn for c in conversation.named("wait_for"))
    if waited or conversation.must_end or "wait_for" not in conversation.tools:
        return []
    return [("wait_for", {"mode": "all"})]


def _from_then_on(conversation: Conversation, turn: int, question: str) -> Conversation:
    """Return the conversation as if the further question had been the brief."""
    listed = "\n".join(f"- {text}" for text in asked_in(question))
    later = conversation.between(turn, conversation.turns)
    return replace(later, first=f"# Questions\n\n{listed}")
