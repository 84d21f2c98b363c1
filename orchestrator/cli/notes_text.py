"""`progress.md` set for reading on a terminal: headings, tables, no comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.cli.output import Style, fill, pad, safe, safe_lines, terminal_width
from orchestrator.cli.output import width as columns_of

__all__ = ["rendered_notes"]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"(\s*)([-*] (?:\[[ xX]\] )?|\d+[.)] )(.*)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_SLANTED = re.compile(r"_([^_]+)_")
_RULE_CELL = re.compile(r":?-+:?")
MIN_COLUMN = 8


def rendered_notes(text: str, *, style: Style) -> Iterator[str]:
    """Yield the lines of Markdown notes as a person reads them best.

    Args:
        text: the file.
        style: colours.
    """
    table: list[list[str]] = []
    was_blank = True
    for raw in _COMMENT.sub("", safe_lines(text)).split("\n"):
        line = raw.rstrip()
        if line.startswith("|"):
            cells = line.strip("|").split("|")
            table.append([_LINK.sub(_link, safe(cell)) for cell in cells])
            continue
        if table:
            yield from _table(table, style)
            table, was_blank = [], False
        if line or not was_blank:
            yield _line(line, style)
        # A heading stands close to its text.
        was_blank = not line or line.startswith("#")
    if table:
        yield from _table(table, style)


def _link(match: re.Match[str]) -> str:
    return match[1] if match[1] == match[2] else f"{match[1]} ({match[2]})"


def _inline(text: str, style: Style) -> str:
    plain = _LINK.sub(_link, text)
    slanted = _SLANTED.fullmatch(plain)
    if slanted:
        return style(slanted[1], "dim")
    return _BOLD.sub(lambda match: style(match[1], "bold"), plain)


def _line(line: str, style: Style) -> str:
    if line.startswith("#"):
        level = len(line) - len(line.lstrip("#"))
        return style(line.lstrip("# "), "bold", "cyan" if level > 1 else "")
    item = _ITEM.fullmatch(line)
    if item:
        bullet = {"- [ ] ": "☐ ", "- [x] ": "☑ ", "- [X] ": "☑ "}.get(item[2], item[2])
        bullet = "• " if bullet in ("- ", "* ") else bullet
        first = item[1] + bullet
        filled = fill(safe(item[3]), indent=" " * len(first), first=first)
        return _inline(filled, style)
    return _inline(fill(safe(line)), style) if line else ""


def _table(rows: list[list[str]], style: Style) -> Iterator[str]:
    count = max(len(row) for row in rows)
    cells = [
        row + [""] * (count - len(row))
        for row in rows
        if not all(_RULE_CELL.fullmatch(cell) for cell in row if cell) or not any(row)
    ]
    widths = [max(columns_of(row[i]) for row in cells) for i in range(count)]
    # The widest column gives way until the table fits.
    while sum(widths) + 2 * (count - 1) > terminal_width() and max(widths) > MIN_COLUMN:
        widths[widths.index(max(widths))] -= 1
    for index, row in enumerate(cells):
        line = "  ".join(pad(cell, n) for cell, n in zip(row, widths, strict=True))
        yield style(line.rstrip(), "bold" if index == 0 else "")
