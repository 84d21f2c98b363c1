"""Texts as statements, and what each is about, in a form to compare."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

__all__ = [
    "Statement",
    "any_of",
    "clause_at",
    "clauses",
    "first_term",
    "split",
    "stem",
    "terms",
]

MAX_STATEMENT_CHARS = 600
"""A longer line without a sentence's end is taken in pieces."""

_SHORT: Final = (
    *("Dr", "Mr", "Ms", "St", "No", "Mrs", "vs", "cf", "approx", "incl", "max", "min"),
    *("ca", "fig", "sec", "etc", "e.g", "i.e", "resp"),
)
_NO_END: Final = "".join(rf"(?<!\b{re.escape(each)}\.)" for each in _SHORT)
_END: Final = re.compile(
    rf"\n+|(?<=[.!?]){_NO_END}[ \t]+(?=\S)"
    r"|(?<=[!?])(?=[\u3400-\u9fff])|(?<=[。！？；])"
)
_BULLET: Final = re.compile(
    r"[ \t>|]*(?:[-*•+][ \t]+)?(?:\[[ xX]\][ \t]+)?(?:\(?\d{1,2}[.)、][ \t]+)?"
)
_CLAUSE: Final = re.compile(
    r"[,;:](?!\d)|[，、；：]|[ \t][-–—][ \t]|——|"
    r"\b(?:but|because|although|though|while|whereas|however|since|so that)\b|"
    r"但是?|因为|所以|而且|然而|由于|因此",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    r"[A-Za-z\u00c0-\u1fff]+[0-9]*|[0-9]+(?:[.,:][0-9]+)*"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)
_HAN_STOP: Final = re.compile(
    "不得|不要|不能|不可|不许|不准|没有|必须|只能|务必|禁止|严禁|一律|切勿|请勿|绝不|"
    "确认|批准|同意|询问|请求|允许|可以|"
    "[的了是在和与及或也都就被把将对从到为以于而且但并其这那之个着过吗呢吧它他她我你们"
    "不没未无勿待已一二三四五六七八九十百千万亿两几]"
)
_STOP: Final = frozenset(
    re.findall(
        r"\S+",
        """
        a an and are as at be been being but by can could did do does doing done for
        from had has have having he her his how i if in into is it its itself just
        may me might more most must my no none nor not of on once only or other our
        out over own shall she should so some such t than that the their them then
        there these they this those to too under until up us very was we were what
        when where which while who whom why will with would you your never always
        don doesn didn isn aren wasn weren won cannot please also because however
        yet still now after before about any all each every both per via again etc s
        re ll ve d m n asked ask asks confirmed confirm confirms approved approve
        approves approval requested pending awaiting agreed even below above
        anything something
        """,
    )
)
_IRREGULAR: Final = {
    word: stem
    for stem, words in {
        "writ": "wrote written write writes writing",
        "choos": "chose chosen choose chooses choice",
        "keep": "kept",
        "find": "found",
        "run": "ran running",
        "build": "built",
        "send": "sent",
        "get": "got gotten",
        "giv": "gave given",
        "tak": "took taken",
        "mak": "made",
        "leav": "left",
        "hold": "held",
        "tell": "told",
        "say": "said",
        "break": "broke broken",
        "los": "lose loses lost losing loss losses",
        "decid": "decision decisions decide decided",
        "paid": "pay paid pays",
        "read": "reading",
        "fell": "fall fallen falls fell",
        "grow": "grew grown",
        "ris": "rose risen",
        "mean": "meant",
        "need": "needed",
        "hour": "hours",
        "second": "s sec secs seconds",
        "minut": "min mins minutes",
    }.items()
    for word in words.split()
}


def any_of(phrases: str, *, before: str = r"\b", after: str = r"\b") -> re.Pattern[str]:
    """Return what finds any of the phrases, in letters of any case.

    Args:
        phrases: patterns, parted by `|`; line ends with the blanks around do not count.
        before: what stands before each of them.
        after: what stands behind each of them.
    """
    joined = re.sub(r"\s*\n\s*", "", phrases.strip())
    return re.compile(f"{before}(?:{joined}){after}", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence or a line, and where it stands in its text."""

    text: str
    start: int
    end: int


def split(text: str) -> Iterator[Statement]:
    """Yield the statements of a text in order, without bullets and blank ones."""
    at = 0
    for end in _END.finditer(text):
        yield from _trimmed(text, at, end.start())
        at = end.end()
    yield from _trimmed(text, at, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[Statement]:
    while start < end:
        stop = min(end, start + MAX_STATEMENT_CHARS)
        if stop < end:
            blank = text.rfind(" ", start + MAX_STATEMENT_CHARS // 2, stop)
            stop = blank if blank > 0 else stop
        bullet = _BULLET.match(text, start, stop)
        first = bullet.end() if bullet else start
        bare = text[first:stop].rstrip()
        if bare:
            lead = len(bare) - len(bare.lstrip())
            yield Statement(bare.lstrip(), first + lead, first + len(bare))
        start = stop


def clauses(text: str) -> list[str]:
    """Return the parts of a statement between commas, colons and conjunctions."""
    return [part for part in _CLAUSE.split(text) if part and part.strip()]


def clause_at(text: str, place: int) -> str:
    """Return the part of a statement in which a place is."""
    start = 0
    for end in _CLAUSE.finditer(text):
        if end.start() >= place:
            return text[start : end.start()]
        start = end.end()
    return text[start:]


def terms(text: str) -> set[str]:
    """Return what a text is about: stems of its words, pairs of Han characters.

    Words that bind, negate or fill are left out, so that a statement and its contrary
    have the same terms.
    """
    found: set[str] = set()
    for token in _TOKEN.findall(text):
        if token[0] >= "\u3040":
            found.update(_pairs(token))
        elif token[0] <= "9":
            found.add(token.replace(",", ""))
        else:
            found.add(stem(token))
    found.discard("")
    return found


def first_term(text: str) -> str:
    """Return the first word that tells something, or "" where there is none."""
    for token in _TOKEN.findall(text):
        found = terms(token)
        if found:
            return token[:2] if token[0] >= "\u3040" else found.pop()
    return ""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its endings, or "" for one that only fills."""
    low = word.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _STOP:
        return ""
    if len(low) <= 3 or not low.isascii():
        return low.removesuffix("e") if len(low) == 3 else low
    if low.endswith("ies"):
        return low[:-3] + "y"
    for suffix, least in _SUFFIXES:
        bare = low.removesuffix(suffix)
        if bare != low and len(bare) >= least and not low.endswith("ss"):
            bare = _undoubled(bare.removesuffix("e"))
            return bare.removesuffix("at") if len(bare) > 5 else bare
    return low.removesuffix("s").removesuffix("e")


_SUFFIXES: Final = (
    *(("ements", 3), ("ement", 3), ("ments", 5), ("ment", 5), ("ions", 3), ("ion", 3)),
    *(("ings", 3), ("ing", 3), ("edly", 3), ("ed", 3), ("ly", 3), ("es", 3)),
    *(("s", 4), ("e", 4)),
)


def _undoubled(word: str) -> str:
    is_double = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if is_double else word


@lru_cache(maxsize=65_536)
def _pairs(run: str) -> frozenset[str]:
    pairs: set[str] = set()
    for piece in _HAN_STOP.split(run):
        if len(piece) == 1:
            pairs.add(piece)
        pairs.update(piece[at : at + 2] for at in range(len(piece) - 1))
    return frozenset(pairs)
