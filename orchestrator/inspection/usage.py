"""What the time, the calls and the requests of an agent went into."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

import orjson

from orchestrator.events import (
    AgentStarted,
    Event,
    ModelAnswered,
    ModelFailed,
    ModelReplaced,
    ModelRequested,
    ModelRetried,
    PermissionAnswered,
    PermissionAsked,
    TextAdded,
    ToolEnded,
    ToolStarted,
    WorkTime,
)
from orchestrator.events.phrases import number
from orchestrator.inspection.tokens import Cost, Tokens
from orchestrator.spec.foreign import EXPLORE_NOTHING

__all__ = ["WAITS", "AgentUsage", "ModelUse", "Peak", "ToolUse"]

Data = dict[str, Any]

WAITS = ("service", "subagents", "room", "person")
"""What an agent waits for: the service beyond the time of its answers; its subagents;
a free place; a person's answer."""
_JOINS = frozenset({"delegate", "follow_up", "wait_for"})


@dataclass(slots=True)
class ToolUse:
    """The calls of one tool that ended."""

    calls: int = 0
    errors: int = 0
    repeats: int = 0
    """Calls that read what an earlier call of the same agent had read: same input."""
    seconds: float = 0.0
    """Of all calls, side by side or not."""
    tokens: int = 0
    """Of the results as the model was shown them, estimated."""
    full_tokens: int = 0
    """Of the whole outputs, before they were clipped, estimated."""
    artifacts: int = 0
    """Outputs that are kept whole, since they were clipped."""

    def add(self, other: ToolUse) -> None:
        """Add the calls of another agent."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_dict(self) -> Data:
        """Return everything by name."""
        found = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**found, "seconds": round(self.seconds, 3)}


@dataclass(slots=True)
class ModelUse:
    """The requests to one model; those of the program for summaries are in it."""

    requests: int = 0
    answers: int = 0
    retries: int = 0
    """Tries that failed and were made again."""
    failures: int = 0
    """Requests that got no answer."""
    seconds: float = 0.0
    """From a try's start to the end of its answer, of all answers."""
    waited_s: float = 0.0
    """Beside that: in line, between tries, and for tries that failed."""
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)

    def add(self, other: ModelUse) -> None:
        """Add the requests of another agent."""
        for name in ("requests", "answers", "retries", "failures"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.seconds += other.seconds
        self.waited_s += other.waited_s
        self.tokens.add(other.tokens)
        self.cost.add(other.cost)

    def to_dict(self) -> Data:
        """Return everything by name."""
        names = ("requests", "answers", "retries", "failures")
        return {
            **{name: getattr(self, name) for name in names},
            "seconds": round(self.seconds, 3),
            "waited_s": round(self.waited_s, 3),
            "tokens": self.tokens.to_dict(),
            **self.cost.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Peak:
    """The largest request of an agent, and what filled it."""

    turn: int
    seq: int
    """Of the request in the log."""
    tokens: int
    """As the service counted them; before its answer, as estimated."""
    composition: Mapping[str, int]
    """Estimated tokens by layer."""

    def to_dict(self) -> Data:
        """Return everything by name."""
        named = {"turn": self.turn, "seq": self.seq, "tokens": self.tokens}
        return {**named, "composition": dict(self.composition)}


@dataclass(slots=True)
class AgentUsage:
    """What one agent used its time, calls and requests for; `apply` adds one event."""

    work: WorkTime
    """Of the whole run."""
    tools: dict[str, ToolUse] = field(default_factory=dict)
    models: dict[str, ModelUse] = field(default_factory=dict)
    peak: Peak | None = None
    window_tokens: int = 0
    """What it may be sent at most; 0: the log does not tell."""
    wrapped_up: tuple[str, int] | None = None
    """Limit that it was told is nearly used up, and the event that tells of it."""
    _model: str = ""
    _asked: ModelUse | None = None
    """Of the request that is out."""
    _newest: Peak | None = None
    _seen: set[int] = field(default_factory=set)
    """Calls that read, by their names and inputs."""
    _repeats: set[str] = field(default_factory=set)
    """Calls at work that read again."""
    _waited: dict[str, float] = field(default_factory=dict)
    _since: dict[str, float] = field(default_factory=dict)
    """What is waited for now → the run's seconds when that began."""
    _joins: set[str] = field(default_factory=set)
    """Calls at work that wait for subagents."""

    @property
    def repeats(self) -> int:
        """Return how many calls read again what had been read."""
        return sum(each.repeats for each in self.tools.values())

    @property
    def retries(self) -> int:
        """Return how many tries failed and were made again."""
        return sum(each.retries for each in self.models.values())

    def waits(self, now: datetime | None = None) -> dict[str, float]:
        """Return the seconds waited, by what for; what lasts still counts in.

        Args:
            now: while the run is at work; None: up to its last event.
        """
        until = self.work.until(now)
        return {
            what: self._waited.get(what, 0.0)
            + (max(until - self._since[what], 0.0) if what in self._since else 0.0)
            for what in WAITS
        }

    def begin_wait(self, what: str) -> None:
        """Note that a wait begins now."""
        self._since.setdefault(what, self.work.seconds)

    def interrupt(self) -> None:
        """End what was under way: its process is gone."""
        for what in tuple(self._since):
            self._end_wait(what)
        self._joins.clear()
        self._asked = None

    def apply(self, event: Event) -> None:
        """Take in one event of the agent; kinds that say nothing are passed over."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event, event.data)

    def to_dict(self, now: datetime | None = None) -> Data:
        """Return everything by name."""
        waits = self.waits(now)
        return {
            "tools": {name: each.to_dict() for name, each in self.tools.items()},
            "requests": {name: each.to_dict() for name, each in self.models.items()},
            "waits_s": {name: round(spent, 3) for name, spent in waits.items()},
            "repeated_reads": self.repeats,
            "window_tokens": self.window_tokens or None,
            "wrapped_up": self.wrapped_up
            and {"limit": self.wrapped_up[0], "seq": self.wrapped_up[1]},
            "peak": self.peak and self.peak.to_dict(),
        }

    def _end_wait(self, what: str, *, without_s: float = 0.0) -> float:
        """End a wait and return its seconds, without those that were none."""
        began = self._since.pop(what, None)
        if began is None:
            return 0.0
        lasted = max(self.work.seconds - began - without_s, 0.0)
        self._waited[what] = self._waited.get(what, 0.0) + lasted
        return lasted

    def _started(self, _event: Event, data: Data) -> None:
        self._end_wait("room")
        self._model = str(data.get("model", ""))
        settings = data.get("settings")
        told = settings.get("context") if isinstance(settings, dict) else None
        if isinstance(told, dict):
            self.window_tokens = int(number(told.get("window_tokens")))

    def _replaced(self, _event: Event, data: Data) -> None:
        self._model = str(data.get("instead", "")) or self._model

    def _requested(self, event: Event, data: Data) -> None:
        self._end_wait("room")
        self._end_wait("service")  # the answer before is lost
        name = str(data.get("model") or "") if data.get("purpose") else ""
        self._asked = self.models.setdefault(name or self._model, ModelUse())
        self._asked.requests += 1
        self.begin_wait("service")
        if data.get("purpose"):
            return
        layers = data.get("composition")
        newest = Peak(
            int(number(data.get("turn"))),
            event.seq,
            int(number(data.get("estimated_tokens"))),
            layers if isinstance(layers, dict) else {},
        )
        self._newest = newest
        if self.peak is None or newest.tokens > self.peak.tokens:
            self.peak = newest

    def _answered(self, _event: Event, data: Data) -> None:
        used = self._asked or self.models.setdefault(self._model, ModelUse())
        seconds = number(data.get("seconds"))
        used.answers += 1
        used.seconds += seconds
        used.waited_s += self._end_wait("service", without_s=seconds)
        usage = data.get("usage")
        before = used.tokens.sent
        if isinstance(usage, dict):
            used.tokens.add_usage(usage)
        used.cost.add_call(data.get("usd"), data.get("usd_parts"))
        self._asked = None
        if not data.get("purpose"):
            self._count(used.tokens.sent - before)

    def _count(self, sent: int) -> None:
        """Take over the size of the newest request, as the service counted it."""
        newest, peak = self._newest, self.peak
        if newest is None or not sent:
            return
        told = Peak(newest.turn, newest.seq, sent, newest.composition)
        if peak is None or peak.seq == newest.seq or sent > peak.tokens:
            self.peak = told

    def _retried(self, _event: Event, _data: Data) -> None:
        if self._asked is not None:
            self._asked.retries += 1

    def _failed(self, _event: Event, _data: Data) -> None:
        waited = self._end_wait("service")
        if self._asked is not None:
            self._asked.failures += 1
            self._asked.waited_s += waited
        self._asked = None

    def _tool_started(self, _event: Event, data: Data) -> None:
        name, call = str(data.get("name", "")), str(data.get("call", ""))
        if name in _JOINS:
            self._joins.add(call)
            self.begin_wait("subagents")
        elif data.get("effects") == "reads" and name not in EXPLORE_NOTHING:
            key = _identity(name, data.get("input"))
            if key in self._seen:
                self._repeats.add(call)
            self._seen.add(key)

    def _tool_ended(self, _event: Event, data: Data) -> None:
        call = str(data.get("call", ""))
        tool = self.tools.setdefault(str(data.get("name", "")), ToolUse())
        tool.calls += 1
        tool.errors += bool(data.get("is_error"))
        tool.seconds += number(data.get("seconds"))
        tool.tokens += int(number(data.get("tokens")))
        tool.full_tokens += int(number(data.get("full_tokens")))
        tool.artifacts += bool(data.get("artifact"))
        if call in self._repeats:
            self._repeats.discard(call)
            tool.repeats += 1
        if call in self._joins:
            self._joins.discard(call)
            if not self._joins:
                self._end_wait("subagents")

    def _told(self, event: Event, data: Data) -> None:
        if data.get("reason") == "wrap_up":
            self.wrapped_up = str(data.get("limit", "")), event.seq

    def _asks_person(self, _event: Event, _data: Data) -> None:
        self.begin_wait("person")

    def _hears_person(self, _event: Event, _data: Data) -> None:
        self._end_wait("person")

    _HANDLERS: ClassVar[dict[str, Callable[[AgentUsage, Event, Data], None]]] = {
        AgentStarted.KIND: _started,
        ModelReplaced.KIND: _replaced,
        ModelRequested.KIND: _requested,
        ModelAnswered.KIND: _answered,
        ModelRetried.KIND: _retried,
        ModelFailed.KIND: _failed,
        ToolStarted.KIND: _tool_started,
        ToolEnded.KIND: _tool_ended,
        TextAdded.KIND: _told,
        PermissionAsked.KIND: _asks_person,
        PermissionAnswered.KIND: _hears_person,
    }


def _identity(name: str, given: object) -> int:
    """Return what calls with the same input have in common."""
    try:
        return hash((name, orjson.dumps(given, option=orjson.OPT_SORT_KEYS)))
    except TypeError:  # nothing that JSON could hold
        return hash((name, id(given)))
