"""What one agent does now, as the events of its run tell it.

Whoever folds a log gives an agent its own events, and those that tell of its subagents.
Each step is a few look-ups, so that a live run can afford it; the words are made only
when somebody looks. Nothing here fails on a field of a wrong type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from orchestrator.events.base import Event, moment
from orchestrator.events.of_agent import (
    AgentEnded,
    AgentStarted,
    ModelAnswered,
    ModelFailed,
    ModelRequested,
    ModelRetried,
    ToolEnded,
    ToolStarted,
)
from orchestrator.events.of_run import PermissionAnswered, PermissionAsked
from orchestrator.events.phrases import (
    call_phrase,
    count_phrase,
    duration,
    names_phrase,
    number,
    one_line,
    quoted,
)

__all__ = ["Activity", "Doing", "DoingKind"]

LONG_S = 10.0
"""A call that runs longer is told with its time."""

Call = tuple[str, dict[str, Any]]
"""Name and input."""
DoingKind = Literal[
    "", "agents", "left", "model", "person", "place", "service", "tool", "work"
]


@dataclass(frozen=True, slots=True)
class Doing:
    """What an agent does now, or waits for, as data.

    Attributes:
        kind: `tool`: a call runs; `model`: a request is out; `work`: between the two.
            It waits for `agents` that it sent or asked, for a `place` among those at
            work, for the `service` (a limit, or the next try), for a `person`, or
            for a process that takes it up again (`left`). "": it is over.
        what: the tool; the error of the newest try; what a request is for, if it is
            no turn of the agent.
        agents: whom it waits for.
        since: RFC 3339; "": nobody knows.
    """

    kind: DoingKind
    what: str = ""
    agents: tuple[str, ...] = ()
    since: str = ""


@dataclass(slots=True)
class Activity:
    """What one agent does now.

    Attributes:
        state: `waiting` (for a free place), `running` or `ended`.
        calls: calls that run now: call id → name and input.
        is_asking: a request is out and its answer is not here.
        at_work: own subagents that have not ended → the call that sent or asked them.
    """

    state: str = "waiting"
    calls: dict[str, Call] = field(default_factory=dict)
    is_asking: bool = False
    at_work: dict[str, str] = field(default_factory=dict)
    _since: dict[str, str] = field(default_factory=dict)
    """Of each of `calls`: when it began."""
    _waits_since: str = ""
    """For a free place."""
    _asked_at: str = ""
    _purpose: str = ""
    """Of the request that is out; "": a turn of the agent."""
    _tries: int = 0
    """Of the request that is out: those that failed."""
    _error: str = ""
    """Of the newest of them."""
    _held_s: float = 0.0
    """Seconds after `_failed_at` in which no other try leaves."""
    _failed_at: str = ""
    _person: str = ""
    """The tool about which a person is being asked."""
    _person_at: str = ""
    _is_left: bool = False
    """Its process is gone, and nothing has happened since."""

    def apply(self, event: Event) -> None:
        """Take in one event of this agent; kinds that say nothing are passed over."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            self._is_left = False
            handler(self, event)

    def sends(self, child: str, call: str) -> None:
        """Note that a subagent of its own was sent, or asked, by `call`."""
        self.at_work[child] = call

    def queues(self, at: str) -> None:
        """Note since when it waits for a free place."""
        self._waits_since = at

    def hears_of(self, child: str) -> None:
        """Note that a subagent of its own has ended."""
        self.at_work.pop(child, None)

    def end(self) -> None:
        """Note that it is over."""
        self.state = "ended"
        self._drop()

    def reopen(self, state: str) -> None:
        """Note that it had ended and goes on.

        Args:
            state: `waiting` or `running`.
        """
        self.state = state

    def interrupt(self) -> None:
        """Forget what was under way: the process that did it is gone."""
        self._drop()
        self._is_left = True

    def doing(self, now: datetime | None = None) -> Doing:
        """Return what it does, as data.

        Args:
            now: tells whether a wait before the next try is over; None: it is not.
        """
        if self.state == "ended":
            return Doing("")
        if self._person:
            return Doing("person", self._person, since=self._person_at)
        if self.calls:
            call, name, given = self._telling()
            awaited = tuple(self._awaited(call, name, given))
            since = self._since.get(call, "")
            return Doing("agents" if awaited else "tool", name, awaited, since)
        if self.is_asking:
            return self._asking(now)
        if self.state == "waiting":
            return Doing("place", since=self._waits_since)
        return Doing("left" if self._is_left else "work")

    def _asking(self, now: datetime | None) -> Doing:
        if self._is_held(now):
            return Doing("service", self._error, since=self._failed_at)
        told = self._error if self._tries else self._purpose
        return Doing("model", told, since=self._asked_at)

    def phrase(self, now: datetime | None = None) -> str:
        """Return what it does in a few words; "" where it is over.

        Args:
            now: tells how long it has been waiting for the model, or at a call that
                takes long; None: say since when it waits.
        """
        if self.state == "ended":
            return ""
        if self._person:
            return f"waits for a person to answer about {self._person}"
        if self.calls:
            return self._at_calls(now)
        if self.is_asking:
            return self._at_model(now)
        if self.state == "waiting":
            return "waits for a place"
        return "waits to be taken up again" if self._is_left else "at work"

    def _drop(self) -> None:
        self.calls.clear()
        self._since.clear()
        self.is_asking, self._person = False, ""

    def _at_model(self, now: datetime | None) -> str:
        since = moment(self._asked_at)
        told = []
        if since is not None:
            told.append(
                f"since {since:%H:%M:%S} UTC"
                if now is None
                else duration((now - since).total_seconds())
            )
        if self._tries:
            told.append(f"{count_phrase(self._tries, 'try')} failed: {self._error}")
        does = self._ASKS_FOR.get(self._purpose, "asks the model")
        if self._is_held(now):
            if self._error == _LIMITED:
                does = "waits for the rate limit"
            elif now is not None:
                does = "waits to try again"
        return does + (f" ({'; '.join(told)})" if told else "")

    def _is_held(self, now: datetime | None) -> bool:
        """Return whether the newest try failed and the wait for the next is not over.

        How long a request stands in line after that is not on record while it lasts.
        """
        failed = moment(self._failed_at)
        if not self._held_s or now is None or failed is None:
            return self._held_s > 0
        return (now - failed).total_seconds() < self._held_s

    def _telling(self) -> tuple[str, str, dict[str, Any]]:
        """Return the call that says most: its id, name and input."""
        # What it does itself says more than what it waits for.
        own = [call for call in self.calls.items() if call[1][0] not in self._JOINS]
        call, (name, given) = (own or list(self.calls.items()))[-1]
        return call, name, given

    def _at_calls(self, now: datetime | None) -> str:
        call, name, given = self._telling()
        join = self._JOINS.get(name)
        phrase = join(self, call, given) if join else ""
        if not phrase:
            phrase = call_phrase(name, given)
            began = moment(self._since.get(call, ""))
            taken = (now - began).total_seconds() if now and began else 0.0
            phrase += f" ({duration(taken)})" if taken >= LONG_S else ""
        more = len(self.calls) - 1
        return phrase + (f" (+{more})" if more else "")

    def _awaited(self, call: str, name: str, given: dict[str, Any]) -> list[str]:
        """Return the agents that a call waits for; none if it does something itself."""
        match name:
            case "delegate":
                return [child for child, by in self.at_work.items() if by == call]
            case "wait_for" if given.get("timeout_s") != 0:
                agents = given.get("agents")
                named = (
                    [one_line(a) for a in agents] if isinstance(agents, list) else []
                )
                return [each for each in self.at_work if not named or each in named]
            case "follow_up":
                return [one_line(given.get("agent"))]
        return []

    def _delegates(self, call: str, given: dict[str, Any]) -> str:
        sent = self._awaited(call, "delegate", given)
        if not sent:
            return ""
        is_any = given.get("wait") == "first" and len(sent) > 1
        return f"waits for {'the first of ' if is_any else ''}{names_phrase(sent)}"

    def _waits(self, call: str, given: dict[str, Any]) -> str:
        live = self._awaited(call, "wait_for", given)
        if not live:
            return ""
        is_any = given.get("mode") != "all" and len(live) > 1
        return f"waits for {'the next of ' if is_any else ''}{names_phrase(live)}"

    def _asks(self, _call: str, given: dict[str, Any]) -> str:
        agent = one_line(given.get("agent"))
        return f"waits for {agent}, asked {quoted(given.get('question'))}"

    def _on_started(self, _event: Event) -> None:
        self.state = "running"

    def _on_ended(self, _event: Event) -> None:
        self.end()

    def _on_requested(self, event: Event) -> None:
        self.state, self.is_asking = "running", True
        self._asked_at, self._tries, self._held_s = event.at, 0, 0.0
        self._error, self._purpose = "", one_line(event.data.get("purpose"))

    def _on_retried(self, event: Event) -> None:
        self._tries += 1
        self._error = one_line(event.data.get("error"))
        self._held_s = number(event.data.get("wait_s"))
        self._failed_at = event.at

    def _on_answered(self, _event: Event) -> None:
        self.is_asking = False

    def _on_call(self, event: Event) -> None:
        given = event.data.get("input")
        self.state = "running"
        call = str(event.data.get("call", ""))
        name = str(event.data.get("name", ""))
        self.calls[call] = name, given if isinstance(given, dict) else {}
        self._since[call] = event.at

    def _on_question(self, event: Event) -> None:
        self._person = one_line(event.data.get("tool")) or "a call"
        self._person_at = event.at

    def _on_permission(self, _event: Event) -> None:
        self._person = ""

    def _on_result(self, event: Event) -> None:
        call = str(event.data.get("call", ""))
        self.calls.pop(call, None)
        self._since.pop(call, None)

    _HANDLERS: ClassVar[dict[str, Callable[[Activity, Event], None]]] = {
        AgentStarted.KIND: _on_started,
        AgentEnded.KIND: _on_ended,
        ModelRequested.KIND: _on_requested,
        ModelRetried.KIND: _on_retried,
        ModelAnswered.KIND: _on_answered,
        ModelFailed.KIND: _on_answered,
        ToolStarted.KIND: _on_call,
        ToolEnded.KIND: _on_result,
        PermissionAsked.KIND: _on_question,
        PermissionAnswered.KIND: _on_permission,
    }
    _ASKS_FOR: ClassVar[dict[str, str]] = {
        "summary": "sums up its context",
        "judge": "has a summary judged",
        "memory": "writes down what to remember",
    }
    _JOINS: ClassVar[dict[str, Callable[[Activity, str, dict[str, Any]], str]]] = {
        "delegate": _delegates,
        "wait_for": _waits,
        "follow_up": _asks,
    }


_LIMITED = "rate_limited"
