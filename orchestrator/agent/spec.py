"""What an agent is made of, fixed when it starts and stored verbatim in the log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from orchestrator.agent.form import Form
from orchestrator.events import AgentStarted
from orchestrator.messages import Block
from orchestrator.spec.limits import AgentLimits

__all__ = ["MAX_HAND_IN_TOKENS", "AgentSpec", "Outcome"]

MAX_HAND_IN_TOKENS = 4096
"""Most that is kept for the reply of a last call; that much where nobody says what a
hand-in needs, nor the log."""


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """Everything an agent starts with; nothing else reaches its context."""

    id: str
    role: Literal["lead", "subagent"]
    profile: str
    title: str
    model: str
    """Bare id."""
    parent: str
    system: list[Block]
    tools: list[dict[str, Any]]
    first: list[Block]
    allowed: tuple[str, ...]
    limits: AgentLimits
    max_output_tokens: int
    call_s: float
    silence_s: float
    stall_s: float | None = None
    """Longest time without progress in a model call, in seconds; None: no limit."""
    hand_in_tokens: int = MAX_HAND_IN_TOKENS
    """What a hand-in needs of a reply; so much is kept for the last call."""
    request: dict[str, Any] = field(default_factory=dict)
    """Further fields of every request: `thinking`, `output_config`."""
    context: dict[str, int] = field(default_factory=dict)
    """`window_tokens`, `soft_tokens` and `hard_tokens` at its start, where known."""
    memory_tokens: int = 0
    """Of `first`, what memory found, estimated."""
    without: tuple[str, ...] = ()
    """Features that the endpoint is known to lack at its start."""

    @property
    def form(self) -> Form:
        """Return the form of its first request."""
        return Form(self.model, self.request, self.without)

    @property
    def hand_in(self) -> str:
        """Return the tool that ends this agent."""
        return "finish" if self.role == "lead" else "submit_findings"

    def started(self) -> AgentStarted:
        """Return the event that stores this."""
        return AgentStarted(
            role=self.role,
            profile=self.profile,
            title=self.title,
            model=self.model,
            parent=self.parent,
            system=self.system,
            tools=self.tools,
            first=self.first,
            settings={
                "max_output_tokens": self.max_output_tokens,
                "call_s": self.call_s,
                "silence_s": self.silence_s,
                **({} if self.stall_s is None else {"stall_s": self.stall_s}),
                "hand_in_tokens": self.hand_in_tokens,
                "request": self.request,
                **({"without": list(self.without)} if self.without else {}),
                **({"context": self.context} if self.context else {}),
                **({"memory_tokens": self.memory_tokens} if self.memory_tokens else {}),
            },
            limits=self.limits.model_dump(exclude_none=True),
            allowed=list(self.allowed),
        )

    @classmethod
    def from_event(cls, agent: str, started: AgentStarted) -> AgentSpec:
        """Return the agent that `started` stored."""
        return cls(
            id=agent,
            role="lead" if started.role == "lead" else "subagent",
            profile=started.profile,
            title=started.title,
            model=started.model,
            parent=started.parent,
            system=started.system,
            tools=started.tools,
            first=started.first,
            allowed=tuple(started.allowed),
            limits=AgentLimits.model_validate(started.limits, extra="ignore"),
            max_output_tokens=started.settings["max_output_tokens"],
            call_s=started.settings["call_s"],
            silence_s=started.settings["silence_s"],
            stall_s=started.settings.get("stall_s"),
            hand_in_tokens=started.settings.get("hand_in_tokens", MAX_HAND_IN_TOKENS),
            request=started.settings["request"],
            without=tuple(started.settings.get("without", ())),
            context=started.settings.get("context", {}),
            memory_tokens=started.settings.get("memory_tokens", 0),
        )


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an agent's loop ended.

    Attributes:
        kind: `submitted`: a hand-in was accepted; `unvalidated`: there is only text;
            `limit`: a limit, and the last call brought nothing; `failed`; `cancelled`:
            it alone was stopped.
        value: what was handed in, as the hand-in tool's port made it.
        text: the last words, where nothing was handed in.
        reason: why it ended so, for people.
        limit: the limit that was reached, also where the last call handed in.
        turns: model calls made.
    """

    kind: Literal["submitted", "unvalidated", "limit", "failed", "cancelled"]
    value: Any = None
    text: str = ""
    reason: str = ""
    limit: str = ""
    turns: int = 0
