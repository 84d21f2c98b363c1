"""An exploring run at an endpoint that stops answering, and does so again later."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import anyio.lowlevel
import orjson
from explore_policy import ExplorePolicy, lay_parts, part_of
from fake_endpoint import Answer, refused

from orchestrator.spec.task import Task

__all__ = [
    "BILLING",
    "CALLS",
    "PARTS",
    "SPEND_LIMIT",
    "Stopping",
    "explored",
    "regain",
]

PARTS, STEPS = 8, 4
CALLS = 2 + PARTS * STEPS
"""Requests of a whole run: two of the lead, four of each subagent."""

BILLING = refused(402, "billing_error", "Your credit balance is too low.")
SPEND_LIMIT = refused(
    429,
    "rate_limit_error",
    "This workspace has reached its spend limit.",
    code="enforced_spend_limit_reached",
)


def regain(day: date) -> Answer:
    """Return a refusal that names the day from which on there is quota again."""
    return refused(
        400,
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on "
        f"{day} at 00:00 UTC.",
    )


@dataclass
class Stopping:
    """Plays an exploring run until so many findings were handed in; then refuses.

    Attributes:
        refusal: what every later request gets, until `is_open` is set.
        findings: so many subagents hand in before; a negative number: none is refused.
        parts: how many subagents there are.
        answered: bodies of the requests that were answered.
        refused_of: part → how often one of its requests was refused; 0 is the lead.
        late: requests that came though a refusal had been sent a moment ago.
    """

    refusal: Answer = BILLING
    findings: int = 3
    parts: int = PARTS
    is_open: bool = False
    answered: list[bytes] = field(default_factory=list)
    refused_of: dict[int, int] = field(default_factory=dict)
    _policy: ExplorePolicy = field(init=False)
    _handed_in: int = 0

    def __post_init__(self) -> None:
        self._policy = ExplorePolicy(parts=self.parts, calls=STEPS)

    @property
    def is_stopped(self) -> bool:
        """Whether it refuses now."""
        return not self.is_open and self._handed_in == self.findings

    @property
    def violations(self) -> list[str]:
        """Requests that no run may send."""
        return self._policy.violations

    async def __call__(self, asked: dict[str, Any]) -> Answer:
        part = part_of(asked)
        await anyio.lowlevel.checkpoint()
        if self.is_stopped:
            self.refused_of[part] = self.refused_of.get(part, 0) + 1
            return self.refusal
        replies = sum(each["role"] == "assistant" for each in asked["messages"])
        self._handed_in += part > 0 and replies == STEPS - 1
        self.answered.append(orjson.dumps(asked))
        return self._policy(asked)


def explored(folder: Path, **limits: Any) -> Task:
    """A task over eight parts, whose files are laid into `folder`."""
    root = folder / "work"
    if not root.exists():
        lay_parts(root, PARTS)
    return Task.model_validate(
        {
            "name": "limits",
            "objective": "Make a table of the limits that the files give.",
            "workspace": root,
            "context": (),
            "model": "claude-haiku-5-5",
            "limits": limits,
        }
    )
