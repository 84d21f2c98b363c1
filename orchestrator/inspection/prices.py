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

    def take(self, data: dict[str, Any]) -> None:
        """Take over `run.started` or `run.resumed`."""
        prices = data.get("prices")
        if isinstance(prices, dict) and "prices" in data:
            self.is_told = True
            self.of = {n: each for n, each in prices.items() if isinstance(each, dict)}

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
        """Yield each source once, with its date."""
        seen: set[str] = set()
        for each in self.of.values():
            source, date = str(each.get("source", "")), str(each.get("date", ""))
            text = f"{source}, {date}" if date else source
            if text and text not in seen:
                seen.add(text)
                yield text
