"""The task: what a user asks for, with every field of the task file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from orchestrator.spec.limits import Limits

__all__ = [
    "ContextPolicy",
    "Deliverable",
    "Memory",
    "ModelChoice",
    "Shares",
    "Task",
]

Effort = Literal["low", "medium", "high", "xhigh", "max"]
Permission = Literal["write", "shell", "network"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Deliverable(_Part):
    """What is to be handed in."""

    format: Literal["markdown", "json"] = "markdown"
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """JSON Schema of the result; only with `format: json`."""
    max_tokens: int = Field(default=4000, ge=100)


class ModelChoice(_Part):
    """A model per role; one name in the task file means it for lead and subagents.

    None: the default of the settings.
    """

    lead: str | None = None
    subagents: str | None = None
    summaries: str | None = None


class EffortChoice(_Part):
    """Effort per role; None: the model's own default."""

    lead: Effort | None = None
    subagents: Effort | None = None
    summaries: Effort | None = None


class Memory(_Part):
    """What outlives the run."""

    scope: Literal["none", "project", "user"] = "none"
    runs: bool = False


class Shares(_Part):
    """Share of the window per layer; the defaults are those of a 32k window."""

    recent: float = Field(default=0.25, gt=0, lt=1)
    state: float = Field(default=0.19, gt=0, lt=1)
    memory: float = Field(default=0.12, gt=0, lt=1)
    fixed: float = Field(default=0.12, gt=0, lt=1)
    output: float = Field(default=0.31, gt=0, lt=1)


class ContextPolicy(_Part):
    """How the context is kept small; every number has a name here."""

    preset: Literal["long", "short", "dialogue"] = "long"
    policy: Literal["ladder", "window", "budget"] = "ladder"
    window_tokens: int | None = Field(default=None, ge=4000)
    soft: float = Field(default=0.60, gt=0, lt=1)
    hard: float = Field(default=0.75, gt=0, lt=1)
    clip_tokens: int = Field(default=4000, ge=200)
    read_tokens: int = Field(default=8000, ge=200)
    keep_results: int = Field(default=3, ge=1)
    digest_tokens: int = Field(default=60, ge=0)
    tail_steps: int = Field(default=3, ge=1)
    summary_share: float = Field(default=0.15, gt=0, lt=1)
    reopen_files: int = Field(default=5, ge=0)
    reopen_tokens: int = Field(default=5000, ge=0)
    reminder_turns: int = Field(default=5, ge=1)
    reminder_tokens: int = Field(default=150, ge=20)
    last_steps: int = Field(default=20, ge=1)
    every_turns: int | None = Field(default=None, ge=1)
    judge: str | None = None
    shares: Shares = Shares()


class Task(_Part):
    """One task, as resolved: paths absolute, defaults filled in.

    Lists are tuples, so that a task cannot change under a run.
    """

    name: str = Field(default="task", pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,47}$")
    objective: str = Field(min_length=1)
    questions: tuple[str, ...] = ()
    workspace: Path = Path()
    constraints: tuple[str, ...] = ()
    context: tuple[str, ...] | None = None
    """None: the workspace's AGENTS.md or CLAUDE.md, if there is one."""
    deliverable: Deliverable = Deliverable()
    model: ModelChoice = ModelChoice()
    effort: EffortChoice = EffortChoice()
    fallback_model: str | None = None
    agents: tuple[str, ...] = ("explorer",)
    allow: tuple[Permission | dict[Permission, Literal["ask"]], ...] = ()
    tools: tuple[str, ...] = ()
    mcp_servers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    memory: Memory = Memory()
    skills: tuple[str, ...] = ()
    redact: tuple[Literal["secrets", "personal"], ...] = ("secrets",)
    limits: Limits = Limits()
    context_policy: ContextPolicy = ContextPolicy()

    @field_validator("objective")
    @classmethod
    def _objective_says_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("must say what is wanted, found only blanks")
        return value

    @field_validator("model", "effort", mode="before")
    @classmethod
    def _one_name_for_all(cls, value: object) -> object:
        if isinstance(value, str):
            return {"lead": value, "subagents": value}
        return {} if value is None else value
