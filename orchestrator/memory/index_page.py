"""The index page of a scope: one line for each topic, below what a person wrote.

It is made for people; the program reads no more of it than what it keeps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from orchestrator.memory.entries import Topic, folded

__all__ = ["MARK", "About", "about", "page_text", "updated_page"]

MARK: Final = "<!-- topics -->"
_HEAD: Final = (
    "# Memory\n\nWhat outlives a run, a file for each topic. Entries and files may be "
    "changed by hand;\nthe list below the mark is written by the program.\n\n"
)
_LINE: Final = "- ["
_OTHER_LINES: Final = re.compile(r"^(?!- \[).*(?:\n|\Z)", re.MULTILINE)
_LINE_ENDS: Final = re.compile("\n")
_MOST_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class About:
    """One topic file, as the index page has it.

    Attributes:
        path: relative to the scope's folder.
        title: of its heading, else from its name.
        description: in one line, or "".
        entries: how many it holds.
        newest: day of the newest, `YYYY-MM-DD`, or "".
    """

    path: str
    title: str
    description: str
    entries: int
    newest: str


def about(topic: Topic) -> About:
    """Return what the index page says of a topic file."""
    newest = max((entry.when for entry in topic.entries), default="")
    return About(topic.path, topic.title, topic.description, len(topic.entries), newest)


def page_text(before: str, abouts: Iterable[About]) -> str:
    """Return the index page with a line for each topic.

    Args:
        before: the page as it is; what stands above its mark is kept.
        abouts: all topics.
    """
    lines = sorted((_LINE + _named(each.path), _line(each)) for each in abouts)
    return _kept(before) + "".join(f"{line}\n" for _, line in lines)


def updated_page(before: str, changes: Mapping[str, About | None]) -> str:
    """Return the index page with other lines for some topics.

    Args:
        before: the page as it is.
        changes: by path; None: the topic is gone.
    """
    _, _, below = before.partition(MARK)
    text = f"\n{_OTHER_LINES.sub('', below.lstrip())}"
    text = text if text.endswith("\n") else f"{text}\n"
    for path, each in changes.items():
        start = f"\n{_LINE}{_named(path)}("
        line = "" if each is None else f"\n{_line(each)}"
        at = text.find(start)
        if at < 0:
            at = end = _place_for(text, start) if line else 0
        else:
            end = text.index("\n", at + 1)
        text = f"{text[:at]}{line}{text[end:]}"
    return _kept(before) + text[1:]


def _place_for(text: str, start: str) -> int:
    """Return where a line goes that is not there yet, in the order of the topics."""
    ends = [match.start() for match in _LINE_ENDS.finditer(text)]
    key = _name_in(start)
    at = bisect_left(ends[:-1], key, key=lambda end: _name_in(text[end : end + 500]))
    return ends[at]


def _name_in(line: str) -> str:
    return line[: line.find("](") + 1]


def _kept(before: str) -> str:
    above, mark, _ = before.partition(MARK)
    if not mark:
        above = f"{before.rstrip()}\n\n" if before.strip() else _HEAD
    return f"{above}{MARK}\n\n"


def _line(each: About) -> str:
    what = folded(each.description) or each.title
    if len(what) > _MOST_CHARS:
        what = f"{what[: _MOST_CHARS - 1].rstrip()}…"
    newest = f", newest {each.newest}" if each.newest else ""
    count = "1 entry" if each.entries == 1 else f"{each.entries} entries"
    start = _LINE + _named(each.path)
    return f"{start}({quote(each.path)}): {what} ({count}{newest})"


def _named(path: str) -> str:
    return f"{path.replace('[', '⟦').replace(']', '⟧')}]"
