"""One agent of a run, as its events tell it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from orchestrator.events import Event, ModelFailed, WorkTime
from orchestrator.events.activity import Activity
from orchestrator.events.answers import Answers
from orchestrator.events.phrases import number
from orchestrator.inspection.fill import Fill
from orchestrator.inspection.tokens import Cost, Tokens
from orchestrator.inspection.usage import AgentUsage
from orchestrator.inspection.waits import Waits
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
    """That it asks now."""
    refused_by: list[str] = field(default_factory=list)
    """Models that it asked before."""
    by_model: dict[str, Cost] = field(default_factory=dict)
    """Of `cost`, what calls of each model took that were answered."""
    parent: str = ""
    call: str = ""
    """The call of its parent that sent it."""
    activity: Activity = field(default_factory=Activity)
    """What it does now."""
    answers: Answers = field(init=False)
    """What it handed over, if it is a subagent."""
    reused_for: list[str] = field(default_factory=list)
    """Titles of later briefs that its findings answered too."""
    turns: int = 0
    calls: int = 0
    """Tool calls that ended."""
    call_errors: int = 0
    waits: Waits = field(default_factory=Waits)
    cache_misses: dict[str, int] = field(default_factory=dict)
    """Cause → how often a request read clearly less from the cache than it should."""
    clears: int = 0
    """How often results were no longer sent; and steps, in the next one."""
    compactions: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)
    fill: Fill = field(default_factory=Fill)
    """How full its context is."""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str = ""
    """Of its loop: `submitted`, `unvalidated`, `limit`, `failed`, `cancelled`."""
    reason: str = ""
    """Why; both, of a subagent, as it worked on its brief."""
    work: WorkTime = field(default_factory=WorkTime)
    run_tokens: Tokens = field(default_factory=Tokens)
    run_cost: Cost = field(default_factory=Cost)
    """All three of the whole run."""
    usage: AgentUsage = field(init=False)
    """What its time, calls and requests went into."""
    _earlier_s: float = 0.0
    """At work in spans that are over."""
    _began: float | None = None
    """The run's seconds when the span began that is still open."""
    _set_aside: tuple[float, int] = (0.0, 0)
    """Dollars and tokens, for the request that is out."""
    _exploring: int = 0
    """Tokens explored since its newest answer."""

    def __post_init__(self) -> None:
        self.answers = Answers(self.id)
        self.usage = AgentUsage(self.work)

    @property
    def state(self) -> str:
        """Return `waiting` (for a free place), `running` or `ended`."""
        return self.activity.state

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self.activity.state == "ended"

    @property
    def asking(self) -> bool:
        """Return whether a request is out and its answer is not here."""
        return self.activity.is_asking

    @property
    def tools(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return calls that run now: call id → name and input."""
        return self.activity.calls

    @property
    def status(self) -> str:
        """Return that of its findings for the brief; "" while there are none."""
        return self.answers.brief.status

    @property
    def explored_tokens(self) -> int:
        """Return tokens of all that its reading tools produced, before clipping."""
        # Each answer tells of all up to it, those before included.
        told = max(each.explored_tokens for each in self.answers.all)
        return told + self._exploring

    @property
    def returned_tokens(self) -> int:
        """Return tokens of all that it handed back."""
        return sum(each.returned_tokens for each in self.answers.all)

    @property
    def unsupported(self) -> int:
        """Return how many items it handed back whose evidence was not found."""
        return sum(each.unsupported for each in self.answers.all)

    def apply(self, event: Event, at: datetime | None) -> None:
        """Take over one event of this agent; kinds that say nothing are skipped."""
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event.data, at)
        self.activity.apply(event)
        self.usage.apply(event)

    def accepted(self, data: dict[str, Any], parent: str, at: str) -> None:
        """Take over `subagent.accepted`, which its parent wrote at `at`."""
        self.activity.queues(at)
        self.usage.begin_wait("room")
        self.role = "subagent"
        self.parent = parent
        self.call = str(data.get("call", ""))
        self.title = str(data.get("title", ""))
        self.profile = str(data.get("profile", ""))

    def finished(self, data: dict[str, Any], at: datetime | None) -> None:
        """Take over `subagent.ended`, which may stand under parent or child."""
        self._close(at)
        self.answers.end(data)
        self._exploring = 0
        if not data.get("question"):
            brief = self.answers.brief
            self.outcome = brief.outcome or self.outcome
            self.reason = brief.why or self.reason

    def asked(self, data: dict[str, Any], at: str) -> None:
        """Take over `subagent.asked`: it had ended and goes on when it has a place."""
        self.activity.queues(at)
        self.usage.begin_wait("room")
        self.answers.ask(data)
        self.activity.reopen("waiting")
        self.ended_at = None

    def reopened(self) -> None:
        """Take over `run.reopened`: it had ended and goes on."""
        self.activity.reopen("running")
        self.outcome, self.reason, self.ended_at = "", "", None
        self._open()

    def interrupt(self) -> None:
        """Forget what was under way: the process that did it is gone."""
        if self.asking:
            self._cut()
        self.activity.interrupt()
        self.usage.interrupt()
        self._earlier_s, self._began = self.seconds(), None

    def resumed(self) -> None:
        """Take over `run.resumed`: another process works on it, if it has begun."""
        if self.state == "running":
            self.reason = ""
            self._open()
        elif self.state == "waiting":
            self.usage.begin_wait("room")

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
        """Return where it stands in at most ten letters: its result once it has one.

        That of a subagent is its answer to the brief; what became of further questions
        is in `answers`.
        """
        if self.state != "ended":
            return self.state
        if self.role == "subagent" and self.answers.brief.is_over:
            return self.answers.brief.word
        return "done" if self.outcome == "submitted" else self.outcome or "ended"

    @property
    def unsupported_claims(self) -> list[str]:
        """Return the claims whose evidence was not found, as far as they are kept."""
        return [claim for each in self.answers.all for claim in each.unsupported_claims]

    def to_dict(self, now: datetime | None) -> dict[str, Any]:
        """Return everything but the findings, for machines."""
        return {
            "id": self.id,
            "title": self.title,
            "role": self.role,
            "profile": self.profile,
            "model": self.model,
            "refused_by": self.refused_by,
            "usd_by_model": {
                model: cost.to_dict()["usd"] for model, cost in self.by_model.items()
            },
            "parent": self.parent,
            "state": self.state,
            "doing": self.activity.phrase(now),
            "running_tools": [name for name, _input in self.tools.values()],
            "outcome": self.outcome,
            "status": self.status,
            "reason": self.reason,
            "delivered": self.role == "subagent" and self.answers.is_delivered,
            "asked": [each.question for each in self.answers.further],
            "answers": [
                each.to_dict() for each in self.answers.all if self.role == "subagent"
            ],
            "reused_for": self.reused_for,
            "turns": self.turns,
            "tool_calls": self.calls,
            "tool_errors": self.call_errors,
            **self.waits.to_dict(),
            "cache_misses": self.cache_misses,
            "clears": self.clears,
            "compactions": self.compactions,
            "tokens": self.tokens.to_dict(),
            **self.cost.to_dict(),
            "explored_tokens": self.explored_tokens,
            "returned_tokens": self.returned_tokens,
            "seconds": round(self.seconds(now), 3),
            "unsupported": self.unsupported,
            "unsupported_claims": self.unsupported_claims,
            **self.usage.to_dict(now),
        }

    def _close(self, at: datetime | None) -> None:
        self.interrupt()
        self.activity.end()
        self.ended_at = self.ended_at or at

    def _open(self) -> None:
        if self._began is None:
            self._began = self.work.seconds

    def _cut(self) -> None:
        """Count the request that is out as cut off."""
        for cost in (self.cost, self.run_cost):
            cost.add_cut(*self._set_aside)

    def _on_started(self, data: dict[str, Any], at: datetime | None) -> None:
        self.fill = Fill.of_settings(data.get("settings"))
        self.role = str(data.get("role", ""))
        self.profile = str(data.get("profile", "")) or self.profile
        self.title = str(data.get("title", "")) or self.title
        self.model = str(data.get("model", ""))
        self.parent = str(data.get("parent", "")) or self.parent
        self.started_at = self.started_at or at
        self._open()

    def _on_replaced(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.refused_by.append(str(data.get("model", "")))
        self.model = str(data.get("instead", "")) or self.model

    def _on_ended(self, data: dict[str, Any], at: datetime | None) -> None:
        self._close(at)
        if self._is_first:
            self.outcome = str(data.get("outcome", ""))
            self.reason = str(data.get("reason", "")) or self.reason

    def _on_requested(self, data: dict[str, Any], _at: datetime | None) -> None:
        self._open()
        estimated = int(number(data.get("estimated_tokens")))
        if not data.get("purpose"):
            self.turns = max(self.turns, int(number(data.get("turn"))))
            self.fill = self.fill.at(estimated)
        most = estimated + int(number(data.get("max_output_tokens")))
        most = int(number(data.get("reserved_tokens"))) or most
        self._set_aside = number(data.get("reserved_usd")), most

    def _on_answered(self, data: dict[str, Any], _at: datetime | None) -> None:
        usage = data.get("usage")
        told = Tokens()
        if isinstance(usage, dict):
            told.add_usage(usage)
            for tokens in (self.tokens, self.run_tokens):
                tokens.add(told)
            if not data.get("purpose") and told.sent:
                self.fill = self.fill.at(told.sent)
            if usage.get("known") is False:
                self._cut()
        if self._is_first:
            self.reason = ""  # of a call before, that failed and was got over
        self.waits.answered(data)
        refused = data.get("stop_reason") == "refusal" and data.get("content") == []
        for cost in (self.cost, self.run_cost):
            cost.unbilled += refused
            if isinstance(usage, dict) and data.get("counted_tokens") is not None:
                cost.add_doubted(
                    number(data.get("counted_usd")) - number(data.get("usd")),
                    int(number(data.get("counted_tokens"))) - told.limited,
                )
        of_model = self.by_model.setdefault(self.model, Cost())
        for cost in (self.cost, self.run_cost, of_model):
            cost.add_call(data.get("usd"), data.get("usd_parts"))

    def _on_retried(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.waits.retried(data)
        if data.get("begun"):
            self._cut()

    def _on_failed(self, data: dict[str, Any], _at: datetime | None) -> None:
        if data.get("begun"):
            self._cut()
        if self._is_first:
            error = str(data.get("error", ""))
            error = "held back" if error == ModelFailed.NOT_SENT else error
            self.reason = f"{error}: {data.get('message', '')}".strip(": ")

    def _on_cache_missed(self, data: dict[str, Any], _at: datetime | None) -> None:
        cause = str(data.get("cause", ""))
        self.cache_misses[cause] = self.cache_misses.get(cause, 0) + 1

    def _on_cleared(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.clears += 1
        self._shrink(data)

    def _on_compacted(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.compactions += 1
        self._shrink(data)

    def _shrink(self, data: dict[str, Any]) -> None:
        left = int(number(data.get("tokens_after")))
        self.fill = self.fill.at(left or self.fill.tokens)

    @property
    def _is_first(self) -> bool:
        """Return whether it is the lead, or at work on its brief."""
        return not self.answers.brief.is_over

    def _on_tool_ended(self, data: dict[str, Any], _at: datetime | None) -> None:
        self.calls += 1
        self.call_errors += bool(data.get("is_error"))
        if str(data.get("name", "")) not in EXPLORE_NOTHING:
            self._exploring += int(number(data.get("full_tokens")))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "agent.started": _on_started,
        "agent.ended": _on_ended,
        "model.requested": _on_requested,
        "model.answered": _on_answered,
        "model.retried": _on_retried,
        "model.failed": _on_failed,
        "model.replaced": _on_replaced,
        "cache.missed": _on_cache_missed,
        "context.cleared": _on_cleared,
        "context.compacted": _on_compacted,
        "tool.ended": _on_tool_ended,
    }
