"""Cut a text into the terms that are indexed; a query is cut in the same way.

A term holds letters and digits only, folded by us (width, case, accents), so that the
tokenizer of SQLite has nothing left to decide. Names are kept whole and in parts
(`getUserId`: `get`, `user`, `id`, `getuser`, `userid`, `getuserid`). Chinese, Japanese
and Korean, which have no blanks, become overlapping pairs of characters. A number is
one term with all of its dots (`2.10` is not `2.1`), and another one with the word
before it (`order-0042`, `order 0042`: `order0042`).
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search.stems import STOP_WORDS, stem

__all__ = [
    "DOT",
    "Chunk",
    "Wide",
    "is_number",
    "lexed",
    "lexed_words",
    "plain_terms",
    "terms_of",
]

DOT: Final = "\u00b7"
"""Stands within a term for what joins its parts; no blank of the tokenizer."""
MOST_CHARS: Final = 100_000
"""Of one text; what comes after is not indexed."""
_MOST_TERM_CHARS: Final = 64

WIDE: Final = (
    "\u3005\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_ALNUM: Final = rf"(?:(?![{WIDE}_])\w)"
_LEXEME: Final = re.compile(
    rf"(?P<wide>[{WIDE}]+)|(?P<chunk>{_ALNUM}+(?:[_\-./:@\\+#]+{_ALNUM}+)*)"
)
_DATE: Final = r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?![\d.])"
_PART: Final = re.compile(
    rf"(?P<date>{_DATE})|(?P<clock>\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?![\d:]))"
    r"|(?P<number>\d+(?:\.\d+)*)"
    r"|(?P<word>[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+)"
)
_GROUPS: Final = re.compile(r"[^\W\d_]+|\d+")
_JOINERS: Final = re.compile(r"[_\-./:@\\+#]+")
_HEX: Final = re.compile(r"(?=.*\d)(?=.*[a-fA-F])[0-9a-fA-F]{7,}")
_MARKS: Final = re.compile("[\u0300-\u036f]+")
_SHORT_ENDING: Final = re.compile(r"(?<=\w)['\u2019](?:s|t|re|ve|ll|d|m)\b", re.I)
_WIDE_DATE: Final = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})[日号]?")
_THOUSANDS: Final = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
# Between a word and the number that belongs to it: `order #42`, `order no. 42`.
_BEFORE_NUMBER: Final = re.compile(r"[ \t]*(?:[#№:]|no\.)?[ \t]*", re.I)


@dataclass(frozen=True, slots=True)
class Wide:
    """A run of characters of East Asia.

    Attributes:
        text: folded.
        after: the number right before it (`3号`), or "".
    """

    text: str
    after: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What stands between blanks: a word, a name, a path, a number.

    Attributes:
        parts: folded, in order; words unstemmed.
        before: the word right before it, or "", if this starts with a number.
        text: as it was written.
    """

    parts: tuple[str, ...]
    before: str
    text: str

    @property
    def is_plain(self) -> bool:
        """Whether it is one ordinary word."""
        return len(self.parts) == 1 and not is_number(self.parts[0])


def is_number(part: str) -> bool:
    """Return whether a part is a number, a date or an id that is not cut."""
    return any(map(str.isdigit, part))


def _bare(text: str) -> str:
    """Return a text without accents.

    Of Latin, Greek and Cyrillic only: marks of kana and Hangul make other letters.
    """
    bare = _MARKS.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", bare)


def lexed(text: str) -> Iterator[Wide | Chunk]:
    """Yield what a text consists of, in order."""
    text = text[:MOST_CHARS]
    if not text.isascii():
        text = _bare(unicodedata.normalize("NFKC", _SURROGATES.sub(" ", text)))
        text = _WIDE_DATE.sub(r" \1-\2-\3 ", text)
    text = _SHORT_ENDING.sub("", text)
    text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    before, number, end = "", "", 0
    for found in _LEXEME.finditer(text):
        gap = text[end : found.start()]
        end = found.end()
        if wide := found["wide"]:
            yield Wide(wide.casefold(), "" if gap.strip() else number)
            before, number = wide[-1], ""
            continue
        parts = tuple(_parts(found["chunk"]))
        if not parts:
            continue
        near = before if _BEFORE_NUMBER.fullmatch(gap) else ""
        yield Chunk(parts, near if is_number(parts[0]) else "", found["chunk"])
        last = parts[-1]
        before, number = ("", last) if is_number(last) else (stem(last), "")


def _parts(chunk: str) -> Iterator[str]:
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.isupper()):
        yield chunk.lower()[:_MOST_TERM_CHARS]
        return
    at = 0
    while at < len(chunk):
        joined = _JOINERS.match(chunk, at)
        at = joined.end() if joined else at
        piece = _whole_id(chunk, at)
        if piece:
            yield piece.casefold()[:_MOST_TERM_CHARS]
            at += len(piece)
            continue
        found = _PART.match(chunk, at)
        if found is None:  # a letter without case, a digit of another script
            at += 1
            continue
        yield _normal(found)[:_MOST_TERM_CHARS]
        at = found.end()


def _whole_id(chunk: str, at: int) -> str:
    """Return the id that starts at `at` and is not cut (`k8s`, a hash), or ""."""
    if at and chunk[at - 1].isalnum():
        return ""
    ending = _JOINERS.search(chunk, at)
    piece = chunk[at : ending.start() if ending else len(chunk)]
    if piece.isalpha() or piece.isdigit():
        return ""
    groups = _GROUPS.findall(piece)
    is_mixed = len(groups) > 2 and all(
        len(group) <= 2 for group in groups if not group.isdigit()
    )
    return piece if is_mixed or _HEX.fullmatch(piece) else ""


def _normal(found: re.Match[str]) -> str:
    if date := found["date"]:
        year, month, day = re.split(r"[-/.]", date)
        return DOT.join((year, month.zfill(2), day.zfill(2)))
    if clock := found["clock"]:
        return clock.replace(":", DOT)
    if number := found["number"]:
        return number.replace(".", DOT)
    return found["word"].casefold()


def plain_terms(text: str) -> set[str]:
    """Return the terms of a text that are no names made of others."""
    found = set[str]()
    for each in lexed(text):
        if isinstance(each, Wide):
            found.update(_of_wide(Wide(each.text)))
        else:
            found.update(stem(part) for part in each.parts if part not in STOP_WORDS)
    return found


def lexed_words(text: str) -> Iterator[str]:
    """Yield the plain words of a text, folded, those that say nothing too."""
    for each in lexed(text):
        if isinstance(each, Chunk) and each.is_plain:
            yield each.parts[0]


def terms_of(text: str) -> list[str]:
    """Return the terms of a text that is indexed, in order, repeated ones repeated."""
    terms: list[str] = []
    for each in lexed(text):
        if isinstance(each, Wide):
            terms += _of_wide(each)
        elif each.is_plain:
            word = each.parts[0]
            if word not in STOP_WORDS:
                terms.append(stem(word))
        else:
            terms += _of_chunk(each)
    return terms


def _of_wide(wide: Wide) -> Iterator[str]:
    run = wide.text
    if wide.after:
        yield wide.after + run[0]
    for at in range(len(run) - 1):
        yield run[at : at + 2]
    # So that each character begins a term, and is found alone.
    yield run[-1]


def _of_chunk(chunk: Chunk) -> Iterator[str]:
    parts = chunk.parts
    for part in parts:
        yield stem(part)
        if DOT in part:
            yield from _beginnings(part)
    if chunk.before:
        yield chunk.before + parts[0]
    for first, second in itertools.pairwise(parts):
        yield (stem(first) if is_number(second) else first) + second
    if len(parts) > 2:
        yield "".join(parts)[:_MOST_TERM_CHARS]


def _beginnings(number: str) -> Iterator[str]:
    """Yield what a number with dots is one of: `2.1` for `2.1.3`."""
    figures = number.split(DOT)
    if len(figures) == 3:
        yield DOT.join(figures[:2])
        if len(figures[0]) == 4:
            yield figures[0]
