"""How the endpoint behaves in runs that are killed: every conversation is fixed.

What is answered follows from the request alone, so that a run that was killed and gone
on with holds the same conversations as one that was left in peace, byte for byte.
"""

from __future__ import annotations

import copy
import hashlib
import re
import time
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import orjson
from explore_policy import PLAN, ExplorePolicy
from fake_endpoint import Answer, text, tool_use

from orchestrator.messages import Block, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step

__all__ = ["KillPolicy", "Slow", "title_of"]

UNKNOWN = "its outcome is unknown"
BACK = "accepted yet"


def title_of(asked: dict[str, Any]) -> str:
    """The conversation a request belongs to: `lead`, or the title of its brief."""
    match = re.search(r"# (Part \d+)\n", text_of(asked["messages"][0]["content"]))
    return match[1] if match else "lead"


@dataclass
class KillPolicy(ExplorePolicy):
    """A lead and workers whose steps hold one, two or three calls.

    The second worker's first findings and the lead's first report are sent back. With
    effects, workers enter keys in a ledger too, and enter one again, under a new call
    id, when they are told that it is unknown what became of it.
    """

    parts: int = 5
    has_effects: bool = False

    def play(self, request: ModelRequest) -> Step:
        """Say the same in a process of one's own, for a `ScriptedModel`."""
        asked = {"messages": request.messages}
        done = sum(each["role"] == "assistant" for each in request.messages)
        is_lead = title_of(asked) == "lead"
        return self._lead(asked, done) if is_lead else self._worker(asked, done)

    def _lead(self, asked: dict[str, Any], done: int) -> list[Block]:
        if done == 0:
            return [
                tool_use(
                    "toolu_plan",
                    "update_notes",
                    section="Plan",
                    mode="append",
                    text="逐个部分查找期限。",
                ),
                tool_use("toolu_look", "list_dir"),
            ]
        if done == 1:
            briefs = [self._brief(part) for part in range(1, self.parts + 1)]
            return [text(PLAN), tool_use("toolu_lead", "delegate", briefs=briefs)]
        if done == 2:
            wrong = "The limit is 3 days [part1/file0.md:990]."
            return [tool_use("toolu_wrong", "finish", report=wrong)]
        told = "\n".join(text_of(each["content"]) for each in asked["messages"])
        agents = sorted(set(re.findall(r"^\[(a\d+#1)\]", told, re.MULTILINE)))
        lines = [f"- The limit is known, 期限已知 [{each}]." for each in agents]
        return [tool_use("toolu_end", "finish", report="\n".join(lines))]

    def _worker(self, asked: dict[str, Any], done: int) -> list[Block]:
        if again := _again(asked):
            return again
        part = int(title_of(asked).removeprefix("Part "))
        steps = self._steps(part)
        made = done - sum(_is_again(each) for each in asked["messages"])
        if made < len(steps):
            return steps[made]
        findings = self.found(asked)
        last = text_of(asked["messages"][-1]["content"])
        is_wrong = part == 2 and BACK not in last
        if is_wrong:
            findings["items"][0]["evidence"][0]["quote"] = "nobody ever wrote this down"
        call = f"toolu_{part}_{'wrong' if is_wrong else 'end'}"
        return [tool_use(call, "submit_findings", **findings)]

    def _steps(self, part: int) -> list[list[Block]]:
        folder, ids = f"part{part}", f"toolu_{part}"
        note = {
            "section": "Facts",
            "mode": "append",
            "text": f"第{part}部分:期限已知。",
        }
        steps = [
            [
                tool_use(f"{ids}_0", "read_file", path=f"{folder}/file0.md"),
                tool_use(f"{ids}_1", "grep", pattern="line 3 ", path=folder),
            ],
            [
                tool_use(f"{ids}_2", "update_notes", **note),
                tool_use(f"{ids}_3", "read_file", path=f"{folder}/file2.md"),
            ],
            [tool_use(f"{ids}_4", "glob", pattern=f"{folder}/*.md")],
        ]
        if self.has_effects:
            steps[2:] = [
                [tool_use(f"{ids}_5", "enter", key=f"one-{part}")],
                [
                    tool_use(f"{ids}_6", "enter", key=f"two-{part}"),
                    tool_use(f"{ids}_7", "read_file", path=f"{folder}/file4.md"),
                    tool_use(f"{ids}_8", "enter", key=f"three-{part}"),
                ],
            ]
        return steps


def _again(asked: dict[str, Any]) -> list[Block]:
    """The calls of the newest step once more whose outcome is unknown."""
    if len(asked["messages"]) < 2:
        return []
    reply, told = asked["messages"][-2:]
    unknown = {
        block["tool_use_id"]
        for block in told["content"]
        if block["type"] == "tool_result" and UNKNOWN in text_of([block])
    }
    return [
        tool_use(f"{block['id']}_again", block["name"], **block["input"])
        for block in reply["content"]
        if block.get("id") in unknown
    ]


def _is_again(message: dict[str, Any]) -> bool:
    return message["role"] == "assistant" and any(
        block.get("id", "").endswith("_again") for block in message["content"]
    )


def _named(answer: Answer, message: str) -> Answer:
    """The answer with an id that follows from the request: the next one names it."""
    events = copy.deepcopy(answer.events)
    for event in events:
        if event["type"] == "message_start":
            event["message"]["id"] = message
    return replace(answer, events=events)


@dataclass
class Slow:
    """Answers as `policy` does, after a moment that follows from the request.

    Attributes:
        arrived: `time.monotonic()` at each request.
    """

    policy: ExplorePolicy
    least_s: float = 0.005
    most_s: float = 0.020
    arrived: list[float] = field(default_factory=list)

    async def __call__(self, asked: dict[str, Any]) -> Answer:
        self.arrived.append(time.monotonic())
        digest = hashlib.sha256(orjson.dumps(asked)).digest()
        answer = _named(self.policy(asked), f"msg_{digest.hex()[:12]}")
        share = int.from_bytes(digest[:4], "big") / 2**32
        await anyio.sleep(self.least_s + share * (self.most_s - self.least_s))
        return answer
