"""The task: what a user asks for, with every field of the task file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from orchestrator.security.permissions import Permission
from orchestrator.spec.limits import Count, Limits
from orchestrator.spec.policy import ContextPolicy, Shares

__all__ = [
    "ContextPolicy",
    "Deliverable",
    "Effort",
    "EffortChoice",
    "Memory",
    "ModelChoice",
    "Permission",
    "Shares",
    "Task",
]

Effort = Literal["low", "medium", "high", "xhigh", "max"]


class _Part(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class Deliverable(_Part):
    """What is to be handed in."""

    format: Literal["markdown", "json"] = "markdown"
    """`json` hands in `result.json` as well."""
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    """JSON Schema of the result; only with `format: json`."""
    max_tokens: Count = Field(default=4000, ge=100)
    """Longest report, in tokens."""


class ModelChoice(_Part):
    """A model per role; one name in the task file means it for lead and subagents.

    None: the default of the settings.
    """

    lead: str | None = None
    subagents: str | None = None
    summaries: str | None = None
    """Writes the summaries of compactions; None: each agent's own model."""


class EffortChoice(_Part):
    """Effort per role; None: the model's own default."""

    lead: Effort | None = None
    subagents: Effort | None = None
    summaries: Effort | None = None
    """Of summaries; None: as the agent's own, so that they read its cache."""


class Memory(_Part):
    """What outlives the run."""

    scope: Literal["none", "project", "user"] = "none"
    """What agents read and write: of this workspace, or of this user; nothing."""
    runs: bool = False
    """What earlier runs on this workspace found and reported can be recalled."""

    @property
    def is_on(self) -> bool:
        """Return whether agents are shown anything of it."""
        return self.has_entries or self.runs

    @property
    def has_entries(self) -> bool:
        """Return whether agents have entries to read and write."""
        return self.scope != "none"


class Task(_Part):
    """One task, as resolved: paths absolute, defaults filled in.

    Lists are tuples, so that a task cannot change under a run.
    """

    name: str = Field(default="task", pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,47}$")
    """Letters, digits, dashes; used in the run id. Default: the file's name."""
    objective: str = Field(min_length=1)
    """What is wanted and how it will be used."""
    questions: tuple[str, ...] = ()
    """Hints for the briefs."""
    workspace: Path = Path()
    """Folder that agents may see. Default: the task file's folder."""
    constraints: tuple[str, ...] = ()
    """Kept word for word for every agent, never summarised."""
    context: tuple[str, ...] | None = None
    """Small files that every agent has from the start, relative to the workspace.

    Its AGENTS.md or CLAUDE.md is included unless this is `[]`. A loaded task holds
    the resolved list; None is a task that was not loaded.
    """
    deliverable: Deliverable = Deliverable()
    model: ModelChoice = ModelChoice()
    effort: EffortChoice = EffortChoice()
    fallback_model: str | None = None
    """Goes on, for good, with the conversation of an agent whose model refused."""
    agents: tuple[str, ...] = ("explorer",)
    """Profiles that the lead may use."""
    allow: tuple[Permission | dict[Permission, Literal["ask"]], ...] = ()
    """`write`, `shell`, `network`, `secrets`; nothing by default. `{shell: ask}` asks
    on the terminal, each time with what would happen; without one it means no."""
    tools: tuple[str, ...] = ()
    """The user's own Python tools: `package.module:function`, or the name of an
    installed one."""
    mcp_servers: dict[str, dict[str, Any]] = Field(default_factory=dict)
    memory: Memory = Memory()
    skills: tuple[str, ...] = ()
    """Folders with SKILL.md."""
    redact: tuple[Literal["secrets", "personal"], ...] = ("secrets",)
    limits: Limits = Limits()
    context_policy: ContextPolicy = ContextPolicy()
    """How the context is kept small."""

    @property
    def permissions(self) -> dict[Permission, Literal["yes", "ask"]]:
        """Return what is allowed, and whether a person is asked; `ask` wins."""
        found: dict[Permission, Literal["yes", "ask"]] = {}
        for entry in self.allow:
            if isinstance(entry, str):
                found.setdefault(entry, "yes")
            else:
                found.update(entry)
        return found

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
