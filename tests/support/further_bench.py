"""The offline lead after its report: what the program says, what comes back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lead_bench import (
    A1,
    A2_FAILED,
    LISTING,
    QUESTIONS,
    came_back,
    task,
    until_finish,
)
from offline_bench import Conversation

from orchestrator.messages import Block
from orchestrator.resources import read_text

__all__ = [
    "A2",
    "A2_MISSING",
    "EXIT_FOUND",
    "LAST_CALL",
    "USED_UP",
    "accept",
    "asked",
    "briefs_of",
    "calls_of",
    "go_on",
    "gone_on",
    "look_around",
    "question",
    "report_of",
]

EXIT_FOUND = (
    "[a3#1] The exit is on the north side. (0.85)\n"
    "  docs/exit.md:4\n  > The exit is on the north side."
)
LAST_CALL = "A limit is reached, and this is your last answer. Call `finish` now."
USED_UP = "all 2 subagents of this run are used up"
A2 = (
    "a2",
    "pays the deposit",
    "submitted",
    "[a2#1] The tenant pays. (0.9)\n  docs/pay.md:3\n  > The tenant pays.",
)


def prompt(name: str, **values: str) -> str:
    """The shipped prompt, filled."""
    text = read_text(f"prompts/{name}.md")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def question(text: str) -> str:
    return prompt("question", question=text, tool="finish")


def go_on(*missing: str, used: int = 2, subagents: int = 24) -> str:
    limits = f"- 0.5 of 30 minutes used\n- {used} of {subagents} subagents used"
    listed = "\n".join(f"- {line}" for line in missing)
    return prompt("go_on", missing=listed, limits=limits, tool="finish")


def accept(conversation: Conversation, said: str) -> None:
    """Accept the report, with a text of the program behind."""
    calls = conversation.messages[-1]["content"]
    assert calls[-1]["name"] == "finish"
    noted = [("Noted.", False)] * (len(calls) - 1)
    conversation.answer([*noted, ("Accepted.", False)], said)


async def calls_of(conversation: Conversation) -> list[Block]:
    return list((await conversation.turn()).content)


async def look_around(conversation: Conversation) -> None:
    calls = await calls_of(conversation)
    assert {call["name"] for call in calls} == {"list_dir", "update_notes"}
    conversation.answer(
        [(LISTING if call["name"] == "list_dir" else "Noted.", False) for call in calls]
    )


async def briefs_of(conversation: Conversation) -> list[dict[str, Any]]:
    [call] = await calls_of(conversation)
    assert call["name"] == "delegate"
    return list(call["input"]["briefs"])


async def report_of(conversation: Conversation) -> str:
    call = (await calls_of(conversation))[-1]
    assert call["name"] == "finish"
    return str(call["input"]["report"])


async def asked(
    text: str, *, constraints: tuple[str, ...] = (), subagents: int = 24
) -> Conversation:
    """A finished conversation that was asked something further."""
    first = task(*QUESTIONS, constraints=constraints, subagents=subagents)
    conversation, _ = await until_finish(first, came_back(A1, A2))
    accept(conversation, question(text))
    return conversation


async def gone_on(
    *missing: str,
    agents: Sequence[tuple[str, str, str, str]] = (A1, A2_FAILED),
    subagents: int = 24,
) -> Conversation:
    """A conversation that ended with something missing and goes on."""
    conversation, _ = await until_finish(task(*QUESTIONS), came_back(*agents))
    accept(conversation, go_on(*missing, subagents=subagents))
    return conversation


A2_MISSING = "subagent a2 (pays the deposit) failed: the endpoint was gone"
