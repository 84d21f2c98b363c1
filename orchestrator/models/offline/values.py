"""Take a single value out of what was found, only where it clearly belongs to its name.

A place counts for a field when it holds the field's own terms: those of its name, or
of its description where the name says nothing. The value stands close to one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.models.offline.answers import Place
from orchestrator.models.offline.words import Bag, Concept, concepts

__all__ = ["CannotFill", "chosen", "fitting_places", "is_general", "number"]

Answers = Sequence[tuple[str, Sequence[Place]]]

CLOSE_CHARS = 60
"""How far a number may stand from a term of its field."""
ENOUGH = 0.6
"""Share of a field's terms that a place must hold, where there are several."""
_NUMBER = re.compile(
    r"(?<![\w.,/:#-])-?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:-]*\d|[A-Za-z_-]*[A-Z_])"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")
_END = re.compile(r"[.!?;]\s|[。！？；\n]")
_GENERAL = re.compile(
    r"(?:summary|answers?|report|text|conclusions?|claims?|findings?|statements?|"
    r"contents?|results?|摘要|结论|答案|回答|总结)",
    re.IGNORECASE,
)


class CannotFill(Exception):
    """A field has nothing to be filled with."""


def is_general(key: str) -> bool:
    """Return whether a field is for whatever was found."""
    return bool(_GENERAL.fullmatch(key))


def _terms(name: str, answers: Answers) -> list[Concept]:
    """Return what a field is about: its name, else its description."""
    key, _, rest = name.partition(" ")
    own = list(concepts(_HUMP.sub(" ", key)))
    described = [concept for concept in concepts(rest) if not concept.is_weak]
    if is_general(key) or not own:
        own = described
    if not own and len(answers) == 1 and is_general(key):
        own = [c for c in concepts(answers[0][0]) if not c.is_weak]
    return own


def fitting_places(name: str, answers: Answers) -> list[Place]:
    """Return the places that hold the terms of a field, the best first.

    Args:
        name: of the field, then its title and description.
        answers: each question with the places found for it.
    """
    terms = _terms(name, answers)
    whole = sum(concept.weight for concept in terms)
    rest = concepts(name.partition(" ")[2])
    ranked: list[tuple[float, Place]] = []
    for _question, places in answers:
        for place in places:
            bag = Bag.of(place.claim)
            share = sum(c.weight * c.match(bag) for c in terms)
            if whole and share >= ENOUGH * whole and _all_there(name, bag):
                more = sum(c.weight * c.match(bag) for c in rest)
                ranked.append((share / whole + more, place))
    ranked.sort(key=lambda pair: -pair[0])
    return [place for _score, place in ranked]


def _all_there(name: str, bag: Bag) -> bool:
    """Return whether all terms of the name itself are there."""
    key = name.partition(" ")[0]
    own = () if is_general(key) else concepts(_HUMP.sub(" ", key))
    return all(concept.match(bag) for concept in own)


def chosen(choices: Sequence[Any], name: str, answers: Answers) -> Any:  # noqa: ANN401 - any JSON
    """Return the one choice that a fitting place names.

    Raises:
        CannotFill: none is named, or more than one.
    """
    for place in fitting_places(name, answers):
        named = [
            choice
            for choice in choices
            if isinstance(choice, str) and _names(place.claim, choice)
        ]
        if len(named) == 1:
            return named[0]
        if named:
            break
    if None in choices:
        return None
    raise CannotFill


def _names(text: str, choice: str) -> bool:
    if not choice.isascii():
        return choice in text
    whole = rf"(?<!\w){re.escape(choice)}(?!\w)"
    return bool(re.search(whole, text, re.IGNORECASE | re.ASCII))


def number(
    name: str, answers: Answers, *, whole: bool, schema: Mapping[str, Any]
) -> float | int | None:
    """Return the number that stands closest to a term of the field, or None.

    Args:
        name: of the field, then its title and description.
        answers: each question with the places found for it.
        whole: only an integer will do.
        schema: of the field; its bounds are kept.
    """
    terms = _terms(name, answers)
    wants_year = re.search(r"year|date|since|年", name, re.IGNORECASE)
    for place in fitting_places(name, answers):
        near: list[tuple[int, float]] = []
        for match in _NUMBER.finditer(place.claim):
            said = match.group(0)
            # A heading is told in the claim, and is no part of the quote.
            if place.quote and said not in place.quote:
                continue
            if _YEAR.fullmatch(said) and not wants_year:
                continue
            away = _distance(place.claim, match.start(), match.end(), terms)
            value = float(said.replace(",", ""))
            if away <= CLOSE_CHARS and _fits(value, whole, schema):
                near.append((away, value))
        if near:
            value = min(near)[1]
            return int(value) if whole or value.is_integer() else value
    return None


def _fits(value: float, whole: bool, schema: Mapping[str, Any]) -> bool:
    if whole and not value.is_integer():
        return False
    low, high = schema.get("minimum"), schema.get("maximum")
    return not (
        (isinstance(low, int | float) and value < low)
        or (isinstance(high, int | float) and value > high)
    )


def _distance(text: str, start: int, end: int, terms: Sequence[Concept]) -> int:
    """Return how far the closest term is from a number, within its sentence."""
    left, right = text[:start], text[end:]
    ends = list(_END.finditer(left))
    if ends:
        left = left[ends[-1].end() :]
    stop = _END.search(right)
    right = right[: stop.start()] if stop else right
    best = CLOSE_CHARS + 1
    for match in re.finditer(r"\w+", left):
        # What follows a term is more often its value than what stands before it.
        if _is_term(left[match.start() :], match.group(0), terms):
            best = min(best, len(left) - match.end())
    for match in re.finditer(r"\w+", right):
        if _is_term(right[match.start() :], match.group(0), terms):
            best = min(best, match.start() + 8)
    return best


def _is_term(text: str, word: str, terms: Sequence[Concept]) -> bool:
    bag = Bag.of(word)
    first = Bag.of(text[:40])
    return any(
        c.match(bag) >= ENOUGH
        or any(first.lower.startswith(part) for part in c.texts)
        or any(set(entry) & bag.stems for entry in c.words if len(entry) > 1)
        for c in terms
    )
