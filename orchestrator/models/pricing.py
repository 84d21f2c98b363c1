"""What calls cost: prices from the kept table of `genai-prices`, computed here.

The library takes 0.2 s to import, so it is imported when a price is first asked for.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from orchestrator.models.base import Usage
from orchestrator.settings import OFFLINE

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

__all__ = ["WRITE_1H", "WRITE_5M", "Price", "Rates", "kept_ids", "price_of"]

PROVIDER = "anthropic"
WRITE_5M, WRITE_1H = 1.25, 2.0
"""Of the input's price, where nobody tells another one: what all models have had
(Anthropic's pricing page, November 2026)."""
_LIKE: Final = {
    "claude-mythos-5": "claude-fable-5",
    "claude-mythos-5-1": "claude-fable-5-1",
}
"""Models that the table lacks, and the one that has the same price: by invitation, and
on one row of Anthropic's price page (models overview, November 2026)."""
LIKE_SOURCE = "Anthropic's price page of 2026-11 (priced as {like}), and {source}"


@dataclass(frozen=True, slots=True)
class Rates:
    """Dollars per million tokens, for prompts of more than `over_tokens` tokens.

    The whole prompt decides, cached or not, and then all tokens of the call have
    these rates.
    """

    input: float
    output: float
    cache_write_5m: float
    cache_write_1h: float
    cache_read: float
    over_tokens: int = 0


_RATES: Final = frozenset(each.name for each in fields(Rates))


@dataclass(frozen=True, slots=True)
class Price:
    """Price of one model.

    Attributes:
        model: id in the table.
        bands: shortest prompts first; the first starts at 0 tokens.
        source: where the rates are from.
        date: newest date that the table names, as YYYY-MM-DD, or "".
    """

    model: str
    bands: tuple[Rates, ...]
    source: str
    date: str = ""

    def usd(self, usage: Usage) -> float:
        """Return the dollars of one call; each class of token counts once."""
        return sum(self._parts(usage).values()) / 1e6

    def parts(self, usage: Usage) -> dict[str, float]:
        """Return the dollars of one call by class of token, those of 0 left out.

        The classes are `input` (uncached), `cache_write`, `cache_read` and `output`.
        """
        parts = self._parts(usage).items()
        return {name: round(usd / 1e6, 8) for name, usd in parts if usd}

    def _parts(self, usage: Usage) -> dict[str, float]:
        rates = self._rates(usage.context_tokens)
        return {
            "input": usage.input_tokens * rates.input,
            "cache_write": usage.cache_write_5m_tokens * rates.cache_write_5m
            + usage.cache_write_1h_tokens * rates.cache_write_1h,
            "cache_read": usage.cache_read_tokens * rates.cache_read,
            "output": usage.output_tokens * rates.output,
        }

    def upper_bound(self, input_tokens: int, max_output_tokens: int) -> float:
        """Return the most that a call can cost, in dollars, before it is made.

        All input counts as written to the five-minute cache, which costs most of what
        we ask for; all of the output limit is used. The dearest band counts that the
        prompt can be in, if it is as long as that or shorter.
        """
        most = 0.0
        for each in self.bands:
            if input_tokens > each.over_tokens or each is self.bands[0]:
                dearest = max(each.input, each.cache_write_5m, each.cache_read)
                usd = input_tokens * dearest + max_output_tokens * each.output
                most = max(most, usd)
        return most / 1e6

    def told(self) -> dict[str, Any]:
        """Return all of it as plain data, for the log."""
        return {
            "source": self.source,
            "date": self.date,
            "bands": [asdict(each) for each in self.bands],
        }

    @classmethod
    def stored(cls, model: str, told: Any) -> Price | None:  # noqa: ANN401 - of a log
        """Return the price that `told` made; None: it is none, so nobody knows it.

        Args:
            model: id in the table.
            told: of a log, which a later version may have written, or damage changed.
        """
        try:
            bands = tuple(
                Rates(**{name: rate for name, rate in each.items() if name in _RATES})
                for each in told["bands"]
            )
            source, date = str(told.get("source", "")), str(told.get("date", ""))
        except (TypeError, KeyError, AttributeError):
            return None
        return cls(model, bands, source, date) if bands else None

    def _rates(self, context_tokens: int) -> Rates:
        fitting = [each for each in self.bands if context_tokens > each.over_tokens]
        return fitting[-1] if fitting else self.bands[0]


def price_of(model: str) -> Price | None:
    """Return the price of `model`, a bare id, or None where nobody told one."""
    if model == OFFLINE:
        return Price(OFFLINE, (Rates(0, 0, 0, 0, 0),), source="costs nothing")
    day = datetime.now(UTC).date()
    kept, like = _kept_price(model, day), _LIKE.get(model)
    if kept is not None or like is None:
        return kept
    kept = _kept_price(like, day)
    if kept is None:
        return None
    source = LIKE_SOURCE.format(like=like, source=kept.source)
    return replace(kept, model=model, source=source)


def kept_ids() -> list[str]:
    """Return the ids in the kept table, of the service whose models can be asked."""
    from genai_prices import data_snapshot  # noqa: PLC0415 - takes 0.2 s

    providers = data_snapshot.get_snapshot().providers
    return [m.id for each in providers if each.id == PROVIDER for m in each.models]


@lru_cache(maxsize=256)
def _kept_price(model: str, day: date) -> Price | None:
    from genai_prices import data_snapshot  # noqa: PLC0415 - takes 0.2 s

    snapshot = data_snapshot.get_snapshot()
    try:
        provider, info = snapshot.find_provider_model(model, None, PROVIDER, None)
    except LookupError:
        return None
    at = datetime(day.year, day.month, day.day, 12, tzinfo=UTC)
    told = info.get_prices(at)
    bands = tuple(_rates(told, start) for start in _starts(told))
    if not (bands[0].input and bands[0].output):
        return None
    return Price(
        model=info.id,
        bands=bands,
        source=f"genai-prices {version('genai-prices')}",
        date=_newest_date(provider, day),
    )


def _starts(told: object) -> list[int]:
    """Return the prompt sizes at which a band starts, 0 first."""
    starts = {0}
    for value in vars(told).values():
        starts.update(tier.start for tier in getattr(value, "tiers", ()))
    return sorted(starts)


def _rates(told: Any, start: int) -> Rates:  # noqa: ANN401 - the library's own names
    def rate(name: str, default: float) -> float:
        value = getattr(told, name, None)
        if value is None:
            return default
        price = getattr(value, "base", value)
        for tier in getattr(value, "tiers", ()):
            if start >= tier.start:
                price = tier.price
        return float(price)

    plain = rate("input_mtok", 0.0)
    return Rates(
        input=plain,
        output=rate("output_mtok", 0.0),
        cache_write_5m=rate("cache_write_mtok", WRITE_5M * plain),
        cache_write_1h=rate("cache_write_1h_mtok", WRITE_1H * plain),
        cache_read=rate("cache_read_mtok", plain),
        over_tokens=start,
    )


def _newest_date(provider: Provider, day: date) -> str:
    dates = [
        begin
        for info in provider.models
        for begin in _dates(info)
        if begin is not None and begin <= day
    ]
    return max(dates).isoformat() if dates else ""


def _dates(info: ModelInfo) -> list[date | None]:
    prices = info.prices if isinstance(info.prices, list) else []
    conditions = [*prices, *(info.price_variants or ())]
    return [getattr(each.constraint, "start_date", None) for each in conditions]
