"""Tokens and dollars, added up: each class of token once, unknown dollars said so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orchestrator.events.phrases import number

__all__ = ["Cost", "Tokens"]


@dataclass(slots=True)
class Tokens:
    """Tokens by class; the classes do not overlap, but for `thinking`."""

    input: int = 0
    """Uncached input."""
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    cache_read: int = 0
    output: int = 0
    thinking: int = 0
    """Part of `output`."""

    @property
    def cache_write(self) -> int:
        """Return what was written to the cache, for five minutes or an hour."""
        return self.cache_write_5m + self.cache_write_1h

    def add_usage(self, usage: dict[str, Any]) -> None:
        """Add the usage of one answer."""
        self.input += int(number(usage.get("input_tokens")))
        self.cache_write_5m += int(number(usage.get("cache_write_5m_tokens")))
        self.cache_write_1h += int(number(usage.get("cache_write_1h_tokens")))
        self.cache_read += int(number(usage.get("cache_read_tokens")))
        self.output += int(number(usage.get("output_tokens")))
        self.thinking += int(number(usage.get("thinking_tokens")))

    def add(self, other: Tokens) -> None:
        """Add all classes of `other`."""
        self.input += other.input
        self.cache_write_5m += other.cache_write_5m
        self.cache_write_1h += other.cache_write_1h
        self.cache_read += other.cache_read
        self.output += other.output
        self.thinking += other.thinking

    @property
    def sent(self) -> int:
        """Return the whole input, cached or not."""
        return self.input + self.cache_write + self.cache_read

    @property
    def limited(self) -> int:
        """Return what `limits.tokens` counts: all but cache reads."""
        return self.input + self.cache_write + self.output

    @property
    def cache_share(self) -> float:
        """Return the part of the input that was read from the cache, 0 to 1."""
        return self.cache_read / self.sent if self.sent else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return all classes by name, and the cache share."""
        return {
            "input": self.input,
            "cache_write": self.cache_write,
            "cache_write_5m": self.cache_write_5m,
            "cache_write_1h": self.cache_write_1h,
            "cache_read": self.cache_read,
            "output": self.output,
            "thinking": self.thinking,
            "cache_share": round(self.cache_share, 4),
        }


@dataclass(slots=True)
class Cost:
    """Dollars of some calls; what is not known of them is counted apart.

    A call that was cut off may be billed, nobody knows how much: at most what was set
    aside for it, which is what limits count.
    """

    usd: float = 0.0
    priced: int = 0
    """Calls whose price is known."""
    unpriced: int = 0
    unbilled: int = 0
    """Calls that were refused before any output: they cost nothing."""
    cut: int = 0
    """Calls that were cut off."""
    cut_usd: float = 0.0
    cut_tokens: int = 0
    parts: dict[str, float] = field(default_factory=dict)
    """Of `usd`, by class of token, as far as the log says."""
    doubted: int = 0
    """Calls for which the service told too few tokens to be true."""
    doubted_usd: float = 0.0
    doubted_tokens: int = 0
    """What limits count for these above what was told."""

    @property
    def limit_usd(self) -> float:
        """Return the dollars that count for limits."""
        return self.usd + self.cut_usd + self.doubted_usd

    @property
    def uncounted_tokens(self) -> int:
        """Return the tokens that count for limits and were not told."""
        return self.cut_tokens + self.doubted_tokens

    def add_cut(self, usd: float, tokens: int) -> None:
        """Add one call that was cut off, with what was set aside for it."""
        self.cut += 1
        self.cut_usd += usd
        self.cut_tokens += tokens

    def add_call(self, usd: object, parts: object = None) -> None:
        """Add one call; None means that its price is unknown.

        Args:
            usd: of the whole call.
            parts: the same by class of token, as the log has it.
        """
        if isinstance(usd, (int, float)):
            self.usd += usd
            self.priced += 1
        else:
            self.unpriced += 1
        for name, part in (parts if isinstance(parts, dict) else {}).items():
            self.parts[str(name)] = self.parts.get(str(name), 0.0) + number(part)

    def add_doubted(self, usd: float, tokens: int) -> None:
        """Add what limits count for one call above what the service told of it."""
        self.doubted += 1
        self.doubted_usd += max(usd, 0.0)
        self.doubted_tokens += max(tokens, 0)

    def add(self, other: Cost) -> None:
        """Add the calls of `other`."""
        self.usd += other.usd
        self.priced += other.priced
        self.unpriced += other.unpriced
        self.unbilled += other.unbilled
        self.cut += other.cut
        self.cut_usd += other.cut_usd
        self.cut_tokens += other.cut_tokens
        self.doubted += other.doubted
        self.doubted_usd += other.doubted_usd
        self.doubted_tokens += other.doubted_tokens
        for name, part in other.parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + part

    @property
    def known_usd(self) -> float | None:
        """Return the dollars of the calls whose price is known; None: it is of none."""
        return None if self.unpriced and not self.priced else self.usd

    @property
    def is_known(self) -> bool:
        """Return whether it is known what every call cost."""
        return not self.unpriced and not self.cut

    def to_dict(self) -> dict[str, Any]:
        """Return the dollars, None where no price is known, and what is unknown."""
        usd = self.known_usd
        return {
            "usd": None if usd is None else round(usd, 6),
            "usd_is_whole": self.is_known,
            "usd_by_class": {n: round(usd, 6) for n, usd in self.parts.items()},
            "unbilled_calls": self.unbilled,
            "doubted_calls": self.doubted,
            "cut_calls": self.cut,
            "cut_usd_at_most": round(self.cut_usd, 6),
            "cut_tokens_at_most": self.cut_tokens,
        }
