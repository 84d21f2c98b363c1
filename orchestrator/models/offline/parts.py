"""The parts of a document that were read: in sight, or noted where they are gone.

A note of a part is a heading with its lines, a line for each point with its place, and
a line that says how far the document is read; so what is left of a note still tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.models.offline.key_points import Point, points_of, tells
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import quote_near, span
from orchestrator.models.offline.reading import Call, Conversation
from orchestrator.models.offline.searching import all_read, rows_of

__all__ = [
    "NOTED",
    "Group",
    "Part",
    "Reading",
    "fresh_parts",
    "groups_of",
    "is_tight",
    "note_of",
    "parts_in",
    "quoted",
    "reading_of",
    "shorter_notes",
    "told_so_far",
]

NOTED = 5
"""Points of a part that are noted."""
MAX_NOTE_CHARS, SHORT_CHARS = 160, 80
MAX_QUOTE_CHARS = 240

_HEAD = re.compile(
    r": (?:lines \d+-\d+ of (?P<of>\d+)|all (?P<all>\d+) lines|its only)"
)
_MORE = re.compile(r"^\[\d+ more lines; go on with first_line=(\d+)\]", re.MULTILINE)
_PART = re.compile(r"^### (?P<path>\S.*):(?P<first>\d+)(?:-(?P<last>\d+))?$")
_POINT = re.compile(
    r"^- (?P<claim>.*) \[(?P<path>[^\[\]]+):(?P<first>\d+)(?:-(?P<last>\d+))?\]$"
)
_READ = re.compile(
    r"^- Read so far: (?P<path>\S.*):(?P<first>\d+)-(?P<last>\d+) of (?P<total>\d+)$"
)
_ITEM = re.compile(r"^\[a\d+#\d+\] ")
_SECTION = re.compile(r"^#{2,3} ")


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


@dataclass(slots=True)
class Group:
    """The points of one part, the most telling first."""

    path: str
    first: int
    last: int
    points: list[Point] = field(default_factory=list)
    is_headed: bool = True
    """Its lines are known; else it is one point whose heading is gone."""

    def holds(self, other: Group | Part) -> bool:
        """Return whether the lines of another are among its lines."""
        path = other.path if isinstance(other, Group) else other.page.path
        return (
            path == self.path and self.first <= other.first <= other.last <= self.last
        )


@dataclass(slots=True)
class Reading:
    """How far one document is read.

    Attributes:
        total: its lines, as far as they are known; else 0.
        ranges: first and last line of what was read.
    """

    total: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def next_line(self, start: int) -> int:
        """Return the first line from `start` on that was not read; 0: there is none."""
        for first, last in sorted(self.ranges):
            if first <= start <= last:
                start = last + 1
        return 0 if self.total and start > self.total else start

    def holds(self, part: Part) -> bool:
        """Return whether all of a part was read before."""
        return not 0 < self.next_line(part.first) <= part.last


# ---- in sight -----------------------------------------------------------------------


def parts_in(conversation: Conversation) -> list[Part]:
    """Return the pages that are in sight; a stub is none."""
    return [
        _part(call)
        for call in conversation.named("read_file")
        if call.answered and not call.is_error and not call.is_cleared
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


def is_tight(conversation: Conversation) -> bool:
    """Return whether something had to make room."""
    is_cleared = any(call.is_cleared for call in conversation.calls)
    return is_cleared or bool(conversation.so_far)


# ---- notes --------------------------------------------------------------------------


def note_of(
    group: Group, *, most: int, chars: int = MAX_NOTE_CHARS, read: str = ""
) -> str:
    """Return the note of a part.

    Args:
        group: its lines and points.
        most: points that are told.
        chars: of each of them.
        read: how far the document is read, as `told_so_far` says it.
    """
    told = [
        f"- {shortened(point.claim, chars)} [{point.source}]"
        for point in group.points[:most]
    ]
    head = f"### {group.path}:{span(group.first, group.last)}"
    return "\n".join(
        [head, *(told or ["- nothing telling"]), *([read] if read else [])]
    )


def shorter_notes(groups: Sequence[Group], room: int) -> str:
    """Return the notes of all parts within a size: fewer lines of each.

    Half of it is left for the parts that follow, as long as each is heard.
    """
    for most in range(NOTED - 1, 0, -1):
        text = "\n\n".join(note_of(group, most=most) for group in groups)
        if len(text) <= room // 2:
            return text
    ranked = sorted(groups, key=_best_first)
    for kept in range(len(ranked), 1, -1):
        heard = sorted(ranked[:kept], key=_lines_of)
        text = "\n\n".join(note_of(g, most=1, chars=SHORT_CHARS) for g in heard)
        if len(text) <= room:
            break
    return text


def _best_first(group: Group) -> float:
    return -max((point.score for point in group.points), default=0.0)


def told_so_far(path: str, reading: Reading, start: int) -> str:
    """Return the line that says how far a document is read."""
    last = (reading.next_line(start) or reading.total + 1) - 1
    return f"- Read so far: {path}:{start}-{last} of {reading.total}"


def _noted_lines(conversation: Conversation) -> list[str]:
    texts = [str(c.input.get("text")) for c in conversation.named("update_notes")]
    return "\n\n".join([conversation.so_far, *texts]).split("\n")


def groups_of(conversation: Conversation) -> list[Group]:
    """Return the parts that are noted, in order of their lines.

    A point whose heading is gone is a part of its own.
    """
    found: dict[tuple[str, int, int], Group] = {}
    current: Group | None = None
    for line in _noted_lines(conversation):
        if part := _PART.match(line):
            path, first = part["path"], int(part["first"])
            last = int(part["last"] or first)
            current = found.setdefault((path, first, last), Group(path, first, last))
        elif _SECTION.match(line):
            current = None
        elif (point := _point(line)) is not None:
            _add(found, current, point)
    headed = [group for group in found.values() if group.is_headed]
    told = {point.source for group in headed for point in group.points}
    lone = [
        group
        for group in found.values()
        if not group.is_headed and group.points[0].source not in told
    ]
    return sorted([*headed, *lone], key=lambda group: (group.path, group.first))


def _point(line: str) -> Point | None:
    found = _POINT.match(line)
    if not found or _ITEM.match(found["claim"]):
        return None
    place = span(int(found["first"]), int(found["last"] or found["first"]))
    claim = found["claim"]
    score = tells(claim) / max(len(claim) / MAX_NOTE_CHARS, 1.0)
    return Point(claim, f"{found['path']}:{place}", "", score)


def _add(
    found: dict[tuple[str, int, int], Group], current: Group | None, point: Point
) -> None:
    path, first, _ = point.place
    if current is None or current.path != path:
        key = (path, first, first)
        current = found.setdefault(key, Group(*key, is_headed=False))
    if all(known.source != point.source for known in current.points):
        current.points.append(point)


def reading_of(conversation: Conversation, path: str) -> Reading:
    """Return how far a document is read, by what is in sight and what is noted."""
    reading = _told(conversation, path)
    for part in parts_in(conversation):
        if part.page.path == path:
            reading.total = max(reading.total, part.total)
            if part.page.lines:
                reading.ranges.append((part.first, part.last))
    reading.ranges += [
        (group.first, group.last)
        for group in groups_of(conversation)
        if group.path == path
    ]
    reading.ranges += _before_others(conversation, path)
    return reading


def _told(conversation: Conversation, path: str) -> Reading:
    """Return how far a document is read, as notes say it."""
    reading = Reading()
    for line in _noted_lines(conversation):
        told = _READ.match(line)
        if told and told["path"] == path:
            reading.total = max(reading.total, int(told["total"]))
            reading.ranges.append((int(told["first"]), int(told["last"])))
    return reading


def fresh_parts(conversation: Conversation) -> list[Part]:
    """Return the pages in sight that were not opened again for their quotes."""
    headed = [group for group in groups_of(conversation) if group.is_headed]
    return [
        part
        for part in parts_in(conversation)
        if part.page.lines
        and (
            (part.page.path, part.first, part.last) in map(_lines_of, headed)
            or (
                not any(group.holds(part) for group in headed)
                and not _told(conversation, part.page.path).holds(part)
            )
        )
    ]


def _lines_of(group: Group) -> tuple[str, int, int]:
    return group.path, group.first, group.last


def _before_others(conversation: Conversation, path: str) -> Iterable[tuple[int, int]]:
    """Yield the lines of cleared pages: up to where the next page was begun."""
    starts = [
        (int(call.input.get("first_line") or 1), call.is_cleared)
        for call in conversation.named("read_file")
        if call.input.get("path") == path and call.answered and not call.is_error
    ]
    for at, (begin, _) in enumerate(starts[1:]):
        first, is_cleared = starts[at]
        if is_cleared and begin > first:
            yield first, begin - 1


# ---- quotes -------------------------------------------------------------------------


def quoted(
    conversation: Conversation, points: Sequence[Point]
) -> tuple[list[Point], list[tuple[str, int, int]]]:
    """Return points with quotes of lines in sight, and the places that are not.

    Args:
        conversation: whose lines in sight are looked at.
        points: each with one place; those that have a quote already stay.
    """
    pages = {page.path: page for page in all_read(conversation)}
    told: list[Point] = []
    lacking: list[tuple[str, int, int]] = []
    for point in points:
        path, first, last = point.place
        if point.quote:
            told.append(point)
            continue
        page = pages.get(path)
        is_there = page and all(n in page.lines for n in range(first, last + 1))
        begin = point.claim.rpartition(": ")[2].rstrip("…")
        found = page and quote_near(
            page, first, last, most=MAX_QUOTE_CHARS, begin=begin
        )
        if not page or not is_there or not found:
            lacking.append((path, first, last))
            continue
        at = f"{path}:{span(found[0], found[1])}"
        told.append(Point(_whole(point, page, first), at, found[2], point.score))
    return told, lacking


def _whole(point: Point, page: Page, line: int) -> str:
    """Return the claim of a point, whole again where its note had cut it."""
    if not point.claim.endswith("…"):
        return point.claim
    begin = point.claim.rpartition(": ")[2].rstrip("…")
    rows: dict[int, str] = {}
    while line + len(rows) in page.lines:
        rows[line + len(rows)] = page.lines[line + len(rows)]
    near = [
        other.claim
        for other in points_of(Page(page.path, rows))
        if other.place[1] == line
    ]
    if not begin:
        return near[0] if near else shortened(page.lines[line], MAX_QUOTE_CHARS)
    ends = [text[text.find(begin) :] for text in near if begin in text]
    return point.claim[: -len(begin) - 1] + ends[0] if ends else point.claim
