"""Whether two entries say the same, so that one of them is enough.

Merging takes an entry away, so that it has to be certain: nothing in the shorter one
may be missing in the longer one, in the same order, and what changes a meaning by
itself (numbers, ids, paths, names in code, negations) is the same in both.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

__all__ = ["are_alike", "exact_parts", "holds_all_of"]

LEAST_SHARE: Final = 0.7
"""Words of the shorter value in proportion to the longer one."""
LEAST_WORDS: Final = 3
_TICKED: Final = re.compile(r"`+([^`\n]+)`+")
_EXACT: Final = re.compile(
    r"[\w.@:/\\#~+-]*[/\\_@#~][\w.@:/\\#~+-]*|[\w.-]*\d[\w.:%-]*|\w+(?:\.\w+)+"
    r"|[a-z]+[A-Z]\w*|[A-Z]{2,}\w*|[$€£¥%<>=!]+"
)
_NEGATIONS: Final = re.compile(
    r"\b(?:not|no|non|none|never|nor|neither|nothing|nobody|without|cannot|can't|un\w+able"
    r"|except|unless|only|but|must|may|should|optional|required|enabled?s?|disabled?s?"
    r"|allowed|forbidden|deprecated|removed|added|before|after|until|more|less|most|least"
    r"|over|under|on|off|true|false|yes|old|new|all|some|any|always|sometimes"
    r"|minimum|maximum|min|max|first|last|up|down)\b|n['’]t\b"
    r"|[不没無无非未勿别禁否仅只前后上下旧新多少大小]",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]+|\d+")
_WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STOP: Final = frozenset(
    {
        "a", "an", "the", "is", "are", "was", "were", "be", "been", "of", "to", "in",
        "for", "with", "by", "as", "at", "from", "and", "or", "that", "this", "it",
        "its", "has", "have", "had", "does", "do", "did", "will", "which",
        "的", "了", "是", "在", "和", "与", "及", "也", "都", "为", "就",
    }
)  # fmt: skip


def are_alike(key: str, value: str, other_key: str, other_value: str) -> bool:
    """Return whether two entries of different keys say the same of the same thing."""
    mine, theirs = set(_words(key)), set(_words(other_key))
    if not (mine <= theirs or theirs <= mine):
        return False
    if exact_parts(key) != exact_parts(other_key):
        return False
    return _same_said(value, other_value)


def holds_all_of(value: str, other: str) -> bool:
    """Return whether a value says all that another one does, and no less."""
    return _is_within(_words(other), _words(value))


def exact_parts(text: str) -> Counter[str]:
    """Return what may not differ between texts that say the same."""
    plain = unicodedata.normalize("NFKC", text)
    found = [match.strip(".:-") for match in _EXACT.findall(plain)]
    found += _TICKED.findall(plain)
    found += [match.lower() for match in _NEGATIONS.findall(plain)]
    return Counter(filter(None, found))


def _same_said(value: str, other: str) -> bool:
    if exact_parts(value) != exact_parts(other):
        return False
    short, long = sorted((_words(value), _words(other)), key=len)
    if len(short) < max(LEAST_WORDS, LEAST_SHARE * len(long)):
        return False
    return _is_within(short, long)


def _is_within(short: Sequence[str], long: Iterable[str]) -> bool:
    """Return whether the words of one stand in the other, in the same order."""
    left = iter(long)
    return all(word in left for word in short)


def _words(text: str) -> list[str]:
    """Return the words that carry meaning; of wide scripts each sign."""
    plain = unicodedata.normalize("NFKC", text).lower()
    found: list[str] = []
    for word in _WORD.findall(plain):
        if _WIDE.search(word):
            found += [sign for sign in word if sign not in _STOP]
        elif word not in _STOP:
            found.append(_stem(word))
    return found


def _stem(word: str) -> str:
    """Return a word without the ending of a plural."""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
