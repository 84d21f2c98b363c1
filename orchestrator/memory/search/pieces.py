"""Cut an entry into pieces by heading and paragraph, code by definition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search.words import WIDE

__all__ = ["MOST_TOKENS", "Piece", "most_tokens", "pieces_of"]

MOST_TOKENS: Final = 400
"""Of one piece, its heading included."""
_HEADING: Final = re.compile(r"#{3,6}\s+(.*\S)")
_FENCE: Final = re.compile(r"\s{0,3}(```+|~~~+)")
_DEFINITION: Final = re.compile(
    r"(?:export\s+|pub(?:\([a-z]+\))?\s+|public\s+|private\s+|static\s+|async\s+)*"
    r"(?:def|class|function|func|fn|struct|enum|impl|interface|trait|type|const|@\w)\b"
)
_COSTLY: Final = re.compile(rf"[^\W\d_a-zA-Z]|[{WIDE}]|\d|[^\w\s]|_")
_LETTERS: Final = re.compile(r"[a-zA-Z]+")
_LINES: Final = re.compile(r"\n+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an entry that is found by itself.

    Attributes:
        heading: the entry's key, and the heading within its value if there is one.
        text: what stands under it.
    """

    heading: str
    text: str


def most_tokens(text: str) -> int:
    """Return more tokens than a text takes in any vocabulary known to us.

    Cheap and cautious: three letters a token, two tokens for any other sign.
    """
    letters = sum(2 + len(run) // 2 for run in _LETTERS.findall(text))
    return (
        1
        + len(text) // 32
        + letters
        + 2 * len(_COSTLY.findall(text))
        + len(_LINES.findall(text))
    )


def pieces_of(
    key: str,
    value: str,
    *,
    count: Callable[[str], int] = most_tokens,
    most: int = MOST_TOKENS,
) -> list[Piece]:
    """Return the pieces of an entry in order, one at least.

    Args:
        key: the heading of all.
        value: Markdown; paragraphs under one heading stay together while they fit.
        count: tokens of a text.
        most: tokens of a piece, its heading included.
    """
    found: list[Piece] = []
    for sub, block in _sections(value):
        whole = f"{key} / {sub}" if sub else key
        heading = next(_cut(whole, most // 3, count), "")
        room = most - count(heading) - 2
        texts = list(_packed(block, room, count))
        found += [Piece(heading, text) for text in texts or [""]]
    return found or [Piece(key, "")]


def _sections(value: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each heading within a value and the blocks under it."""
    heading, blocks = "", list[str]()
    for each in _blocks(value):
        if not isinstance(each, re.Match):
            blocks.append(each)
            continue
        if heading or blocks:
            yield heading, blocks
        heading, blocks = each[1], []
    if heading or blocks:
        yield heading, blocks


def _blocks(value: str) -> Iterator[str | re.Match[str]]:
    """Yield paragraphs, and definitions of code; headings as they were matched."""
    lines = list[str]()
    fence = ""
    for line in [*value.splitlines(), ""]:
        mark = _FENCE.match(line)
        heading = None if fence or mark else _HEADING.match(line)
        ends = bool(_DEFINITION.match(line)) if fence else not line.strip()
        if heading or ends:
            text = "\n".join(lines)
            if text.strip():
                yield text
            lines.clear()
        if heading:
            yield heading
        elif line.strip() or fence:
            lines.append(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
    if "".join(lines).strip():
        yield "\n".join(lines)


def _packed(blocks: list[str], room: int, count: Callable[[str], int]) -> Iterator[str]:
    """Yield blocks together while they fit; one that is too long is cut."""
    held, size = list[str](), 0
    for block in blocks:
        for part in _cut(block, room, count):
            # A blank line between two, and what rounding adds.
            taken = count(part) + 2
            if held and size + taken > room:
                yield "\n\n".join(held)
                held, size = [], 0
            held.append(part)
            size += taken
    if held:
        yield "\n\n".join(held)


def _cut(block: str, room: int, count: Callable[[str], int]) -> Iterator[str]:
    """Yield parts of a block that fit, cut at a line, a sentence or a blank."""
    while len(block) > 1 and count(block) + 2 > room:
        # Never more tokens than bytes: so much surely fits.
        end = room // 4
        while end < len(block) and count(block[: end * 3 // 2]) + 2 <= room:
            end = end * 3 // 2
        end = max(end, 1)
        for mark in ("\n", "。", ". ", " "):
            at = block.rfind(mark, end // 2, end)
            if at > 0:
                end = at + len(mark)
                break
        yield block[:end]
        block = block[end:]
    if block.strip():
        yield block
