"""Personal numbers: phones, e-mail addresses, payment cards, ids, bank accounts.

They need the extra `personal`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.security.formats import Span
from orchestrator.security.ids import CARD, IBAN, ID, card_and_id_numbers
from orchestrator.security.numbers import long_numbers, narrowed
from orchestrator.security.phones import PHONE, phone_numbers

__all__ = ["KINDS", "personal_numbers"]

EMAIL: Final = "email"
KINDS: Final = frozenset({CARD, EMAIL, IBAN, ID, PHONE})

_LOCAL_CHARS: Final = 64
_LOCAL_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}\Z")
# Behind it stands no path (`git@host.com:a/b`, `user@host.com/x`) and no call.
_DOMAIN: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}"
    r"(?P<top>[A-Za-z]{2,12})(?![0-9A-Za-z_-]|\.[A-Za-z0-9]|:[0-9A-Za-z_~/.]|[/(\[])"
)
# Where addresses are; neither ends of file names (`icon@2x.png`) nor of attributes.
_TOPS: Final = frozenset(
    re.findall(
        r"\w+",
        "com net org edu gov mil int info biz name pro io ai app dev me tv cc co cn uk "
        "de fr jp kr tw hk mo sg my th vn id in ru ua by kz cz sk at ch it es pt nl be "
        "lu dk se no fi is ie gr tr il ae sa eg za ng ke br ar mx cl pe us ca au nz eu "
        "asia hu ro bg lt lv ee si hr cloud online tech site xyz top vip wiki email "
        "ltd group work team live club shop store",
    )
)
_OF_URL: Final = re.compile(r"://[^\s\"'<>,;]*\Z")
_NO_PERSON: Final = re.compile(
    r"(?:git|hg|svn|\S*no[-_]?reply\S*|do-?not-?reply)@|\S*@(?:[\w-]+\.)*"
    r"(?:example\.\w+|noreply\.\w+\.\w+)\Z",
    re.IGNORECASE,
)


def personal_numbers(text: str, low: str) -> Iterator[Span]:
    """Yield the personal numbers in `text`; they may overlap.

    Args:
        text: any text.
        low: `text` in lower case, character by character.
    """
    plain = narrowed(text)
    yield from _addresses(plain)
    low = low if plain is text else narrowed(low)
    places = long_numbers(plain)
    yield from card_and_id_numbers(plain, low, places)
    yield from phone_numbers(plain, low, places)


def _addresses(text: str) -> Iterator[Span]:
    at = text.find("@")
    while at != -1:
        local = _LOCAL_PART.search(text, max(0, at - _LOCAL_CHARS), at)
        domain = _DOMAIN.match(text, at + 1)
        if local and domain and domain["top"].lower() in _TOPS:
            start, end = local.start(), domain.end()
            # `ssh://user@host.com`, `https://user:password@host.com`
            is_of_url = _OF_URL.search(text, max(0, start - _LOCAL_CHARS), start)
            if not (is_of_url or _NO_PERSON.match(text[start:end])):
                yield Span(start, end, EMAIL)
        at = text.find("@", at + 1)
