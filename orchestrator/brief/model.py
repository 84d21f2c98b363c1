"""The brief: all that a subagent is told; the lead reads the descriptions."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.spec.limits import AgentLimits

__all__ = ["Brief", "BriefDeliverable", "Scope"]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Scope(_Part):
    """What of the workspace the subagent may see."""

    include: tuple[str, ...] = Field(
        default=(), description="Files, folders or globs. Empty: the whole workspace."
    )
    exclude: tuple[str, ...] = Field(default=(), description="Wins over include.")


class BriefDeliverable(_Part):
    """What the subagent hands back."""

    form: str = Field(
        default="",
        description="E.g. 'one item per route, with its check'. "
        "Empty: claims with quotes.",
    )
    max_tokens: int = Field(
        default=1200, ge=100, le=4000, description="Size of the findings you get."
    )


class Brief(_Part):
    """All that a subagent sees."""

    title: str = Field(
        max_length=200, description="A few words; different for every brief."
    )
    objective: str = Field(
        description="What to find out and why. It must stand alone: no 'as above', no "
        "other agents."
    )
    questions: tuple[str, ...] = Field(
        default=(), description="What must be answered, one by one."
    )
    scope: Scope = Scope()
    background: str = Field(
        default="", description="Facts you know that it needs: names, paths, results."
    )
    deliverable: BriefDeliverable = BriefDeliverable()
    agent: str = Field(default="explorer", description="Profile.")
    tools: tuple[str, ...] | None = Field(
        default=None, description="Narrows what it may call."
    )
    limits: AgentLimits | None = Field(
        default=None, description="Less than the task allows."
    )
