"""What one agent does now, as the events of its run tell it.

Whoever folds a log gives an agent its own events, and those that tell of its subagents.
Each step is a few look-ups, so that a live run can afford it; the words are made only
when somebody looks. Nothing here fails on a field of a wrong type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from orchestrator.events.base import Event
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

__all__ = ["Activity"]

Call = tuple[str, dict[str, Any]]
"""Name and input."""


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
    _asked_at: str = ""
    _tries: int = 0
    """Of the request that is out: those that failed."""
    _error: str = ""
    """Of the newest of them."""
    _held_s: float = 0.0
    """Seconds after `_failed_at` in which the rate limit lets no other try leave."""
    _failed_at: str = ""
    _person: str = ""
    """The tool about which a person is being asked."""
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

    def phrase(self, now: datetime | None = None) -> str:
        """Return what it does in a few words; "" where it is over.

        Args:
            now: tells how long it has been waiting for the model; None: say since when.
        """
        if self.state == "ended":
            return ""
        if self._person:
            return f"waits for a person to answer about {self._person}"
        if self.calls:
            return self._at_calls()
        if self.is_asking:
            return self._at_model(now)
        if self.state == "waiting":
            return "waits for a place"
        return "waits to be taken up again" if self._is_left else "at work"

    def _drop(self) -> None:
        self.calls.clear()
        self.is_asking, self._person = False, ""

    def _at_model(self, now: datetime | None) -> str:
        since = _moment(self._asked_at)
        told = []
        if since is not None:
            told.append(
                f"since {since:%H:%M:%S} UTC"
                if now is None
                else duration((now - since).total_seconds())
            )
        if self._tries:
            told.append(f"{count_phrase(self._tries, 'try')} failed: {self._error}")
        does = "waits for the rate limit" if self._is_held(now) else "asks the model"
        return does + (f" ({'; '.join(told)})" if told else "")

    def _is_held(self, now: datetime | None) -> bool:
        """Return whether the newest try met a rate limit and the wait is not over.

        How long a request stands in line after that is not on record while it lasts.
        """
        failed = _moment(self._failed_at)
        if not self._held_s or now is None or failed is None:
            return self._held_s > 0
        return (now - failed).total_seconds() < self._held_s

    def _at_calls(self) -> str:
        # What it does itself says more than what it waits for.
        own = [call for call in self.calls.items() if call[1][0] not in self._JOINS]
        call, (name, given) = (own or list(self.calls.items()))[-1]
        join = self._JOINS.get(name)
        phrase = join(self, call, given) if join else ""
        more = len(self.calls) - 1
        return (phrase or call_phrase(name, given)) + (f" (+{more})" if more else "")

    def _delegates(self, call: str, given: dict[str, Any]) -> str:
        sent = [child for child, by in self.at_work.items() if by == call]
        if not sent:
            return ""
        is_any = given.get("wait") == "first" and len(sent) > 1
        return f"waits for {'the first of ' if is_any else ''}{names_phrase(sent)}"

    def _waits(self, _call: str, given: dict[str, Any]) -> str:
        agents = given.get("agents")
        named = [one_line(each) for each in agents] if isinstance(agents, list) else []
        live = [each for each in self.at_work if not named or each in named]
        if not live or given.get("timeout_s") == 0:
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

    def _on_retried(self, event: Event) -> None:
        self._tries += 1
        self._error = one_line(event.data.get("error"))
        is_limited = self._error == "rate_limited"
        self._held_s = number(event.data.get("wait_s")) if is_limited else 0.0
        self._failed_at = event.at

    def _on_answered(self, _event: Event) -> None:
        self.is_asking = False

    def _on_call(self, event: Event) -> None:
        given = event.data.get("input")
        self.state = "running"
        self.calls[str(event.data.get("call", ""))] = (
            str(event.data.get("name", "")),
            given if isinstance(given, dict) else {},
        )

    def _on_question(self, event: Event) -> None:
        self._person = one_line(event.data.get("tool"))

    def _on_permission(self, _event: Event) -> None:
        self._person = ""

    def _on_result(self, event: Event) -> None:
        self.calls.pop(str(event.data.get("call", "")), None)

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
    _JOINS: ClassVar[dict[str, Callable[[Activity, str, dict[str, Any]], str]]] = {
        "delegate": _delegates,
        "wait_for": _waits,
        "follow_up": _asks,
    }


def _moment(at: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(at)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else None
