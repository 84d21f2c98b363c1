"""A stacked chart of blocks for a terminal: readable with and without colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.cli.output import Style, pad, terminal_width, width
from orchestrator.events.phrases import tokens

__all__ = ["Column", "chart_lines"]

ROWS = 10
MAX_COLUMN = 6
"""Characters that one column takes at most."""
MARK_WITHIN = 1.5
"""A mark above so many times the highest column is not drawn."""
_AXIS = 7
_LOOKS = (
    ("█", "blue"), ("▓", "cyan"), ("▒", "yellow"),
    ("░", "dim"), ("╱", "green"), ("·", "magenta"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a chart.

    Attributes:
        name: below the axis.
        layers: tokens of each, from below.
        letter: below the column, or "".
    """

    name: str
    layers: Mapping[str, int]
    letter: str = ""

    @property
    def height(self) -> int:
        """Return the tokens of all layers together."""
        return sum(self.layers.values())


def chart_lines(
    columns: Sequence[Column], *, marks: Mapping[str, int], style: Style
) -> Iterator[str]:
    """Yield a chart and what its blocks mean.

    Where there are more columns than fit, the highest of those that share a place is
    shown, with the first letter in the order of the alphabet, capitals first.

    Args:
        columns: from left to right, all with the same layers in the same order.
        marks: name → tokens: lines across, where there is room for them.
        style: of the terminal.
    """
    highest = max((each.height for each in columns), default=0)
    if not highest:
        return
    near = {n: at for n, at in marks.items() if at <= MARK_WITHIN * highest}
    room = terminal_width() - _AXIS - 1 - max([len(name) + 1 for name in near] or [0])
    shown = _fitting(columns, room)
    unit = max([highest, *near.values()]) / ROWS
    wide = max(min(room // len(shown), MAX_COLUMN), 1)
    rows = {min(int(at / unit), ROWS - 1): (n, at) for n, at in near.items()}
    for row in range(ROWS - 1, -1, -1):
        is_labelled = row in (ROWS - 1, ROWS // 2 - 1)
        label = tokens((row + 1) * unit) if is_labelled else ""
        if row in rows:
            label = tokens(rows[row][1])
        drawn = [_cell(each.layers, (row + 0.5) * unit, style, wide) for each in shown]
        if row in rows:
            line = style("┄" * wide, "red")
            drawn = [each if each.strip() else line for each in drawn]
            drawn.append(style(f" {rows[row][0]}", "red"))
        yield f"{pad(label, _AXIS - 1, right=True)} │{''.join(drawn).rstrip()}"
    yield from _feet(shown, wide)
    yield from _legend(shown, style)


def _fitting(columns: Sequence[Column], room: int) -> list[Column]:
    share = -(-len(columns) // max(room, 1)) or 1
    groups = [columns[at : at + share] for at in range(0, len(columns), share)]
    return [
        Column(
            group[0].name,
            max(group, key=lambda each: each.height).layers,
            min((each.letter for each in group if each.letter), default=""),
        )
        for group in groups
    ]


def _cell(layers: Mapping[str, int], at: float, style: Style, wide: int) -> str:
    """Return what stands in a column at so many tokens."""
    reached = 0
    for (block, color), count in zip(_LOOKS, layers.values(), strict=False):
        reached += count
        if at < reached:
            gap = wide > 2
            return style(block * (wide - gap), color) + " " * gap
    return " " * wide


def _feet(shown: Sequence[Column], wide: int) -> Iterator[str]:
    if any(each.letter for each in shown):
        letters = "".join(pad(each.letter, wide) for each in shown)
        yield " " * _AXIS + "└" + letters.rstrip()
    first, last = shown[0].name, shown[-1].name
    gap = max(wide * len(shown) - len(first) - len(last), 1)
    ends = first if len(shown) == 1 else first + " " * gap + last
    yield " " * (_AXIS + 1) + ends


def _legend(shown: Sequence[Column], style: Style) -> Iterator[str]:
    names = list(shown[0].layers)
    used = {name for each in shown for name, count in each.layers.items() if count}
    indent = " " * (_AXIS + 1)
    line, columns = indent, len(indent)
    for name, (block, color) in zip(names, _LOOKS, strict=False):
        if name not in used:
            continue
        wide = width(f"{block} {name}")  # a colour takes no room
        gap = "  " if columns > len(indent) else ""
        if gap and columns + len(gap) + wide > terminal_width():
            yield line
            line, columns, gap = indent, len(indent), ""
        line += f"{gap}{style(block, color)} {name}"
        columns += len(gap) + wide
    yield line
