"""The state of an agent's work, as the program knows it: written out, not summarised.

Nothing in it comes of a summary. What people said and what the checks put back stand in
it word for word, and so does what is pinned, as long as it fits; the rest is given as
far as there is room, the newest first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.context.tokens import Count
from orchestrator.ids import reference_of
from orchestrator.messages import Message, tool_calls
from orchestrator.store.notes_page import PERSON

__all__ = [
    "FILE_EDITS",
    "FILE_READS",
    "StateRecord",
    "files_touched",
    "render_state",
    "state_lines",
]

_NOTES: Final = (
    "Goal",
    "Plan",
    "Decisions",
    "Failed attempts",
    "Next",
    "Open questions",
    "Facts",
)
"""Sections of notes, the most telling first; others come after them."""
_THEIRS: Final = frozenset({PERSON})
"""Sections in which the agent notes nothing itself."""
FILE_EDITS: Final = frozenset({"write_file", "edit_file"})
FILE_READS: Final = frozenset({"read_file"})
"""Tools that show or change the file at their `path`."""
PAGE_READS: Final = frozenset({"fetch_url"})
"""Tools that show the page at their `url`."""
_TOUCHING: Final = FILE_READS | FILE_EDITS | PAGE_READS
_MOST_STEPS: Final = 3
_MORE_TOKENS: Final = 12
_LEAST_TOKENS: Final = 24


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What is known of the work.

    Attributes:
        words: what people said while it was under way, oldest first.
        pinned: reference → text that must stay word for word.
        notes: section → text, in the agent's own words.
        pinned_notes: sections that must stay whole.
        findings: what subagents handed in, a line each.
        put_back: what checks of summaries found missing, oldest first.
        effects: what was changed outside, a line each, oldest first.
        files: path → what was done with it, and where; the newest last.
    """

    words: tuple[str, ...] = ()
    pinned: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    pinned_notes: frozenset[str] = frozenset()
    findings: tuple[str, ...] = ()
    put_back: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)


def render_state(record: StateRecord, *, limit_tokens: int, count: Count) -> str:
    """Return the state as Markdown, or "" where there is nothing.

    Args:
        record: what is known.
        limit_tokens: most that it should have; what people said and what was put back
            is given in any case.
        count: estimated tokens of a text.
    """
    parts = list(_whole(record))
    left = limit_tokens - count("\n\n".join(parts))
    for text, instead in _pinned(record):
        chosen = text if count(text) <= max(left, 0) else instead
        parts.append(chosen)
        left -= count(chosen)
    for title, lines in _bounded(record):
        if left < _LEAST_TOKENS:
            break
        shown = _fitting(lines, left - count(title) - _MORE_TOKENS, count)
        more = len(lines) - len(shown)
        if shown:
            told = [f"- … and {more} more"] if more else []
            parts.append("\n".join([f"### {title}", *shown, *told]))
            left -= count(parts[-1])
    return "\n\n".join(parts)


def state_lines(record: StateRecord) -> list[str]:
    """Return all lines of the state, however many."""
    texts = [*_whole(record), *(text for text, _ in _pinned(record))]
    texts += [line for _, lines in _bounded(record) for line in lines]
    return [line for text in texts for line in text.split("\n") if line.strip()]


def files_touched(messages: Sequence[Message]) -> dict[str, str]:
    """Return path → what was done with it and in which steps, the newest last.

    Pages of the web are among them, by their address. Calls that were refused or failed
    did nothing with it.

    Args:
        messages: of the whole transcript.
    """
    steps: dict[str, list[str]] = {}
    edited: set[str] = set()
    failed = _failed_calls(messages)
    step = 0
    for at, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        step += 1
        for call in tool_calls(message["content"]):
            name, given = call["name"], call["input"]
            key = "url" if name in PAGE_READS else "path"
            path = given.get(key) if isinstance(given, dict) else None
            if name not in _TOUCHING or not isinstance(path, str):
                continue
            if (at, call["id"]) in failed:
                continue
            steps.setdefault(path, [])
            steps[path] = [*steps.pop(path), reference_of(step)]
            if name in FILE_EDITS:
                edited.add(path)
    return {
        path: f"{'changed' if path in edited else 'read'} in {_listed(where)}"
        for path, where in steps.items()
    }


def _failed_calls(messages: Sequence[Message]) -> set[tuple[int, str]]:
    """Return place of the message and id of each call that ended with an error."""
    return {
        (at, block["tool_use_id"])
        for at, message in enumerate(messages[1:])
        if message["role"] == "user" and not isinstance(message["content"], str)
        for block in message["content"]
        if block["type"] == "tool_result" and block.get("is_error")
    }


def _listed(steps: Sequence[str]) -> str:
    known = list(dict.fromkeys(steps))
    more = len(known) - _MOST_STEPS
    shown = ", ".join(known[-_MOST_STEPS:])
    return f"{shown} and {more} before" if more > 0 else shown


def _whole(record: StateRecord) -> Iterator[str]:
    """Yield what stays word for word."""
    if record.words:
        said = "\n\n".join(_quoted(text) for text in record.words)
        yield f"### What people said, and still holds\n\n{said}"
    if record.put_back:
        lines = "\n".join(f"- {line}" for line in record.put_back)
        yield f"### Also to keep in mind, word for word from before\n\n{lines}"


def _pinned(record: StateRecord) -> Iterator[tuple[str, str]]:
    """Yield what stays word for word as long as it fits, and what is said instead."""
    for name, text in record.notes.items():
        if name in record.pinned_notes and text.strip():
            title = f"### {name} (your notes, pinned)"
            told = "Too long to stand here: `recall` finds it where you noted it down."
            yield f"{title}\n\n{text.strip()}", f"{title}\n\n{told}"
    for ref, text in reversed(list(record.pinned.items())):
        title = f"### Kept word for word, from `{ref}`"
        told = f'Too long to stand here: `read_ref` opens "{ref}".'
        yield f"{title}\n\n{text}", f"{title}\n\n{told}"


def _bounded(record: StateRecord) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and lines of what is given as far as there is room."""
    names = [*_NOTES, *(name for name in record.notes if name not in _NOTES)]
    for name in names:
        text = record.notes.get(name, "").strip()
        if text and name not in record.pinned_notes:
            own = name if name in _THEIRS else f"{name} (your notes)"
            yield own, text.split("\n")
    if record.findings:
        yield "Findings of subagents", [f"- {line}" for line in record.findings]
    if record.effects:
        yield "Changes made", [f"- {line}" for line in record.effects]
    if record.files:
        files = [f"- `{path}`: {what}" for path, what in record.files.items()]
        yield "Files touched", files


def _fitting(lines: Sequence[str], room: int, count: Count) -> list[str]:
    """Return the newest lines that fit, in their order."""
    chosen: list[str] = []
    for line in reversed(lines):
        room -= count(line) + 1
        if room < 0:
            break
        chosen.append(line)
    return chosen[::-1]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))
