"""Names, days and numbers in a text, in a form to compare."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from orchestrator.context.statements import stem

__all__ = ["Day", "Name", "Number", "dates", "names", "numbers", "values"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was meant.

    Attributes:
        values: what it may equal; a percentage is also a share.
        text: as it was written, without its unit.
        start: where it stands in its statement.
        end: one behind its last character.
        unit: stem of the word behind it, or "".
        before: stem of the word before it, or "".
        digits: how many digits were written, 0 for a number in words.
        is_count: small and whole: such a one may come from counting.
    """

    values: tuple[float, ...]
    text: str
    start: int
    end: int
    unit: str
    before: str
    digits: int
    is_count: bool


@dataclass(frozen=True, slots=True)
class Name:
    """An id, a path, an identifier or an address, and where it stands.

    Attributes:
        text: as it was written.
        start: where it stands in its statement.
        end: one behind its last character.
    """

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Day:
    """A day, and where it stands.

    Attributes:
        year: 0: none was written.
        month: from 1.
        day: from 1.
        start: where it stands in its statement.
        end: one behind its last character.
    """

    year: int
    month: int
    day: int
    start: int
    end: int

    @property
    def of_year(self) -> tuple[int, int]:
        """Return month and day: the same in every year."""
        return self.month, self.day


_NAME: Final = re.compile(
    r"https?://[^\s<>\"'`)\]，。；）]+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+*-]*"
    r"|(?<!\w)/[\w.-]+"
    r"|\b[A-Za-z_][\w-]*(?:\.[A-Za-z_]\w*)+"
    r"|\bv?\d+(?:\.\d+){2,}\b"
    r"|\b[A-Za-z]+(?:-[A-Za-z]+)*-\d[\w-]*"
    r"|\b[A-Za-z_]\w*_\w+"
    r"|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b"
    r"|\b[a-z]+[A-Z]\w+|\b(?:[A-Z][a-z0-9]+){2,}\b"
    r"|\b[A-Za-z]{1,6}\d[\w.]*",
    re.ASCII,
)
_NO_NAMES: Final = frozenset({"e.g", "i.e", "a.m", "p.m", "and/or", "n/a", "etc."})
_FILE_END: Final = re.compile(r"\.[A-Za-z]\w{0,5}$")


def names(text: str) -> list[Name]:
    """Return ids, paths, identifiers and addresses in a text, in order."""
    found: list[Name] = []
    for match in _NAME.finditer(text):
        name = match[0].rstrip(".,:;-")
        if len(name) < 2 or name.lower() in _NO_NAMES or _is_pair(name):
            continue
        found.append(Name(name, match.start(), match.start() + len(name)))
    return found


def _is_pair(name: str) -> bool:
    """Return whether it is two words with a stroke, not a path."""
    parts = name.split("/")
    return (
        len(parts) == 2
        and all(parts)
        and not _FILE_END.search(name)
        and name[0] not in "./~"
        and all(part.isalpha() or part.isdigit() for part in parts)
    )


_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_MONTH: Final = (
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"(?:uary|ruary|ch|il|e|y|ust|t(?:ember)?|ober|ember)?\.?"
)
_DATE: Final = re.compile(
    r"(?<![\d.])(?P<y1>\d{4})[-/.年]\s?(?P<m1>\d{1,2})[-/.月]\s?(?P<d1>\d{1,2})"
    r"(?:日|号)?(?![\d.]\d)"
    r"|(?<!\d)(?P<m2>\d{1,2})月\s?(?P<d2>\d{1,2})(?:日|号)"
    rf"|\b(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m3>{_MONTH})"
    r"(?:,? (?P<y3>\d{4}))?"
    rf"|\b(?P<m4>{_MONTH}) (?P<d4>\d{{1,2}})(?:st|nd|rd|th)?\b"
    r"(?:,? (?P<y4>\d{4}))?"
)


def dates(text: str) -> list[Day]:
    """Return the days named in a text, in order."""
    found: list[Day] = []
    for match in _DATE.finditer(text):
        form = next(form for form in "1234" if match["d" + form])
        month = match["m" + form]
        number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
        year = int(match["y" + form] or 0) if form != "2" else 0
        day = int(match["d" + form])
        found.append(Day(year, number, day, match.start(), match.end()))
    return found


_SCALES: Final = dict(
    [
        *(("k", 1e3), ("thousand", 1e3), ("千", 1e3), ("万", 1e4), ("百万", 1e6)),
        *(("亿", 1e8), ("m", 1e6), ("million", 1e6), ("mn", 1e6)),
        *(("b", 1e9), ("bn", 1e9), ("billion", 1e9)),
    ]
)
_NUMBER: Final = re.compile(
    r"(?<![A-Za-z0-9_.])(?P<int>\d{1,3}(?:[,，]\d{3})+|\d+)(?P<frac>\.\d+)?"
    r"(?:\s?(?P<percent>%|％|percent\b|per cent\b)"
    r"|(?P<scale>[kKMB](?![A-Za-z])|\s?(?:thousand|million|billion|bn|mn)\b"
    r"|\s?(?:百万|千|万|亿)))?"
)
_WORDS: Final = dict(
    [
        *(("two", 2), ("three", 3), ("four", 4), ("five", 5), ("six", 6), ("seven", 7)),
        *(("eight", 8), ("nine", 9), ("ten", 10), ("eleven", 11), ("twelve", 12)),
        *(("twenty", 20), ("thirty", 30), ("forty", 40), ("fifty", 50), ("sixty", 60)),
        *(("twice", 2), ("dozen", 12), ("hundred", 100)),
    ]
)
_HAN_DIGITS: Final[dict[str, int]] = dict(
    zip("一二三四五六七八九两", (*range(1, 10), 2), strict=True)
)
_WORDED: Final = re.compile(
    rf"\b(?P<word>{'|'.join(_WORDS)})\b"
    r"|(?P<han>[一二三四五六七八九十两]{1,3})"
    r"(?=[个次天条台项份小分秒周月年位名处家倍轮步层页行])",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(r"[\s\-]?([A-Za-z]+|[\u3400-\u9fff])")
_AHEAD: Final = re.compile(r"([A-Za-z]+|[\u3400-\u9fff])[\s:：=`'\"(\[|]*$")
MAX_COUNT: Final = 12


def numbers(text: str) -> list[Number]:
    """Return the numbers of a statement; those in names and dates are left out."""
    masked = list(text)
    parts: list[Name | Day] = [*names(text), *dates(text)]
    for each in parts:
        masked[each.start : each.end] = "_" * (each.end - each.start)
    bare = "".join(masked)
    found = [_number(match, bare) for match in _NUMBER.finditer(bare)]
    for match in _WORDED.finditer(bare):
        value = _WORDS[match["word"].lower()] if match["word"] else _han(match["han"])
        if value > 1:
            found.append(_made((float(value),), match, bare, digits=0))
    return sorted(found, key=lambda number: number.start)


def values(text: str) -> set[float]:
    """Return what the numbers of a long text may equal, those in names included."""
    found: set[float] = set()
    for whole, fraction, percent, scale in _NUMBER_PARTS(text):
        found.update(_values(whole, fraction, percent, scale))
    for word, han in _WORDED.findall(text):
        found.add(float(_WORDS[word.lower()] if word else _han(han)))
    return found


_NUMBER_PARTS: Final = re.compile(
    _NUMBER.pattern.replace("(?<![A-Za-z0-9_.])", "(?<![0-9])")
).findall


def _number(match: re.Match[str], text: str) -> Number:
    parts = (match[name] or "" for name in ("int", "frac", "percent", "scale"))
    digits = sum(char.isdigit() for char in match[0])
    return _made(_values(*parts), match, text, digits=digits)


def _made(
    amounts: tuple[float, ...], match: re.Match[str], text: str, *, digits: int
) -> Number:
    behind = _BEHIND.match(text, match.end())
    ahead = _AHEAD.search(text[: match.start()])
    unit = "%" if match[0].endswith(("%", "％", "cent")) else ""
    if not unit and behind:
        unit = stem(behind[1])
    is_count = unit != "%" and amounts[0] <= MAX_COUNT and amounts[0].is_integer()
    return Number(
        amounts,
        match[0].strip(),
        match.start(),
        match.end(),
        unit,
        stem(ahead[1]) if ahead else "",
        digits,
        is_count,
    )


def _values(whole: str, fraction: str, percent: str, scale: str) -> tuple[float, ...]:
    value = float(whole.replace(",", "").replace("，", "") + fraction)
    if percent:
        return (value, round(value / 100, 8))
    if scale:
        return (round(value * _SCALES[scale.strip().lower()], 6), value)
    return (value,)


def _han(text: str) -> int:
    tens, found, ones = text.partition("十")
    if not found:
        return _HAN_DIGITS.get(text, 0)
    return 10 * _HAN_DIGITS.get(tens, 1) + _HAN_DIGITS.get(ones, 0)
