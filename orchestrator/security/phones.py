"""Phone numbers: with a country code, by their form, or with a name beside them.

Whether a number can be one is told by the plans of the countries (`phonenumbers`),
loaded when something in a text has the shape of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib import import_module
from typing import Any, Final

from orchestrator.security.formats import Span
from orchestrator.security.numbers import END, START, is_named, shaped

__all__ = ["PHONE", "phone_numbers"]

PHONE: Final = "phone"

_REGIONS: Final = (
    *("CN", "US", "GB", "DE", "FR", "IT", "ES", "JP", "KR", "IN", "BR", "AU", "HK"),
    *("TW", "SG"),
)
"""Whose numbers are known without a country code where a name stands beside them."""
_SHAPED: Final = re.compile(
    START
    + r"(?:(?P<CN>(?<=1)[3-9][0-9](?:[0-9]{8}|([ -])[0-9]{4}\2[0-9]{4})"
    + r"|(?<=0)[0-9]{2,3}-[0-9]{7,8}|(?<=8)61[3-9][0-9]{9})"
    + r"|(?P<US>(?<=1)[ -][2-9][0-9]{2}-[2-9][0-9]{2}-[0-9]{4}"
    + r"|(?<=[2-9])[0-9]{2}-[2-9][0-9]{2}-[0-9]{4}"
    + r"|(?<=\([2-9])[0-9]{2}\)[ -]?[2-9][0-9]{2}[ .-][0-9]{4}))"
    + END
)
_OTHER_NAME: Final = re.compile(
    r"(?:id|uid|gid|pid|ts|time|stamp|seq|size|bytes?|offset|len|length|count|hash|sum"
    r"|key|version|nonce|serial|trace|span|req|order|msg|txn|inode|addr|[nuµm]s|total"
    r"|used|free|memory|ram|编号|单号|流水号?|时间戳?|大小|订单号?)"
    r"[\"'`]?[ \t]*[:=#\uff1a]?[ \t]*[\"'`]?\Z",
    re.IGNORECASE,
)
_ROUND: Final = 512
"""Sizes are multiples of it more often than phone numbers are."""
_INTERNATIONAL: Final = re.compile(
    r"\+(?<![0-9A-Za-z_+]\+)[0-9(](?:[ ().-]{0,2}[0-9]){6,16}+[0-9]*"
)
_NAMES: Final = (
    *("phone", "mobile", "tel", "cell", "fax", "whatsapp"),
    *("手机", "电话", "座机", "传真", "热线", "联系方式", "拨打", "致电"),
)
_BEFORE_NAME: Final = re.compile(r"(?:\A|[^a-z]|tele|cell|mobile|home|work)\Z")
_LINK: Final = re.compile(
    r"(?:phone|号码?|机)?s?\.?(?:[ _-]?(?:no|num|number|nr)\b\.?)?"
    r"[\"'`）)\\]{0,2}[ \t]{0,8}(?:[:\uff1a=>,#是为]|:=|=>|->|is\b|at\b)?[ \t]{0,4}"
    r"[\"'`（\\]{0,2}(?P<number>[+(]?[0-9](?:[ ().-]{0,2}[0-9]){6,20}+)"
    r"(?![0-9A-Za-z_%])"
)
_NO_PHONE: Final = re.compile(
    r"(?:19|20)[0-9]{2}([ .-]?)[01][0-9]\1[0-3][0-9](?![0-9])"
    r"|[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b|[0-9]+\.[0-9]+\Z"
)
_LEAST_DIGITS: Final = 8
_LOCAL: Final = re.compile(r"[2-8][0-9]{2,3}[ -]?[0-9]{4}")
_GROUP_END: Final = re.compile(r"[0-9](?![0-9A-Za-z_])")


def phone_numbers(
    text: str, low: str, places: Iterable[tuple[int, int]]
) -> Iterator[Span]:
    """Yield the phone numbers in `text`; they may overlap.

    Args:
        text: with digits in ASCII.
        low: in lower case, character by character.
        places: of long numbers.
    """
    yield from _with_code(text)
    yield from _with_name(text, low)
    for match in shaped(_SHAPED, text, places):
        start, region = match.start(), match.lastgroup or ""
        start -= text[start - 1 : start] == "("
        if not (_is_size(match[0]) or is_named(_OTHER_NAME, text, start)) and _is_phone(
            match[0], (region,)
        ):
            yield Span(start, match.end(), PHONE)


def _with_code(text: str) -> Iterator[Span]:
    if "+" in text:
        for match in _INTERNATIONAL.finditer(text):
            if not _NO_PHONE.match(match[0], 1):
                yield from _longest(text, *match.span(), (None,))


def _with_name(text: str, low: str) -> Iterator[Span]:
    for name in _NAMES:
        at = low.find(name)
        while at != -1:
            behind = at + len(name)
            if _is_name(text, low, at) and (link := _LINK.match(low, behind)):
                yield from _named(text, *link.span("number"), name)
            at = low.find(name, behind)


def _is_name(text: str, low: str, at: int) -> bool:
    if _BEFORE_NAME.search(low, max(0, at - 6), at):
        return True
    return text[at].isupper() and text[at - 1].islower()  # `userPhone`


def _named(text: str, start: int, end: int, name: str) -> Iterator[Span]:
    number = text[start:end]
    if _NO_PHONE.match(number):
        return
    if not name.isascii() and _LOCAL.fullmatch(number):
        yield Span(start, end, PHONE)
    if sum(map(str.isdigit, number)) >= _LEAST_DIGITS:
        yield from _longest(text, start, end, _REGIONS)


def _longest(
    text: str, start: int, end: int, regions: tuple[str | None, ...]
) -> Iterator[Span]:
    """Yield the longest row of groups of digits, from `start` on, that is a number."""
    ends = [match.end() for match in _GROUP_END.finditer(text, start, end + 1)]
    for stop in reversed(ends):
        if stop <= end and _is_phone(text[start:stop], regions):
            yield Span(start, stop, PHONE)
            return


def _is_size(number: str) -> bool:
    return number.isdigit() and (int(number) % _ROUND == 0 or number.endswith("0000"))


@lru_cache(maxsize=4096)
def _is_phone(number: str, regions: tuple[str | None, ...]) -> bool:
    library = _library()
    for region in regions:
        try:
            parsed = library.parse(number, region)
        except library.NumberParseException:
            continue
        if library.is_valid_number(parsed):
            return True
    return False


@cache
def _library() -> Any:  # noqa: ANN401 - untyped
    return import_module("phonenumbers")
