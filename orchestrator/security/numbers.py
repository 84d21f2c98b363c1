"""Where numbers begin and end in a text, and what may stand before them."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["END", "START", "is_named", "narrowed"]

START: Final = (
    r"[0-9](?:(?<![0-9A-Za-z_$#%¥￥€£@&+][0-9])(?<![0-9A-Za-z][.-][0-9])"
    r"(?<![0-9]:[0-9])(?<![A-Za-z_.:/-]/[0-9])|(?<=\\[nrt][0-9]))"
)
"""First digit of what is no part of a word, a longer number, a path or a price."""
END: Final = r"(?![0-9A-Za-z_%]|[.:-][0-9]|-[A-Za-z]|[ ]?(?:[KMGT]i?B\b|bytes|元))"

_BESIDE_CHARS: Final = 32
# One by one, so that places in both texts are the same.
_NARROW: Final = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
_WIDE: Final = re.compile("[\uff10-\uff19\uff20]")


def narrowed(text: str) -> str:
    """Return `text` with its full-width digits and signs, if any, in ASCII."""
    if text.isascii() or not _WIDE.search(text):
        return text
    return text.translate(_NARROW)


def is_named(name: re.Pattern[str], text: str, start: int) -> bool:
    """Return whether `name` matches in what stands before `start`, on its line."""
    before = text[max(0, start - _BESIDE_CHARS) : start]
    return name.search(before[before.rfind("\n") + 1 :]) is not None
