"""Drives the offline model in a conversation with real tools, without a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tool_bench import ToolBench

from orchestrator.messages import Block, Message, text_of, tool_result
from orchestrator.models.base import ModelRequest, Reply, Retry
from orchestrator.models.offline import OfflineModel
from orchestrator.resources import data_root
from orchestrator.security.workspace import Workspace
from orchestrator.spec.profile_file import read_profile
from orchestrator.tools.calls import CallSpec

__all__ = ["Conversation", "explore", "request_of", "until_hand_in"]

HAND_INS = ("submit_findings", "finish")
LOOKING = ("grep", "glob", "list_dir", "read_file")


def request_of(
    messages: Sequence[Message], tools: Sequence[str], system: str = "system"
) -> ModelRequest:
    return ModelRequest(
        model="offline",
        system=[{"type": "text", "text": system}],
        tools=[
            {"name": name, "description": "", "input_schema": {"type": "object"}}
            for name in tools
        ],
        messages=list(messages),
        max_output_tokens=4000,
        body=json.dumps(list(messages)).encode(),
    )


def _never(_retry: Retry) -> None:
    raise AssertionError("the offline model has nothing to retry")


@dataclass
class Conversation:
    """One agent's conversation; results come from tools or from the test."""

    first: str
    tools: Sequence[str]
    messages: list[Message] = field(default_factory=list)
    model: OfflineModel = field(default_factory=OfflineModel)
    system: str = "system"

    def __post_init__(self) -> None:
        self.messages.append(
            {"role": "user", "content": [{"type": "text", "text": self.first}]}
        )

    async def turn(self) -> Reply:
        request = request_of(self.messages, self.tools, self.system)
        reply = await self.model.complete(request, on_retry=_never)
        self.messages.append({"role": "assistant", "content": reply.content})
        return reply

    def answer(self, results: Sequence[tuple[str, bool]], said: str = "") -> None:
        """Answer all calls of the last turn, in order; `said` comes after them."""
        calls = self.messages[-1]["content"]
        blocks: list[Block] = [
            tool_result(call["id"], text, is_error=is_error)
            for call, (text, is_error) in zip(calls, results, strict=True)
        ]
        if said:
            blocks.append({"type": "text", "text": said})
        self.messages.append({"role": "user", "content": blocks})

    @property
    def calls(self) -> list[Block]:
        return [
            block
            for message in self.messages
            if message["role"] == "assistant"
            for block in message["content"]
            if block["type"] == "tool_use"
        ]


async def explore(
    folder: Path,
    brief: str,
    *,
    workspace: Path | None = None,
    tools: Sequence[str] = (*LOOKING, "submit_findings"),
    files: dict[str, str] | None = None,
    max_turns: int = 8,
    profile: str = "explorer",
) -> tuple[dict[str, Any], Conversation]:
    """Return the findings of a subagent with real tools, and its conversation.

    `update_notes` is answered as if it had been written.
    """
    bench = ToolBench(folder)
    if workspace is not None:
        bench.workspace = Workspace(workspace)
    for name, text in (files or {}).items():
        bench.write(name, text)
    system = read_profile(data_root() / "agents" / f"{profile}.md").profile.prompt
    conversation = Conversation(brief, tools, system=system)
    return await until_hand_in(conversation, bench, max_turns=max_turns), conversation


async def until_hand_in(
    conversation: Conversation, bench: ToolBench, *, max_turns: int = 8
) -> dict[str, Any]:
    """Let it work with real tools; return what it hands in."""
    for _ in range(max_turns):
        reply = await conversation.turn()
        if reply.content[-1]["name"] in HAND_INS:
            return dict(reply.content[-1]["input"])
        looking = [b for b in reply.content if b["name"] != "update_notes"]
        results = await bench.run(
            *(CallSpec(b["id"], b["name"], b["input"]) for b in looking)
        )
        found = {r.call: (text_of(r.content), r.is_error) for r in results}
        noted = ("Noted.", False)
        conversation.answer([found.get(b["id"], noted) for b in reply.content])
    raise AssertionError("the subagent did not hand in")
