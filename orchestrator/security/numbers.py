"""Where numbers begin and end in a text, and what may stand before them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["END", "START", "is_named", "long_numbers", "narrowed", "shaped"]

START: Final = (
    r"[0-9](?:(?<![0-9A-Za-z_$#%¥￥€£@&+][0-9])(?<![0-9A-Za-z][.-][0-9])"
    r"(?<![0-9]:[0-9])(?<![A-Za-z_.:/-]/[0-9])|(?<=\\[nrt][0-9]))"
)
"""First digit of what is no part of a word, a longer number, a path or a price."""
END: Final = r"(?![0-9A-Za-z_%]|[.:-][0-9]|-[A-Za-z]|[ ]?(?:[KMGT]i?B\b|bytes|元))"

_BESIDE_CHARS: Final = 32
_BEHIND_CHARS: Final = 10
"""As much of what follows is looked at to tell where a number ends."""
# Each digit is read once: that is what makes it fast where there are many.
_GROUPS: Final = re.compile(
    r"[0-9](?:[0-9]{2,}+|(?<=1)(?=[ -][2-9]))"
    r"(?:[ -][0-9]++|[Xx]|\)[ -]?[0-9]++|\.[0-9]{3}(?=[.-]))*+"
)
_LEAST_CHARS: Final = 10
_RUN: Final = re.compile(
    r"1[3-9][0-9]{9}|861[3-9][0-9]{9}|[2-6][0-9]{13,18}|[1-8][0-9]{16}[0-9Xx]"
)
_DATE: Final = re.compile(r"(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}(?: [0-9]{2})?")
# One by one, so that places in both texts are the same.
_NARROW: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_WIDE: Final = re.compile("[\uff10-\uff19\uff20]")


def narrowed(text: str) -> str:
    """Return `text` with its full-width digits and signs, if any, in ASCII."""
    if text.isascii() or not _WIDE.search(text):
        return text
    return text.translate(_NARROW)


def long_numbers(text: str) -> list[tuple[int, int]]:
    """Return where groups of digits stand together that are worth a closer look."""
    return [
        match.span()
        for match in _GROUPS.finditer(text)
        if match.end() - match.start() >= _LEAST_CHARS and _is_worth_it(match[0])
    ]


def _is_worth_it(groups: str) -> bool:
    """Return whether these are neither a time, an id, an address nor a date."""
    if groups.isalnum():
        return _RUN.fullmatch(groups) is not None
    if "." in groups and "-" not in groups:
        return ")" in groups
    return not _DATE.fullmatch(groups)


def shaped(
    shape: re.Pattern[str], text: str, places: Iterable[tuple[int, int]]
) -> Iterator[re.Match[str]]:
    """Yield what has a shape, of what begins in one of these places."""
    for start, end in places:
        for match in shape.finditer(text, start, end + _BEHIND_CHARS):
            if match.start() < end:
                yield match


def is_named(name: re.Pattern[str], text: str, start: int) -> bool:
    """Return whether `name` matches in what stands before `start`, on its line."""
    before = text[max(0, start - _BESIDE_CHARS) : start]
    return name.search(before[before.rfind("\n") + 1 :]) is not None
