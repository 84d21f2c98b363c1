"""How models behave in a run whose lead directs subagents that work on.

What an agent says follows from its conversation alone: it makes the first step of its
plan that is not in there yet. So a run that is cut off anywhere, or whose log is
damaged, can be gone on with. `@Fast` in a step stands for the subagent with that title,
as the conversation names it, and `@cites` for all items that were delivered.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from bound_policy import binding_problem, signature
from run_bench import brief, finish, item, submit

from orchestrator.messages import Block, Message, encode, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.store.transcript import LOST
from orchestrator.testing import Step, call, fail, hang, say, think

__all__ = [
    "FILES",
    "GATES",
    "HANG",
    "LEAD",
    "LINE",
    "LOOK",
    "PLAN",
    "READ",
    "DirectedPolicy",
    "Pace",
    "Plans",
    "answer_to",
    "handed_in",
    "parts_of",
    "sent",
    "title_of",
]

LINE = "A refund takes 14 days from the day the goods arrive."
OTHER = "Without a receipt a refund takes 30 days at the most."
SPLITTER = """---
name: splitter
description: Splits its work.
tools: [delegate, read_file, grep, list_dir]
---
You split your work and hand the parts out.
"""
FILES = {"refunds.md": f"{LINE}\n{OTHER}\n", "agents/splitter.md": SPLITTER}

LEAD = "lead"
READ = call("read_file", path="refunds.md")
LOOK = call("list_dir")
HANG = say("(hangs)")
"""A step that is never answered, or only after a while."""

Steps = Sequence[Block | Sequence[Block]]
Plans = Mapping[str, Steps]
"""Title of a brief, or `lead` → what it does, a step each."""


def sent(
    *titles: str, wait: str = "all", splits: Sequence[str] = (), **fields: Any
) -> Block:
    """A call that sends a brief for each title; some to those who split their work."""
    briefs = [
        brief(t, agent="splitter" if t in splits else "explorer", **fields)
        for t in titles
    ]
    return call("delegate", briefs=briefs, wait=wait)


def handed_in(title: str) -> Block:
    """What a subagent hands in on its brief."""
    return submit(item(f"{title}: it takes 14 days.", "refunds.md:1", LINE))


def answer_to(question: str, title: str) -> Block:
    """What a subagent hands in on a further question."""
    claim = f"{title}, asked “{question}”: it takes 30 days."
    return submit(item(claim, "refunds.md:2", OTHER))


def _ask(title: str, question: str) -> Block:
    return call("follow_up", agent=f"@{title}", question=question)


PLAN: Plans = {
    LEAD: [
        [call("update_notes", section="Plan", mode="append", text="Ask them."), READ],
        sent("Fast", "Slow", "Calm", wait="none", splits=["Calm"]),
        call("wait_for", timeout_s=0),
        LOOK,
        call("wait_for", agents=["@Slow"], mode="any"),
        sent("Whole", "Quick", wait="first", splits=["Whole"]),
        [
            _ask("Fast", "And without a receipt?"),
            call("wait_for", agents=["@Whole"]),
            sent("Extra"),
        ],
        call("cancel", agent="@Calm", reason="The others answer it."),
        sent("Fast"),
        [sent("Hasty", wait="none", splits=["Hasty"]),
         sent("Short", wait="none", limits={"turns": 3})],
        say("I wait for the others."),
        sent("Last", wait="none"),
        finish("Early: @cites"),
        [_ask("Whole", "And in the sale?"), _ask("Fast", "And at the weekend?")],
        call("wait_for", mode="all"),
        finish("All: @cites"),
    ],
    "Calm": [sent("Deep"), handed_in("Calm")],
    "Deep": [READ, HANG, handed_in("Deep")],
    "Whole": [
        READ,
        sent("Left", "Right", "Third", wait="none"),
        LOOK,
        call("wait_for", agents=["@Left"], mode="any"),
        call("cancel", agent="@Right", reason="Left answers it."),
        _ask("Left", "And on the left?"),
        handed_in("Whole"),
        call("wait_for", mode="all"),
        handed_in("Whole"),
    ],
    "Right": [READ, HANG, handed_in("Right")],
    "Hasty": [READ, sent("Hung", wait="none"), handed_in("Hasty")],
    "Hung": [READ, HANG, handed_in("Hung")],
    "Short": [READ, LOOK, handed_in("Short")],
}  # fmt: skip
"""All ways to direct, at two levels; titles without a plan read and hand in."""


@dataclass
class Pace:
    """When whom is answered: gates keep those before their hand-in.

    Attributes:
        gates: title → whom it waits for, and how many replies that one must have had.
        patience_s: how long a gate is closed at the most.
        hangs_s: how long one that hangs does; None: for ever.
        lead_s: what those with subagents take for each reply.
    """

    gates: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    patience_s: float = 10.0
    hangs_s: float | None = None
    lead_s: float = 0.004
    _replies: dict[str, int] = field(default_factory=dict)
    _change: anyio.Event = field(default_factory=anyio.Event)

    async def before(self, title: str, done: int, parts: Sequence[Block]) -> bool:
        """Wait as long as an answer takes; False: there is none."""
        self._replies[title] = max(self._replies.get(title, 0), done)
        self._change.set()
        self._change = anyio.Event()
        if parts == [HANG]:
            if self.hangs_s is None:
                return False
            await anyio.sleep(self.hangs_s)
        elif title in self.gates and parts[0].get("name") == "submit_findings":
            who, replies = self.gates[title]
            with anyio.move_on_after(self.patience_s):
                while self._replies.get(who, 0) < replies:
                    await self._change.wait()
        elif title in PLAN:
            await anyio.sleep(self.lead_s)
        return True


GATES = {
    "Fast": (LEAD, 3),
    "Slow": (LEAD, 4),
    "Third": ("Whole", 7),
    "Last": (LEAD, 13),
}

_processes = itertools.count(1)


@dataclass
class DirectedPolicy:
    """Answers each request by what it holds; make one per process.

    Attributes:
        plans: what each agent does.
        wait: called with title, number of replies before, and the next one; False: it
            is not answered.
        refused: why requests were refused.
        answered: replies given.
    """

    plans: Plans = field(default_factory=lambda: PLAN)
    wait: Callable[[str, int, Sequence[Block]], Awaitable[bool]] = field(
        default_factory=lambda: Pace(GATES).before
    )
    refused: list[str] = field(default_factory=list)
    answered: int = 0
    _number: int = field(default_factory=lambda: next(_processes))

    async def __call__(self, request: ModelRequest) -> Step:
        problem = binding_problem(request)
        if problem:
            self.refused.append(problem)
            return fail("invalid", problem)
        title, messages = title_of(request.messages), request.messages
        parts = parts_of(self.plans, title, messages)
        if not await self.wait(title, _replies(messages), parts):
            return hang()
        if parts == [HANG]:
            parts = parts_of(self.plans, title, messages, hung=True)
        self.answered += 1
        for place, part in enumerate(parts):
            if part["type"] == "tool_use":
                part["id"] = f"toolu_{self._number}_{self.answered}_{place}"
        thought = f"{title}, {len(messages)}: what comes next."
        sign = signature(request, len(messages), thought)
        return [think(thought, sign), *parts]


def title_of(messages: Sequence[Message]) -> str:
    """The title of a brief, or `lead`."""
    first = text_of(messages[0]["content"])
    match = re.search(r"in the case of (.+?), for a letter", first)
    return match[1] if match else LEAD


def parts_of(
    plans: Plans, title: str, messages: Sequence[Message], *, hung: bool = False
) -> list[Block]:
    """What an agent says next, without call ids.

    Args:
        plans: of all agents.
        title: which agent.
        messages: its conversation.
        hung: it has hung long enough.
    """
    told = _told(messages)
    steps = list(plans.get(title, [READ, handed_in(title)]))
    if title != LEAD and (asked := re.findall(_FURTHER, told, re.MULTILINE)):
        steps += [
            call("grep", pattern=f"days {len(asked)}"),
            answer_to(asked[-1], title),
        ]
        steps = [READ, *steps[-2:]]
    if "this is your last answer" in text_of(messages[-1]["content"]):
        steps = steps[-1:]
    ids, said = _ids(told), set(_said(messages))
    left = [
        [each for each in _filled(step, ids, told) if _key(each) not in said]
        for step in steps
    ]
    for place, step in enumerate(left):
        if step == [HANG] and (hung or not left[place + 1]):
            continue
        if step:
            return step
    return list(_filled(steps[-1], ids, told))


_FURTHER = r"^# Further question\n\n(.+)$"


def _filled(
    step: Block | Sequence[Block], ids: Mapping[str, str], told: str
) -> Iterator[Block]:
    """The blocks of a step for this conversation, without those about nobody."""
    for block in [step] if isinstance(step, Mapping) else step:
        if block["type"] == "text":
            yield dict(block)
            continue
        given = dict(block["input"])
        if "agent" in given:
            given["agent"] = ids.get(given["agent"].removeprefix("@"))
        if "agents" in given:
            named = [ids.get(each.removeprefix("@")) for each in given["agents"]]
            given["agents"] = [each for each in named if each]
        if block["name"] == "finish":
            cites = sorted(set(re.findall(r"^\[(a\d+#\d+)\]", told, re.MULTILINE)))
            cited = ", ".join(f"[{each}]" for each in cites)
            given["report"] = given["report"].replace("@cites", cited)
        if all(given.get(name, True) for name in ("agent", "agents")):
            yield {**block, "input": given}


def _key(block: Block) -> str:
    """What a block is known by: reports by how they begin."""
    if block["type"] == "text":
        return str(block["text"])
    given: dict[str, Any] = block["input"]
    if block["name"] == "finish":
        given = {"report": str(given["report"]).partition(":")[0]}
    return str(block["name"]) + encode(given).decode()


def _said(messages: Sequence[Message]) -> Iterator[str]:
    """The keys of what was said; reads whose results are lost are made again."""
    lost = {
        block["tool_use_id"]
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result" and LOST in text_of([block])
    }
    for message in messages:
        for block in message["content"] if message["role"] == "assistant" else ():
            is_lost = block.get("name") == "read_file" and block["id"] in lost
            if block["type"] in ("text", "tool_use") and not is_lost:
                yield _key(block)


def _told(messages: Sequence[Message]) -> str:
    users = (m["content"] for m in messages if m["role"] == "user")
    return "\n".join(text_of(content) for content in users)


def _ids(told: str) -> dict[str, str]:
    """Title → id, as tables name them."""
    rows = re.findall(r"^(a\d+) \| ([^|]+?) \| ", told, re.MULTILINE)
    return {title: agent for agent, title in reversed(rows)}


def _replies(messages: Sequence[Message]) -> int:
    return sum(each["role"] == "assistant" for each in messages)
