"""A run while it runs, as a tree of agents on a terminal.

An event is folded in microseconds. The tree is drawn by a thread of its own: at most
four times a second, only when there is something new to show, and at once when the
window changes its size.
"""

from __future__ import annotations

import io
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from types import FrameType
from typing import Any, TextIO

from orchestrator.cli.live_text import live_lines
from orchestrator.cli.output import Style, safe_lines, uses_color
from orchestrator.cli.screen import Screen, Size
from orchestrator.events import Event
from orchestrator.inspection.run import RunView

__all__ = ["LiveView", "can_draw"]

REFRESH_S = 0.25
IDLE_REFRESH_S = 1.0
"""Longest time between two drawings of a live run: the clocks in the tree go on."""
LOOK_S = 0.05
"""From one look at the size of the window to the next: a signal would wait until the
thread that runs the agents has time for it."""
JOIN_S = 2.0
"""A terminal that takes nothing any more must not keep a process that has ended."""
_NO_CURSOR = frozenset({"", "dumb", "unknown"})
_STAYS = re.compile(r"(\x1b\[[0-9;]*m|\x1b\[\?25h)")
"""Colours, and what shows the cursor again at the very end."""
_WRITTEN_OVER = re.compile(r"[^\n]*\r(?=[^\n])")
_DRAWN_WITH = "━─│├└…●"


def can_draw(stream: TextIO) -> bool:
    """Return whether `stream` is a terminal that can show a tree in place."""
    if not stream.isatty() or os.environ.get("TERM", "") in _NO_CURSOR:
        return False
    try:
        _DRAWN_WITH.encode(getattr(stream, "encoding", None) or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


class LiveView:
    """A tree of agents on a terminal, redrawn while it is open.

    Use it as a context manager around the run and give it each event.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        past: RunView | None = None,
        now: Callable[[], datetime] | None = None,
        size: Callable[[], Size] | None = None,
    ) -> None:
        """Take a terminal; nothing is drawn before it is entered.

        Args:
            stream: where to draw; None: stderr.
            past: the run as earlier processes left it; None: it is new.
            now: the time of day; None: the system's.
            size: columns and rows of the window; None: the terminal is asked.
        """
        self.view = RunView() if past is None else past
        self._stream = sys.stderr if stream is None else stream
        self._now = now or (lambda: datetime.now(UTC))
        self._screen = Screen(self._stream, size=size)
        self._style = Style(uses_color(self._stream))
        self._lock = threading.Lock()
        self._is_new = True
        """There are events that are not drawn yet."""
        self._is_closed = self._was_stopped = False
        # Plain reads and writes, since a signal may come in the middle of any lock.
        self._hears, self._rings = -1, -1
        self._thread: threading.Thread | None = None
        self._exits = ExitStack()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal alone for a while: the tree is taken away meanwhile."""
        with self._screen.cleared():
            yield
        self._ring()

    def on_event(self, event: Event) -> None:
        """Take over one event; cheap, and safe to call from any thread."""
        with self._lock:
            self.view.apply(event)
        self._is_new = True

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return what the tree shows now, in a window of that size."""
        with self._lock:
            return live_lines(
                self.view,
                now=self._now(),
                columns=columns,
                rows=rows,
                style=self._style,
            )

    def show(self) -> None:
        """Draw the tree as it is now."""
        columns, rows = self._screen.size()
        # The last column and the last row stay free: what is written there may move
        # the whole picture.
        has_room = columns > 1 and rows > 1
        self._screen.draw(self.lines(columns - 1, rows - 1) if has_room else [])

    def __enter__(self) -> LiveView:
        self._hears, self._rings = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        if threading.current_thread() is threading.main_thread():
            self._exits.enter_context(_on_signal(signal.SIGCONT, self._continued))
            if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
                self._exits.enter_context(_on_signal(signal.SIGTSTP, self._suspended))
        if self._stream is sys.stderr:
            self._exits.enter_context(_stderr_above(self._screen, self._stream))
        self._thread = threading.Thread(target=self._draw, name="live", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_closed = True
        self._ring()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        self._exits.close()
        if self._thread is None or not self._thread.is_alive():
            self._screen.close()
            os.close(self._hears)
            os.close(self._rings)

    def _draw(self) -> None:
        bell = select.poll()
        bell.register(self._hears, select.POLLIN)
        drawn_at, drawn_in = 0.0, (0, 0)
        while not self._is_closed and not self._screen.is_gone:
            if self._was_stopped:  # and the shell has printed something since
                self._was_stopped = False
                self._screen.forget()
            age, size = time.monotonic() - drawn_at, self._screen.size()
            is_due = self._was_rung() or size != drawn_in
            is_due = is_due or (self._is_new and age >= REFRESH_S)
            if is_due or (self.view.is_running and age >= IDLE_REFRESH_S):
                self._is_new = False
                self.show()
                drawn_at, drawn_in = time.monotonic(), size
            bell.poll(LOOK_S * 1000)
        self.show()

    def _ring(self) -> None:
        """Let it be drawn at once."""
        with suppress(OSError):  # it is full: it rings already
            os.write(self._rings, b"!")

    def _was_rung(self) -> bool:
        with suppress(OSError):
            return bool(os.read(self._hears, 4096))
        return False

    def _suspended(self) -> None:
        """Leave the terminal to the shell, and stop as any program does."""
        self._screen.uncover()
        handler = signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, handler)  # it goes on here

    def _continued(self) -> None:
        self._was_stopped = True
        self._ring()


@contextmanager
def _on_signal(number: signal.Signals, act: Callable[[], None]) -> Iterator[None]:
    """Do something at a signal, besides what was done before."""
    before: Any = signal.getsignal(number)

    def handler(got: int, frame: FrameType | None) -> None:
        act()
        if callable(before):
            before(got, frame)

    signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, signal.SIG_DFL if before is None else before)


class _Above(io.TextIOBase):
    """Stands for stderr: what is written goes above the picture, line by line.

    Colours stay; whatever else a terminal would obey would move the picture.
    """

    def __init__(self, screen: Screen, stream: TextIO) -> None:
        self._screen, self._stream = screen, stream
        self._rest = ""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever that has
        """Return what the terminal has besides: `buffer`, `name`, …."""
        return getattr(self._stream, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read only
        """Return that of the terminal."""
        return self._stream.encoding

    def isatty(self) -> bool:
        """Return that it is a terminal, as far as it still is."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the terminal itself."""
        return self._stream.fileno()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, text: str, /) -> int:
        """Take over a text; whole lines are shown at once."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if end:
            self._screen.say(_harmless(whole + end))
        return len(text)

    def flush(self) -> None:
        """Show the line that has no end yet."""
        rest, self._rest = self._rest, ""
        if rest:
            self._screen.say(_harmless(rest))


def _harmless(text: str) -> str:
    parts = _STAYS.split(text.replace("\r\n", "\n"))
    # Every other part is one that stays. Of a line written over, the last text stays.
    parts[::2] = [safe_lines(_WRITTEN_OVER.sub("", part)) for part in parts[::2]]
    return "".join(parts)


@contextmanager
def _stderr_above(screen: Screen, stream: TextIO) -> Iterator[None]:
    above = _Above(screen, stream)
    sys.stderr = above
    try:
        yield
    finally:
        if sys.stderr is above:
            sys.stderr = stream
        above.flush()
