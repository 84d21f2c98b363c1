"""`progress.md` as the program writes it: marks around all that it can tell apart.

Each part stands between two comments. The first names the part and its version, which
follows from its text: so a file shows by itself what somebody changed in it, and which
version that was a change of, however old the file is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from orchestrator.messages import clean_text
from orchestrator.store.notes_text import flat, tidy, version_of

__all__ = [
    "EMPTY",
    "PERSON",
    "PROGRAM_HEADINGS",
    "AgentRow",
    "RunHeader",
    "page_of",
]

PERSON = "Notes of a person"
"""The section that holds what people wrote outside of all sections."""
PROGRAM_HEADINGS = ("Subagents", "Changes made")
EMPTY = "_Nothing yet._"
"""Stands in a section without a text."""
_GUIDE = (
    "_You can change this file at any time. What you change in a section, or write "
    "anywhere else, stays and reaches the lead as your words. This part, and the "
    "tables below, are written anew from the log of the run._"
)
CENT = 0.01
MAX_CELL_TITLE_CHARS = 80
MAX_DOING_CHARS = 120
MAX_DEPTH_SHOWN = 8
KEPT_ROWS = 1024
"""Rows that are kept as they were written, since most are the same the next time."""
_PIPE = re.compile(r"\\*\|")


@dataclass(frozen=True, slots=True)
class RunHeader:
    """What stands at the top of `progress.md`."""

    run: str
    objective: str
    state: str
    """`running`, `done`, `partial`, …"""
    started: str
    """RFC 3339, UTC."""
    seconds: float
    tokens: int
    max_tokens: int
    usd: float | None
    """None: the price of a model is unknown."""
    max_usd: float | None
    max_minutes: float
    usd_set_aside: float = 0.0
    """For calls that are out, or were cut off: at most so much more."""
    questions: tuple[str, ...] = ()
    """Further ones, asked when it had finished; in order."""
    reason: str = ""
    """Why the run is in this state, where that needs saying."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """One subagent in the table."""

    id: str
    title: str
    state: str
    tokens: int
    """Used of what the run may use."""
    findings: str = ""
    """The file, relative to the run folder; "" while there is none."""
    depth: int = 0
    """0 for those of the lead, 1 for those that one of these sent, …"""
    doing: str = ""
    """What it does now, or how it ended and why."""
    turns: int = 0
    explored_tokens: int = 0
    returned_tokens: int | None = None
    """None: it has handed nothing over yet."""
    usd: float | None = 0.0
    """None: the price of its model is unknown."""


def page_of(
    sections: Mapping[str, str],
    header: RunHeader,
    agents: Sequence[AgentRow],
    effects: Sequence[str],
) -> str:
    """Return `progress.md`.

    Args:
        sections: name → text, in order; that of people only where it has a text.
        header: what stands on top.
        agents: the subagents, each below the one that sent it.
        effects: what was changed outside the run folder, a line each.
    """
    parts = [
        _owned("header", _header(header)),
        *(
            f"## {name}\n\n{_section(name, text)}"
            for name, text in sections.items()
            if text or name != PERSON
        ),
        f"## Subagents\n\n{_owned('subagents', _agents(agents))}",
        f"## Changes made\n\n{_owned('effects', _effects(effects))}",
    ]
    return "\n\n".join(parts) + "\n"


def _owned(name: str, text: str) -> str:
    """Mark a part that the program writes anew each time."""
    return f"<!-- program: {name} {version_of(text)} -->\n{text}\n<!-- /program -->"


def _section(name: str, text: str) -> str:
    mark = f"<!-- section: {name} {version_of(text)} -->"
    return f"{mark}\n{text or EMPTY}\n<!-- /section -->"


def _header(header: RunHeader) -> str:
    state = f"{header.state} – {flat(header.reason)}" if header.reason else header.state
    if header.usd is None:
        money = "dollars unknown (a model without a known price)"
    else:
        limit = "" if header.max_usd is None else f" of ${header.max_usd:,.2f}"
        aside = header.usd_set_aside
        more = f", and at most ${aside:,.2f} more set aside" if aside >= CENT else ""
        money = f"${header.usd:,.2f}{limit}{more}"
    asked = [header.objective, *(f"Asked then: {each}" for each in header.questions)]
    quote = "\n>\n".join(
        "\n".join(f"> {line}".rstrip() for line in tidy(text).split("\n"))
        for text in asked
    )
    return (
        f"# Progress of {flat(header.run)}\n\n"
        f"{quote}\n\n"
        f"- **State:** {state}\n"
        f"- **Started:** {header.started}; {header.seconds / 60:.1f} of "
        f"{header.max_minutes:g} minutes used\n"
        f"- **Used so far:** {header.tokens:,} of {header.max_tokens:,} tokens, {money}"
        f"\n\n{_GUIDE}"
    )


def _agents(agents: Sequence[AgentRow]) -> str:
    if not agents:
        return "_No part of the work was given to a subagent yet._"
    counts = Counter(agent.state for agent in agents)
    states = ", ".join(f"{count} {_cell(state)}" for state, count in counts.items())
    is_deep = any(agent.depth for agent in agents)
    arrow = " One marked ↳ was sent by the one above it." if is_deep else ""
    rows = [
        f"{len(agents)} in all: {states}.{arrow} In tokens: what its tools read, what "
        "it handed back, and what it used of the limit.",
        "",
        "| Id | What it looks into | State | Now, or how it ended | Turns | Read "
        "| Back | Used | $ | Findings |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    rows += map(_row, agents)
    return "\n".join(rows)


@lru_cache(maxsize=KEPT_ROWS)
def _row(agent: AgentRow) -> str:
    back = "–" if agent.returned_tokens is None else f"{agent.returned_tokens:,}"
    file = _cell(agent.findings)
    title = "↳ " * min(agent.depth, MAX_DEPTH_SHOWN) + agent.title
    cells = (
        _cell(agent.id),
        _cell(title, MAX_CELL_TITLE_CHARS),
        _cell(agent.state),
        _cell(agent.doing, MAX_DOING_CHARS) or "–",
        str(agent.turns),
        f"{agent.explored_tokens:,}",
        back,
        f"{agent.tokens:,}",
        _dollars(agent.usd),
        f"[{file}]({file})" if file else "–",
    )
    return f"| {' | '.join(cells)} |"


def _dollars(usd: float | None) -> str:
    if usd is None:
        return "?"
    digits = 0 if usd == 0 else 4 if usd < CENT else 2
    return f"{usd:,.{digits}f}"


def _effects(effects: Sequence[str]) -> str:
    if not effects:
        return "_Nothing was changed outside this folder._"
    rows = ["| # | What was done |", "| ---: | --- |"]
    rows += [f"| {n} | {_cell(effect)} |" for n, effect in enumerate(effects, 1)]
    return "\n".join(rows)


def _cell(text: str, limit_chars: int | None = None) -> str:
    """Return `text` for one cell of a table: on one line, bounded, and only text.

    Pipes are escaped; tags, comments, links and pictures are shown as they are written.
    """
    flat = " ".join(clean_text(text).split())
    if limit_chars is not None and len(flat) > limit_chars:
        flat = flat[: limit_chars - 1].rstrip() + "…"
    flat = flat.replace("<", "&lt;").replace("](", "]\\(")
    return _PIPE.sub(r"\\|", flat) if "|" in flat else flat
