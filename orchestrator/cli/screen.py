"""One picture at the foot of a terminal, drawn again and again in its place.

It is part of the ordinary screen: what was printed before stays above it and can be
scrolled back to. Each drawing is one write that goes to the first line of the old
picture and over it, so that nothing flickers. After a resize it is known how many rows
the old picture takes now: most terminals break its lines at the new edge, and some cut
them off.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO

from orchestrator.cli.output import silence, width
from orchestrator.cli.typing_echo import echo_typing, in_foreground

__all__ = ["Screen", "Size", "breaks_lines", "screen_size"]

Size = tuple[int, int]
"""Columns and rows."""

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
"""Around a drawing, for terminals that can show it all at once."""
_CUT, _WRAP = "\x1b[?7l", "\x1b[?7h"
"""Lines that are too long end at the edge: the window may become narrower while they
are on their way."""
_TOP = "\x1b[H"
_LINE, _REST_OF_LINE, _REST = "\x1b[2K", "\x1b[K", "\x1b[J"
_LOOKS = re.compile(r"\x1b\[[0-9;]*m")
SAY_WAIT_S = 1.0
"""A terminal that takes nothing must not hold up who has something to say."""


def screen_size(stream: TextIO) -> Size:
    """Return the size of the terminal behind `stream`; 80 × 24 if it does not tell."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        columns = rows = 0
    if columns <= 0 or rows <= 0:
        columns, rows = shutil.get_terminal_size((80, 24))
    return columns, rows


def breaks_lines() -> bool:
    """Return whether this terminal sets long lines anew when it becomes narrower.

    Those that are known to cut them off are told by their variables, inner ones first.
    """
    names = os.environ
    if names.get("TMUX") or names.get("VTE_VERSION"):
        return True
    is_plain = names.get("STY") or names.get("XTERM_VERSION")
    return not is_plain and names.get("TERM") != "linux"


class Screen:
    """Draws on one terminal; safe to use from several threads.

    A terminal that goes away is written to no more, and nobody hears of it.
    """

    def __init__(
        self, stream: TextIO, *, size: Callable[[], Size] | None = None
    ) -> None:
        """Take a terminal; nothing is written yet.

        Args:
            stream: where to draw.
            size: of the window; None: the terminal is asked.
        """
        self._stream = stream
        self._size = size or (lambda: screen_size(stream))
        self._breaks = breaks_lines()
        self._lock = threading.RLock()
        self._lines: tuple[str, ...] = ()
        self._edge = 0
        """Columns of the window that they came to."""
        self._drawn_at: Size = (0, 0)
        self._is_open = self._is_silent = self._is_gone = False
        self._others = 0
        """Who has the terminal for a while."""

    @property
    def is_gone(self) -> bool:
        """Return whether the terminal has been closed."""
        return self._is_gone

    def size(self) -> Size:
        """Return how many columns and rows there are; a picture has fewer of both."""
        return self._size()

    def draw(self, lines: Sequence[str]) -> None:
        """Show `lines` in place of what was shown before.

        Args:
            lines: fewer than the window has rows, each narrower than it is wide; they
                hold nothing that a terminal obeys but colours.
        """
        with self._lock:
            size = self.size()
            is_same = tuple(lines) == self._lines and size == self._drawn_at
            if self._others or is_same:
                return
            if not in_foreground(self._stream):  # where it was is the shell's now
                self.forget()
                return
            start = _BEGIN if self._is_open else self._open() + _BEGIN
            same_place = size == self._drawn_at
            home = self._home() if same_place else self._erasure()
            self._write(start + home + _picture(lines) + _END)
            self._lines, self._drawn_at = tuple(lines), size
            self._edge = self.size()[0]

    def say(self, text: str) -> None:
        """Print `text` above the picture; it may hold several lines."""
        is_ours = self._lock.acquire(timeout=SAY_WAIT_S)
        try:
            if not self._lines or not in_foreground(self._stream):
                self._write(text)
                return
            whole = text if text.endswith("\n") else text + "\n"
            said = whole.replace("\n", "\r\n")
            self._write(_BEGIN + self._erasure() + said + _picture(self._lines) + _END)
            self._edge = self.size()[0]
        finally:
            if is_ours:
                self._lock.release()

    def forget(self) -> None:
        """Draw below whatever there is now: others have written meanwhile."""
        with self._lock:
            self._lines, self._drawn_at, self._is_open = (), (0, 0), False

    @contextmanager
    def cleared(self) -> Iterator[None]:
        """Take the picture away and leave the terminal to others for a while."""
        with self._lock:
            self._others += 1
            self._leave(self._erasure() + _REST)
        try:
            yield
        finally:
            self._others -= 1

    def uncover(self) -> None:
        """Show the cursor and what is typed, in a signal: no lock is taken for it."""
        if self._is_open:
            with suppress(OSError, ValueError):
                os.write(self._stream.fileno(), _SHOW.encode())
        if self._is_silent:
            echo_typing(self._stream, is_on=True)

    def close(self) -> None:
        """Leave the last picture where it is and the cursor below it."""
        with self._lock:
            self._leave()

    def _open(self) -> str:
        """Take the terminal; return what hides the cursor."""
        self._is_open = True
        self._is_silent |= echo_typing(self._stream, is_on=False)
        return _HIDE

    def _leave(self, last: str = "") -> None:
        if self._is_open:
            self._write(last + _SHOW)
        if self._is_silent:
            self._is_silent = not echo_typing(self._stream, is_on=True)
        self.forget()

    def _home(self) -> str:
        """Return what goes to the first cell of the picture, in a window as it was."""
        up = len(self._lines)
        return "\r" + (f"\x1b[{up}A" if up else "")

    def _erasure(self) -> str:
        """Return what goes there in a window of any size, and empties the picture.

        It does so row by row: rows that a line was broken into would be joined again
        some time, whatever is in them by then; and to empty a whole window at once
        makes some terminals keep it above.
        """
        columns, rows = self.size()
        # Should this terminal cut lines off too, it is too much, and something of what
        # stood above goes with it; with too little, old lines would stay.
        taken = [
            max(-(-min(_width(line), self._edge) // max(columns, 1)), 1)
            if self._breaks
            else 1
            for line in self._lines
        ]
        up, most = sum(taken), max(rows - 1, 0)
        if up < most:
            return "\r" + f"\x1b[A{_LINE}" * up
        return _TOP + f"{_LINE}\x1b[B" * most + _LINE + _TOP

    def _write(self, text: str) -> None:
        if self._is_gone:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except BlockingIOError:  # the next drawing may go better
            return
        except (OSError, ValueError):
            self._is_gone = True
            silence(self._stream)


def _picture(lines: Sequence[str]) -> str:
    drawn = "".join(f"{line}{_REST_OF_LINE}\r\n" for line in lines)
    return _CUT + drawn + _REST + _WRAP


def _width(line: str) -> int:
    return width(_LOOKS.sub("", line))
