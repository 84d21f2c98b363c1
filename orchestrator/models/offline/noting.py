"""What is written down of a long search, so that it outlasts the context.

Each note is one line, so that it is found again wherever notes are shown: in the call
that wrote it, or in the state after a compaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.models.offline.reading import Conversation

__all__ = [
    "MOST_LABELS",
    "Noted",
    "noted_in",
    "read_before",
    "row_note",
    "search_note",
    "steps_before",
]

MOST_LABELS, MOST_PATHS = 8, 6
_SEARCH = re.compile(r"^- Search (\d+), of ([\d,]+) files: (.*?); to read: (.*)$")
_LABEL = re.compile(r"‘(.+?)’ in (\d+)")
_PATH = re.compile(r"`([^`]+)`(?: line (\d+))?")
_STEPS = re.compile(r"^Steps \d+ to (\d+) of this conversation\b", re.MULTILINE)
_READ = re.compile(r"^- (?:`([^`]+)`: read in h|read_file `([^`]+)`)", re.MULTILINE)
_ROW = re.compile(r"^- Seen `([^`]+)`, line (\d+): \|(.*)\|$")


@dataclass(slots=True)
class Noted:
    """What notes tell of one search.

    Attributes:
        files: that there are.
        found_in: label of a concept → number of files that hold it.
        to_read: files worth reading, the best first, each with its best line or 0.
    """

    files: int = 0
    found_in: dict[str, int] = field(default_factory=dict)
    to_read: list[tuple[str, int]] = field(default_factory=list)


def search_note(
    number: int,
    files: int,
    found_in: Iterable[tuple[str, int]],
    to_read: Sequence[tuple[str, int]],
) -> str:
    """Return the note of a search; arguments as in `Noted`, `number` from 1."""
    labels = ", ".join(f"‘{label}’ in {count}" for label, count in found_in)
    paths = ", ".join(
        f"`{path}` line {line}" if line else f"`{path}`"
        for path, line in to_read[:MOST_PATHS]
    )
    return (
        f"- Search {number}, of {files:,} files: {labels or 'nothing'}; "
        f"to read: {paths or 'none'}"
    )


def row_note(path: str, line: int, text: str) -> str:
    """Return the note of one line of a file, word for word."""
    return f"- Seen `{path}`, line {line}: |{text}|"


def noted_in(
    conversation: Conversation,
) -> tuple[dict[int, Noted], dict[str, dict[int, str]]]:
    """Return what notes tell: by number of the search, and lines by path."""
    searches: dict[int, Noted] = {}
    rows: dict[str, dict[int, str]] = {}
    texts = [str(c.input.get("text")) for c in conversation.named("update_notes")]
    for line in "\n".join([conversation.so_far, *texts]).split("\n"):
        if found := _SEARCH.match(line):
            number, files, labels, paths = found.groups()
            searches[int(number)] = Noted(
                int(files.replace(",", "")),
                {label: int(count) for label, count in _LABEL.findall(labels)},
                [(path, int(at or 0)) for path, at in _PATH.findall(paths)],
            )
        elif found := _ROW.match(line):
            path, number, text = found.groups()
            rows.setdefault(path, {})[int(number)] = text
    return searches, rows


def steps_before(conversation: Conversation) -> int:
    """Return how many steps have made room for a text; 0 where none has."""
    found = _STEPS.search(conversation.so_far)
    return int(found[1]) if found else 0


def read_before(conversation: Conversation) -> set[str]:
    """Return the files that were read in steps that are gone, as far as is told."""
    found = _READ.findall(conversation.so_far)
    return {path or other for path, other in found}
