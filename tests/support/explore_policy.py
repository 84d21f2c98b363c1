"""How an endpoint behaves in an exploring run: a lead, workers, bound thinking.

The lead delegates one brief per part; a worker reads and greps the files of its part
in turn and hands in quotes of what it was shown. Every reply begins with a thinking
block that is signed over all that came before it, as the newest models do, and a
request in which that has changed is refused. Where what came before it was rewritten,
the block has to be left out, and a text may say what it showed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from fake_endpoint import Answer, refused, stream, text, thinking, tool_use

from orchestrator.messages import Block, text_of

__all__ = [
    "PLAN",
    "TASK",
    "ExplorePolicy",
    "canary",
    "lay_parts",
    "marker",
    "part_of",
    "replies_in",
]

PLAN = "PLAN-OF-THE-LEAD-ALONE"
"""What only the lead thinks and says."""
FILES_PER_PART = 6
TASK = """\
name: limits
objective: Make a table of the limits that the files give.
workspace: work
context: []
model: claude-haiku-5-5
"""


def canary(part: int, number: int) -> str:
    """A word that stands in one file and must not get out of its agent."""
    return "canary-" + hashlib.sha256(f"{part}/{number}".encode()).hexdigest()[:12]


def marker(part: int) -> str:
    """A word that stands in one brief."""
    return "marker-" + hashlib.sha256(f"marker {part}".encode()).hexdigest()[:12]


def lay_parts(root: Path, parts: int) -> None:
    """Write the files of all parts: canaries all over, one fact each."""
    for part in range(1, parts + 1):
        folder = root / f"part{part}"
        folder.mkdir(parents=True)
        for number in range(FILES_PER_PART):
            word = canary(part, number)
            lines = [f"{word} line {at} is of no use to anybody." for at in range(30)]
            lines[12] = f"Fact {part}-{number} says that the limit is {part * 7} days."
            (folder / f"file{number}.md").write_text("\n".join(lines) + "\n")


def part_of(asked: dict[str, Any]) -> int:
    """The number of a worker's part; 0 for the lead."""
    found = re.search(r"# Part (\d+)", text_of(asked["messages"][0]["content"]))
    return int(found[1]) if found else 0


def replies_in(asked: dict[str, Any]) -> int:
    """How many replies a request holds."""
    return sum(message["role"] == "assistant" for message in asked["messages"])


@dataclass
class ExplorePolicy:
    """Answers each request by what it holds; keeps what it has to refuse.

    Attributes:
        parts: briefs of the one `delegate` call.
        calls: model calls of each worker, the hand-in included.
        violations: why requests were refused, thinking blocks only.
    """

    parts: int = 8
    calls: int = 12
    wanted: str = r"Fact \d+-\d+ says "
    """What the lines begin with that workers quote."""
    violations: list[str] = field(default_factory=list)
    _issued: dict[str, list[Block]] = field(default_factory=dict)
    _asked: set[str] = field(default_factory=set)
    """What stood before each thought."""

    def __call__(self, asked: dict[str, Any]) -> Answer:
        problem = self._binding_problem(asked)
        if problem:
            self.violations.append(problem)
            return refused(400, "invalid_request_error", problem)
        is_lead = any(tool["name"] == "delegate" for tool in asked["tools"])
        done = self.done(asked)
        parts = self._lead(asked, done) if is_lead else self._worker(asked, done)
        thought = f"{PLAN if is_lead else 'Step'} {done}: what comes next."
        self._asked.add(_signature(asked, len(asked["messages"]), ""))
        sign = _signature(asked, len(asked["messages"]), thought)
        content = [thinking(thought, sign), *parts]
        return self.say(asked, content)

    def done(self, asked: dict[str, Any]) -> int:
        """How many steps of its plan an agent has behind it."""
        return replies_in(asked)

    def say(self, asked: dict[str, Any], content: list[Block]) -> Answer:
        """Answer with this content, which must come back as it is."""
        self._issued[content[0]["signature"]] = content
        return stream(*content, piece=200)

    def _lead(self, asked: dict[str, Any], done: int) -> list[Block]:
        if done == 0:
            briefs = [self._brief(part) for part in range(1, self.parts + 1)]
            return [text(PLAN), tool_use("toolu_lead", "delegate", briefs=briefs)]
        told = text_of(asked["messages"][-1]["content"])
        agents = sorted(set(re.findall(r"^\[(a\d+#1)\]", told, re.MULTILINE)))
        lines = [f"- The limit is known [{each}]." for each in agents]
        return [tool_use("toolu_end", "finish", report="\n".join(lines))]

    def _brief(self, part: int) -> dict[str, Any]:
        return {
            "title": f"Part {part}",
            "objective": f"Find out which limit the files of part {part} give, for a "
            f"table of limits. The mark of this work is {marker(part)}.",
            "questions": [f"Which limit do the files in part{part} give?"],
            "scope": {"include": [f"part{part}"]},
        }

    def _worker(self, asked: dict[str, Any], done: int) -> list[Block]:
        part = part_of(asked)
        assert part, asked["messages"][0]
        folder = f"part{part}"
        if done == self.calls - 1:
            return [tool_use(f"toolu_{done}", "submit_findings", **self.found(asked))]
        name = f"{folder}/file{done % FILES_PER_PART}.md"
        if done % 2:
            look = tool_use(f"toolu_{done}", "grep", pattern=f"line {done} ", path=name)
        else:
            look = tool_use(f"toolu_{done}", "read_file", path=name)
        return [look]

    def found(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The findings of a worker: all facts that it was shown."""
        items = [
            {
                "claim": f"The limit is given in {name}, as a number of days.",
                "evidence": [{"source": f"{name}:{line}", "quote": quote}],
                "confidence": 0.9,
            }
            for name, line, quote in _facts(asked["messages"], self.wanted)
        ]
        return {"status": "complete", "summary": "The limit is found.", "items": items}

    def _binding_problem(self, asked: dict[str, Any]) -> str:
        """Thinking goes back as it came, behind what it came behind, or not at all."""
        for place, message in enumerate(asked["messages"]):
            if message["role"] != "assistant":
                continue
            content = message["content"]
            thoughts = [block for block in content if block["type"] == "thinking"]
            for block in thoughts:
                right = _signature(asked, place, block["thinking"])
                if block["signature"] != right:
                    return f"messages.{place}: `thinking` is bound to another prefix"
                if _plain(content) != self._issued[right]:
                    return f"messages.{place}: the turn of a `thinking` was modified"
            if thoughts:
                continue
            if _signature(asked, place, "") in self._asked:
                return f"messages.{place}: the `thinking` of this turn is gone"
            if _said(content) not in map(_said, self._issued.values()):
                return f"messages.{place}: the turn of a `thinking` was modified"
        return ""


def _facts(
    messages: Sequence[dict[str, Any]], wanted: str
) -> list[tuple[str, str, str]]:
    """Path, line and words of the wanted line of each file that was read."""
    paths: dict[str, str] = {}
    found: dict[str, tuple[str, str, str]] = {}
    for message in messages:
        for block in message["content"]:
            if block["type"] == "tool_use" and block["name"] == "read_file":
                paths[block["id"]] = block["input"].get("path", "")
            elif block.get("tool_use_id") in paths:
                shown = re.search(rf"(\d+)\t({wanted}.*)", text_of([block]))
                if shown is not None:
                    path = paths[block["tool_use_id"]]
                    found[path] = (path, shown[1], shown[2])
    return list(found.values())


def _said(content: Sequence[Block]) -> list[Block]:
    """What a turn holds beside its thinking."""
    return [
        block
        for block in _plain(content)
        if block["type"] != "thinking"
        and not block.get("text", "").startswith("(thinking) ")
    ]


def _signature(asked: dict[str, Any], place: int, thought: str) -> str:
    before = [asked.get("system"), asked.get("tools"), asked["messages"][:place]]
    data = orjson.dumps([_plain(before), thought], option=orjson.OPT_SORT_KEYS)
    return "sig-" + hashlib.sha256(data).hexdigest()


def _plain(value: Any) -> Any:
    """The JSON value without cache marks."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value
