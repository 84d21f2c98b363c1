"""A run while it runs: a tree on a terminal, lines elsewhere, JSON for programs.

A view is fed with events and never slows the run down.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TextIO

from orchestrator.cli.live_view import LiveView, can_draw
from orchestrator.cli.output import cut, json_text, pad, safe, silence
from orchestrator.events import Event
from orchestrator.events.base import moment
from orchestrator.events.phrases import duration
from orchestrator.inspection.run import RunView
from orchestrator.inspection.sentences import describe

__all__ = ["Mode", "View", "is_interesting", "open_view", "plain_line"]

Mode = Literal["auto", "plain", "json", "quiet"]
Pause = Callable[[], AbstractContextManager[None]]

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
        "memory.kept",
        "memory.recalled",
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
    if event.kind == "text.added":  # findings that came late, or a person's words
        return bool(event.data.get("delivers")) or event.data.get("reason") == "steer"
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
        mode: `auto`: the tree if `stream` is a terminal that can show it, else plain
            lines; `plain`: lines in any case; `json`: each event as a line of JSON on
            stdout; `quiet`: nothing.
        stream: for tree and plain lines; None: stderr.
        past: the run as earlier processes left it; None: it is new.
        out: for JSON; None: stdout.
    """
    target = sys.stderr if stream is None else stream
    if mode == "quiet":
        yield View(_ignore)
    elif mode == "auto" and can_draw(target):
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
