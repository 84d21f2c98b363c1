"""Fenced code in Markdown: what stands in it is no heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["open_fence", "outside_fences"]

_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)", re.DOTALL)


def open_fence(lines: Sequence[str]) -> str:
    """Return the mark of a fence that is open where the lines end, or ""."""
    fence = ""
    for line in lines:
        match = _FENCE.fullmatch(line)
        if match is None:
            continue
        if not fence:
            is_inline = match[1][0] == "`" and "`" in match[2]
            fence = "" if is_inline else match[1]
        elif match[1].startswith(fence) and not match[2].strip():
            fence = ""
    return fence


def outside_fences(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines outside of fenced code, without their CR.

    A fence that is never closed is none, so that it cannot swallow what follows.
    """
    closing = _closing_behind(lines)
    fence = ""
    for number, line in enumerate(lines):
        plain = line.removesuffix("\r")
        match = _FENCE.fullmatch(plain) if "```" in plain or "~~~" in plain else None
        if fence:
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
            continue
        if match is not None and _opens(match, closing[number]):
            fence = match[1]
            continue
        yield number, plain


def _opens(match: re.Match[str], behind: tuple[int, int]) -> bool:
    """Return whether a fence is opened that is closed later on."""
    mark, info = match[1], match[2]
    if mark[0] == "`":
        return "`" not in info and behind[0] >= len(mark)
    return behind[1] >= len(mark)


def _closing_behind(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return for each line the longest closing marks behind it: of ` and of ~."""
    found: list[tuple[int, int]] = []
    ticks = tildes = 0
    for line in reversed(lines):
        found.append((ticks, tildes))
        mark = line.strip()
        if mark.startswith("```") and not mark.strip("`"):
            ticks = max(ticks, len(mark))
        elif mark.startswith("~~~") and not mark.strip("~"):
            tildes = max(tildes, len(mark))
    found.reverse()
    return found
