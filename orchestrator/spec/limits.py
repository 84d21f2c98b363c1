"""Limits: what a run, an agent or a brief may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

__all__ = ["AgentLimits", "Amount", "Count", "Limits", "NotBool"]


def _refuse_bool(value: object) -> object:
    # `usd: yes` would otherwise be one dollar.
    if isinstance(value, bool):
        raise PydanticCustomError("number_type", "must be a number")
    return value


NotBool = BeforeValidator(_refuse_bool)
Amount = Annotated[float, NotBool]
Count = Annotated[int, NotBool]

_CONFIG = ConfigDict(
    extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
)


class AgentLimits(BaseModel):
    """What one agent may use; a brief and a profile may set fewer than the task.

    None means: as the level above says.
    """

    model_config = _CONFIG

    usd: Annotated[float, Field(gt=0), NotBool] | None = None
    tokens: Annotated[int, Field(ge=1000), NotBool] | None = None
    minutes: Annotated[float, Field(gt=0), NotBool] | None = None
    turns: Annotated[int, Field(ge=1), NotBool] | None = None
    max_output_tokens: Annotated[int, Field(ge=256), NotBool] | None = None

    def narrowed(self, other: AgentLimits) -> AgentLimits:
        """Return the smaller of both, field by field."""
        merged: dict[str, float | int] = {}
        for name in type(self).model_fields:
            values = [
                value
                for value in (getattr(self, name), getattr(other, name))
                if value is not None
            ]
            if values:
                merged[name] = min(values)
        return AgentLimits.model_validate(merged)


class Limits(BaseModel):
    """What a run may use before it is stopped; the values are the defaults."""

    model_config = _CONFIG

    usd: Amount = Field(default=2.0, gt=0)
    """Dollars of the whole run."""
    tokens: Count = Field(default=3_000_000, ge=1000)
    """Uncached input, cache writes and output; cache reads count in dollars only."""
    minutes: Amount = Field(default=30, gt=0)
    """Minutes of the whole run."""
    turns: Count = Field(default=200, ge=1)
    """Model calls per agent."""
    subagents: Count = Field(default=24, ge=0)
    """Subagents of the whole run; 0 turns delegation off."""
    concurrency: Count = Field(default=8, ge=1)
    """Subagents at work at the same time; the rest wait in line."""
    depth: Count = Field(default=1, ge=0)
    """Levels of subagents below the lead."""
    max_output_tokens: Count = Field(default=8192, ge=256)
    """Longest single answer of a model."""
    call_s: Amount = Field(default=600, gt=0)
    """Longest model call, in seconds."""
    silence_s: Amount = Field(default=90, gt=0)
    """Longest silence within a model call, in seconds."""
    stall_s: Amount = Field(default=300, gt=0)
    """Longest time without progress before a subagent is ended, in seconds."""
    outage_s: Amount = Field(default=300, gt=0)
    """Longest time an endpoint may be down before the run ends, in seconds."""
