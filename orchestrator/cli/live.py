"""A run while it runs: a tree on a terminal, lines elsewhere, JSON for programs.

A view is fed with events and never slows the run down: an event is folded in
microseconds, and the tree is drawn by a thread of its own, at most four times a second
and only when there is something new to show.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TextIO

from orchestrator.cli.live_text import live_lines
from orchestrator.cli.output import (
    Style,
    cut,
    json_text,
    pad,
    safe,
    silence,
    uses_color,
)
from orchestrator.events import Event
from orchestrator.events.phrases import duration
from orchestrator.inspection.run import RunView, moment
from orchestrator.inspection.sentences import describe

if TYPE_CHECKING:
    from rich.live import Live

__all__ = ["LiveView", "Mode", "View", "is_interesting", "open_view", "plain_line"]

Mode = Literal["auto", "plain", "json", "quiet"]
Pause = Callable[[], AbstractContextManager[None]]

REFRESH_S = 0.25
IDLE_REFRESH_S = 1.0
"""Longest time between two drawings: the clocks in the tree go on."""
PLAIN_CHARS = 160


@dataclass(frozen=True, slots=True)
class View:
    """What a run tells its events to, by calling it.

    Attributes:
        on_event: takes over one event.
        paused: keeps the terminal free for a question meanwhile.
    """

    on_event: Callable[[Event], None]
    paused: Pause = nullcontext

    def __call__(self, event: Event) -> None:
        """Take over one event."""
        self.on_event(event)


_INTERESTING = frozenset(
    {
        "agent.started",
        "brief.refused",
        "brief.reused",
        "control.received",
        "limit.reached",
        "model.failed",
        "model.replaced",
        "model.retried",
        "notes.edited",
        "notes.updated",
        "permission.answered",
        "report.submitted",
        "run.ended",
        "run.parked",
        "run.resumed",
        "run.started",
        "subagent.asked",
        "subagent.ended",
        "tool.started",
    }
)
_TOLD_LATER = frozenset(
    {"cancel", "finish", "follow_up", "submit_findings", "update_notes"}
)


def is_interesting(event: Event) -> bool:
    """Return whether a person who watches plain lines wants this event."""
    if event.kind == "tool.ended":
        return bool(event.data.get("is_error"))
    if event.kind == "findings.submitted":
        return not event.data.get("accepted")
    if event.kind == "text.added":  # findings that came late
        return bool(event.data.get("delivers"))
    # What comes of them is told with more to say.
    if event.data.get("name") in _TOLD_LATER:
        return False
    return event.kind in _INTERESTING


def plain_line(event: Event, start: datetime | None) -> str:
    """Return one short line: time since the start of the run, agent, what happened."""
    at = moment(event.at)
    since = (at - start).total_seconds() if at and start else 0.0
    who = safe(event.agent) or "run"
    text = cut(safe(describe(event)), PLAIN_CHARS)
    return f"{pad(duration(since), 6, right=True)}  {pad(who, 5)}{text}"


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
    ) -> None:
        self.view = RunView() if past is None else past
        self._stream = sys.stderr if stream is None else stream
        self._now = now or (lambda: datetime.now(UTC))
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._live: Live | None = None
        self._thread: threading.Thread | None = None
        self._drawing = threading.Lock()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal alone for a while; the tree stays where it was drawn."""
        with self._drawing:
            if self._live is not None:
                self._live.stop()
            try:
                yield
            finally:
                self._live = self._begun()  # a new one, below what was said meanwhile

    def on_event(self, event: Event) -> None:
        """Take over one event; cheap, and safe to call from any thread."""
        with self._lock:
            self.view.apply(event)
        self._changed.set()

    def lines(self, columns: int, rows: int) -> list[str]:
        """Return what the tree shows now, in a window of that size."""
        style = Style(uses_color(self._stream))
        with self._lock:
            return live_lines(
                self.view, now=self._now(), columns=columns, rows=rows, style=style
            )

    def __enter__(self) -> LiveView:
        self._live = self._begun()
        self._thread = threading.Thread(target=self._draw, name="live", daemon=True)
        self._thread.start()
        return self

    def _begun(self) -> Live:
        # Loaded only here: rich takes as long as everything else of a command.
        from rich.console import Console  # noqa: PLC0415 - see above
        from rich.live import Live  # noqa: PLC0415 - see above

        console = Console(file=self._stream, highlight=False)
        live = Live(console=console, auto_refresh=False, redirect_stdout=False)
        live.start()
        return live

    def __exit__(self, *_error: object) -> None:
        self._closed.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join()
        if self._live is not None:
            self._live.stop()

    def _draw(self) -> None:
        while not self._closed.is_set():
            self._changed.clear()
            self._show()
            # At most one drawing in `REFRESH_S`, and none while nothing changes.
            self._closed.wait(REFRESH_S)
            if self.view.is_running:
                self._changed.wait(IDLE_REFRESH_S - REFRESH_S)
            else:
                self._changed.wait(IDLE_REFRESH_S)
        self._show()

    def _show(self) -> None:
        from rich.text import Text  # noqa: PLC0415 - see `__enter__`

        with self._drawing:
            live = self._live
            if live is None:
                return
            size = live.console.size
            text = "\n".join(self.lines(size.width, size.height))
            live.update(Text.from_ansi(text, no_wrap=True, end=""), refresh=True)


class _Lines:
    """Prints a line per event until the reader is gone; the run goes on without it."""

    def __init__(self, stream: TextIO, line: Callable[[Event], str]) -> None:
        self._stream = stream
        self._line = line
        self._is_on = True
        self._kept: list[str] | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Keep lines back for a while."""
        kept: list[str] = []
        self._kept = kept
        try:
            yield
        finally:
            self._kept = None
            for text in kept:
                self._print(text)

    def on_event(self, event: Event) -> None:
        text = self._line(event) if self._is_on else ""
        if not text:
            return
        if self._kept is None:
            self._print(text)
        else:
            self._kept.append(text)

    def _print(self, text: str) -> None:
        try:
            print(text, file=self._stream, flush=True)
        except OSError:
            self._is_on = False
            silence(self._stream)


class _Plain:
    def __init__(self) -> None:
        self._start: datetime | None = None

    def line(self, event: Event) -> str:
        self._start = self._start or moment(event.at)
        return plain_line(event, self._start) if is_interesting(event) else ""


class _Json:
    def __init__(self) -> None:
        # Loaded only here: nothing else shows what models said.
        from orchestrator.inspection.pages import Pages  # noqa: PLC0415 - see above

        self._pages = Pages(os.environ)

    def line(self, event: Event) -> str:
        return json_text(self._pages.event(event).to_dict(), is_line=True)


def _ignore(_event: Event) -> None:
    """Show nothing."""


@contextmanager
def open_view(
    mode: Mode = "auto",
    *,
    stream: TextIO | None = None,
    past: Callable[[], RunView] | None = None,
    out: TextIO | None = None,
) -> Iterator[View]:
    """Open a view for the time of a run and hand it out.

    Args:
        mode: `auto`: the tree if `stream` is a terminal, else plain lines; `plain`:
            lines in any case; `json`: each event as a line of JSON on stdout; `quiet`:
            nothing.
        stream: for tree and plain lines; None: stderr.
        past: the run as earlier processes left it; None: it is new.
        out: for JSON; None: stdout.
    """
    target = sys.stderr if stream is None else stream
    if mode == "quiet":
        yield View(_ignore)
    elif mode == "auto" and target.isatty() and os.environ.get("TERM") != "dumb":
        with LiveView(target, past=past() if past else None) as view:
            yield View(view.on_event, view.paused)
    else:
        is_json = mode == "json"
        lines = (
            _Lines(out or sys.stdout, _Json().line)
            if is_json
            else _Lines(target, _Plain().line)
        )
        yield View(lines.on_event, lines.paused)
