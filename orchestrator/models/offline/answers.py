"""Read what `delegate` gives back: which briefs ran, and what was found."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from orchestrator.models.offline.gaps import TRIED

__all__ = [
    "MEMORY",
    "AgentResult",
    "Missed",
    "Place",
    "Refusal",
    "is_unfinished",
    "parse_results",
    "refusals",
]

MEMORY = "memory"
"""Stands for the agent in results that are from memory."""

_ROW = re.compile(r"^(a\d+) \| (.*?) \| (\w+) \| (\d+) \| \d+ \| (.*)$")
_OPEN = re.compile(r'^<findings agent="(a\d+)" title="(.*?)" status="(\w+)"')
_CLOSE = "</findings>"
_REST = re.compile(r"^(?:Items \[a\d+#\d+\] to .*and the|The) rest, with `read_ref`: ")
_ITEM = re.compile(r"^\[(a\d+)#(\d+)\] (UNSUPPORTED\b[^:]*: )?(.*)$")
_CONFIDENCE = re.compile(r" \([\d.]+\)$")
_SOURCE = re.compile(r"^  (?!> )(?P<path>\S.*?):(?P<first>\d+)(?:-(?P<last>\d+))?$")
_TRIED = re.compile(r"^- “(.*)” – searched for ‘(.*?)’: (.*)$")
_REFUSED = re.compile(r"^briefs\[\d+\] “.* (?:was|were) refused; nothing was spent on ")
_BRIEF = re.compile(r"(?:^|, )briefs\[(\d+)\] “")
_QUOTED = re.compile(r"`[\w.\[\]]+` (?:says “(.+?)”: |names `(.+?)`, )")
_UNFINISHED = re.compile(r"\bat work\b.*`wait_for`", re.DOTALL)
_HAS_FAILED = re.compile(r"^(?:failed|limit|unvalidated|cancelled|stalled)\b")


@dataclass(slots=True)
class Place:
    """One claim that came back, with the place that it cites."""

    claim: str
    agent: str
    item: int
    path: str = ""
    first: int = 0
    last: int = 0
    quote: str = ""
    unsupported: bool = False
    note: str = ""
    """What a report says behind its place."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A question, or a part of one, for which there is no place."""

    question: str
    terms: str
    why: str


@dataclass(slots=True)
class AgentResult:
    """What one subagent brought, or that it brought nothing."""

    agent: str
    title: str
    state: str
    """`complete`, `nothing_found` …, or how and why it ended early."""
    places: list[Place] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    """What it could not find, and why."""
    questions: list[int] = field(default_factory=list)
    """Numbers of the questions that its brief asked."""
    gaps: list[str] = field(default_factory=list)
    """What its tools could not look at."""
    items: int = 0
    """How many it handed in, where a table says so."""
    is_short: bool = False
    """A part of its findings was only named."""
    remarks: list[str] = field(default_factory=list)
    """What a report says below the places."""
    hints: dict[str, str] = field(default_factory=dict)
    """What memory says without evidence → what a report says of that, where no place in
    the answer says the same."""

    @property
    def is_from_memory(self) -> bool:
        """Whether no subagent brought it: it stood in memory."""
        return self.agent == MEMORY

    @property
    def has_failed(self) -> bool:
        """Whether it ended without having looked to the end."""
        return bool(_HAS_FAILED.match(self.state))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A brief that was refused."""

    index: int
    problems: tuple[str, ...]

    @property
    def quoted(self) -> list[str]:
        """Return the words of the brief that the problems name."""
        return [
            words
            for problem in self.problems
            for pair in _QUOTED.findall(problem)
            for words in pair
            if words and not words.endswith("…")
        ]


def is_unfinished(text: str) -> bool:
    """Return whether a hand-in was held back, as subagents are still at work."""
    return bool(_UNFINISHED.search(text))


def refusals(text: str) -> list[Refusal]:
    """Return the briefs that a `delegate` refused, with what was wrong."""
    found: dict[int, tuple[str, ...]] = {}
    named: list[int] = []  # those that the problems below are about
    for line in text.splitlines():
        if _REFUSED.match(line):
            named = [int(index) for index in _BRIEF.findall(line)]
            found.update(dict.fromkeys(named, ()))
        elif line.startswith("- "):
            found.update({index: (*found[index], line[2:]) for index in named})
        else:
            named = []
    return [Refusal(index, problems) for index, problems in sorted(found.items())]


def parse_results(text: str) -> list[AgentResult]:
    """Return what each subagent brought, in order of acceptance."""
    found: dict[str, AgentResult] = {}
    current: AgentResult | None = None
    for line in text.splitlines():
        row = None if current else _ROW.match(line)
        opened = None if current else _OPEN.match(line)
        if row:
            agent, title, status, items, ended = row.groups()
            state = status if ended.startswith("submitted") else ended
            found[agent] = AgentResult(agent, title, state, items=int(items))
        elif opened:
            agent, title, status = opened.groups()
            current = found.setdefault(agent, AgentResult(agent, title, status))
        elif line == _CLOSE:
            current = None
        elif current:
            _take(current, line)
    return list(found.values())


def _take(result: AgentResult, line: str) -> None:
    item = _ITEM.match(line)
    if item and item.group(1) == result.agent:
        claim = _CONFIDENCE.sub("", item.group(4)).strip()
        number, is_bad = int(item.group(2)), bool(item.group(3))
        # Opened again, it stands behind what was shown of it first.
        result.places = [place for place in result.places if place.item != number]
        result.places.append(Place(claim, result.agent, number, unsupported=is_bad))
        return
    if line.startswith(f"- {TRIED}: ") and line[len(TRIED) + 4 :] not in result.gaps:
        result.gaps.append(line[len(TRIED) + 4 :])
    tried = _TRIED.match(line)
    if tried and (missed := Missed(*tried.groups())) not in result.missed:
        result.missed.append(missed)
    result.is_short |= bool(_REST.match(line))
    place = result.places[-1] if result.places else None
    source = _SOURCE.match(line)
    if place and source and not place.path:
        place.path, place.first = source["path"], int(source["first"])
        place.last = int(source["last"] or source["first"])
    elif place and line.startswith("  > "):
        place.quote = f"{place.quote}\n{line[4:]}".strip("\n")
