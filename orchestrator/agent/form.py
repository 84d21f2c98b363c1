"""How the requests of an agent are made, beside what they say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.settings import FEATURES

__all__ = ["Form"]

_MARKS = "cache_control"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of an agent's requests; it may change while the agent is at work.

    Attributes:
        model: bare id of who is asked.
        fields: further fields of every request: `thinking`, `output_config`,
            `diagnostics`.
        without: features that are left out, sorted; the endpoint lacks them.
    """

    model: str
    fields: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()

    @property
    def sent(self) -> dict[str, Any]:
        """Return the further fields that really leave."""
        return {
            name: value
            for name, value in self.fields.items()
            if name not in self.without
        }

    @property
    def has_marks(self) -> bool:
        """Return whether requests are marked for the cache."""
        return _MARKS not in self.without

    @property
    def features(self) -> frozenset[str]:
        """Return the optional features that requests make use of."""
        return frozenset({_MARKS, *self.fields}.intersection(FEATURES)) - {
            *self.without
        }

    def lacking(self, features: Iterable[str]) -> Form:
        """Return this form, with these features left out too."""
        return replace(self, without=tuple(sorted({*self.without, *features})))
