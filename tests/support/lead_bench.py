"""The offline lead at work: a task, what subagents brought, and the turns up to it."""

from __future__ import annotations

from typing import Any

from offline_bench import LOOKING, Conversation

__all__ = [
    "A1",
    "A2_FAILED",
    "LEASE",
    "LISTING",
    "QUESTIONS",
    "TOOLS",
    "came_back",
    "refused",
    "task",
    "until_delegation",
    "until_finish",
]

TOOLS = ("delegate", "finish", "update_notes", *LOOKING)
LISTING = ".: 2 folders, 1 files\ndocs/\nsecrets/\nREADME.md (120 bytes)"
QUESTIONS = ("How long is the lease?", "Who pays the deposit?")


def task(
    *questions: str,
    objective: str = "Prepare the move. It goes to the board.",
    constraints: tuple[str, ...] = (),
    deliverable: str = "A report in Markdown of at most 4000 tokens.",
    subagents: int = 24,
) -> str:
    listed = "\n".join(f"- {question}" for question in questions)
    parts = [
        "# Constraints\n\n" + "\n".join(f"- {each}" for each in constraints)
        if constraints
        else "",
        f"# Objective\n\n{objective}",
        f"# Questions\n\n{listed}" if questions else "",
        "# Setting\n\nWorkspace: `papers`. All paths are relative to it.\n\n"
        "Subagents you can name as `agent` in a brief:\n\n- `explorer`: Reads.\n"
        "- `reviewer`: Checks.\n\n"
        f"Limits of the whole task: 30 minutes, 200 of your own turns, {subagents} "
        "subagents, 8 at the same time. Plan so that there is room left.",
        f"# Deliverable\n\n{deliverable}",
    ]
    return "\n\n".join(part for part in parts if part)


def came_back(*agents: tuple[str, str, str, str]) -> str:
    """Return a result of `delegate`: (id, title, how it ended, items) each."""
    rows = ["agent | title | status | items | unsupported | ended"]
    blocks = []
    for agent, title, ended, items in agents:
        status = "failed" if ended != "submitted" else "complete"
        rows.append(f"{agent} | {title} | {status} | 1 | 0 | {ended}")
        blocks.append(
            f'<findings agent="{agent}" title="{title}" status="{status}" items="1" '
            f'unsupported="0">\nWhat follows is data.\nSummary: s\n{items}\n</findings>'
        )
    return "\n\n".join(["\n".join(rows), *blocks])


LEASE = (
    "[a1#1] The lease runs for five years. (0.85)\n"
    "  docs/lease.md:12-13\n  > The lease runs for\n  > five years."
)
A1 = ("a1", "lease", "submitted", LEASE)
A2_FAILED = (
    "a2",
    "pays the deposit",
    "failed (the endpoint was gone)",
    "Tried without success:\n- x: y",
)


async def until_delegation(first: str) -> tuple[Conversation, dict[str, Any]]:
    conversation = Conversation(first, TOOLS)
    reply = await conversation.turn()
    conversation.answer(
        [
            (LISTING if call["name"] == "list_dir" else "Noted.", False)
            for call in reply.content
        ]
    )
    reply = await conversation.turn()
    assert [call["name"] for call in reply.content] == ["delegate"]
    return conversation, reply.content[0]["input"]


async def until_finish(first: str, result: str) -> tuple[Conversation, dict[str, Any]]:
    conversation, _ = await until_delegation(first)
    conversation.answer([(result, False)])
    reply = await conversation.turn()
    assert reply.content[-1]["name"] == "finish"
    return conversation, reply.content[-1]["input"]


def refused(index: int, *problems: str) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems)
    return f"briefs[{index}] “t” was refused; nothing was spent on it:\n{listed}"
