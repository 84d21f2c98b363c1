"""Lines as sources name them, and quotes of them that can be looked up."""

from __future__ import annotations

import re

from orchestrator.evidence import MIN_LINE_CHARS
from orchestrator.models.offline.passages import Page

__all__ = ["is_citable", "quote_near", "span"]

BEGIN_CHARS = 30
# Characters that would end a path, or start another, inside `[path:1-2]`.
_UNSAFE = re.compile(r"[\s\[\](),;，；、`]")


def span(first: int, last: int) -> str:
    """Return lines as a source names them."""
    return f"{first}" if first == last else f"{first}-{last}"


def quote_near(
    page: Page, first: int, last: int, *, most: int, around: int = 0, begin: str = ""
) -> tuple[int, int, str] | None:
    """Return lines and text of a quote: those asked for, or one whole line of them.

    Args:
        page: what was read.
        first: of the lines, from 1.
        last: of the lines.
        most: characters at most; of a longer text it is one line, cut there.
        around: lines before and after that do where those hold nothing.
        begin: what the quote begins with, where a line is cut and holds it.

    Returns:
        None where no line says anything.
    """
    text = page.quote(first, last)
    is_whole = all(number in page.lines for number in range(first, last + 1))
    if is_whole and len(text.strip()) >= MIN_LINE_CHARS and len(text) <= most:
        return first, last, text
    near = sorted(
        range(first - around, last + around + 1),
        key=lambda n: (max(first - n, n - last, 0), n),
    )
    for number in near:
        line = page.lines.get(number, "")
        if len(line.strip()) >= MIN_LINE_CHARS:
            at = max(line.find(begin[:BEGIN_CHARS]), 0) if len(line) > most else 0
            return number, number, line[at : at + most]
    return None


def is_citable(path: str) -> bool:
    """Return whether a path can stand in `[path:1-2]` and be read as one again."""
    return bool(path) and not _UNSAFE.search(path)
