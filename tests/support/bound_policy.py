"""How a model behaves whose thinking is bound: a lead and two workers, in-process.

What to say is told from the request alone, so that it fits whatever a damaged log has
left. Every reply begins with thinking that is signed over all that came before it, and
a request in which that has changed is refused, as the newest models do.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
from run_bench import brief, delegate, finish, found, item

from orchestrator.messages import Block, text_of, tool_calls
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, fail, reply, think

__all__ = ["PAPER", "TITLES", "BoundPolicy", "binding_problem", "signature"]

TITLES = ("Refunds", "Receipts")
PAPER = "A refund takes 14 days.\nElse it takes 30 days.\n"
_QUOTES = {"Refunds": "A refund takes 14 days.", "Receipts": "Else it takes 30 days."}
_processes = itertools.count(1)


@dataclass
class BoundPolicy:
    """Answers each request by what it holds; make one per process.

    Attributes:
        refused: why requests were refused.
        answered: replies given.
    """

    refused: list[str] = field(default_factory=list)
    answered: int = 0
    _number: int = field(default_factory=lambda: next(_processes))

    def __call__(self, request: ModelRequest) -> Step:
        problem = binding_problem(request)
        if problem:
            self.refused.append(problem)
            return fail("invalid", problem)
        self.answered += 1
        is_lead = any(tool["name"] == "delegate" for tool in request.tools)
        parts = list(_lead(request) if is_lead else _worker(request))
        if not parts:
            return reply()
        for place, part in enumerate(parts):
            if part["type"] == "tool_use":
                part["id"] = f"toolu_{self._number}_{self.answered}_{place}"
        thought = f"{len(request.messages)}: what comes next."
        sign = signature(request, len(request.messages), thought)
        return [think(thought, sign), *parts]


def _lead(request: ModelRequest) -> Iterator[Block]:
    told, called = _told(request), _called(request)
    cited = sorted(set(re.findall(r"^\[(a\d+#1)\]", told, re.MULTILINE)))
    if "read_file" not in called:
        yield call("update_notes", section="Plan", mode="append", text="Ask two.")
        yield call("read_file", path="refunds.md")
    elif not cited:
        yield delegate(*(brief(title) for title in TITLES))
    elif "text alone is not delivered" not in told:
        yield {"type": "text", "text": "I have it all."}
    elif "not accepted yet" not in told:
        yield finish("9 days [refunds.md:99].")
    else:
        yield finish(f"14 and 30 days {' '.join(f'[{each}]' for each in cited)}.")


def _worker(request: ModelRequest) -> Iterator[Block]:
    told, called = _told(request), _called(request)
    title = next(title for title in TITLES if f"# {title}\n" in told)
    line = TITLES.index(title) + 1
    if "read_file" not in called:
        yield call("read_file", path="refunds.md")
        yield call("grep", pattern="days")
    elif "Your last answer was empty" not in told:
        return
    elif "update_notes" not in called:
        yield call("update_notes", section="Facts", mode="append", text="14 or 30.")
        yield call("list_dir")
    else:
        is_told = "not accepted yet" in told
        quote = _QUOTES[title] if is_told else "nobody ever wrote this down"
        good = item("It takes days.", f"refunds.md:{line}", quote)
        yield call("submit_findings", **found(good))


def _told(request: ModelRequest) -> str:
    users = (m["content"] for m in request.messages if m["role"] == "user")
    return "\n".join(text_of(content) for content in users)


def _called(request: ModelRequest) -> set[str]:
    replies = (m["content"] for m in request.messages if m["role"] == "assistant")
    return {each["name"] for content in replies for each in tool_calls(content)}


def binding_problem(request: ModelRequest) -> str:
    """Thinking stands behind what it came behind, or it is not sent at all."""
    for place, message in enumerate(request.messages):
        if message["role"] != "assistant":
            continue
        for block in message["content"]:
            if block["type"] == "thinking" and block["signature"] != signature(
                request, place, block["thinking"]
            ):
                return f"messages.{place}: `thinking` is bound to another prefix"
    return ""


def signature(request: ModelRequest, place: int, thought: str) -> str:
    before: list[Any] = [request.system, request.tools, request.messages[:place]]
    data = orjson.dumps([before, thought], option=orjson.OPT_SORT_KEYS)
    return "sig-" + hashlib.sha256(data).hexdigest()
