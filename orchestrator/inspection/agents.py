"""One agent of a run, as its events tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from orchestrator.events import Event, WorkTime
from orchestrator.inspection.tokens import Cost, Tokens, number
from orchestrator.spec.foreign import EXPLORE_NOTHING

__all__ = ["AgentView"]


@dataclass(slots=True)
class AgentView:
    """One agent: who it is, where it stands, what it used and brought."""

    id: str
    title: str = ""
    role: str = ""
    profile: str = ""
    model: str = ""
    parent: str = ""
    state: str = "waiting"
    """`waiting` (for a free place), `running` or `ended`."""
    asking: bool = False
    """A request is out and its answer is not here."""
    tools: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """Calls that run now: call id → name and input."""
    turns: int = 0
    calls: int = 0
    """Tool calls that ended."""
    call_errors: int = 0
    retries: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)
    context_tokens: int = 0
    """Size of the newest request, as estimated or reported."""
    explored_tokens: int = 0
    """Tokens of everything its reading tools produced, before clipping."""
    returned_tokens: int = 0
    """Tokens of what it handed back."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str = ""
    """Of its loop: `submitted`, `unvalidated`, `limit`, `failed`, `cancelled`."""
    status: str = ""
    """Of its findings: `complete`, `partial`, `nothing_found`, `failed`."""
    reason: str = ""
    unsupported: int = 0
    """Items of its findings whose evidence was not found."""
    unsupported_items: list[Any] = field(default_factory=list)
    """Their numbers, from 1."""
    findings: dict[str, Any] = field(default_factory=dict)
    work: WorkTime = field(default_factory=WorkTime)
    """Of the whole run."""
    _earlier_s: float = 0.0
    """At work in spans that are over."""
    _began: float | None = None
    """The run's seconds when the span began that is still open."""
    _set_aside: tuple[float, int] = (0.0, 0)
    """Dollars and tokens, for the request that is out."""

    def apply(self, event: Event, at: datetime | None) -> None:
        """Take over one event of this agent; kinds that say nothing are skipped."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event.data, at)

    def accepted(self, data: dict[str, Any], parent: str) -> None:
        """Take over `subagent.accepted`, which its parent wrote."""
        self.role = "subagent"
        self.parent = parent
        self.title = str(data.get("title", ""))
        self.profile = str(data.get("profile", ""))

    def finished(self, data: dict[str, Any], at: datetime | None) -> None:
        """Take over `subagent.ended`, which may stand under parent or child."""
        self._close(at)
        self.status = str(data.get("status", ""))
        self.outcome = str(data.get("outcome", "")) or self.outcome
        self.reason = str(data.get("reason", "")) or self.reason
        self.explored_tokens = int(
            number(data.get("explored_tokens", self.explored_tokens))
        )
        self.returned_tokens = int(number(data.get("returned_tokens")))
        self.unsupported = int(number(data.get("unsupported")))
        numbers = data.get("unsupported_items")
        self.unsupported_items = numbers if isinstance(numbers, list) else []
        findings = data.get("findings")
        self.findings = findings if isinstance(findings, dict) else {}

    def reopened(self) -> None:
        """Take over `run.reopened`: it had ended and goes on."""
        self.state, self.outcome, self.reason = "running", "", ""
        self.ended_at = None
        self._open()

    def interrupt(self) -> None:
        """Forget what was under way: the process that did it is gone."""
        self.tools.clear()
        if self.asking:
            self.cost.add_cut(*self._set_aside)
        self.asking = False
        self._earlier_s, self._began = self.seconds(), None

    def resumed(self) -> None:
        """Take over `run.resumed`: another process works on it, if it has begun."""
        if self.state == "running":
            self._open()

    def seconds(self, now: datetime | None = None) -> float:
        """Return how long processes worked on it.

        Args:
            now: counts up to here while it is at work; None: up to the last event.
        """
        if self._began is None:
            return self._earlier_s
        return self._earlier_s + max(self.work.until(now) - self._began, 0.0)

    @property
    def label(self) -> str:
        """Return where it stands in at most ten letters: its result once it has one."""
        if self.state != "ended":
            return self.state
        if self.outcome == "cancelled":
            return self.outcome
        if self.role == "subagent" and self.status:
            return self.status.replace("nothing_found", "none found")
        return "done" if self.outcome == "submitted" else self.outcome or "ended"

    @property
    def unsupported_claims(self) -> list[str]:
        """Return the claims whose evidence was not found, as far as they are kept."""
        items = self.findings.get("items")
        return [
            str(item.get("claim", ""))
            for number, item in enumerate(items if isinstance(items, list) else [], 1)
            if isinstance(item, dict) and number in self.unsupported_items
        ]

    def to_dict(self, now: datetime | None) -> dict[str, Any]:
        """Return everything but the findings, for machines."""
        return {
            "id": self.id,
            "title": self.title,
            "role": self.role,
            "profile": self.profile,
            "model": self.model,
            "parent": self.parent,
            "state": self.state,
            "running_tools": [name for name, _input in self.tools.values()],
            "outcome": self.outcome,
            "status": self.status,
            "reason": self.reason,
            "turns": self.turns,
            "tool_calls": self.calls,
            "tool_errors": self.call_errors,
            "retries": self.retries,
            "tokens": self.tokens.to_dict(),
            **self.cost.to_dict(),
            "explored_tokens": self.explored_tokens,
            "returned_tokens": self.returned_tokens,
            "seconds": round(self.seconds(now), 3),
            "unsupported": self.unsupported,
            "unsupported_claims": self.unsupported_claims,
        }

    def _close(self, at: datetime | None) -> None:
        self.state = "ended"
        self.ended_at = self.ended_at or at
        self.interrupt()

    def _open(self) -> None:
        if self._began is None:
            self._began = self.work.seconds

    def _on_started(self, data: dict[str, Any], at: datetime | None) -> None:
        self.role = str(data.get("role", ""))
        self.profile = str(data.get("profile", "")) or self.profile
        self.title = str(data.get("title", "")) or self.title
        self.model = str(data.get("model", ""))
        self.parent = str(data.get("parent", "")) or self.parent
        self.state = "running"
        self.started_at = self.started_at or at
        self._open()

    def _on_ended(self, data: dict[str, Any], at: datetime | None) -> None:
        self._close(at)
        self.outcome = str(data.get("outcome", ""))
        self.reason = str(data.get("reason", "")) or self.reason

    def _on_requested(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.state = "running"
        self.asking = True
        self.turns = max(self.turns, int(number(data.get("turn"))))
        self.context_tokens = int(number(data.get("estimated_tokens")))
        most = self.context_tokens + int(number(data.get("max_output_tokens")))
        self._set_aside = number(data.get("reserved_usd")), most

    def _on_answered(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.asking = False
        usage = data.get("usage")
        if isinstance(usage, dict):
            before = self.tokens.sent
            self.tokens.add_usage(usage)
            self.context_tokens = self.tokens.sent - before or self.context_tokens
            if usage.get("known") is False:
                self.cost.add_cut(*self._set_aside)
        self.cost.add_call(data.get("usd"))

    def _on_retried(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.retries += 1
        if data.get("begun"):
            self.cost.add_cut(*self._set_aside)

    def _on_failed(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.asking = False
        if data.get("begun"):
            self.cost.add_cut(*self._set_aside)
        self.reason = f"{data.get('error', '')}: {data.get('message', '')}".strip(": ")

    def _on_tool_started(self, data: dict[str, Any], _at: datetime | None) -> None:
        given = data.get("input")
        self.tools[str(data.get("call", ""))] = (
            str(data.get("name", "")),
            given if isinstance(given, dict) else {},
        )

    def _on_tool_ended(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.tools.pop(str(data.get("call", "")), None)
        self.calls += 1
        self.call_errors += bool(data.get("is_error"))
        if str(data.get("name", "")) not in EXPLORE_NOTHING:
            self.explored_tokens += int(number(data.get("full_tokens")))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "agent.started": _on_started,
        "agent.ended": _on_ended,
        "model.requested": _on_requested,
        "model.answered": _on_answered,
        "model.retried": _on_retried,
        "model.failed": _on_failed,
        "tool.started": _on_tool_started,
        "tool.ended": _on_tool_ended,
    }
