"""The notes of a run: what the program knows, and what an agent wrote down.

`progress.md` is read by people who know nothing of the program. Its header and its
tables are rendered from the program's records; the sections are the lead's. A
subagent's `notes.md` has sections of its own choice and no program-owned parts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from orchestrator.errors import ToolError
from orchestrator.events import Event, NotesUpdated, parse
from orchestrator.messages import clean_text

__all__ = ["SECTIONS", "AgentRow", "Notes", "RunHeader", "Section"]

Section = Literal[
    "Goal", "Plan", "Decisions", "Facts", "Failed attempts", "Open questions", "Next"
]
SECTIONS: tuple[str, ...] = get_args(Section)
"""Those of the lead, in order."""
CENT = 0.01
MAX_SECTION_CHARS = 8000
MAX_FREE_SECTIONS = 20
MAX_TITLE_CHARS = 60
MAX_CELL_TITLE_CHARS = 80
MAX_DOING_CHARS = 120
MAX_DEPTH_SHOWN = 8
KEPT_ROWS = 1024
"""Rows that are kept as they were written, since most are the same the next time."""
_CHECKLIST = "Plan"
_EMPTY = "_Nothing yet._"
_HEADING = re.compile(r"^ {0,3}#{1,2}(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_PIPE = re.compile(r"\\*\|")
_BULLET = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+(?P<rest>\S.*)")
_TICK = re.compile(
    r"\[(?P<mark>[ xX✓✔]?)\]\s*(?P<rest>.*)|(?P<sign>[✓✔✅])\s*(?P<done>.*)"
)


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


class Notes:
    """An agent's sections. `Notes()` is the lead's, `Notes(free=True)` a subagent's."""

    def __init__(self, *, free: bool = False) -> None:
        self._free = free
        self._texts: dict[str, str] = {} if free else dict.fromkeys(SECTIONS, "")
        self._pinned: set[str] = set()

    @property
    def sections(self) -> dict[str, str]:
        """Return the texts by section, in order; "" where there is none."""
        return dict(self._texts)

    @property
    def pinned(self) -> dict[str, str]:
        """Return the sections that must stay in the agent's context."""
        return {
            name: text for name, text in self._texts.items() if name in self._pinned
        }

    def apply(self, event: Event) -> None:
        """Take over a `notes.updated` of the log; one that cannot be is passed over."""
        with suppress(TypeError, ToolError):
            made = parse(event, NotesUpdated)
            self.update(made.section, made.mode, made.text, made.pin)

    def update(self, section: str, mode: str, text: str, pin: bool = False) -> str:
        """Write to a section and return its proper name.

        Args:
            section: one of the known ones, in any case; any short title for a
                subagent.
            mode: `replace` (an empty text clears the section) or `append`.
            text: Markdown. In the plan each line is an item; appending one that is
                there already changes its tick.
            pin: the section must stay in the agent's context; `replace` without it
                lets it go.

        Raises:
            ToolError: no such section or mode, nothing to append, or too long; the
                notes are as before.
        """
        if mode not in ("replace", "append"):
            raise ToolError(
                f"`mode` must be `replace` or `append`, found `{mode[:40]}`"
            )
        name = self._name(section)
        new = _tidy(text)
        if mode == "append" and not new:
            raise ToolError(f"nothing to append to `{name}`: `text` is empty")
        if name == _CHECKLIST:
            before = self._texts[name] if mode == "append" else ""
            new = _as_checklist(before, new)
        elif mode == "append" and self._texts.get(name):
            new = f"{self._texts[name]}\n{new}"
        if len(new) > MAX_SECTION_CHARS:
            raise ToolError(
                f"`{name}` would have {len(new):,} characters, at most "
                f"{MAX_SECTION_CHARS:,} are allowed; replace it by a shorter text"
            )
        self._texts[name] = new
        if pin:
            self._pinned.add(name)
        elif mode == "replace":
            self._pinned.discard(name)
        return name

    def render(
        self, header: RunHeader, agents: Sequence[AgentRow], effects: Sequence[str]
    ) -> str:
        """Return `progress.md`.

        Args:
            header: what stands on top.
            agents: the subagents, each below the one that sent it.
            effects: what was changed outside the run folder, a line each.
        """
        parts = [
            _owned("header", _header(header)),
            *(
                f"## {name}\n\n{_marked(name, text or _EMPTY)}"
                for name, text in self._texts.items()
            ),
            f"## Subagents\n\n{_owned('subagents', _agents(agents))}",
            f"## Changes made\n\n{_owned('effects', _effects(effects))}",
        ]
        return "\n\n".join(parts) + "\n"

    def render_free(self, title: str) -> str:
        """Return a subagent's `notes.md`: its sections under one title."""
        parts = [f"# {_line(title)}"]
        parts += [
            f"## {name}\n\n{text or _EMPTY}" for name, text in self._texts.items()
        ]
        return "\n\n".join(parts if self._texts else [*parts, _EMPTY]) + "\n"

    def _name(self, section: str) -> str:
        wanted = " ".join(section.split()).strip("# ").casefold()
        for name in self._texts:
            if name.casefold() == wanted:
                return name
        if not self._free:
            raise ToolError(
                f"no section `{section[:MAX_TITLE_CHARS]}`; there are: "
                f"{', '.join(SECTIONS)}"
            )
        name = _line(section).strip("# ")
        if not name or len(name) > MAX_TITLE_CHARS:
            raise ToolError(f"`section` must have 1 to {MAX_TITLE_CHARS} characters")
        if len(self._texts) >= MAX_FREE_SECTIONS:
            raise ToolError(
                f"at most {MAX_FREE_SECTIONS} sections are allowed; there are: "
                f"{', '.join(self._texts)}"
            )
        return name


def _owned(name: str, text: str) -> str:
    """Mark a part that the program writes anew each time."""
    return f"<!-- program: {name} -->\n{text}\n<!-- /program -->"


def _marked(name: str, text: str) -> str:
    return f"<!-- section: {name} -->\n{text}\n<!-- /section -->"


def _header(header: RunHeader) -> str:
    state = (
        f"{header.state} – {_line(header.reason)}" if header.reason else header.state
    )
    if header.usd is None:
        money = "dollars unknown (a model without a known price)"
    else:
        limit = "" if header.max_usd is None else f" of ${header.max_usd:,.2f}"
        aside = header.usd_set_aside
        more = f", and at most ${aside:,.2f} more set aside" if aside >= CENT else ""
        money = f"${header.usd:,.2f}{limit}{more}"
    asked = [header.objective, *(f"Asked then: {each}" for each in header.questions)]
    quote = "\n>\n".join(
        "\n".join(f"> {line}".rstrip() for line in _tidy(text).split("\n"))
        for text in asked
    )
    return (
        f"# Progress of {_line(header.run)}\n\n"
        f"{quote}\n\n"
        f"- **State:** {state}\n"
        f"- **Started:** {header.started}; {header.seconds / 60:.1f} of "
        f"{header.max_minutes:g} minutes used\n"
        f"- **Used so far:** {header.tokens:,} of {header.max_tokens:,} tokens, {money}"
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


def _line(text: str) -> str:
    return " ".join(text.replace("<!--", "&lt;!--").split())


def _cell(text: str, limit_chars: int | None = None) -> str:
    """Return `text` for one cell of a table: on one line, bounded, and only text.

    Pipes are escaped; tags, comments, links and pictures are shown as they are written.
    """
    flat = " ".join(clean_text(text).split())
    if limit_chars is not None and len(flat) > limit_chars:
        flat = flat[: limit_chars - 1].rstrip() + "…"
    flat = flat.replace("<", "&lt;").replace("](", "]\\(")
    return _PIPE.sub(r"\\|", flat) if "|" in flat else flat


def _tidy(text: str) -> str:
    """Return Markdown that cannot be taken for a part of the file around it.

    Big headings become small ones, comments show as text, an open code block is closed.
    """
    lines: list[str] = []
    fence = ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("<!--", "&lt;!--")
    for line in text.strip("\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip(" `~"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif _UNDERLINE.fullmatch(line) and lines and lines[-1]:
            lines.append("")  # or the line above would become a heading
        lines.append(line.rstrip() if fence else _HEADING.sub("###", line.rstrip(), 1))
    if fence:
        lines.append(fence)
    return "\n".join(lines).strip("\n")


def _as_checklist(before: str, text: str) -> str:
    """Return a plan with every item as `- [ ]` or `- [x]`."""
    lines = before.split("\n") if before else []
    places = {
        line.split("]", 1)[-1].strip().casefold(): n for n, line in enumerate(lines)
    }
    for raw in text.split("\n"):
        if not raw.strip() or raw.startswith("#"):
            lines.append(raw)
            continue
        item = _item(raw)
        key = item.split("]", 1)[-1].strip().casefold()
        if key and key in places:
            lines[places[key]] = item
        elif key:
            places[key] = len(lines)
            lines.append(item)
    return "\n".join(lines).strip("\n")


def _item(line: str) -> str:
    bullet = _BULLET.fullmatch(line)
    indent, rest = (bullet["indent"], bullet["rest"]) if bullet else ("", line.strip())
    tick = _TICK.fullmatch(rest)
    if tick is None:
        return f"{indent}- [ ] {rest}"
    is_done = bool(tick["sign"]) or (tick["mark"] or " ") != " "
    words = tick["done"] if tick["sign"] else tick["rest"]
    return f"{indent}- [{'x' if is_done else ' '}] {words}"
