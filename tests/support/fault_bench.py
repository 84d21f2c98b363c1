"""A run in which any request can meet any fault, and what is counted of it.

The lead sends two subagents, reads a file of its own, asks the first one further and
hands in; where that one cannot go on, another stands in for it. All follows from the
conversations alone, so that a run can be gone on with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fake_endpoint import (
    Answer,
    Block,
    events_of,
    message,
    text,
    thinking,
    tool_use,
)
from faults import Fault
from run_bench import Ended, brief, found, item

from orchestrator.messages import text_of
from orchestrator.runtime.result import RunResult
from orchestrator.testing import ScriptedModel

__all__ = ["CALLS", "FILES", "PLACES", "FaultPolicy", "left_by"]

LINE = "A refund takes 14 days from the day the goods arrive."
OTHER = "Without a receipt a refund takes 30 days at the most."
FILES = {"refunds.md": f"{LINE}\n{OTHER}\n"}
FURTHER = "And without a receipt?"
LAST = "this is your last answer"
CALLS = 12
"""Requests of a run without a fault: four of the lead, three of each subagent, two of
the further question."""

PLACES = {
    "lead, first": ("lead", 0),
    "lead, midway": ("lead", 1),
    "lead, last": ("lead", 3),
    "subagent, first": ("First", 0),
    "subagent, midway": ("First", 1),
    "subagent, last": ("First", 2),
    "further question": ("First", 3),
}
"""Where a fault is met: whose request, and how many steps it has behind it."""


def place_of(asked: Mapping[str, Any]) -> tuple[str, int]:
    """Whose request this is, and how many steps it has behind it.

    A call that failed is made again; but nobody insists on a further question.
    """
    first = text_of(asked["messages"][0]["content"])
    blocks = [block for each in asked["messages"] for block in each["content"]]
    asks = {each["id"] for each in blocks if each.get("name") == "follow_up"}
    done = sum(
        block["type"] == "tool_result"
        and (not block.get("is_error") or block["tool_use_id"] in asks)
        for block in blocks
    )
    titled = re.search(r"^# (First|Second)(: .*)?$", first, re.MULTILINE)
    if titled is None:
        return "lead", done
    return ("Stand-in" if titled[2] else titled[1]), done


def right_reply(asked: Mapping[str, Any]) -> list[Block]:
    """What an agent says where nothing goes wrong."""
    who, done = place_of(asked)
    if who == "lead":
        return [thinking(f"Step {done}.", f"sig-{done}"), _of_lead(asked, done)]
    read = tool_use(f"toolu_{done}", "read_file", path="refunds.md", first_line=1)
    look = tool_use(f"toolu_{done}", "grep", pattern="refund", path="refunds.md")
    is_last = LAST in text_of(asked["messages"][-1]["content"])
    if done in (0, 3) and not is_last:
        return [text("I read."), read]
    if done == 1 and not is_last:
        return [text("I look."), look]
    line = 2 if done > 3 or who == "Stand-in" else 1
    quote = FILES["refunds.md"].split("\n")[line - 1]
    claim = f"{who}: it takes as long as line {line} says."
    given = found(item(claim, f"refunds.md:{line}", quote))
    return [tool_use(f"toolu_{done}", "submit_findings", **given)]


def _of_lead(asked: Mapping[str, Any], done: int) -> Block:
    if LAST in text_of(asked["messages"][-1]["content"]):
        done = 3
    if done == 0:
        briefs = [brief("First"), brief("Second")]
        return tool_use("toolu_0", "delegate", briefs=briefs)
    if done == 1:
        return tool_use("toolu_1", "read_file", path="refunds.md")
    if done == 2:
        return tool_use("toolu_2", "follow_up", agent="a1", question=FURTHER)
    report = "It takes 14 days [refunds.md:1], without a receipt 30 [refunds.md:2]."
    return tool_use(f"toolu_{done}", "finish", report=report)


@dataclass
class FaultPolicy:
    """Plays the run; answers with the fault at its place.

    Attributes:
        fault: None: nothing goes wrong.
        place: whose request meets it, and how many steps that one has behind it.
        meets: `once`; `one`: that agent from then on; `all`: everybody from then on.
        met: how often it was met.
    """

    fault: Fault | None = None
    place: tuple[str, int] = ("", 0)
    meets: Literal["once", "one", "all"] = "once"
    met: int = 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        whole = message(*right_reply(asked))
        if self.fault is None or not self._is_here(asked):
            return Answer(events=tuple(events_of(whole, piece=40)))
        self.met += 1
        return self.fault.make(whole)

    def _is_here(self, asked: dict[str, Any]) -> bool:
        if self.met and self.meets != "one":
            return self.meets == "all"
        who, done = place_of(asked)
        return who == self.place[0] and done >= self.place[1]


def left_by(result: RunResult) -> Ended:
    """What a run over an endpoint left."""
    return Ended(result, ScriptedModel(()))
