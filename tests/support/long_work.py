"""A lead whose work is long: it reads part after part, and is asked for summaries."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from run_bench import RunBench, finish, last_results

from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, reply, say

__all__ = [
    "REPORT",
    "LongWork",
    "careful",
    "compacted",
    "is_summary",
    "lay_parts",
    "seen_in",
    "summary",
]

REPORT = "All parts are read."
_ASKED = re.compile(
    "Write the summary of the (?:conversation|record)|could not be taken as the summary"
)
LINES = 25

Does = Step | Callable[[ModelRequest], Step | Awaitable[Step]]


def lay_parts(folder: Path, parts: int = 40, *, lines: int = LINES) -> RunBench:
    """Return a bench whose parts have a code each, and nothing else of interest."""
    bench = RunBench(folder)
    for number in range(1, parts + 1):
        text = [f"Part {number} has the code K-{number * 37 + 1000}."]
        text += [f"Line {line} of part {number} is as usual." for line in range(lines)]
        bench.write(f"part{number}.md", "\n".join(text) + "\n")
    return bench


def summary(**sections: str) -> str:
    """A summary with these sections; those that are not given say none."""
    names = {
        "work": "Work done",
        "decisions": "Decisions and why",
        "failed": "Failed attempts and why",
        "facts": "Facts and figures",
        "open": "Open items and next step",
        "pointers": "Pointers",
    }
    return "\n\n".join(
        f"## {title}\n\n{sections.get(name) or 'none'}" for name, title in names.items()
    )


def is_summary(request: ModelRequest) -> bool:
    """Whether a request asks for a summary."""
    return bool(_ASKED.search(last_results(request)))


def seen_in(request: ModelRequest) -> str:
    """All that a request says, results and inputs of calls included."""
    parts = []
    for message in request.messages:
        parts.append(text_of(message["content"]))
        parts += [
            f"{block['name']} {block['input']}"
            for block in message["content"]
            if block["type"] == "tool_use"
        ]
    return "\n".join(parts)


@dataclass
class LongWork:
    """The script of a lead.

    Attributes:
        parts: how many it reads before it hands in.
        summaries: answers the n-th request of a summary, from 1.
        acts: turn, from 1 → what it does then besides a read.
        says: turn → what it says before its call.
        turn: turns begun.
        asked: summaries asked for.
    """

    parts: int
    summaries: Callable[[ModelRequest, int], Step | Awaitable[Step]] = (
        lambda request, _: careful(request)
    )
    acts: Mapping[int, Does] = field(default_factory=dict)
    says: Mapping[int, str] = field(default_factory=dict)
    turn: int = 0
    asked: int = 0
    events: list[Event] = field(default_factory=list)
    _read: int = 0

    def __call__(self, request: ModelRequest) -> Step | Awaitable[Step]:
        if is_summary(request):
            self.asked += 1
            return self.summaries(request, self.asked)
        self.turn += 1
        does = self.acts.get(self.turn)
        if does is not None:
            return does(request) if callable(does) else does
        self._read += 1
        if self._read > self.parts:
            return finish(REPORT)
        said = self.says.get(self.turn, f"On to part {self._read}.")
        return reply(say(said), call("read_file", path=f"part{self._read}.md"))


def careful(request: ModelRequest) -> Step:
    """A summary of what is in sight: codes, and how far the work is."""
    codes = re.findall(r"Part (\d+) has the code (K-\d+)", seen_in(request))
    known = dict(codes)
    newest = max(map(int, known), default=0)
    facts = [f"- Part {part} has the code {code}." for part, code in known.items()]
    return summary(
        work=f"- {newest} parts are read.",
        facts="\n".join(facts[-12:]),
        open=f"- Read part{newest + 1}.md next.",
    )


def compacted(events: list[Event]) -> list[dict[str, Any]]:
    """The compactions among events."""
    return [event.data for event in events if event.kind == "context.compacted"]
