"""Made-up events of runs that somebody watches, and a view of them on a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from terminal import Terminal

from orchestrator.cli.live_view import LiveView
from orchestrator.events import Event

__all__ = ["BEGAN", "RUN", "Events", "Watcher"]

BEGAN = datetime(2026, 11, 29, 20, 15, tzinfo=UTC)
RUN = "20261129-201500-watched-7f3a"
MARKS = {"window_tokens": 108_000, "soft_tokens": 60_000, "hard_tokens": 75_000}

SETTINGS = {"context": MARKS, "max_output_tokens": 8000}


class Events:
    """Writes events, a tenth of a second apart, and tells each to whoever listens."""

    def __init__(self, *listeners: Any) -> None:
        self.all: list[Event] = []
        self.listeners = list(listeners)
        self.at = BEGAN

    def __call__(self, kind: str, agent: str = "", /, **data: Any) -> Event:
        self.at += timedelta(seconds=0.1)
        seconds = (self.at - BEGAN).total_seconds()
        cause = data.pop("cause", 0)
        event = Event(
            len(self.all) + 1, self.at.isoformat(), RUN, agent, kind, cause, data,
            worked_s=seconds,
        )  # fmt: skip
        self.all.append(event)
        for each in self.listeners:
            each(event)
        return event

    def passes(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def begins(self, **limits: float) -> None:
        allowed = {"usd": 2.0, "tokens": 3_000_000, "minutes": 30, **limits}
        self("run.started", task="watched", objective="Look.", limits=allowed)
        self.starts("lead", "watched", role="lead")

    def sends(self, *agents: str, parent: str = "lead", call: str = "d1") -> None:
        briefs = [{"title": f"Part {each}"} for each in agents]
        self(
            "tool.started", parent, call=call, name="delegate", input={"briefs": briefs}
        )
        for each in agents:
            self.accepts(each, f"Part {each}", parent=parent, call=call)

    def accepts(
        self, agent: str, title: str, *, parent: str = "lead", call: str = "d1"
    ) -> None:
        self("subagent.accepted", parent, id=agent, call=call, title=title)

    def starts(self, agent: str, title: str, *, role: str = "subagent") -> None:
        told = {"title": title, "role": role, "settings": SETTINGS}
        self("agent.started", agent, **told)

    def turn(self, agent: str, number: int = 1, *, sent: int = 9000) -> None:
        asked = {"turn": number, "estimated_tokens": sent, "max_output_tokens": 100}
        self("model.requested", agent, **asked)
        usage = {"input_tokens": sent, "output_tokens": 200}
        self("model.answered", agent, turn=number, usage=usage, usd=0.01, content=[])

    def calls(self, agent: str, name: str, /, **given: Any) -> None:
        self("tool.started", agent, call=f"{agent}c", name=name, input=given)

    def ends(self, agent: str, status: str = "complete", **more: Any) -> None:
        told = {"status": status, "outcome": "submitted", "findings": {}, **more}
        self("subagent.ended", agent, id=agent, **told)


class Watcher:
    """A view on a terminal in memory; the time is that of the newest event."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        self.terminal = Terminal(columns, rows)
        self.events = Events()
        self.view = LiveView(
            self.terminal, now=lambda: self.events.at, size=self.terminal.size
        )
        self.events.listeners.append(self.view.on_event)

    def plays(self, events: Iterable[Event]) -> None:
        for event in events:
            self.view.on_event(event)
            self.events.at = datetime.fromisoformat(event.at)

    def looks(self) -> list[str]:
        """The lines of the window, drawn as it is now."""
        self.view.show()
        return self.terminal.text.split("\n")

    def row(self, agent: str) -> str:
        """The line of an agent."""
        [found] = [line for line in self.looks() if f"{agent} " in line[:20]]
        return found
