"""An endpoint that keeps its own account, for agents that never stop by themselves.

It counts tokens by a rule of its own, dearer than the program's estimate of digits and
code, bills every request that reaches it, answered or broken off, and may tell other
figures than it bills.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

import orjson
from fake_endpoint import Answer, dropped, stream, text, tool_use

from orchestrator.messages import Block, text_of

__all__ = ["FILES", "Bill", "LedgerPolicy", "count_tokens", "lay_endless"]

FILES = 40
"""Of each part: more than anybody reads on a small budget."""
LAST_WORDS = "this is your last answer"
RATES = {
    # Dollars per million tokens: input, output, written for five minutes, read.
    "claude-sonnet-5-5": (2.0, 10.0, 2.5, 0.10),
    "claude-haiku-5-5": (0.10, 0.50, 0.125, 0.01),
}
BAND = ("claude-haiku-5-5", 100_000, 5.0)
"""Above so many tokens of prompt, all of this model costs so many times more."""
_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def count_tokens(words: str) -> int:
    """A token for each digit and each character of East Asia, 3.3 bytes for others."""
    digits = sum(char.isdecimal() for char in words)
    rest, wide = _CJK.subn("", words)
    other = len(rest.encode("utf-8", "replace")) - digits
    return digits + wide + math.ceil(max(other, 0) / 3.3)


def lay_endless(root: Path, parts: int, line: Callable[[int], str]) -> None:
    """Write the files of all parts; `line` makes each of their 60 lines."""
    for part in range(1, parts + 1):
        folder = root / f"part{part}"
        folder.mkdir(parents=True)
        for number in range(FILES):
            lines = [f"Fact {part}-{number} says that the limit is {part * 7} days."]
            lines += [line(at + number * 100) for at in range(60)]
            (folder / f"file{number}.md").write_text("\n".join(lines) + "\n")


@dataclass
class Bill:
    """What was billed for one request."""

    model: str
    sent: int
    read: int
    said: int
    usd: float


@dataclass
class LedgerPolicy:
    """A lead and workers; the workers read on until they are told that it is over.

    Attributes:
        parts: briefs of the one `delegate` call.
        tells: usage as billed → as told; None tells none.
        breaks: which arrivals break off in mid answer, counted from 1.
        instead: what comes of those; None: the beginning of the answer.
        report: what the lead hands in.
        bills: in order of arrival.
        wrapped: requests in which somebody was told to wrap up.
    """

    parts: int = 8
    tells: Callable[[dict[str, int]], dict[str, int] | None] = lambda usage: usage
    breaks: Callable[[int], bool] = lambda _arrival: False
    instead: Answer | None = None
    bills: list[Bill] = field(default_factory=list)
    wrapped: int = 0
    _known: dict[bytes, list[bytes]] = field(default_factory=dict)
    _heads: set[bytes] = field(default_factory=set)

    @property
    def usd(self) -> float:
        """Everything that was billed."""
        return sum(each.usd for each in self.bills)

    @property
    def tokens(self) -> int:
        """All but what was read from the cache."""
        return sum(each.sent - each.read + each.said for each in self.bills)

    def __call__(self, asked: dict[str, Any]) -> Answer:
        is_lead = any(tool["name"] == "delegate" for tool in asked["tools"])
        content = self._lead(asked) if is_lead else self._worker(asked)
        self.wrapped += "Most of what" in text_of(asked["messages"][-1]["content"])
        said = sum(map(_said, content))
        is_cut = said > asked["max_tokens"]
        said = min(said, asked["max_tokens"])
        usage = self._bill(asked, said)
        if self.breaks(len(self.bills)):
            return self.instead or dropped(*content, ending="close")
        told = self.tells(usage)
        zeros = dict.fromkeys(usage, 0)
        reason = "max_tokens" if is_cut else None
        return stream(*content, stop_reason=reason, usage=told or zeros, piece=400)

    def _bill(self, asked: dict[str, Any], said: int) -> dict[str, int]:
        head = orjson.dumps([asked["model"], asked.get("system"), asked["tools"]])
        head_tokens = 346 + count_tokens(head.decode()) + 12 * len(asked["tools"])
        sizes = [_sent(message) for message in asked["messages"]]
        sent = head_tokens + sum(sizes)
        first = orjson.dumps(text_of(asked["messages"][0]["content"]))
        said_now = [_plain(message) for message in asked["messages"]]
        said_before = self._known.get(head + first, [])
        pairs = zip(said_now, said_before, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        known = head_tokens + sum(sizes[:same])
        is_known = said_before or head in self._heads
        read = known if is_known and known >= 1024 and same < len(sizes) else 0
        self._heads.add(head)
        self._known[head + first] = said_now
        plain, output, written, cached = RATES[asked["model"]]
        usd = (
            (sent - read) * max(written, plain) + read * cached + said * output
        ) / 1e6
        if asked["model"] == BAND[0] and sent > BAND[1]:
            usd *= BAND[2]
        self.bills.append(Bill(asked["model"], sent, read, said, usd))
        return {
            "input_tokens": 0,
            "cache_creation_input_tokens": sent - read,
            "cache_read_input_tokens": read,
            "output_tokens": said,
        }

    def _lead(self, asked: dict[str, Any]) -> list[Block]:
        newest = text_of(asked["messages"][-1]["content"])
        if len(asked["messages"]) == 1 and LAST_WORDS not in newest:
            briefs = [_brief(part) for part in range(1, self.parts + 1)]
            return [text("I send out all."), tool_use("t0", "delegate", briefs=briefs)]
        told = "\n".join(text_of(each["content"]) for each in asked["messages"])
        agents = sorted(set(re.findall(r"^\[(a\d+#1)\]", told, re.MULTILINE)))
        lines = [f"- The limit is known [{each}]." for each in agents]
        report = "\n".join(lines) or "Nothing was found."
        name = f"t{len(asked['messages'])}"
        return [tool_use(name, "finish", report=report)]

    def _worker(self, asked: dict[str, Any]) -> list[Block]:
        messages = asked["messages"]
        found = re.search(r"# Part (\d+)", text_of(messages[0]["content"]))
        assert found is not None
        part, step = int(found[1]), len(messages)
        if LAST_WORDS in text_of(messages[-1]["content"]):
            return [tool_use(f"t{step}", "submit_findings", **_findings(messages))]
        number, page = step // 2 % FILES, step // 2 // FILES
        where = {"path": f"part{part}/file{number}.md", "first_line": 1 + page}
        return [text(f"On to {number}."), tool_use(f"t{step}", "read_file", **where)]


def _plain(message: dict[str, Any]) -> bytes:
    """A message without cache marks."""
    blocks = [
        {name: each for name, each in block.items() if name != "cache_control"}
        for block in message["content"]
    ]
    return orjson.dumps([message["role"], blocks])


def _brief(part: int) -> dict[str, Any]:
    return {
        "title": f"Part {part}",
        "objective": f"Find out which limits the files of part {part} give, for a "
        "table of all limits.",
        "questions": [f"Which limits do the files in part{part} give?"],
        "scope": {"include": [f"part{part}"]},
    }


def _findings(messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    shown = "\n".join(text_of(each["content"]) for each in messages)
    facts = re.findall(r"(Fact (\d+)-(\d+) says that the limit is \d+ days\.)", shown)
    items = [
        {
            "claim": f"The limit is given in file {number}, as a number of days.",
            "evidence": [{"source": f"part{part}/file{number}.md:1", "quote": quote}],
            "confidence": 0.9,
        }
        for quote, part, number in facts[:3]
    ]
    status = "partial" if items else "nothing_found"
    return {"status": status, "summary": "The files tell of limits.", "items": items}


def _sent(message: dict[str, Any]) -> int:
    return 4 + sum(map(_said, message["content"]))


def _said(block: Block) -> int:
    if block["type"] == "text":
        return 4 + count_tokens(block["text"])
    if block["type"] == "tool_use":
        return 4 + count_tokens(block["name"] + orjson.dumps(block["input"]).decode())
    return 4 + count_tokens(text_of([block]))
