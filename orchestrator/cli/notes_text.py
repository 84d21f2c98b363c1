"""`progress.md` set for reading on a terminal: headings, tables, no comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from orchestrator.cli.output import Style, fill, pad, safe, safe_lines, terminal_width
from orchestrator.cli.output import width as columns_of

__all__ = ["rendered_notes"]

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"(\s*)([-*] (?:\[[ xX]\] )?|\d+[.)] )(.*)")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_SLANTED = re.compile(r"_([^_]+)_")
_RULE_CELL = re.compile(r":?-+:?")
_BAR = re.compile(r"(?<!\\)\|")
MIN_COLUMN = 12
"""Of texts: where a table has less room, its rows are set out one below the other."""


def rendered_notes(
    text: str, *, style: Style, remarks: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Yield the lines of Markdown notes as a person reads them best.

    Args:
        text: the file.
        style: colours.
        remarks: heading → what is said beside it.
    """
    table: list[list[str]] = []
    was_blank = True
    for raw in _COMMENT.sub("", safe_lines(text)).split("\n"):
        line = raw.rstrip()
        if line.startswith("|"):
            cells = _BAR.split(line.strip("|"))
            table.append([_cell(cell) for cell in cells])
            continue
        if table:
            yield from _table(table, style)
            table, was_blank = [], False
        if line or not was_blank:
            remark = (remarks or {}).get(line.removeprefix("## "), "")
            beside = f"  {style(safe(f'({remark})'), 'dim')}" if remark else ""
            yield _line(line, style) + beside
        # A heading stands close to its text.
        was_blank = not line or line.startswith("#")
    if table:
        yield from _table(table, style)


def _cell(text: str) -> str:
    """Return what a cell says: links as text, and nothing escaped any more."""
    shown = _LINK.sub(_link, safe(text))
    for escaped, plain in (("\\|", "|"), ("]\\(", "]("), ("&lt;", "<")):
        shown = shown.replace(escaped, plain)
    return shown


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
    """Yield a table in columns, or row by row where these would be too narrow."""
    count = max(len(row) for row in rows)
    cells = [row + [""] * (count - len(row)) for row in rows]
    rules = [row for row in cells if any(row) and _is_rule(row)]
    cells = [row for row in cells if row not in rules]
    if not cells:
        return
    is_figure = [bool(rules) and rules[0][i].endswith("-:") for i in range(count)]
    widths = [max(columns_of(row[i]) for row in cells) for i in range(count)]
    texts = [i for i in range(count) if not is_figure[i]]
    room = terminal_width() - 2 * (count - 1)
    least = sum(min(n, MIN_COLUMN) if i in texts else n for i, n in enumerate(widths))
    if least > room and count > 2:
        yield from _set_out(cells, style)
        return
    # The widest text gives way until the table fits; figures are never cut.
    while texts and sum(widths) > room:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= 1:
            break
        widths[widest] -= 1
    for index, row in enumerate(cells):
        line = "  ".join(
            pad(cell, n, right=right)
            for cell, n, right in zip(row, widths, is_figure, strict=True)
        )
        yield style(line.rstrip(), "bold" if index == 0 else "")


def _is_rule(row: list[str]) -> bool:
    return all(_RULE_CELL.fullmatch(cell) for cell in row if cell)


def _set_out(cells: list[list[str]], style: Style) -> Iterator[str]:
    """Yield each row as its first two cells, and the others named below."""
    heads = cells[0]
    for row in cells[1:]:
        first = fill(f"{row[0]}  {row[1]}".strip(), indent="    ", first="")
        yield style(first, "bold")
        told = [
            f"{head}: {cell}"
            for head, cell in zip(heads[2:], row[2:], strict=True)
            if cell not in ("", "–")
        ]
        yield fill(" · ".join(told), indent="    ")
