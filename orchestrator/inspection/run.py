"""A run, folded from its events: the same for a live display and for later questions.

Nothing here fails on an event: unknown kinds and fields of a wrong type are passed
over, so that logs of later versions and damaged ones can still be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from orchestrator.events import KINDS, Event, WorkTime
from orchestrator.events.arrivals import arrivals
from orchestrator.events.base import moment
from orchestrator.events.phrases import number
from orchestrator.inspection.agents import AgentView
from orchestrator.inspection.changes import Changes
from orchestrator.inspection.limits import LimitUse, limit_uses
from orchestrator.inspection.prices import Prices
from orchestrator.inspection.said import SaidToRun
from orchestrator.inspection.states import AT_REST, RESUMABLE
from orchestrator.inspection.story import Reason, Story
from orchestrator.inspection.tokens import Cost, Tokens
from orchestrator.inspection.tree import tree
from orchestrator.store.reading import DAMAGED

__all__ = ["RunView"]


def _strings(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


@dataclass(slots=True)
class RunView:
    """A run as far as its log tells it; `apply` adds one event."""

    id: str = ""
    task: str = ""
    objective: str = ""
    questions: list[str] = field(default_factory=list)
    """Further ones, asked when it had finished; in order."""
    models: dict[str, str] = field(default_factory=dict)
    model_reason: str = ""
    prices: Prices = field(default_factory=Prices)
    limits: dict[str, Any] = field(default_factory=dict)
    state: str = ""
    """As the log has it; whether it is `crashed` needs a look at the lock."""
    reason: str = ""
    resume_at: str = ""
    """When a parked run can go on, RFC 3339; "": nobody knows."""
    exit_code: int | None = None
    missing: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    """Those of `missing` that a person stopped."""
    traceback: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    last_at: datetime | None = None
    last_seq: int = 0
    events: int = 0
    resumes: int = 0
    damaged: int = 0
    """Lines of the log that could not be read."""
    unknown: dict[str, int] = field(default_factory=dict)
    """Kinds that this version does not know → how often."""
    agents: dict[str, AgentView] = field(default_factory=dict)
    refused_briefs: list[tuple[str, list[str]]] = field(default_factory=list)
    """Title and problems of each."""
    reused_briefs: list[tuple[str, str]] = field(default_factory=list)
    """Title of each, and the subagent whose findings answered it."""
    limits_reached: list[tuple[str, str]] = field(default_factory=list)
    """Agent ("" for the run) and limit."""
    report_attempts: int = 0
    citations: int = 0
    wrong_citations: list[str] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)
    said: SaidToRun = field(default_factory=SaidToRun)
    """By people, while it was at work."""
    story: Story = field(default_factory=Story)
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)
    """Both of all agents."""
    _work: WorkTime = field(default_factory=WorkTime)

    def apply(self, event: Event) -> None:
        """Take over one event; they come in the order of the log."""
        at = moment(event.at)
        self._work.apply(event)
        self.events += 1
        self.last_seq = max(self.last_seq, event.seq)
        self.id = self.id or event.run
        if event.kind in SaidToRun.KINDS:
            self.said.apply(event)
        if event.kind in Story.KINDS:
            self.story.apply(event)
        handler = self._HANDLERS.get(event.kind)
        if handler is not None:
            handler(self, event, at)
        elif event.kind == DAMAGED:
            self.damaged += 1
        elif event.kind not in KINDS:
            self.unknown[event.kind] = self.unknown.get(event.kind, 0) + 1
        elif event.agent:
            self.agent(event.agent).apply(event, at)
            self.changes.apply(event)
            self._deliver(event)
        self.last_at = at or self.last_at

    def agent(self, agent_id: str) -> AgentView:
        """Return the agent, a new one if it has not been heard of."""
        found = self.agents.get(agent_id)
        if found is None:
            found = self.agents[agent_id] = AgentView(
                agent_id,
                work=self._work,
                run_tokens=self.tokens,
                run_cost=self.cost,
            )
        return found

    @property
    def is_running(self) -> bool:
        """Return whether a process should be working on it."""
        return self.state == "running"

    @property
    def subagents(self) -> list[AgentView]:
        """Return the subagents, in order of acceptance."""
        return [each for each in self.agents.values() if each.role == "subagent"]

    @property
    def is_resumable(self) -> bool:
        """Return whether `resume` takes it: not what only a person stopped."""
        is_over = self.missing and not set(self.missing) - set(self.stopped)
        return self.state in RESUMABLE and not (self.state == "partial" and is_over)

    @property
    def reasons(self) -> list[Reason]:
        """Return why it is not done, a line each, with the events that tell of it."""
        is_fine = self.state in ("done", "running", "paused")
        return [] if is_fine else self.story.reasons(self.missing, self.reason)

    def seconds(self, now: datetime | None = None) -> float:
        """Return how long processes worked on it; the time between them is left out.

        Args:
            now: counts up to here while it is running; None: up to its last event.
        """
        return self._work.until(now if self.is_running else None)

    def tree(self) -> Iterator[tuple[AgentView, int]]:
        """Yield each agent once, with its depth; parents come before their children."""
        return tree(self.agents)

    def label(self, agent: AgentView) -> str:
        """Return where an agent stands in at most ten letters.

        One that was not at its end when its run was: `never ran` or `cut off`; with a
        run that is parked or paused, `waiting`, or as the run.
        """
        if agent.is_over or not self._is_left(agent):
            return agent.label
        if agent.answers.brief.is_over:  # cut off at a further question
            return agent.answers.brief.word
        if self.state in AT_REST:
            return self.state if agent.state == "running" else agent.state
        return "never ran" if agent.state == "waiting" else "cut off"

    def doing(self, agent: AgentView, now: datetime | None = None) -> str:
        """Return what an agent does now in a few words; "" where nobody works on it.

        Args:
            agent: one of this run.
            now: for how long it has been at it; None: say since when.
        """
        return "" if self._is_left(agent) else agent.activity.phrase(now)

    def _is_left(self, agent: AgentView) -> bool:
        """Return whether nobody will work on an agent: its run is over, or a parent."""
        seen: set[str] = set()
        above = self.agents.get(agent.parent)
        while self.is_running and above and above.id not in seen and not above.is_over:
            seen.add(above.id)
            above = self.agents.get(above.parent)
        return not self.is_running or (above is not None and above.is_over)

    def undelivered(self, agent: AgentView) -> list[str]:
        """Return the ids of answers that will not arrive as things stand.

        Either the run is over, or the agent that sent it; `resume` may change that.
        """
        if agent.role != "subagent":
            return []
        parent = self.agents.get(agent.parent)
        is_over = not self.is_running or (parent is not None and parent.is_over)
        return [each.id for each in agent.answers.undelivered] if is_over else []

    def limit_use(self, now: datetime | None = None) -> list[LimitUse]:
        """Return the run's own limits with what counts as used of each."""
        cost = self.cost
        used = {
            "usd": cost.limit_usd,
            "tokens": self.tokens.limited + cost.uncounted_tokens,
            "minutes": self.seconds(now) / 60,
            "turns": max((each.turns for each in self.agents.values()), default=0),
            "subagents": len(self.subagents),
        }
        return limit_uses(used, self.limits)

    def _on_started(self, event: Event, at: datetime | None) -> None:
        data = event.data
        self.task = str(data.get("task", ""))
        self.objective = str(data.get("objective", ""))
        self.model_reason = str(data.get("model_reason", ""))
        self.prices.take(data)
        models, limits = data.get("models"), data.get("limits")
        self.models = models if isinstance(models, dict) else {}
        self.limits = limits if isinstance(limits, dict) else {}
        self.state, self.started_at = "running", at

    def _on_resumed(self, event: Event, _at: datetime | None) -> None:
        self.resumes += 1
        self.prices.take(event.data)
        self._raise_limits(event)
        self.state, self.reason, self.exit_code = "running", "", None
        self.resume_at = ""
        self.ended_at, self.missing, self.stopped, self.traceback = None, [], [], ""
        for agent in self.agents.values():
            agent.interrupt()
            agent.resumed()

    def _on_reopened(self, event: Event, _at: datetime | None) -> None:
        self.limits_reached = []  # they were raised, or do not matter any more
        question = str(event.data.get("question", ""))
        if question:
            self.questions.append(question)
        self._raise_limits(event)
        self.state = "running"
        self.agent(event.agent).reopened()

    def _raise_limits(self, event: Event) -> None:
        limits = event.data.get("limits")
        if isinstance(limits, dict):
            self.limits = {**self.limits, **limits}

    def _on_ended(self, event: Event, at: datetime | None) -> None:
        data = event.data
        self.state = str(data.get("state", "")) or "failed"
        self.reason = str(data.get("reason", ""))
        self.resume_at = str(data.get("resume_at", ""))
        code = data.get("exit_code")
        self.exit_code = code if isinstance(code, int) else None
        self.missing = _strings(data.get("missing"))
        self.stopped = _strings(data.get("stopped"))
        self.traceback = str(data.get("traceback", ""))
        self.ended_at = at or self.last_at
        for agent in self.agents.values():
            agent.interrupt()

    def _on_parked(self, event: Event, _at: datetime | None) -> None:
        error, said = (str(event.data.get(key, "")) for key in ("error", "message"))
        self.reason = f"is being parked: {error}: {said}"
        self.resume_at = str(event.data.get("resume_at", ""))

    def _on_accepted(self, event: Event, _at: datetime | None) -> None:
        child = self.agent(str(event.data.get("id", "")))
        child.accepted(event.data, event.agent, event.at)
        self._note_sent(child, event.data)

    def _on_asked(self, event: Event, _at: datetime | None) -> None:
        child = self.agent(str(event.data.get("id", "")) or event.agent)
        child.asked(event.data, event.at)
        self._note_sent(child, event.data)

    def _note_sent(self, child: AgentView, data: dict[str, Any]) -> None:
        parent = self.agents.get(child.parent)
        if parent is not None:
            parent.activity.sends(child.id, str(data.get("call", "")))

    def _on_child_ended(self, event: Event, at: datetime | None) -> None:
        child = self.agent(str(event.data.get("id", "")) or event.agent)
        child.finished(event.data, at)
        parent = self.agents.get(child.parent)
        if parent is not None:
            parent.activity.hears_of(child.id)

    def _deliver(self, event: Event) -> None:
        """Note whose findings reached their parent with this event."""
        came = arrivals(event)
        for delivery in came.ids:
            agent = self.agents.get(delivery.partition("/")[0])
            if agent is not None:
                agent.answers.deliver(delivery)
        if came.call:
            for agent in self.agents.values():
                if agent.parent == event.agent and agent.call == came.call:
                    agent.answers.deliver_all()

    def _on_reused(self, event: Event, _at: datetime | None) -> None:
        title, agent = (str(event.data.get(name, "")) for name in ("title", "id"))
        self.reused_briefs.append((title, agent))
        if agent in self.agents:
            self.agents[agent].reused_for.append(title)

    def _on_control(self, event: Event, _at: datetime | None) -> None:
        agent = self.agents.get(str(event.data.get("to", "")))
        if agent is not None:
            agent.answers.cancel(event.data)

    def _on_refused(self, event: Event, _at: datetime | None) -> None:
        problems = _strings(event.data.get("problems"))
        self.refused_briefs.append((str(event.data.get("title", "")), problems))

    def _on_limit(self, event: Event, _at: datetime | None) -> None:
        self.limits_reached.append((event.agent, str(event.data.get("limit", ""))))
        if event.agent in self.agents:
            self.agents[event.agent].answers.limit(event.data)

    def _on_report(self, event: Event, _at: datetime | None) -> None:
        self.report_attempts += 1
        self.citations = int(number(event.data.get("citations")))
        self.wrong_citations = _strings(event.data.get("wrong"))

    _HANDLERS: ClassVar[dict[str, Callable[..., None]]] = {
        "run.started": _on_started,
        "run.resumed": _on_resumed,
        "run.reopened": _on_reopened,
        "run.parked": _on_parked,
        "run.ended": _on_ended,
        "subagent.accepted": _on_accepted,
        "subagent.asked": _on_asked,
        "subagent.ended": _on_child_ended,
        "brief.reused": _on_reused,
        "control.received": _on_control,
        "brief.refused": _on_refused,
        "limit.reached": _on_limit,
        "report.submitted": _on_report,
    }
