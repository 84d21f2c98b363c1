"""The user's own prices: a YAML file that wins over the kept table.

    claude-sonnet-5-5: {input: 1.8, output: 9, cache_read: 0.09}
    "qwen*": {input: 0, output: 0, source: our own server}

A key is a model's id, or a pattern with `*` or `?`; the exact id wins, then the longest
pattern. Dollars are per million tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from orchestrator.errors import SpecError
from orchestrator.models.pricing import WRITE_1H, WRITE_5M, Price, Rates, price_of
from orchestrator.settings import OFFLINE
from orchestrator.spec.complaints import complaints, describe
from orchestrator.spec.document import Document, Where, parse, read_source
from orchestrator.spec.limits import NotBool

__all__ = ["PriceBook", "own_prices", "price_book"]

MAX_DOLLARS = 1e6

Dollars = Annotated[float, Field(ge=0, le=MAX_DOLLARS), NotBool]


class _Rates(BaseModel):
    """Dollars per million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    input: Dollars
    output: Dollars
    cache_write_5m: Dollars | None = None
    cache_write_1h: Dollars | None = None
    cache_read: Dollars | None = None

    def rates(self, over_tokens: int = 0) -> Rates:
        """Return them whole; what is not written costs what is usual, or the input."""
        return Rates(
            input=self.input,
            output=self.output,
            cache_write_5m=_or(self.cache_write_5m, self.input * WRITE_5M),
            cache_write_1h=_or(self.cache_write_1h, self.input * WRITE_1H),
            cache_read=_or(self.cache_read, self.input),
            over_tokens=over_tokens,
        )


class _Band(_Rates):
    """Rates of all tokens of a call whose prompt is longer than `over_tokens`."""

    over_tokens: Annotated[int, Field(ge=1), NotBool]


def _day(value: object) -> object:
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        message = "must be a day, as in 2026-11-30"
        raise PydanticCustomError("date", message) from error


class _Entry(_Rates):
    """What one model costs."""

    bands: tuple[_Band, ...] = ()
    date: Annotated[str, BeforeValidator(_day)] = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class PriceBook:
    """What models cost: the user's own prices first, then the kept table.

    Attributes:
        own: id or pattern → price.
        kept: asked where none of them fits.
    """

    own: Mapping[str, Price]
    kept: Callable[[str], Price | None] = price_of

    def __call__(self, model: str) -> Price | None:
        """Return the price of `model`, a bare id, or None where nobody told one."""
        if model == OFFLINE:
            return self.kept(model)
        fitting = [key for key in self.own if fnmatchcase(model, key)]
        if model in self.own or fitting:
            best = model if model in self.own else max(fitting, key=len)
            return self.own[best]
        return self.kept(model)


def price_book(path: Path | None) -> Callable[[str], Price | None]:
    """Return what models cost, with the prices of the user's file, if there is one.

    Raises:
        SpecError: the file is missing, unreadable, or says what makes no sense.
    """
    return price_of if path is None else PriceBook(own_prices(path))


def own_prices(path: Path) -> dict[str, Price]:
    """Return the prices of the user's file by id or pattern.

    Raises:
        SpecError: the file is missing, unreadable, or says what makes no sense.
    """
    document = parse(read_source(path, what="price file"), file=str(path))
    if not isinstance(document.value, dict):
        raise _error(
            document, (), f"must map models to prices, found {_found(document.value)}"
        )
    return {str(key): _price(document, path, key) for key in document.value}


def _price(document: Document, path: Path, key: object) -> Price:
    where: Where = (str(key),)
    data: Any = document.value[key]
    if not isinstance(data, dict):
        message = "must be `input`, `output` and so on, found " + _found(data)
        raise _error(document, where, message)
    try:
        entry = _Entry.model_validate(data)
    except ValidationError as error:
        inner, message = complaints(error, model=_Entry, data=data)[0]
        raise _error(document, (*where, *inner), message) from error
    starts = [band.over_tokens for band in entry.bands]
    if sorted(set(starts)) != starts:
        message = f"must grow in `over_tokens` from band to band, found {starts}"
        raise _error(document, (*where, "bands"), message)
    return Price(
        model=str(key),
        bands=(
            entry.rates(),
            *(each.rates(each.over_tokens) for each in entry.bands),
        ),
        source=f"{entry.source} ({path})" if entry.source else str(path),
        date=entry.date,
    )


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value


def _found(value: object) -> str:
    return "nothing" if value is None else describe(value)


def _error(document: Document, where: Where, message: str) -> SpecError:
    field = ".".join(str(step) for step in where)
    return SpecError(message, document.file, document.line_of(where), field)
