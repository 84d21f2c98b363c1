"""What a summary covers, indexed once: which statement is nearest to another one."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from orchestrator.context import figures
from orchestrator.context.figures import Number
from orchestrator.context.statements import split, terms

__all__ = ["Claim", "Near", "Statements", "is_han"]

Kind = Literal["said", "result", "state"]

MAX_LISTED: Final = 400
"""A term that more statements hold tells little; the rarer ones are looked up."""
RARE_TERMS: Final = 24
"""Most terms of one statement that are looked up."""
_TIE_WEIGHT: Final = 0.01
_SAMPLE: Final = 400
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_LETTER: Final = re.compile(r"[A-Za-z]")
_UNSEEN_WEIGHT: Final = 0.35
"""Of a word that occurs nowhere, as a part of the rarest one's: it may paraphrase."""


def is_han(text: str) -> bool:
    """Return whether a statement is in Han characters, Latin names put aside."""
    return 2 * len(_HAN.findall(text)) > len(_LETTER.findall(text))


class Claim:
    """One statement, what it is about, and its figures; worked out when needed."""

    __slots__ = ("__dict__", "kind", "text")

    def __init__(self, text: str, kind: Kind | Literal["summary"]) -> None:
        self.text = text
        self.kind = kind

    @cached_property
    def numbers(self) -> list[Number]:
        """Return its numbers, in order."""
        return figures.numbers(self.text)

    @cached_property
    def values(self) -> frozenset[float]:
        """Return what its numbers may equal, those in names included."""
        return frozenset(figures.values(self.text))

    @cached_property
    def names(self) -> list[str]:
        """Return its ids, paths and identifiers, in order."""
        return [name.text for name in figures.names(self.text)]

    @cached_property
    def figures(self) -> frozenset[str]:
        """Return its terms that are digits."""
        return frozenset(term for term in terms(self.text) if term[0].isdigit())

    @cached_property
    def terms(self) -> frozenset[str]:
        """Return what it is about; bare numbers do not count."""
        found = terms(self.text)
        inside = {t for name in self.names for t in terms(name)}
        return frozenset(t for t in found if not t[0].isdigit() or t in inside)


@dataclass(frozen=True, slots=True)
class Near:
    """A statement and how much of what was looked for is in it, 0 to 1."""

    claim: Claim
    share: float
    place: int
    """Rank in time among all statements."""


class Statements:
    """Statements of several texts, oldest first, and where each term occurs."""

    def __init__(self, parts: Iterable[tuple[Kind, Sequence[str]]]) -> None:
        self.claims: list[Claim] = []
        self.texts: list[str] = []
        self.said: list[str] = []
        self.listed: dict[str, list[int]] = {}
        for kind, texts in parts:
            for text in texts:
                self.texts.append(text)
                if kind == "said":
                    self.said.append(text)
                self._add(kind, text)
        self._rarest = math.log(1 + len(self.claims))

    def _add(self, kind: Kind, text: str) -> None:
        listed = self.listed
        for statement in split(text):
            place = len(self.claims)
            self.claims.append(Claim(statement.text, kind))
            for term in terms(statement.text):
                if term in listed:
                    listed[term].append(place)
                else:
                    listed[term] = [place]

    def of(self, kind: Kind) -> Iterator[Claim]:
        """Yield the statements of one kind, oldest first."""
        return (claim for claim in self.claims if claim.kind == kind)

    @cached_property
    def lower(self) -> str:
        """Return all texts, joined, in small letters."""
        return "\n".join(self.texts).lower()

    @cached_property
    def values(self) -> set[float]:
        """Return what any number in it may equal."""
        return {v for text in self.texts for v in figures.values(text)}

    @cached_property
    def years(self) -> dict[tuple[int, int], set[int]]:
        """Return the years of every day that is named, 0 for none, by month and day."""
        found: dict[tuple[int, int], set[int]] = {}
        for day in (day for text in self.texts for day in figures.dates(text)):
            found.setdefault(day.of_year, set()).add(day.year)
        return found

    @cached_property
    def han_share(self) -> float:
        """Return which part of the statements is in Han characters: 0 to 1."""
        some = self.claims[:: max(len(self.claims) // _SAMPLE, 1)]
        return sum(is_han(claim.text) for claim in some) / max(len(some), 1)

    def with_number(self, text: str, *, most: int) -> Iterator[Claim]:
        """Yield statements, the newest first, that hold the digits of a number."""
        return (claim for _, claim in self.at_number(text, most=most))

    def at_number(self, text: str, *, most: int) -> Iterator[tuple[int, Claim]]:
        """Yield the same statements with their rank in time."""
        digits = re.match(r"[\d.]*\d", text.replace(",", ""))
        places = self.listed.get(digits[0], ()) if digits else ()
        return ((place, self.claims[place]) for place in places[: -most - 1 : -1])

    def weight(self, term: str) -> float:
        """Return how much a term tells: the rarer, the more."""
        places = self.listed.get(term)
        if places is None:
            return _UNSEEN_WEIGHT * self._rarest
        return math.log(1 + len(self.claims) / len(places))

    def weigh(self, some: Iterable[str]) -> float:
        """Return the sum of weights."""
        return sum(map(self.weight, some))

    def share(
        self, some: frozenset[str], other: frozenset[str], *, is_strict: bool = False
    ) -> float:
        """Return how much of `some`, by weight, is in `other`: 0 to 1.

        Strictly, a word that occurs nowhere counts as much as the rarest one.
        """
        total = self.weigh(some)
        if is_strict:
            unseen = sum(1 for term in some if term not in self.listed)
            total += unseen * (1 - _UNSEEN_WEIGHT) * self._rarest
        return self.weigh(some & other) / total if total else 0.0

    def near(
        self,
        some: frozenset[str],
        *,
        figures: Collection[str] = (),
        most: int = 8,
    ) -> list[Near]:
        """Return the statements that hold most of `some`, the best first.

        Of those that hold as much, the ones with more of `figures` come first: lines of
        a log are alike but for them.
        """
        scores: dict[int, float] = {}
        known = [term for term in some if term in self.listed]
        known.sort(key=lambda term: (len(self.listed[term]), term))
        for term in known[:RARE_TERMS]:
            places = self.listed[term]
            if len(places) > MAX_LISTED and scores:
                for place in scores.keys() & set(places):
                    scores[place] += self.weight(term)
                continue
            weight = self.weight(term)
            for place in places:
                scores[place] = scores.get(place, 0.0) + weight
        for figure in figures:
            for place in scores.keys() & set(self.listed.get(figure, ())):
                scores[place] += _TIE_WEIGHT
        total = self.weigh(some)
        best = sorted(scores.items(), key=lambda pair: (-pair[1], -pair[0]))[:most]
        return [
            Near(self.claims[place], min(score / total, 1.0), place)
            for place, score in best
            if score > 0
        ]

    def has_name(self, name: str) -> bool:
        """Return whether an id, a path or an identifier occurs, perhaps shortened."""
        low = name.lower().removeprefix("./").removesuffix("()").strip("`'\"")
        if not low or low in self.lower:
            return True
        base = low.rstrip("/").rsplit("/", 1)[-1]
        return "/" in low and len(base) >= 4 and base in self.lower

    def source_of(self, needle: str) -> Claim | None:
        """Return the newest statement that holds a text: said before found."""
        low = needle.lower()
        if low not in self.lower:
            return None
        first = None
        for claim in reversed(self.claims):
            if low in claim.text.lower():
                if claim.kind == "said":
                    return claim
                first = first or claim
        return first
