"""Tokens and dollars of many calls, added up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Totals"]


@dataclass(frozen=True, slots=True)
class Totals:
    """What a run used so far, each class of token once."""

    calls: int = 0
    input_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = 0.0

    @property
    def limited_tokens(self) -> int:
        """Return what `limits.tokens` counts."""
        return self.input_tokens + self.cache_write_tokens + self.output_tokens

    def plus(self, data: dict[str, Any]) -> Totals:
        """Return the totals after one more `model.answered`."""
        usage, usd = data["usage"], data["usd"]
        writes = usage["cache_write_5m_tokens"] + usage["cache_write_1h_tokens"]
        return Totals(
            self.calls + 1,
            self.input_tokens + usage["input_tokens"],
            self.cache_write_tokens + writes,
            self.cache_read_tokens + usage["cache_read_tokens"],
            self.output_tokens + usage["output_tokens"],
            None if usd is None or self.usd is None else self.usd + usd,
        )
