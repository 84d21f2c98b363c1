"""The offline model as summarizer: a document read part by part, its telling lines.

After each part its points go into the notes; the merge takes the best of each part, as
many as the brief has room for. A long document is handed out in ranges of lines where
that is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from orchestrator.models.offline.answers import parse_results
from orchestrator.models.offline.explorer import HAND_IN, Step, explore
from orchestrator.models.offline.gaps import TRIED, gaps_in
from orchestrator.models.offline.handing_out import (
    Range,
    briefs_for,
    covered,
    documents_in,
)
from orchestrator.models.offline.key_points import (
    Point,
    merged,
    points_of,
    room_for,
    size_of,
)
from orchestrator.models.offline.noting import steps_before
from orchestrator.models.offline.parts import (
    NOTED,
    Group,
    Part,
    fresh_parts,
    groups_of,
    is_tight,
    note_of,
    parts_in,
    quoted,
    reading_of,
    shorter_notes,
    told_so_far,
)
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import span
from orchestrator.models.offline.reading import (
    Conversation,
    asking_sections,
    bullets,
    sections,
)
from orchestrator.models.offline.recollecting import lacking, notes_of, opening

__all__ = ["digest"]

MAX_PARTS = 150
MAX_STEPS = 200
"""Steps that are gone; then it is handed in."""
MAX_AGAIN = 3
AT_ONCE, MAX_NAMED = 8, 6
"""How often places are opened again for their quotes, and how many of them at once."""
MAX_SECTION_CHARS = 7500
"""Of a section of the notes; a little less than it may hold."""
MIN_SECTION_CHARS = 600
NOTES_SHARE = 0.4
"""Of a page of the document; so much of the notes stays in sight in small windows."""
DEFAULT_TOKENS = 1200
Lines = tuple[str, int, int]
"""Path, first and last line."""
AGAIN = "- Places opened again for their quotes."

_RANGE = re.compile(r"\blines (\d+)\s?[-–]\s?(\d+)\b", re.IGNORECASE)
_TOKENS = re.compile(r"\bat most (\d+) tokens\b")
_HEADING = re.compile(r"^#{1,3}\s+(\S.*?)\s*#*$")
_METHOD = (
    "Extracted without a language model: these lines hold numbers, rules or terms."
)


def digest(conversation: Conversation) -> list[Step]:
    """Return the calls of a summarizer's next turn.

    A brief that names no document is explored like any other.
    """
    texts = asking_sections(conversation.first)
    documents = documents_in(conversation.first, texts)
    if not documents or "read_file" not in conversation.tools:
        return explore(conversation)
    focus = bullets(sections(conversation.first).get("questions", ""))
    asked = _RANGE.search("\n".join(texts))
    lines = Range(int(asked[1]), int(asked[2])) if asked else Range()
    parts = parts_in(conversation)
    if conversation.must_end:
        return [_handing_in(conversation, documents, lines, focus)]
    steps = _notes(conversation, parts, lines, focus)
    handed_out = None if asked else _hand_out(conversation, documents, parts, focus)
    goes_on = handed_out or _goes_on(conversation, documents, parts, lines)
    if goes_on:
        return [*steps, *goes_on]
    again = _again(conversation, focus)
    return [*steps, *(again or [_handing_in(conversation, documents, lines, focus)])]


def _goes_on(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    lines: Range,
) -> list[Step]:
    """Return the next pages, or what subagents brought and is not shown."""
    if covered(conversation) is None:
        return _next_reads(conversation, documents, parts, lines)
    brought = parse_results(conversation.brought)
    return opening(conversation, brought, places_only=True)


# ---- reading ------------------------------------------------------------------------


def _next_reads(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    lines: Range,
) -> list[Step]:
    """Return the next page of each document that is not read to its end."""
    steps: list[Step] = []
    is_over = len(parts) >= MAX_PARTS or steps_before(conversation) >= MAX_STEPS
    for path in () if is_over else documents:
        start = reading_of(conversation, path).next_line(lines.first)
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
    conversation: Conversation,
    parts: Sequence[Part],
    lines: Range,
    focus: Sequence[str],
) -> list[Step]:
    """Return the notes of the parts that have none yet.

    A section holds only so much, and where steps make room only a part of it stays in
    sight: where the next part does not fit, all is said again in fewer lines.
    """
    if "update_notes" not in conversation.tools or covered(conversation) is not None:
        return []
    known = _known(conversation, focus)
    noted = [group for group in groups_of(conversation) if group.is_headed]
    room = _room(conversation, parts)
    size = sum(len(note_of(group, most=NOTED)) + 2 for group in noted)
    steps: list[Step] = []
    for part in fresh_parts(conversation):
        own = Group(part.page.path, part.first, part.last, points_of(part.page, focus))
        if any(group.holds(own) for group in noted):
            continue
        noted.append(own)
        read = _told(conversation, own, lines)
        text, mode = note_of(own, most=NOTED, read=read), "append"
        if size + len(text) > room:
            text, mode = f"{shorter_notes([*known, own], room)}\n{read}", "replace"
            size = 0
        size += len(text) + 2
        steps.append(("update_notes", {"section": "Facts", "mode": mode, "text": text}))
    return steps


def _told(conversation: Conversation, group: Group, lines: Range) -> str:
    reading = reading_of(conversation, group.path)
    # What is noted now is read up to here, whatever else stands beside it.
    reading.ranges = [each for each in reading.ranges if each[0] <= group.last]
    return told_so_far(group.path, reading, lines.first)


def _known(conversation: Conversation, focus: Sequence[str]) -> list[Group]:
    """Return the parts by what is in sight, and else by what is noted of them."""
    groups = [
        Group(part.page.path, part.first, part.last, points_of(part.page, focus))
        for part in fresh_parts(conversation)
    ]
    noted = groups_of(conversation)
    kept = [g for g in noted if not any(other.holds(g) for other in groups)]
    return sorted([*groups, *kept], key=lambda group: (group.path, group.first))


def _room(conversation: Conversation, parts: Sequence[Part]) -> int:
    """Return how many characters of notes stay in sight."""
    if not is_tight(conversation):
        return MAX_SECTION_CHARS
    sizes = [sum(map(len, part.page.lines.values())) for part in parts]
    room = int(max(sizes, default=0) * NOTES_SHARE)
    return min(max(room, MIN_SECTION_CHARS), MAX_SECTION_CHARS)


def _hand_out(
    conversation: Conversation,
    documents: Sequence[str],
    parts: Sequence[Part],
    focus: Sequence[str],
) -> list[Step] | None:
    """Return the `delegate` for a long document; None where it is read alone."""
    if "delegate" not in conversation.tools or len(documents) != 1 or not parts:
        return None
    has_begun = len(conversation.named("read_file")) > 1 or conversation.so_far
    if conversation.named("delegate") or has_begun:
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


def _chosen(
    conversation: Conversation, focus: Sequence[str]
) -> tuple[list[Point], list[Lines]]:
    """Return the points of all parts that there is room for, and lines to open again.

    A point whose lines are not in sight is chosen by its claim; where only its place is
    known, it is chosen once the lines are open.
    """
    handed_out = covered(conversation) is not None
    groups = [] if handed_out else [g.points for g in _known(conversation, focus)]
    brought = list(_brought(conversation))
    # The first of each, then the second: as many as can be in sight together.
    ranked = sorted((at, p.source) for each in brought for at, p in enumerate(each))
    cited = {source for _at, source in ranked[:AT_ONCE]}
    wanted: list[Lines] = []
    for points in brought:
        if all(point.quote for point in points):
            groups.append(points)
            continue
        told, gone = quoted(conversation, [p for p in points if p.source in cited])
        groups.append(told)
        wanted += gone
    room = room_for(_max_tokens(conversation))
    if _has_just_opened(conversation):
        # What was opened is in sight now; it would not be for long.
        groups = [quoted(conversation, points)[0] for points in groups]
        if chosen := merged(groups, room):
            return chosen, []
    chosen = merged(groups, room)
    if is_tight(conversation):
        chosen = chosen[:AT_ONCE]
    chosen, gone = quoted(conversation, chosen)
    return chosen, [*wanted, *gone]


def _has_just_opened(conversation: Conversation) -> bool:
    """Return whether the newest step opened places for their quotes."""
    newest = conversation.between(conversation.turns - 1, conversation.turns)
    texts = [str(call.input.get("text")) for call in newest.named("update_notes")]
    return AGAIN in texts


def _again(conversation: Conversation, focus: Sequence[str]) -> list[Step]:
    """Return what opens again the places that are cited and are not in sight."""
    notes = [str(c.input.get("text")) for c in conversation.named("update_notes")]
    times = "\n".join([conversation.so_far, *notes]).count(AGAIN)
    is_over = times >= MAX_AGAIN or steps_before(conversation) >= MAX_STEPS
    if is_over or _has_just_opened(conversation):
        return []
    steps: list[Step] = []
    points, gone = _chosen(conversation, focus)
    # Those that are in sight too: what is opened may take their place.
    places = [*gone, *(point.place for point in points)] if gone else []
    for path, first, last in places:
        # With the line behind, where a sentence may end.
        given = {"path": path, "first_line": first, "max_lines": last - first + 2}
        if not conversation.has_made("read_file", given):
            steps.append(("read_file", given))
    if not steps or "update_notes" not in conversation.tools:
        return steps[:AT_ONCE]
    note = {"section": "Decisions", "mode": "append", "text": AGAIN}
    told = notes_of(conversation, parse_results(conversation.brought), places_only=True)
    kept = told if covered(conversation) is not None else []
    return [*kept, ("update_notes", note), *steps[:AT_ONCE]]


def _handing_in(
    conversation: Conversation,
    documents: Sequence[str],
    lines: Range,
    focus: Sequence[str],
) -> Step:
    """Return the merged findings."""
    most = _max_tokens(conversation)
    points, gone = _chosen(conversation, focus)
    missing = list(_unread(conversation, documents, lines))
    missing += [
        f"what {result.agent} handed in could not be opened again"
        for result in parse_results(conversation.brought)
        if lacking(result)
    ]
    if gone:
        places = ", ".join(f"`{path}:{span(a, b)}`" for path, a, b in gone[:MAX_NAMED])
        missing.append(f"{len(gone)} places could not be opened again: {places}")
    gaps = gaps_in(conversation)
    status = "partial" if missing else "complete"
    if not points:
        was_read = any(reading_of(conversation, path).ranges for path in documents)
        status = "partial" if missing else "nothing_found"
        status = status if was_read else "failed"
    return (
        HAND_IN,
        {
            "status": status,
            "summary": _summary(conversation, documents, most),
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
            if p.path and not p.unsupported
        ]


def _unread(
    conversation: Conversation, documents: Sequence[str], lines: Range
) -> Iterable[str]:
    """Yield what was not read, in words."""
    others = covered(conversation)
    for path in documents:
        reading = reading_of(conversation, path)
        if not reading.ranges:
            calls = conversation.named("read_file")
            errors = [c for c in calls if c.is_error and c.input.get("path") == path]
            why = f": {shortened(errors[-1].result, 200)}" if errors else ""
            yield f"`{path}` was not read{why}"
            continue
        end = min(lines.last or reading.total, reading.total)
        start = reading.next_line(lines.first)
        if others is not None:
            yield from (f"`{path}` {each} were not summarised" for each in others)
        elif start and start <= end:
            yield f"`{path}`, lines {span(start, end)}, were not read"


def _summary(conversation: Conversation, documents: Sequence[str], most: int) -> str:
    """Return how much was read, and the headings, within a share of the size."""
    room = most * 0.2
    said: list[str] = []
    by_others = len(list(_brought(conversation)))
    handed_out = covered(conversation) is not None
    for path in documents:
        reading = reading_of(conversation, path)
        if not reading.ranges:
            continue
        count = len([g for g in _known(conversation, ()) if g.path == path])
        how = f"in {count} parts" if count > 1 else "in one part"
        how = "part by part" if conversation.so_far else how
        how = f"by {by_others} subagents" if handed_out else how
        said.append(f"`{path}` has {reading.total} lines; read {how}.")
    heads = [
        found[1]
        for part in parts_in(conversation)
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
