"""The offline model as summarizer: a document read part by part, its telling lines.

After each part its points go into the notes; the merge takes the best of each part, as
many as the brief has room for. A long document is handed out in ranges of lines where
that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.models.offline.answers import parse_results
from orchestrator.models.offline.explorer import HAND_IN, Step, explore
from orchestrator.models.offline.gaps import TRIED, gaps_in
from orchestrator.models.offline.handing_out import Range, briefs_for, covered
from orchestrator.models.offline.key_points import (
    Point,
    merged,
    points_of,
    room_for,
    size_of,
)
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import span
from orchestrator.models.offline.reading import (
    Call,
    Conversation,
    asking_sections,
    bullets,
    paths_in,
    sections,
)
from orchestrator.models.offline.searching import rows_of

__all__ = ["digest"]

MAX_DOCUMENTS = 6
MAX_PARTS = 150
NOTED = 5
MAX_NOTE_CHARS = 160
MAX_SECTION_CHARS = 7500
"""Of a section of the notes; a little less than it may hold."""
DEFAULT_TOKENS = 1200

_HEAD = re.compile(
    r": (?:lines \d+-\d+ of (?P<of>\d+)|all (?P<all>\d+) lines|its only)"
)
_MORE = re.compile(r"^\[\d+ more lines; go on with first_line=(\d+)\]", re.MULTILINE)
_RANGE = re.compile(r"\blines (\d+)\s?[-–]\s?(\d+)\b", re.IGNORECASE)
_TOKENS = re.compile(r"\bat most (\d+) tokens\b")
_HEADING = re.compile(r"^#{1,3}\s+(\S.*?)\s*#*$")
_METHOD = (
    "Extracted without a language model: these lines hold numbers, rules or terms."
)


@dataclass(frozen=True, slots=True)
class Part:
    """One page of a document as it was read."""

    page: Page
    first: int
    last: int
    total: int
    next_line: int
    """Where the document goes on; 0 at its end."""

    @property
    def name(self) -> str:
        """Return it as a source names it."""
        return f"{self.page.path}:{span(self.first, self.last)}"


def digest(conversation: Conversation) -> list[Step]:
    """Return the calls of a summarizer's next turn.

    A brief that names no document is explored like any other.
    """
    texts = asking_sections(conversation.first)
    documents = _documents(conversation, texts)
    if not documents or "read_file" not in conversation.tools:
        return explore(conversation)
    focus = bullets(sections(conversation.first).get("questions", ""))
    asked = _RANGE.search("\n".join(texts))
    lines = Range(int(asked[1]), int(asked[2])) if asked else Range()
    parts = _parts(conversation)
    if not conversation.must_end:
        steps = _notes(conversation, parts, focus)
        handed_out = None if asked else _hand_out(conversation, documents, parts, focus)
        reads = _next_reads(conversation, documents, parts, lines)
        goes_on = handed_out or ([] if covered(conversation) is not None else reads)
        if goes_on:
            return [*steps, *goes_on]
        return [*steps, _handing_in(conversation, documents, parts, lines, focus)]
    return [_handing_in(conversation, documents, parts, lines, focus)]


def _documents(conversation: Conversation, texts: Sequence[str]) -> list[str]:
    """Return the files that a brief names, those of its scope first."""
    scope = sections(conversation.first).get("scope", "")
    kept = [line for line in scope.splitlines() if "Leave out" not in line]
    left = [line for line in scope.splitlines() if "Leave out" in line]
    outside = set(paths_in(left))
    found = [
        path
        for path in paths_in([*kept, *texts])
        if not path.endswith("/") and path not in outside
    ]
    files = [p for p in dict.fromkeys(found) if "." in p.rsplit("/", 1)[-1]]
    return [path for path in files if not set(path) & set("*?[{")][:MAX_DOCUMENTS]


# ---- reading ------------------------------------------------------------------------


def _parts(conversation: Conversation) -> list[Part]:
    return [
        _part(call)
        for call in conversation.named("read_file")
        if call.answered and not call.is_error
    ]


def _part(call: Call) -> Part:
    head = _HEAD.search(call.result.partition("\n")[0])
    rows = rows_of(call.result)
    first = min(rows, default=1)
    last = max(rows, default=first)
    total = int((head and (head["of"] or head["all"])) or last)
    more = _MORE.search(call.result)
    page = Page(str(call.input.get("path")), rows)
    return Part(page, first, last, total, int(more[1]) if more else 0)


def _next_reads(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    lines: Range,
) -> list[Step]:
    """Return the next page of each document that is not read to its end."""
    steps: list[Step] = []
    for path in documents if len(parts) < MAX_PARTS else ():
        mine = [part for part in parts if part.page.path == path]
        start = mine[-1].next_line if mine else lines.first
        if not start or (lines.last and start > lines.last):
            continue
        given: dict[str, Any] = {"path": path}
        if start > 1:
            given["first_line"] = start
        if lines.last:
            given["max_lines"] = lines.last - start + 1
        if not conversation.has_made("read_file", given):
            steps.append(("read_file", given))
    return steps


def _notes(
    conversation: Conversation, parts: Sequence[Part], focus: Sequence[str]
) -> list[Step]:
    """Return the notes of the parts that have none yet.

    A section holds only so much: where the next part does not fit, all is said again
    in fewer lines.
    """
    if "update_notes" not in conversation.tools:
        return []
    steps: list[Step] = []
    size = 0
    for place, part in enumerate(parts):
        text, mode = _noted(part, focus, NOTED), "append"
        if size + len(text) > MAX_SECTION_CHARS:
            text, mode = _shorter(parts[: place + 1], focus), "replace"
            size = 0
        size += len(text) + 2
        given = {"section": "Facts", "mode": mode, "text": text}
        if not conversation.has_made("update_notes", given):
            steps.append(("update_notes", given))
    return steps


def _noted(part: Part, focus: Sequence[str], most: int) -> str:
    points = points_of(part.page, focus)[:most]
    told = [f"- {shortened(p.claim, MAX_NOTE_CHARS)} [{p.source}]" for p in points]
    return "\n".join([f"### {part.name}", *(told or ["- nothing telling"])])


def _shorter(parts: Sequence[Part], focus: Sequence[str]) -> str:
    """Return the notes of all parts in half a section: fewer lines of each."""
    for most in range(NOTED - 1, 0, -1):
        text = "\n\n".join(_noted(part, focus, most) for part in parts)
        if len(text) <= MAX_SECTION_CHARS // 2:
            return text
    every = -(-len(text) // (MAX_SECTION_CHARS // 2))
    return "\n\n".join(_noted(part, focus, 1) for part in parts[::every])


def _hand_out(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    focus: Sequence[str],
) -> list[Step] | None:
    """Return the `delegate` for a long document; None where it is read alone."""
    if "delegate" not in conversation.tools or len(documents) != 1 or not parts:
        return None
    if conversation.named("delegate") or len(parts) > 1:
        return None
    part = parts[0]
    briefs = briefs_for(
        conversation.first,
        path=documents[0],
        total=part.total,
        page_lines=part.last - part.first + 1,
        focus=focus,
        max_tokens=_max_tokens(conversation),
    )
    return [("delegate", {"briefs": briefs, "wait": "all"})] if briefs else None


# ---- handing in ---------------------------------------------------------------------


def _handing_in(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    lines: Range,
    focus: Sequence[str],
) -> Step:
    """Return the merged findings."""
    most = _max_tokens(conversation)
    handed_out = covered(conversation) is not None
    groups = [] if handed_out else [points_of(part.page, focus) for part in parts]
    groups += _brought(conversation)
    points = merged(groups, room_for(most))
    missing = list(_unread(conversation, documents, parts, lines))
    gaps = gaps_in(conversation)
    status = "partial" if missing else "complete"
    if not points:
        status = "failed" if not parts else "partial" if missing else "nothing_found"
    return (
        HAND_IN,
        {
            "status": status,
            "summary": _summary(parts, most, shared_by=len(groups) * handed_out),
            "items": [point.item() for point in points],
            "open_questions": missing,
            "failed_attempts": [{"tried": TRIED, "why": gap} for gap in gaps],
        },
    )


def _max_tokens(conversation: Conversation) -> int:
    said = _TOKENS.search(sections(conversation.first).get("deliverable", ""))
    return int(said[1]) if said else DEFAULT_TOKENS


def _brought(conversation: Conversation) -> Iterable[list[Point]]:
    """Yield the points that each subagent of its own brought."""
    for result in parse_results(conversation.brought):
        yield [
            Point(p.claim, f"{p.path}:{span(p.first, p.last)}", p.quote)
            for p in result.places
            if p.path and p.quote and not p.unsupported
        ]


def _unread(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    lines: Range,
) -> Iterable[str]:
    """Yield what was not read, in words."""
    others = covered(conversation)
    for path in documents:
        mine = [part for part in parts if part.page.path == path]
        if not mine:
            calls = conversation.named("read_file")
            errors = [c for c in calls if c.is_error and c.input.get("path") == path]
            why = f": {shortened(errors[-1].result, 200)}" if errors else ""
            yield f"`{path}` was not read{why}"
            continue
        end = min(lines.last or mine[-1].total, mine[-1].total)
        if others is not None:
            yield from (f"`{path}` {each} were not summarised" for each in others)
        elif mine[-1].next_line and mine[-1].next_line <= end:
            yield f"`{path}`, lines {span(mine[-1].next_line, end)}, were not read"


def _summary(parts: Sequence[Part], most: int, *, shared_by: int) -> str:
    """Return how much was read, and the headings, within a share of the size."""
    room = most * 0.2
    said: list[str] = []
    for path in dict.fromkeys(part.page.path for part in parts):
        mine = [part for part in parts if part.page.path == path]
        how = f"in {len(mine)} parts" if len(mine) > 1 else "in one part"
        how = f"by {shared_by} subagents" if shared_by else how
        said.append(f"`{path}` has {mine[-1].total} lines; read {how}.")
    heads = [
        found[1]
        for part in parts
        for _number, line in sorted(part.page.lines.items())
        if part.page.is_prose and (found := _HEADING.match(line))
    ]
    kept: list[str] = []
    for head in dict.fromkeys(shortened(each, 60) for each in heads):
        if size_of("; ".join([*kept, head])) > room:
            kept.append("…")
            break
        kept.append(head)
    if kept:
        said.append(f"Headings: {'; '.join(kept)}.")
    return " ".join([*said, _METHOD]) if said else f"Nothing could be read. {_METHOD}"
