"""Payment cards, ids of persons and accounts: numbers that check themselves.

The checks are those of `python-stdnum`, loaded when something has the shape of such a
number. Where a check lets too many others pass, the name must stand beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

from orchestrator.security.formats import Span
from orchestrator.security.numbers import END, START, is_named, shaped

__all__ = ["CARD", "IBAN", "ID", "card_and_id_numbers"]

CARD: Final = "card"
ID: Final = "id"
IBAN: Final = "iban"

_SHAPED: Final = re.compile(
    START
    + r"(?:(?P<run>[0-9]{13,18}|[0-9]{16}[Xx])"
    + r"|(?P<parts>(?<![0-9][0-9A-F]{3}[ -][0-9])[0-9]{3}([ -])[0-9]{4}\3[0-9]{4}\3"
    + r"[0-9]{2,4}(?:\3[0-9]{1,3})?(?!\3[0-9][0-9A-F]{3})"  # no table of numbers
    + r"|[0-9]{3}([ -])[0-9]{6}\4[0-9]{5})"
    + r"|(?P<cn>[0-9]{5}([ -])[0-9]{8}\6[0-9]{3}[0-9Xx])"
    + r"|(?P<br>[0-9]{2}\.[0-9]{3}\.[0-9]{3}-[0-9]{2})"
    + r"|(?P<kr>[0-9]{5}-[0-9]{7})"
    + r"|(?P<us>[0-9]{2}-[0-9]{2}-[0-9]{4}))"
    + END
)
_CARD: Final = re.compile(
    r"4[0-9]{15}|5[1-5][0-9]{14}"
    r"|2(?:22[1-9]|2[3-9][0-9]|[3-6][0-9]{2}|7[01][0-9]|720)[0-9]{12}"
    r"|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}"
    r"|6(?:011|5[0-9]{2}|4[4-9][0-9])[0-9]{12}|62[0-9]{14,17}"
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"
)
_CARD_NAME: Final = re.compile(
    r"card|visa|master|amex|credit|debit|payment|卡号|银行卡|信用卡|储蓄卡",
    re.IGNORECASE,
)
_OTHER_NAME: Final = re.compile(
    r"(?:id|ts|time|stamp|seq|size|bytes?|offset|hash|key|version|nonce|serial|trace"
    r"|span|req|request|order|msg|txn|inode|addr|[nuµm]s|编号|单号|流水号?|时间戳?|订单)"
    r"[\"'`]?[ \t]*[:=#\uff1a]?[ \t]*[\"'`]?\Z",
    re.IGNORECASE,
)
_SSN_NAME: Final = re.compile(r"ssn|social|tax", re.IGNORECASE)
_NAMED: Final = (
    ("aadhaar", re.compile(r"[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}"), "in_.aadhaar"),
    ("pesel", re.compile(r"[0-9]{11}"), "pl.pesel"),
    ("nhs", re.compile(r"[0-9]{3}[ -]?[0-9]{3}[ -]?[0-9]{4}"), "gb.nhs"),
    ("ssn", re.compile(r"[0-9]{9}"), "us.ssn"),
)
"""Name, shape and check of ids that only their name tells."""
_NAME_LINK: Final = re.compile(
    r"(?:[ _-]?(?:no|num|number|id|card)\b\.?)?[\"'`]?[ \t]*(?:[:=,]|is\b)?[ \t]*[\"']?"
)
_IBAN: Final = re.compile(
    r"[A-Z](?<![0-9A-Za-z_][A-Z])[A-Z][0-9]{2}(?:[ ]?[A-Z0-9]{4}){2,7}"
    r"(?:[ ]?[A-Z0-9]{1,4})?(?![0-9A-Za-z_])"
)


def card_and_id_numbers(
    text: str, low: str, places: Iterable[tuple[int, int]]
) -> Iterator[Span]:
    """Yield the numbers in `text` that check out; they may overlap.

    Args:
        text: with digits in ASCII.
        low: in lower case, character by character.
        places: of long numbers.
    """
    for match in shaped(_SHAPED, text, places):
        kind = _kind(match)
        if kind:
            yield Span(match.start(), match.end(), kind)
    for match in _IBAN.finditer(text):
        if _checks("iban", match[0]):
            yield Span(match.start(), match.end(), IBAN)
    for name, shape, check in _NAMED:
        at = low.find(name)
        while at != -1:
            link = _NAME_LINK.match(low, at + len(name))
            found = link and shape.match(text, link.end())
            if found and _checks(check, found[0]):
                yield Span(found.start(), found.end(), ID)
            at = low.find(name, at + len(name))


def _kind(match: re.Match[str]) -> str:
    """Return what a number is, or ""."""
    shape, number = match.lastgroup, match[0]
    if shape == "br":
        return ID if _checks("br.cpf", number) else ""
    if shape == "kr":
        return ID if _checks("kr.rrn", number) else ""
    if shape == "us":
        named = is_named(_SSN_NAME, match.string, match.start())
        return ID if named and _checks("us.ssn", number) else ""
    digits = number.replace(" ", "").replace("-", "")
    if len(digits) == 18 and _checks("cn.ric", digits):
        return ID
    if not (_CARD.fullmatch(digits) and _checks("luhn", digits)):
        return ""
    is_other = shape == "run" and is_named(_OTHER_NAME, match.string, match.start())
    is_card = not is_other or is_named(_CARD_NAME, match.string, match.start())
    return CARD if is_card else ""


def _checks(name: str, number: str) -> bool:
    try:
        return bool(_check(name).is_valid(number))
    except LookupError:  # a region of which the library knows no counties
        return False


@cache
def _check(name: str) -> Any:  # noqa: ANN401 - a module
    return import_module(f"stdnum.{name}")
