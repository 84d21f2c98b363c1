"""Time and processor time of a piece of work, and small tables of them."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Cost", "Watch", "median_of", "print_table"]


@dataclass(frozen=True)
class Cost:
    """What a piece of work took, in seconds; all threads of the process count."""

    wall_s: float
    cpu_s: float


class Watch:
    """Runs from the moment it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def cost(self) -> Cost:
        """Return what has been used up to now."""
        return Cost(time.perf_counter() - self._wall, time.process_time() - self._cpu)


def median_of(times: int, work: Callable[[], object]) -> Cost:
    """Return the medians of doing it so many times."""
    costs: list[Cost] = []
    for _ in range(times):
        watch = Watch()
        work()
        costs.append(watch.cost())
    return Cost(
        statistics.median(each.wall_s for each in costs),
        statistics.median(each.cpu_s for each in costs),
    )


def print_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a title and columns; the first is text, the others are numbers."""
    sys.stdout.write(f"\n{title}\n\n")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        first, *others = (
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        sys.stdout.write("  ".join((first, *others)).rstrip() + "\n")
