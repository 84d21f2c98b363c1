"""What a query asks for: terms that count, and numbers that may not be another one.

All of a query is data. It is cut like the texts that are indexed, so that no sign in it
has a meaning of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.memory.search.glossary import in_chinese, in_english, longest
from orchestrator.memory.search.stems import STOP_WORDS, WIDE_STOPS, stem
from orchestrator.memory.search.words import DOT, Chunk, Wide, is_number, lexed

__all__ = ["YEAR", "Asked", "Numbers", "Term", "asked", "shape_of"]

_QUERY_CHARS: Final = 4_000
_MOST_TERMS: Final = 48
_QUOTED: Final = re.compile(r"[`\"“「『]([^`\"”」』\n]{2,120})[`\"”」』]")
_STRICT_DIGITS: Final = 3
YEAR: Final = "year"
"""The shape of all years."""
_FIGURES: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is looked for.

    Attributes:
        forms: terms of the index; one of them is enough.
        is_start: `forms` are beginnings of terms.
        is_extra: adds to the rank where it is there, and is not missed elsewhere.
        is_wide: a pair of characters of East Asia, which need not be a word.
    """

    forms: tuple[str, ...]
    is_start: bool = False
    is_extra: bool = False
    is_wide: bool = False


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers and ids that a query names.

    Attributes:
        strict: one of them must be in what is found.
        shapes: names with a figure (`order0042`), each with its form that has `0` for
            all figures: another name of that form is another thing.
    """

    strict: frozenset[str] = frozenset()
    shapes: tuple[tuple[str, str], ...] = ()

    def __or__(self, other: Numbers) -> Numbers:
        shapes = dict.fromkeys((*self.shapes, *other.shapes))
        return Numbers(self.strict | other.strict, tuple(shapes))

    def held(self, terms: Collection[str]) -> int:
        """Return whether a number of ours is in a text (1), and by its name too (2)."""
        is_there = not self.strict.isdisjoint(terms)
        return is_there + any(term in terms for term, _ in self.shapes)

    def allow(self, terms: Iterable[str]) -> bool:
        """Return whether a text may be meant: none of its numbers stands for ours."""
        if not self.strict and not self.shapes:
            return True
        held = set(terms)
        if self.strict and not self.strict & held:
            return False
        wanted = {term for term, _ in self.shapes}
        others: set[str] | None = None
        for term, shape in self.shapes:
            if term in held:
                continue
            if others is None:
                others = {shape_of(each) for each in held - wanted if is_number(each)}
            if shape in others:
                return False
        return True


def shape_of(term: str) -> str:
    """Return a term with each figure as `0`: `web03` and `web12` are of one shape.

    A number alone has none, but for a year: it may count anything.
    """
    if term.isdigit():
        return YEAR if _is_year(term) else ""
    return _FIGURES.sub("0", term)


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, understood.

    Attributes:
        terms: what is looked for; none: nothing can be found by words.
        numbers: what may not be confused.
    """

    terms: tuple[Term, ...]
    numbers: Numbers


def asked(query: str) -> Asked:
    """Return what a query asks for."""
    query = query[:_QUERY_CHARS]
    lexemes = list(lexed(query))
    terms: dict[Term, None] = {}
    for each in _of_lexemes(lexemes):
        terms.setdefault(each)
    if not terms:
        terms = dict.fromkeys(_lone(lexemes))
    if all(term.is_extra for term in terms):
        terms = dict.fromkeys(
            dataclasses.replace(term, is_extra=False) for term in terms
        )
    strict, shapes = set[str](), dict[tuple[str, str], None]()
    for chunk in lexemes:
        if isinstance(chunk, Chunk):
            strict |= set(_strict(chunk))
            shapes |= dict.fromkeys((term, shape_of(term)) for term in _shaped(chunk))
    for before, wide in itertools.pairwise(lexemes):
        if isinstance(wide, Wide) and wide.after and isinstance(before, Chunk):
            term = wide.after + wide.text[0]
            shapes[term, shape_of(term)] = None
    return Asked(
        tuple(terms)[:_MOST_TERMS],
        Numbers(frozenset(strict), tuple(shapes)),
    )


def _of_lexemes(lexemes: Sequence[Wide | Chunk]) -> Iterator[Term]:
    for at, each in enumerate(lexemes):
        if isinstance(each, Wide):
            yield from _of_wide(each)
        elif each.is_plain:
            word = each.parts[0]
            if _counts(word):
                yield _word(word, _joined(lexemes, at))
                if stem(word) != word:
                    yield Term((word,), is_extra=True)
        else:
            yield from _of_chunk(each)


def _joined(lexemes: Sequence[Wide | Chunk], at: int) -> Iterator[str]:
    """Yield a word and each of its neighbours as one name: `user id`, `userid`."""
    for first, second in itertools.pairwise(lexemes[max(at - 1, 0) : at + 2]):
        if (
            isinstance(first, Chunk)
            and isinstance(second, Chunk)
            and first.is_plain
            and second.is_plain
            and _counts(first.parts[0])
            and _counts(second.parts[0])
        ):
            yield first.parts[0] + second.parts[0]


def _counts(word: str) -> bool:
    return len(word) > 1 and word not in STOP_WORDS


def _word(word: str, joined: Iterable[str]) -> Term:
    """Return an English word, or what stands for it in Chinese.

    Unstemmed as well: a name that is written in one (`GETUSERIDS`) has no plural.
    """
    wide = (each[:2] for each in in_chinese(stem(word)))
    return Term(tuple(dict.fromkeys((stem(word), word, *wide, *joined))))


def _of_wide(wide: Wide) -> Iterator[Term]:
    for run in WIDE_STOPS.split(wide.text):
        english = _translated(run)
        for at in range(len(run) - 1):
            yield Term((run[at : at + 2], *english.get(at, ())), is_wide=True)


def _translated(run: str) -> dict[int, tuple[str, ...]]:
    """Return English stems for each pair of characters within a known word."""
    found: dict[int, tuple[str, ...]] = {}
    at = 0
    while at < len(run) - 1:
        word = longest(run, at)
        for inside in range(len(word) - 1):
            found[at + inside] = in_english(word)
        at += max(len(word), 1)
    return found


def _lone(lexemes: Sequence[Wide | Chunk]) -> Iterator[Term]:
    """Yield single characters, where a query holds nothing longer."""
    for each in lexemes:
        if isinstance(each, Wide):
            for run in WIDE_STOPS.split(each.text):
                if run:
                    yield Term((run,), is_start=True, is_wide=True)
        elif each.is_plain:
            yield Term((stem(each.parts[0]),))


def _of_chunk(chunk: Chunk) -> Iterator[Term]:
    parts = chunk.parts
    for at, part in enumerate(parts):
        if len(part) == 1 and not is_number(part) and len(parts) > 1:
            continue
        forms = [stem(part)]
        if at and not is_number(part):
            forms.append(parts[at - 1] + part)
        if at + 1 < len(parts) and not is_number(part):
            forms.append(part + parts[at + 1])
        if is_number(part) and _is_short(part) and len(parts) > 1:
            # A figure of a name says nothing alone: `2` of `server2`.
            continue
        # `get` of `get_user_id` is no word of its own where it stands alone.
        is_stop = part in STOP_WORDS and len(parts) > 1
        yield Term(tuple(dict.fromkeys(forms)), is_extra=is_stop)
    if chunk.before:
        yield Term((chunk.before + parts[0],), is_extra=True)
    for first, second in itertools.pairwise(parts):
        head = stem(first) if is_number(second) else first
        named = is_number(second) and _is_short(second)
        yield Term((head + second,), is_extra=not named)
    if len(parts) > 2:
        yield Term(("".join(parts),), is_extra=True)


def _is_short(number: str) -> bool:
    return number.isdigit() and len(number) < _STRICT_DIGITS


def _is_year(number: str) -> bool:
    return len(number) == 4 and number.isdigit() and number[:2] in ("19", "20")


def _strict(chunk: Chunk) -> Iterator[str]:
    """Yield the parts that must be found as they stand."""
    for part in chunk.parts:
        if not is_number(part) or _is_short(part) or _is_year(part):
            continue
        if not part.isdigit() and DOT not in part and len(part) < 4:
            continue  # `k8s` has another name
        yield part


def _shaped(chunk: Chunk) -> Iterator[str]:
    """Yield the terms of which another figure makes another thing."""
    parts = chunk.parts
    for part in parts:
        if _is_year(part):
            yield part
    if chunk.before:
        yield chunk.before + parts[0]
    for first, second in itertools.pairwise(parts):
        if is_number(second) and not is_number(first):
            yield stem(first) + second
