"""Where the dollars of a run come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Prices"]


@dataclass(slots=True)
class Prices:
    """What the models of a run cost, as its newest process knew it.

    What was booked before stays as it was booked.

    Attributes:
        of: model → `source`, `date` and `bands`, as in the log.
    """

    of: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_told: bool = False
    """The log says what is known: not so those of older versions."""
    _sources: dict[str, bool] = field(default_factory=dict)
    """In order of time; whether a later process brought it."""

    def take(self, data: dict[str, Any]) -> None:
        """Take over `run.started` or `run.resumed`."""
        prices = data.get("prices")
        if isinstance(prices, dict) and "prices" in data:
            is_later, self.is_told = self.is_told, True
            self.of = {n: each for n, each in prices.items() if isinstance(each, dict)}
            for text in map(_source, self.of.values()):
                self._sources.setdefault(text, is_later)

    def unknown(self, models: Mapping[str, object]) -> list[str]:
        """Return the models whose price nobody told.

        Args:
            models: all that the run may ask, by role.
        """
        if not self.is_told:
            return []
        asked = {str(model) for model in models.values() if model}
        return sorted(asked - set(self.of))

    def sources(self) -> Iterator[str]:
        """Yield each source once, with its date; those of later processes say so."""
        for text, is_later in self._sources.items():
            if text:
                yield f"since it was resumed {text}" if is_later else text


def _source(price: dict[str, Any]) -> str:
    source, date = str(price.get("source", "")), str(price.get("date", ""))
    return f"{source}, {date}" if date else source
