"""The lines that join the rows of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Branch", "branches"]


@dataclass(frozen=True, slots=True)
class Branch:
    """What stands before one row of a tree.

    Attributes:
        stem: before the row itself.
        under: before further lines of it.
    """

    stem: str
    under: str


def branches(depths: Sequence[int], *, step: int = 3) -> list[Branch]:
    """Return what stands before each row.

    Args:
        depths: of the rows, parents before their children; 0 for the roots.
        step: columns of each level, 2 or more.
    """
    blank, bar = " " * step, "│" + " " * (step - 1)
    rule = "─" * (step - 2) + " "
    found: list[Branch] = []
    # Level → whether a later row of it follows before the tree goes up: from the end,
    # so that a row looks only at what is known.
    follows: list[bool] = []
    for index in range(len(depths) - 1, -1, -1):
        depth = depths[index]
        has_below = index + 1 < len(depths) and depths[index + 1] > depth
        follows = [*follows[: depth + 1], *[False] * (depth + 1 - len(follows))]
        above = "".join(bar if each else blank for each in follows[1:depth])
        stem = under = ""
        if depth:
            stem = above + ("├" if follows[depth] else "└") + rule
            under = above + (bar if follows[depth] else blank)
        found.append(Branch(stem, under + (bar if has_below else blank)))
        follows[depth] = True
    return found[::-1]
