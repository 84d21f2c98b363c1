"""How full the context of an agent is, with the marks in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from orchestrator.events.phrases import number

__all__ = ["Fill", "Passed"]

Passed = Literal["", "soft", "hard"]


@dataclass(frozen=True, slots=True)
class Fill:
    """How full a context is; sizes in tokens, None where the log does not tell.

    Attributes:
        tokens: of the newest request, as estimated or reported.
        usable: the window less the longest reply, which has its place beside them.
        soft: from here on the agent is reminded to write down what matters.
        hard: from here on earlier steps are summed up.
    """

    tokens: int = 0
    usable: int | None = None
    soft: int | None = None
    hard: int | None = None

    @classmethod
    def of_settings(cls, settings: object) -> Fill:
        """Return the empty context of an agent, from the settings of its start."""
        told = settings if isinstance(settings, Mapping) else {}
        marks = told.get("context")
        sizes = marks if isinstance(marks, Mapping) else {}
        window, soft, hard = (
            _size(sizes.get(f"{name}_tokens")) for name in ("window", "soft", "hard")
        )
        reply = _size(told.get("max_output_tokens")) or 0
        usable = window - reply if window is not None and window > reply else window
        return cls(0, usable, soft, hard)

    def at(self, tokens: int) -> Fill:
        """Return the same with another size."""
        return self if tokens == self.tokens else replace(self, tokens=tokens)

    @property
    def share(self) -> float | None:
        """Return the part of the usable window that is full; None: nobody knows."""
        return self.tokens / self.usable if self.usable else None

    @property
    def passed(self) -> Passed:
        """Return the highest mark that it has reached, or ""."""
        if self.hard is not None and self.tokens >= self.hard:
            return "hard"
        if self.soft is not None and self.tokens >= self.soft:
            return "soft"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines."""
        return {
            "tokens": self.tokens,
            "usable_tokens": self.usable,
            "soft_tokens": self.soft,
            "hard_tokens": self.hard,
            "share": None if self.share is None else round(self.share, 4),
            "passed": self.passed,
        }


def _size(value: object) -> int | None:
    return int(number(value)) or None
