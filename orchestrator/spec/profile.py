"""Profiles: what kind of agent this is. Read from `agents/*.md`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.spec.limits import AgentLimits
from orchestrator.spec.task import Effort

__all__ = ["Profile"]


class Profile(BaseModel):
    """One profile: the frontmatter, and the body as system prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64)
    description: str = Field(min_length=1, max_length=2000)
    """What it is for; the lead reads this to choose."""
    prompt: str = Field(min_length=1)
    """The system prompt."""
    tools: tuple[str, ...] | None = None
    """Our tool names; None: all that the role may have."""
    disallowed_tools: tuple[str, ...] = ()
    model: str | None = None
    effort: Effort | None = None
    limits: AgentLimits = AgentLimits()
    """`maxTurns` of the file is `limits.turns`."""
    source: str = ""
    """File it came from, as shown by `orchestrate agents`."""
    sha256: str = ""
    """Of the file."""
