"""A terminal in memory, as a stream that programs write to and people look at.

It is resized as terminals are: those that break lines anew at the narrower edge, and
those that cut them off. What scrolls out at the top is kept.
"""

from __future__ import annotations

import io
import re
from typing import Any

import pyte
import pyte.screens

__all__ = ["Terminal", "strange_sequences"]

Cells = list[pyte.screens.Char]
_KNOWN = re.compile(
    r"\x1b\[(?:[0-9;]*m|\d*A|B|H|2?K|J|\?25[hl]|\?2026[hl]|\?7[hl])|[^\x00-\x1f\x7f-\x9f]|[\r\n]"
)


def strange_sequences(text: str) -> str:
    """What is in `text` that a terminal would obey, but for looks and movements up."""
    return _KNOWN.sub("", text)


class _Screen(pyte.Screen):
    """Keeps the lines that scroll out at the top, and what was asked of it besides."""

    def __init__(self, columns: int, rows: int) -> None:
        self.above: list[str] = []
        self.asked: list[tuple[str, Any]] = []
        super().__init__(columns, rows)

    def index(self) -> None:
        if self.cursor.y == self.lines - 1:
            self.above.append(self.display[0].rstrip())
        super().index()

    def set_title(self, param: str) -> None:
        self.asked.append(("title", param))

    def set_icon_name(self, param: str) -> None:
        self.asked.append(("icon", param))

    def bell(self, *args: Any) -> None:
        self.asked.append(("bell", args))

    def write_process_input(self, data: str) -> None:
        self.asked.append(("input", data))


class Terminal(io.StringIO):
    """Columns and rows that a program writes to; `rows` is what a person sees."""

    encoding = "utf-8"

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.screen = _Screen(columns, rows)
        self._stream = pyte.Stream(self.screen)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._stream.feed(text.replace("\r\n", "\n").replace("\n", "\r\n"))
        return super().write(text)

    def size(self) -> tuple[int, int]:
        return self.screen.columns, self.screen.lines

    @property
    def rows(self) -> list[str]:
        """The lines of the window, without blanks at their ends."""
        return [row.rstrip() for row in self.screen.display]

    @property
    def text(self) -> str:
        """The lines of the window that are not blank at the end, as one text."""
        return "\n".join(self.rows).rstrip()

    @property
    def whole(self) -> str:
        """The same, with all that has scrolled out above it."""
        return "\n".join([*self.screen.above, self.text])

    def resize(self, columns: int, rows: int, *, breaks: bool = True) -> None:
        """Make the window another size.

        Args:
            columns: from now on.
            rows: from now on.
            breaks: lines that are too long go on in the next row; else they are cut.
        """
        screen = self.screen
        lines = [
            self._cells(at, screen.columns)
            for at in range(max(self._used(), screen.cursor.y + 1))
        ]
        kept: list[Cells] = []
        cursor = 0
        for at, line in enumerate(lines):
            if at == screen.cursor.y:
                cursor = len(kept)
            parts = _broken(line, columns) if breaks else [line[:columns]]
            kept.extend(parts)
        lost = max(len(kept) - rows, 0)
        screen.above += ["".join(c.data for c in row).rstrip() for row in kept[:lost]]
        column = min(screen.cursor.x, columns - 1)
        screen.resize(rows, columns)
        screen.buffer.clear()
        for at, row in enumerate(kept[lost:]):
            for x, char in enumerate(row):
                screen.buffer[at][x] = char
        screen.cursor.y, screen.cursor.x = cursor - lost, column

    def _cells(self, at: int, columns: int) -> Cells:
        line = [self.screen.buffer[at][x] for x in range(columns)]
        while line and line[-1].data == " ":
            line.pop()
        return line

    def _used(self) -> int:
        return len("\n".join(self.rows).rstrip().split("\n"))


def _broken(line: Cells, columns: int) -> list[Cells]:
    return [line[at : at + columns] for at in range(0, max(len(line), 1), columns)]
