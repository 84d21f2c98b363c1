"""Secrets that are known as values: found wherever they stand, in several spellings.

What was seen once as a secret may come back without the name beside it, within a URL,
within a string of JSON, or in Base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from orchestrator.security.formats import CREDENTIAL, Span
from orchestrator.security.values import is_stand_in, is_wordy

__all__ = ["Learnt", "Needle", "Needles", "encoded"]

MIN_CHARS: Final = 8
MAX_CHARS: Final = 512
MOST_VALUES: Final = 256
_ANYWHERE_CHARS: Final = 16
"""A value this long is no part of another word."""
_HEAD_CHARS: Final = 12
"""So much of a value is taken for it where the text is cut off."""
_RUN_CHARS: Final = 512
"""Around what is known of a text in Base64, on each side."""
_BEFORE_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{0,{_RUN_CHARS}}}\Z")
_AFTER_RUN: Final = re.compile(rf"[A-Za-z0-9+/_-]{{0,{_RUN_CHARS}}}={{0,2}}")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
_FEW: Final = 100
"""So many are looked for one by one."""
_GRAM_CHARS: Final = 4
_STRIDE: Final = MIN_CHARS - _GRAM_CHARS + 1
_ESCAPE: Final = re.compile(r"\\[\"\\/bfnrtu]")


class Needle(NamedTuple):
    """A text to look for."""

    text: str
    kind: str
    is_word: bool = False
    """Letters and digits beside it make it part of something else."""
    is_part: bool = False
    """Part of a text in Base64, which is taken as a whole."""
    may_be_cut: bool = False


class Needles:
    """Texts of `MIN_CHARS` or more that are looked for together."""

    def __init__(self, needles: Iterable[Needle] = ()) -> None:
        """Prepare a search.

        Args:
            needles: of two with the same text the later one counts.
        """
        self._all = tuple({each.text: each for each in needles}.values())
        self._by_gram: dict[str, list[Needle]] = {}
        if len(self._all) > _FEW:
            for needle in self._all:
                for at in range(_STRIDE):
                    gram = needle.text[at : at + _GRAM_CHARS]
                    self._by_gram.setdefault(gram, []).append(needle)

    def find(self, text: str) -> Iterator[Span]:
        """Yield where they stand in `text`; the places may overlap."""
        for needle in self._likely(text) if self._by_gram else self._all:
            yield from (
                _maybe_cut(text, needle) if needle.may_be_cut else _whole(text, needle)
            )

    def overlaps(self, value: str) -> bool:
        """Return whether `value` holds one of them, or is a part of one."""
        return any(each.text in value or value in each.text for each in self._all)

    def _likely(self, text: str) -> Iterable[Needle]:
        # A text in which a needle stands has one of the needle's first pieces at one
        # of the places that are looked at: they are no further apart.
        pieces = {text[at : at + _GRAM_CHARS] for at in range(0, len(text), _STRIDE)}
        found = self._by_gram.keys() & pieces
        return {needle for gram in found for needle in self._by_gram[gram]}


class Learnt:
    """Values that were secrets once, the newest of a run. Safe from many threads."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        """Begin empty.

        Args:
            most: values that are remembered.
        """
        self._most = most
        self._lock = threading.Lock()
        self._values: dict[str, tuple[Needle, ...]] = {}
        self._needles: Needles | None = Needles()

    def learn(self, value: str, kind: str) -> None:
        """Look for `value` from now on, if it is no word that any text may hold."""
        with self._lock:
            known = self._values.pop(value, None)
            if known is not None:
                self._values[value] = known
                return
            if not _is_distinct(value):
                return
            self._values[value] = tuple(_spellings(value, kind))
            if len(self._values) > self._most:
                self._values.pop(next(iter(self._values)))
            self._needles = None

    def find(self, text: str) -> Iterator[Span]:
        """Return where they stand in `text`; the places may overlap."""
        with self._lock:
            if self._needles is None:
                found = (each for those in self._values.values() for each in those)
                self._needles = Needles(found)
            needles = self._needles
        return needles.find(text)


def _is_distinct(value: str) -> bool:
    """Return whether a value is a secret wherever it stands: unlike any word."""
    if not MIN_CHARS <= len(value) <= MAX_CHARS or is_stand_in(value):
        return False
    if not is_wordy(value):
        return value.isprintable()
    digits = sum(map(str.isdigit, value))
    return digits > 8 or (value.isalnum() and 2 <= digits < len(value))


def encoded(value: str) -> tuple[str, ...]:
    """Return what any text in Base64 holds that holds `value`, for each of 3 offsets.

    Args:
        value: of 8 characters or more.
    """
    data = value.encode("utf-8", "surrogatepass")
    parts = []
    for offset in range(3):
        text = base64.b64encode(b"\0" * offset + data)
        first, last = -(-offset * 8 // 6), (offset + len(data)) * 8 // 6
        parts.append(text[first:last].decode())
    safe = (part.replace("+", "-").replace("/", "_") for part in parts)
    return tuple(dict.fromkeys((*parts, *safe)))


def _whole(text: str, needle: Needle) -> Iterator[Span]:
    at = text.find(needle.text)
    while at != -1:
        end = at + len(needle.text)
        if needle.is_part:
            at, end = _whole_run(text, at, end)
        if not (needle.is_word and _is_in_word(text, at, end)):
            yield Span(at, end, needle.kind)
        at = text.find(needle.text, end)


def _maybe_cut(text: str, needle: Needle) -> Iterator[Span]:
    """Yield where a value stands, also cut off at an end or before `…`."""
    value = needle.text
    head = value[:_HEAD_CHARS]
    at = text.find(head)
    while at != -1:
        end = at + len(head)
        for char, wanted in zip(
            text[end : at + len(value)], value[end - at :], strict=False
        ):
            if char != wanted:
                break
            end += 1
        if end - at == len(value) or text[end : end + 1] in ("", "…"):
            yield Span(at, end, needle.kind)
        at = text.find(head, max(end, at + 1))


def _whole_run(text: str, start: int, end: int) -> tuple[int, int]:
    before = _BEFORE_RUN.search(text, max(0, start - _RUN_CHARS), start)
    behind = _AFTER_RUN.match(text, end)
    return before.start() if before else start, behind.end() if behind else end


def _is_in_word(text: str, start: int, end: int) -> bool:
    beside = (text[max(0, start - 1) : start], text[end : end + 1])
    return any(char.isascii() and char.isalnum() for char in beside)


def _spellings(value: str, kind: str) -> Iterator[Needle]:
    for each in dict.fromkeys([value, *_plain(value)]):
        is_word = len(each) < _ANYWHERE_CHARS or each.isdigit() or is_wordy(each)
        for spelling in (each, quote(each, safe=""), json.dumps(each)[1:-1]):
            yield Needle(spelling, kind, is_word)
        for part in encoded(each):
            yield Needle(part, CREDENTIAL, is_part=True)


def _plain(value: str) -> Iterable[str]:
    """Yield what `value` may be a spelling of: `base64 -d`, a parser of JSON, a URL."""
    candidates = []
    if "%" in value:
        candidates.append(unquote(value))
    try:
        if _ESCAPE.search(value):
            candidates.append(str(json.loads(f'"{value}"')))
        if _BASE64.fullmatch(value):
            data = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
            candidates.append(data.decode())
    except (binascii.Error, ValueError):
        pass
    return filter(_is_distinct, candidates)
