"""The live tree of agents as lines of text that fit a window.

What gives way as a window gets narrower, first to last: turns and retries, the bar of
the context, the word of the state (its mark and what the agent does stay), clears and
compactions (their sums stay below), tokens, time, context, dollars. Titles and what is
done are cut, but never go. In a low window the other agents are counted, then notices
go, then totals, then the names of the columns. What is left at last is one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from orchestrator.cli.branches import branches
from orchestrator.cli.output import Style, cut, dollars, label, pad, state_color, width
from orchestrator.events.phrases import count_phrase, duration, quoted, tokens
from orchestrator.inspection.board import Board, Row, board_of, summary_of
from orchestrator.inspection.limits import LimitUse
from orchestrator.inspection.run import RunView
from orchestrator.inspection.said import Said

__all__ = ["budget_bar", "live_lines"]

MIN_COLUMNS, MIN_ROWS = 24, 4
"""Of a tree; in a smaller window there is one line."""
BAR_CELLS = 16
FILL_CELLS = 10
MAX_TITLE = 48
ANY = 1_000_000
"""More columns than any window has."""
_WAITS = frozenset({"agents", "left", "person", "place", "service"})
_LIVE = frozenset({"running", "pausing", "parking", "stopping"})
_MARKS = {"complete": "✓", "done": "✓", "submitted": "✓", "failed": "✗"}
_FILL_COLORS = {"": "", "soft": "yellow", "hard": "red"}


def live_lines(
    view: RunView, *, now: datetime, columns: int, rows: int, style: Style
) -> list[str]:
    """Return the tree in at most `rows` lines of at most `columns` columns.

    Where not all agents fit, those at work are shown first and the others counted.

    Args:
        view: the run.
        now: for all that goes on with the clock.
        columns: of the window, 1 or more.
        rows: of the window, 1 or more.
        style: of the terminal.
    """
    if columns < MIN_COLUMNS or rows < MIN_ROWS:
        return [_one_line(summary_of(view, now), columns)]
    board = summary_of(view, now)
    notices = [cut(each, columns) for each in _notices(board)][: max(rows // 5 - 1, 0)]
    foot = [_bars(board, columns, style)]
    if rows >= 9:
        foot.insert(0, _totals(board, columns, style))
    lines = [_head(board, columns, style)]
    lines += [style(each, "yellow") for each in notices]
    shown = _shown_in(columns)
    if rows >= 7:
        lines.append(_names(shown, columns, style))
    room = rows - len(lines) - len(foot)
    board = board_of(view, now, most=_places(len(view.agents), room))
    lines += _agents(board, shown, columns, style)
    if board.hidden:
        lines.append(style(cut(f"  {_counted(board.hidden)}", columns), "dim"))
    return lines + foot


def _places(agents: int, room: int) -> int:
    """Return how many agents there is room for: others need a line that counts them."""
    return agents if agents <= room else room - 1


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of figures.

    Attributes:
        name: on top of it.
        columns: how wide it is.
        windows: from so many columns on it is there, and from so many on no more.
        draw: returns what stands in it, exactly as wide.
    """

    name: str
    columns: int
    windows: tuple[int, int]
    draw: Callable[[Row, Style], str]


def _figure(
    name: str, columns: int, from_: int, text: Callable[[Row], str], *, to: int = ANY
) -> _Column:
    """Return a column of plain figures."""
    return _Column(
        name,
        columns,
        (from_, to),
        lambda row, _style: pad(text(row), columns, right=True),
    )


def _share(row: Row, style: Style) -> str:
    """Return how full the context is: `43%`, `63%!` past the soft mark, `81%!!`."""
    fill = row.fill
    told = "-"
    if fill.tokens:
        marked = {"": "", "soft": "!", "hard": "!!"}[fill.passed]
        known = fill.share
        told = tokens(fill.tokens) if known is None else f"{known:.0%}{marked}"
    return style(pad(told, 6, right=True), _FILL_COLORS[fill.passed])


def _share_bar(row: Row, style: Style) -> str:
    """Return the same behind a bar with the marks in it: `━━━━──┊┊──   43%`."""
    fill = row.fill
    if not fill.usable:
        return " " * FILL_CELLS + _share(row, style)
    full = round(min(fill.tokens / fill.usable, 1) * FILL_CELLS)
    marks = [
        min(int(mark / fill.usable * FILL_CELLS), FILL_CELLS - 1)
        for mark in (fill.soft, fill.hard)
        if mark
    ]
    rest = "".join("┊" if at in marks else "─" for at in range(full, FILL_CELLS))
    done = style("━" * full, _FILL_COLORS[fill.passed] or "green")
    return done + style(rest, "dim") + _share(row, style)


def _edits(row: Row) -> str:
    is_whole = not row.clears and not row.compactions
    return "-" if is_whole else f"{row.clears}/{row.compactions}"


def _count(number: int) -> str:
    return str(number or "-")


def _state(row: Row, style: Style) -> str:
    return style(pad(label(row.state), 10), state_color(row.state))


def _time(row: Row) -> str:
    return "-" if row.seconds is None else duration(row.seconds)


_WITH_STATE = 104
_WITH_BAR = 130
_WITH_ALL = 160
_COLUMNS = (
    _Column("state", 10, (_WITH_STATE, ANY), _state),
    _figure("turns", 5, _WITH_ALL, lambda row: _count(row.turns)),
    _figure("retried", 7, _WITH_ALL, lambda row: _count(row.retries)),
    _Column("ctx", 6, (46, _WITH_BAR), _share),
    _Column("context", FILL_CELLS + 6, (_WITH_BAR, ANY), _share_bar),
    _figure("cleared", 7, _WITH_ALL, lambda row: _count(row.clears)),
    _figure("compacted", 9, _WITH_ALL, lambda row: _count(row.compactions)),
    _figure("clr/cmp", 7, 90, _edits, to=_WITH_ALL),
    _figure("tokens", 6, 64, lambda row: tokens(row.tokens)),
    _figure("usd", 6, 36, lambda row: dollars(row.usd)),
    _figure("time", 6, 54, _time),
)


def _shown_in(columns: int) -> list[_Column]:
    return [each for each in _COLUMNS if each.windows[0] <= columns < each.windows[1]]


def _widths(shown: Sequence[_Column], columns: int) -> tuple[int, int]:
    """Return the columns of the titles, and of what agents do."""
    room = columns - sum(each.columns + 1 for each in shown)
    title = min(MAX_TITLE, room * 45 // 100)
    return title, room - title


def _names(shown: Sequence[_Column], columns: int, style: Style) -> str:
    title, doing = _widths(shown, columns)
    named = [pad(each.name, each.columns, right=each.name != "state") for each in shown]
    heads = " ".join([pad("agent", title) + pad(" step", doing), *named])
    return style(heads.rstrip(), "dim")


def _agents(
    board: Board, shown: Sequence[_Column], columns: int, style: Style
) -> Iterator[str]:
    with_state = any(each.name == "state" for each in shown)
    title_room, room = _widths(shown, columns)
    joints = branches([row.depth for row in board.rows], step=2)
    for row, joint in zip(board.rows, joints, strict=True):
        # However deep it is, who it is can be read.
        stem = joint.stem[-max(title_room - 8, 2) :]
        title = pad(f"{stem}{label(row.id)} {label(row.title)}", title_room)
        is_idle = not row.doing.kind
        named = style(title, "bold" if not row.depth else "dim" if is_idle else "")
        figures = [each.draw(row, style) for each in shown]
        yield " ".join([named + _doing(row, room, style, with_state), *figures])


def _doing(row: Row, room: int, style: Style, with_state: bool) -> str:
    """Return a mark for where it stands, and what it does or how it ended."""
    told, kind = label(row.words), row.doing.kind
    if not kind:
        mark, color = _MARKS.get(row.state, "–"), state_color(row.state)
        if not with_state:
            told = _with_state(label(row.state), told)
    elif kind in ("person", "service"):
        mark, color = "◌", "yellow"
    else:
        mark, color = ("◌", "dim") if kind in _WAITS else ("●", "cyan")
    said = pad(told, max(room - 3, 0))
    return f" {style(mark, color)} {said if kind else style(said, 'dim')}"


def _with_state(state: str, why: str) -> str:
    if why.startswith(state):
        return why
    return f"{state}: {why}" if why else state


def _head(board: Board, columns: int, style: Style) -> str:
    state, right = label(board.state) or "starting", duration(board.seconds)
    name = cut(label(board.id), max(columns - len(state) - len(right) - 4, 0))
    gap = " " * max(columns - width(name) - len(state) - len(right) - 2, 1)
    color = state_color(board.state) or "yellow"
    return f"{style(name, 'bold')}  {style(state, color)}{gap}{right}"


def _one_line(board: Board, columns: int) -> str:
    """Return what there is room for in any window."""
    spent = f"{dollars(board.cost.known_usd)} usd"
    state = label(board.state) or "starting"
    return cut(f"{state} {duration(board.seconds)} {spent}", columns)


def _notices(board: Board) -> Iterator[str]:
    """Yield what a person who watches has to know besides, the most urgent first."""
    if board.reason:
        yield f"{label(board.state)}: {label(board.reason)}"
    for said in board.said:
        yield _said(said, board)


def _said(said: Said, board: Board) -> str:
    if said.told_at:
        when = "the lead was told"
    elif board.state in _LIVE:
        when = "the lead hears at its next step"
    else:
        when = "not told to the lead"
    what = f"your edit of {quoted(said.section)}, " if said.section else ""
    return label(f"{when}: {what}{quoted(said.text)}")


def _counted(hidden: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} {label(state)}" for state, count in hidden.items())
    return f"… and {count_phrase(sum(hidden.values()), 'more agent')}: {parts}"


def _totals(board: Board, columns: int, style: Style) -> str:
    total = board.tokens
    cached = f", {total.cache_share:.0%} from cache" if total.cache_read else ""
    told = [f"{tokens(total.sent)} in{cached}, {tokens(total.output)} out"]
    edits = [(board.clears, "clear"), (board.compactions, "compaction")]
    told += [count_phrase(count, noun) for count, noun in edits if count]
    return style(cut(" · ".join(told), columns), "dim")


def budget_bar(use: LimitUse | None, style: Style, *, cells: int = BAR_CELLS) -> str:
    """Return how much of a limit is used, as a bar: `━━━━──── 41% of 2 usd`."""
    if use is None or use.allowed <= 0:
        return ""
    share = min(max(use.used / use.allowed, 0.0), 1.0)
    full = round(share * cells)
    color = "red" if share >= 0.85 else "yellow" if share >= 0.6 else "green"
    bar = style("━" * full, color) + style("─" * (cells - full), "dim")
    gap = " " if cells else ""
    return f"{bar}{gap}{share:.0%} of {_amount(use.allowed)} {use.name}"


def _amount(value: float) -> str:
    return tokens(int(value)) if value >= 10_000 else f"{value:g}"


def _bars(board: Board, columns: int, style: Style) -> str:
    """Return what was spent, and the limit that is closest; bars where there is room.

    Dollars are always told; where they are the closest limit there is one bar.
    """
    spent = f"{dollars(board.cost.known_usd)} usd"
    closest, money = board.closest, board.dollars
    plain = Style(is_on=False)
    uses = [money] if money is not None and money.allowed > 0 else []
    uses += [closest] if closest is not None and closest is not money else []
    for cells in (BAR_CELLS, BAR_CELLS // 2, 0):
        parts = [
            [spent, *(budget_bar(u, each, cells=cells) for u in uses)]
            for each in (plain, style)
        ]
        if width("  ".join(parts[0])) <= columns:
            return "  ".join(parts[1])
    return cut(
        "  ".join([spent, *(budget_bar(use, plain, cells=0) for use in uses[-1:])]),
        columns,
    )
