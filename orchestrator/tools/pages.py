"""Pages of numbered lines: bounded in tokens, ended at line ends, never blind.

Lines are numbered as editors, ripgrep and the check of quotes number them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.tools.arguments import shown
from orchestrator.tools.base import ToolContext, ToolOutput

__all__ = [
    "Fit",
    "Page",
    "Source",
    "around",
    "cut_middle",
    "fitting",
    "page_output",
    "unseen_page",
]

# Counted in pieces of this size: exact enough, since counts nearly add up, and one
# pass over the text in all.
_PIECE_CHARS = 4000
_HEAD_TOKENS = 120  # for what is said above and below the lines
_LINE_CHARS = 8000
_FOLD_CHARS = 1000
_FOLD_MAX_CHARS = 5_000_000
_JOINER = "\u200d"


@dataclass(frozen=True, slots=True)
class Fit:
    """How many rows fit into a limit, and how many tokens they take."""

    rows: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the lines of a text, as shown.

    Attributes:
        text: rows of `number<TAB>line`.
        first: number of the first line shown, from 1.
        last: number of the last line shown; `first - 1` if there is none.
        tokens: estimated tokens of `text`.
    """

    text: str
    first: int
    last: int
    tokens: int


def fitting(
    rows: Sequence[str], *, limit_tokens: int, count: Callable[[str], int]
) -> Fit:
    """Return how many of `rows`, from the first on, fit into `limit_tokens`."""
    used = start = 0
    while start < len(rows):
        end, chars = start, 0
        while end < len(rows) and (end == start or chars < _PIECE_CHARS):
            chars += len(rows[end]) + 1
            end += 1
        cost = count("\n".join(rows[start:end]) + "\n")
        if used + cost > limit_tokens:
            if end - start == 1:
                break
            within = _row_by_row(rows[start:end], limit_tokens - used, count)
            if within.rows < end - start:
                return Fit(start + within.rows, used + within.tokens)
            cost = within.tokens
        used += cost
        start = end
    return Fit(start, used)


def _row_by_row(
    rows: Sequence[str], limit_tokens: int, count: Callable[[str], int]
) -> Fit:
    used = 0
    for index, row in enumerate(rows):
        cost = count(row + "\n")
        if used + cost > limit_tokens:
            return Fit(index, used)
        used += cost
    return Fit(len(rows), used)


def numbered_page(
    lines: Sequence[str],
    context: ToolContext,
    *,
    first_line: int,
    max_lines: int | None,
    before: int = 0,
) -> Page:
    """Return the page that starts at `first_line`.

    A line that is too long for a page is cut in the middle, and the whole of it goes
    to an artifact, folded into rows, so that `read_ref` can page through it.

    Args:
        lines: cleaned and redacted, without their ends.
        context: of the call.
        first_line: from 1.
        max_lines: at most so many, or None for as many as fit.
        before: lines of the text that come before `lines`.

    Raises:
        StoreError: a long line cannot be kept.
    """
    limit = max(context.read_tokens - _HEAD_TOKENS, context.read_tokens // 2)
    # Each row costs two tokens at least; more rows cannot fit.
    wanted = min(max_lines or limit, limit // 2 + 1)
    start = first_line - 1 - before
    rows: list[str] = []
    left = limit * 8  # characters; no text is so cheap
    for number, line in enumerate(lines[start : start + wanted], first_line):
        is_long = len(line) > _LINE_CHARS
        text = _shortened(line, context, _LINE_CHARS) if is_long else line
        rows.append(f"{number}\t{text}")
        left -= len(text)
        if left < 0:
            break
    fit = fitting(rows, limit_tokens=limit, count=context.count)
    if rows and not fit.rows:
        rows = [_cut_to(lines[start], first_line, context, limit)]
        fit = Fit(1, context.count(rows[0]))
    text = "\n".join(rows[: fit.rows])
    return Page(text, first_line, first_line + fit.rows - 1, fit.tokens)


def _cut_to(line: str, number: int, context: ToolContext, limit: int) -> str:
    """Return one row that is cut until it fits a whole page."""
    chars = min(len(line) - 1, _LINE_CHARS)
    while chars > 100:
        row = f"{number}\t{_shortened(line, context, chars)}"
        if context.count(row) <= limit:
            return row
        chars //= 2
    return f"{number}\t{_shortened(line, context, chars)}"


def _shortened(line: str, context: ToolContext, chars: int) -> str:
    folded = line[:_FOLD_MAX_CHARS]
    rows = [
        folded[start : start + _FOLD_CHARS]
        for start in range(0, len(folded), _FOLD_CHARS)
    ]
    ref = context.artifacts.put("\n".join(rows).encode())
    return cut_middle(
        line,
        chars,
        f"[… {len(line) - chars:,} characters left out; "
        f'read_ref("{ref}") has the whole line in rows of {_FOLD_CHARS:,} …]',
    )


def cut_middle(line: str, chars: int, marker: str) -> str:
    """Return head and tail of `line`, `chars` characters in all, around `marker`."""
    head = _edge(line, chars // 2)
    tail = _edge(line, len(line) - (chars - chars // 2))
    return f"{line[:head]} {marker} {line[tail:]}"


def around(line: str, at: int, *, chars: int, before: int = 0, after: int = 0) -> str:
    """Return `line`, or about `chars` of its characters around the index `at`.

    Args:
        line: a line, or the part of it that is at hand.
        at: what must be seen.
        chars: how much to show.
        before: characters of the line that come before that part.
        after: characters of the line that come after it.
    """
    if len(line) <= chars and not before + after:
        return line
    start = max(0, min(at - chars // 3, len(line) - chars))
    start, end = _edge(line, start), _edge(line, start + chars)
    before, after = before + start, after + max(len(line) - end, 0)
    left = f"[…{before:,}] " if before else ""
    right = f" [{after:,}…]" if after else ""
    return f"{left}{line[start:end]}{right}"


def _edge(line: str, at: int) -> int:
    """Return the last index up to `at` where no character is torn apart."""
    lowest = max(at - 32, 0)
    while lowest < at < len(line) and _clings(line, at):
        at -= 1
    return at


def _clings(line: str, at: int) -> bool:
    """Return whether the character at `at` belongs to the one before it."""
    char, before = line[at], line[at - 1]
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or _JOINER in (char, before)
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or (_is_flag_half(char) and _is_flag_half(before))
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


@dataclass(frozen=True, slots=True)
class Source:
    """A text that is shown page by page.

    Attributes:
        name: path or reference, as the model writes it.
        lines: cleaned and redacted, without their ends.
        total: lines of the whole text.
        before: lines of the text that come before `lines`.
        note: said behind the line count, with its own comma.
        files: reported with the output.
        ref: artifact of the whole text, where only `read_ref` can page through it.
    """

    name: str
    lines: Sequence[str]
    total: int
    before: int = 0
    note: str = ""
    files: tuple[FileSeen, ...] = ()
    ref: str = ""


def unseen_page(
    source: Source, context: ToolContext, *, first_line: int, max_lines: int | None
) -> ToolOutput:
    """Return a page, or one line where the agent still sees all that is on it.

    Args:
        source: what to show.
        context: of the call.
        first_line: from 1.
        max_lines: at most so many, or None for as many as fit.

    Raises:
        ToolError: `first_line` is behind the last line.
    """
    page = page_output(source, context, first_line=first_line, max_lines=max_lines)
    for seen in page.files:
        ref = context.shown(seen)
        if ref:
            return ToolOutput(
                f"{source.name}: unchanged since {ref}, which shows lines "
                f'{seen.first}-{seen.last}: see there, or read_ref("{ref}").',
                label="transient",
            )
    return page


def page_output(
    source: Source, context: ToolContext, *, first_line: int, max_lines: int | None
) -> ToolOutput:
    """Return one page of `source`, with where it is and how to read on.

    Args:
        source: what to show.
        context: of the call.
        first_line: from 1.
        max_lines: at most so many, or None for as many as fit.

    Raises:
        ToolError: `first_line` is behind the last line.
    """
    total = source.total
    if first_line > max(total, 1):
        raise ToolError(
            f"`{source.name}` has {total:,} lines; `first_line` must be 1 to "
            f"{max(total, 1)}, found {shown(first_line)}"
        )
    page = numbered_page(
        source.lines,
        context,
        first_line=first_line,
        max_lines=max_lines,
        before=source.before,
    )
    which = f"lines {page.first}-{page.last} of {total}"
    if page.first == 1 and page.last == total:
        which = f"all {total} lines" if total > 1 else "its only line"
    rows = [f"{source.name}: {which}{source.note}", page.text]
    if page.last < total:
        left = total - page.last
        then = f"first_line={page.last + 1}"
        if source.ref:
            then = f'read_ref("{source.ref}", {then})'
        rows.append(f"[{left} more lines; go on with {then}]")
    files = tuple(
        replace(each, first=page.first, last=page.last) for each in source.files
    )
    return ToolOutput("\n".join(rows), files=files, paged=True)
