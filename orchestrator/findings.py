"""Findings: what a subagent hands back, bounded and structured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Evidence", "FailedAttempt", "Findings", "Item", "Status"]

Status = Literal["complete", "partial", "nothing_found", "failed"]


class Evidence(BaseModel):
    """Where a claim can be checked, and the words that are there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1000,
            description="`path:first-last`, `path:line`, or an `art_…` reference "
            "with lines.",
        ),
    ]
    quote: Annotated[
        str,
        Field(
            max_length=2000,
            description="Copied word for word from there: at least 20 characters, "
            "or one whole line.",
        ),
    ]


class Item(BaseModel):
    """One claim with its evidence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: Annotated[
        str,
        Field(
            min_length=8,
            max_length=1500,
            description="One fact, in a sentence that stands alone.",
        ),
    ]
    evidence: Annotated[
        tuple[Evidence, ...],
        Field(description="At least one where the status is `complete`."),
    ] = ()
    confidence: Annotated[
        float, Field(ge=0, le=1, description="How sure you are that it is true.")
    ] = 0.5
    """The subagent's own estimate, 0 to 1; not calibrated."""


class FailedAttempt(BaseModel):
    """What was tried and why it did not work, so that nobody tries it again."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tried: Annotated[str, Field(min_length=1, max_length=500)]
    why: Annotated[str, Field(min_length=1, max_length=500)]


class Findings(BaseModel):
    """What comes back from a subagent, and all that comes back."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    status: Annotated[
        Status,
        Field(
            description="`complete`: all was answered; `partial`: some; "
            "`nothing_found`: looked, and it is not there; `failed`: could not look."
        ),
    ]
    summary: Annotated[
        str,
        Field(
            min_length=1,
            max_length=8000,
            description="The answer in a few sentences, without pasted output.",
        ),
    ]
    items: tuple[Item, ...] = ()
    open_questions: tuple[str, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    artifacts: Annotated[
        tuple[str, ...],
        Field(description="`art_…` references that are worth opening."),
    ] = ()
    """References (`art_…`) of large contents that the reader may open."""
