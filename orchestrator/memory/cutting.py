"""Cut a report into pieces that can be found and shown whole, each with its heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["MAX_PIECE_CHARS", "Section", "cut_at_sentence", "sections"]

MAX_PIECE_CHARS = 600
"""Shown whole: five of them are about as long as one page that is read."""
_WIDE_CHARS = 3
"""So many ordinary characters weigh as one of another script: 200 of Han, 600 of
English, at most 250 tokens either way."""

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_CLOSING = re.compile(r"[ \t]#+$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LIST_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,9}[.)])\s")
_SENTENCE_END = re.compile(
    r"[.!?…](?=[\s\"')\]*_`]|$)[\"')\]*_`]*\s*|[。！？；]\s*|\n+"
)
_MORE = " …"


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of a report.

    Attributes:
        heading: the headings above it, outermost first, joined by ` > `; "" before the
            first one. The title of the whole report is none of them.
        text: at most `MAX_PIECE_CHARS` characters, fewer where they are wide.
    """

    heading: str
    text: str


def sections(report: str) -> list[Section]:
    """Return the pieces of `report`, in order; none is empty.

    Paragraphs, list items and fenced blocks stay whole where they fit, and short ones
    under one heading stay together.
    """
    pieces: list[Section] = []
    heading, held = "", ""
    for path, block in _blocks(report):
        joined = f"{held}\n\n{block}" if held else block
        if held and (path != heading or not _fits(joined)):
            pieces.append(Section(heading, held))
            joined = block
        heading = path
        *whole, held = _split(joined)
        pieces.extend(Section(path, each) for each in whole)
    if held:
        pieces.append(Section(heading, held))
    return pieces


def cut_at_sentence(text: str, most: int = MAX_PIECE_CHARS) -> str:
    """Return `text`, or its beginning to the last end of a sentence, and ` …`.

    Without such an end in the second half it is cut at a word, else anywhere.

    Args:
        text: any.
        most: the longest that is returned, in characters, 10 or more.
    """
    text = text.strip()
    if len(text) <= most:
        return text
    return text[: _end(text, most - len(_MORE))].rstrip() + _MORE


def _end(text: str, most: int) -> int:
    """Return where to cut a longer `text`, in its first `most` characters."""
    ends = [each.end() for each in _SENTENCE_END.finditer(text, 0, most)]
    ends = [end for end in ends if most // 2 <= end <= most]
    if ends:
        return ends[-1]
    blank = max(text.rfind(" ", most // 2, most), text.rfind("\n", most // 2, most))
    return blank if blank > 0 else most


def _size(text: str) -> int:
    narrow = len(text.encode("ascii", "ignore"))
    return narrow + (len(text) - narrow) * _WIDE_CHARS


def _fits(text: str) -> bool:
    return _size(text) <= MAX_PIECE_CHARS


def _split(text: str) -> list[str]:
    """Return `text` in parts that fit, one at least."""
    parts: list[str] = []
    while not _fits(text):
        most = len(text) * MAX_PIECE_CHARS // _size(text)
        # Where the beginning is wider than the rest.
        while not _fits(text[:most]):
            most = most * 9 // 10
        end = _end(text, max(most, 1))
        parts.append(text[:end].strip())
        text = text[end:].strip()
    parts.append(text)
    return [part for part in parts if part] or [""]


def _blocks(report: str) -> Iterator[tuple[str, str]]:
    """Yield the headings above each block, and the block."""
    above: dict[int, str] = {}
    title_passed = False
    held: list[str] = []
    for kind, line in _lines(report):
        begins = kind == "heading" or (kind == "item" and held)
        if (begins or kind == "blank") and held:
            yield _path(above), "\n".join(held).strip()
            held = []
        if kind == "heading":
            level, name = _heading(line)
            above = {depth: text for depth, text in above.items() if depth < level}
            if level > 1 or title_passed:
                above[level] = name
            title_passed = True
        elif kind != "blank":
            held.append(line)
    if held:
        yield _path(above), "\n".join(held).strip()


def _lines(report: str) -> Iterator[tuple[str, str]]:
    """Yield lines and what they are: `heading`, `item`, `blank`, `text`."""
    fence = ""
    for line in report.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        match = _FENCE.match(line)
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            yield "text", line
        elif match and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            yield "text", line
        elif _HEADING.match(line):
            yield "heading", line
        elif _LIST_ITEM.match(line):
            yield "item", line
        else:
            yield ("text" if line.strip() else "blank"), line


def _heading(line: str) -> tuple[int, str]:
    """Return the level of a heading, from 1, and its words."""
    whole = line.strip()
    name = whole.lstrip("#")
    return len(whole) - len(name), _CLOSING.sub("", name).strip()


def _path(above: dict[int, str]) -> str:
    return " > ".join(above[level] for level in sorted(above) if above[level])
