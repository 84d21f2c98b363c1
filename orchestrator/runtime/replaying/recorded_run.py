"""The agents of a run as its log tells them, turn by turn: what a policy is tried on.

Whatever is lost of a log costs what was in it, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from orchestrator.context.layout import Label
from orchestrator.context.tokens import estimate
from orchestrator.events import (
    AgentStarted,
    ContextCleared,
    ContextCompacted,
    Event,
    ModelAnswered,
    ModelRequested,
    ResultReplaced,
    RunReopened,
    RunResumed,
    RunStarted,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    TextAdded,
    ToolEnded,
)
from orchestrator.events.base import moment
from orchestrator.ids import LEAD
from orchestrator.messages import encode, text_of
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price
from orchestrator.runtime.readable import is_readable
from orchestrator.runtime.replaying.recorded_agent import (
    Asked,
    Came,
    Edited,
    RecordedAgent,
    Took,
    blocks_of,
    is_apart,
)
from orchestrator.store.reading import DAMAGED

__all__ = ["RecordedRun"]

_LABELS: dict[str, Label] = {"critical": "critical", "transient": "transient"}
_TEXTS = frozenset({"content", "text", "stubs", "system", "tools", "first"})


@dataclass(slots=True)
class RecordedRun:
    """A run, folded from its log.

    Attributes:
        agents: by id, in the order of their start.
        models: role → bare id, as the run began.
        limits: of the run, newest.
        prices: model → its price, newest.
        damage: records that could not be read.
    """

    agents: dict[str, RecordedAgent] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    damage: int = 0
    prices: dict[str, Price] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)
    """Subagent that is at work → who sent it."""

    @classmethod
    def of(
        cls, events: Iterable[Event], load: Callable[[Any], Any] | None = None
    ) -> RecordedRun:
        """Return the recording of a run's events, in order.

        Args:
            events: as written, large fields stored apart.
            load: gives what such a field holds, or None where that is gone.
        """
        recording = cls()
        for event in events:
            recording.apply(event, load)
        return recording

    def apply(self, event: Event, load: Callable[[Any], Any] | None = None) -> None:
        """Take in one event."""
        handler = self._HANDLERS.get(event.kind)
        if handler is None:
            self.damage += event.kind == DAMAGED
            return
        if not is_readable(event):
            self.damage += 1
            return
        data = event.data
        if any(map(is_apart, data.values())):
            data = self._loaded(data, load)
            if not is_readable(replace(event, data=data)):
                self.damage += 1
                return
        handler(self, event, data)

    def _loaded(
        self, data: dict[str, Any], load: Callable[[Any], Any] | None
    ) -> dict[str, Any]:
        """Return data with what is stored apart; what is lost of that stays so.

        Only of texts the rest is of use without them: other fields are left out.
        """
        found = {
            name: load(value) if load is not None else None
            for name, value in data.items()
            if is_apart(value)
        }
        lost = {name for name, value in found.items() if value is None}
        self.damage += bool(lost)
        kept = {n: each for n, each in data.items() if n not in lost - _TEXTS}
        return kept | {n: each for n, each in found.items() if n not in lost}

    def _agent(self, event: Event) -> RecordedAgent:
        who = event.agent or LEAD
        return self.agents.setdefault(who, RecordedAgent(who))

    def _run(self, _event: Event, data: dict[str, Any]) -> None:
        self.models.update(data.get("models") or {})
        self.limits.update(data.get("limits") or {})
        prices = data.get("prices") or {}
        if prices or "prices" in data:
            told = {name: Price.stored(name, each) for name, each in prices.items()}
            self.prices = {n: each for n, each in told.items() if each is not None}

    def _started(self, event: Event, data: dict[str, Any]) -> None:
        agent = self._agent(event)
        system, tools, first = (
            blocks_of(data[n]) for n in ("system", "tools", "first")
        )
        agent.parent, agent.profile = data["parent"], data["profile"]
        agent.title, agent.model = data["title"], data["model"]
        agent.first_text = text_of(first)
        agent.fixed_tokens = estimate(text_of(system)) + estimate(agent.first_text)
        agent.fixed_tokens += estimate(encode(tools).decode())
        agent.output_tokens = int(data["settings"]["max_output_tokens"])
        most = self.limits.get("max_output_tokens") or agent.output_tokens
        own = data["limits"].get("max_output_tokens") or most
        agent.most_output_tokens = max(min(int(most), int(own)), agent.output_tokens)
        agent.allowed = frozenset(map(str, data["allowed"]))

    def _requested(self, event: Event, data: dict[str, Any]) -> None:
        if not data.get("purpose"):
            self._agent(event).requested(
                moment(event.at), data.get("composition") or {}
            )

    def _answered(self, event: Event, data: dict[str, Any]) -> None:
        agent = self._agent(event)
        model = str(data["model"] or agent.model)
        price = self.prices.get(model) or self.prices.get(agent.model)
        usage = Usage.stored(data["usage"])
        purpose = str(data.get("purpose") or "")
        agent.model = agent.model or model
        agent.answered(data, Asked(usage, data["usd"], price, model, purpose))

    def _ended(self, event: Event, data: dict[str, Any]) -> None:
        content = "" if is_apart(data["content"]) else data["content"]
        agent, delivers = self._agent(event), bool(data.get("delivers"))
        came = Came(
            call=data["call"],
            name=data["name"],
            text=text_of(content),
            tokens=data["tokens"],
            full_tokens=data["full_tokens"],
            artifact=data.get("artifact", ""),
            label=_LABELS.get(data.get("label", ""), "reference"),
            is_error=data["is_error"],
        )
        agent.came(came, delivers=delivers)
        if agent.turns and (_ticks(agent.turns[-1]) or self._reports(agent, delivers)):
            agent.turns[-1].at_break = True

    def _reports(self, agent: RecordedAgent, delivers: bool) -> bool:
        return delivers and agent.id not in self._parents.values()

    def _told(self, event: Event, data: dict[str, Any]) -> None:
        text = data["text"] if isinstance(data["text"], str) else ""
        is_finding = data.get("reason") == "findings"
        agent = self.agents.get(event.agent or LEAD)
        if agent is not None:
            agent.told(text, estimate(text), is_finding=is_finding)

    def _replaced(self, event: Event, data: dict[str, Any]) -> None:
        content = data["content"] if isinstance(data["content"], str) else ""
        self._agent(event).replaced(data["call"], content)

    def _cleared(self, event: Event, data: dict[str, Any]) -> None:
        agent = self._agent(event)
        stubs = {} if is_apart(data["stubs"]) else dict(data["stubs"])
        named = (str(each.get("call")) for each in data["cleared"] or ())
        stubs = {**dict.fromkeys(named, ""), **stubs}
        agent.edits.append(
            Edited(
                turn=len(agent.turns),
                why=data["why"],
                stubs=stubs,
            )
        )

    def _compacted(self, event: Event, data: dict[str, Any]) -> None:
        self._agent(event).dropped(data)

    def _accepted(self, event: Event, data: dict[str, Any]) -> None:
        self._parents[data["id"]] = event.agent or LEAD

    def _asked(self, event: Event, data: dict[str, Any]) -> None:
        agent = self._agent(event)
        self._parents.setdefault(data["id"], agent.parent or LEAD)
        self._told(event, data)

    def _over(self, _event: Event, data: dict[str, Any]) -> None:
        self._parents.pop(data["id"], None)

    _HANDLERS: ClassVar[
        dict[str, Callable[[RecordedRun, Event, dict[str, Any]], None]]
    ] = {
        RunStarted.KIND: _run,
        RunResumed.KIND: _run,
        RunReopened.KIND: _told,
        AgentStarted.KIND: _started,
        ModelRequested.KIND: _requested,
        ModelAnswered.KIND: _answered,
        ToolEnded.KIND: _ended,
        TextAdded.KIND: _told,
        ResultReplaced.KIND: _replaced,
        ContextCleared.KIND: _cleared,
        ContextCompacted.KIND: _compacted,
        SubagentAccepted.KIND: _accepted,
        SubagentAsked.KIND: _asked,
        SubagentEnded.KIND: _over,
    }


def _ticks(turn: Took) -> bool:
    """Return whether an item of the plan was ticked."""
    return any(
        call.get("name") == "update_notes"
        and (given := call.get("input") or {}).get("section") == "Plan"
        and "[x]" in str(given.get("text", "")).lower()
        for call in turn.calls
    )
