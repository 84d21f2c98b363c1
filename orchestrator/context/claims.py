"""What a summary says and the old text does not: figures and names from nowhere."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from orchestrator.context.figures import Day, Name, Number, dates, names
from orchestrator.context.flips import (
    CLOSE,
    OF_BEST,
    RELATED,
    SAME,
    Check,
    Doubt,
    doubt,
    flipped,
    made_up,
)
from orchestrator.context.moved import (
    MOVING,
    Within,
    beside,
    has_moved,
    is_count_of_work,
    is_put_off,
    is_supported,
    written,
)
from orchestrator.context.old_text import Claim, Near, Statements, is_han
from orchestrator.context.statements import clause_at
from orchestrator.ids import HISTORY_REFERENCE

__all__ = ["UNCONFIRMED", "doubts"]


UNCONFIRMED: Final = "(unconfirmed)"

_SIMILAR_NAME: Final = 0.75
_MOST_WITH_NUMBER: Final = 60
_ALIKE: Final = 0.95
"""Such a share holds the very words: numbers stand in the same places."""
_NEAREST: Final = 4

_ROUNDED: Final = re.compile(
    r"\b(?:about|around|roughly|approximately|approx|nearly|almost|over|under|some|"
    r"more than|less than|at least|up to|ca)\b|[~≈<>≥≤]|约|大概|左右|近|超过|不到|多",
    re.IGNORECASE,
)
_CHECKABLE: Final = re.compile(r"[\d_/@]|\.[A-Za-z]")


def doubts(text: str, *, old: Statements, within: Within) -> list[Doubt]:
    """Return what is wrong with one statement of a summary, in its order.

    Args:
        text: the statement.
        old: all that the summary covers, and the state.
        within: where it stands.
    """
    claim, section = Claim(text, "summary"), within.section
    near = old.near(claim.terms) if claim.terms else []
    found = list(_figures(claim, near, old, within))
    found += _names(claim, near, old, within)
    if _is_comparable(text, old):
        if flip := flipped(claim, near, old=old, within=within):
            return [flip]
        if rule := made_up(claim, near, old=old, section=section):
            found.append(rule)
    return found


def _is_comparable(text: str, old: Statements) -> bool:
    """Return whether the old text has enough in the script of this statement."""
    return old.han_share > 0.05 if is_han(text) else old.han_share < 0.95


def _figures(
    claim: Claim, near: Sequence[Near], old: Statements, within: Within
) -> Iterator[Doubt]:
    around = {n: _around(claim, n.start, near, old) for n in claim.numbers}
    unmatched = [
        number
        for number in claim.numbers
        if not any(
            _is_held(number, claim, each, old) for each in (near, around[number])
        )
    ]
    is_sole = len(unmatched) == 1
    changed: list[tuple[Number, list[tuple[Number, Near]]]] = []
    for number in unmatched:
        found = (
            _changed_from(number, claim, each, is_sole=is_sole)
            for each in (near, around[number])
        )
        sources = _alike_first(claim, next(filter(None, found), []), old)
        contrary = sources[0][1] if sources else None
        if is_supported(number, claim, contrary, old):
            continue
        if sources:
            changed.append((number, sources))
        elif not (
            _is_known(number, claim, old, within.section)
            or is_count_of_work(number, claim)
        ):
            instead = f"{number.text} {UNCONFIRMED}"
            yield doubt("numbers", claim, place=number, instead=instead)
    yield from _told_beside(changed, claim, within)
    yield from _days(claim, near, old, within)


def _told_beside(
    changed: Sequence[tuple[Number, list[tuple[Number, Near]]]],
    claim: Claim,
    within: Within,
) -> Iterator[Doubt]:
    """Yield the doubts that leave numbers and tell what the source has beside them.

    Args:
        changed: numbers of the claim with those in their place, the nearest first.
        claim: of the summary.
        within: where it stands.
    """
    first = [sources[0][1].claim for _, sources in changed]
    moved = {
        source.text
        for (number, _), source in zip(changed, first, strict=True)
        if has_moved(number, claim, source, within=within)
    }
    for (number, sources), source in zip(changed, first, strict=True):
        is_along = source.text in moved and source.text in within.earlier
        is_moved = has_moved(number, claim, source, within=within, is_along=is_along)
        was, place = sources[0]
        if is_moved and within.section in MOVING and source.text in within.moving:
            continue
        told = place.claim.text
        told = told[slice(*written(told, was))].strip()
        yield _beside("numbers", claim, place, number, told, is_moved=is_moved)


def _beside(
    check: Check,
    claim: Claim,
    source: Near,
    figure: Number | Day | Name,
    told: str,
    *,
    is_moved: bool,
) -> Doubt:
    at, instead = beside(claim.text, figure, told, is_moved=is_moved)
    found = doubt(check, claim, source=source, instead=instead)
    return replace(found, start=at, end=at, is_update=is_moved)


def _days(
    claim: Claim, near: Sequence[Near], old: Statements, within: Within
) -> Iterator[Doubt]:
    for day in dates(claim.text):
        close = [*near[:1], *_around(claim, day.start, near, old)[:1]]
        best = next((each for each in close if each.share >= RELATED), None)
        others = dates(best.claim.text) if best else []
        same = old.years.get(day.of_year, set())
        if day.year in same or (same and not day.year) or (0 in same and not others):
            continue
        if any(each.of_year == day.of_year and not each.year for each in others):
            continue
        if best and others:
            told = best.claim.text[others[0].start : others[0].end]
            is_moved = is_put_off(claim, best.claim, within=within)
            yield _beside("numbers", claim, best, day, told, is_moved=is_moved)
        elif within.section != "open":
            instead = f"{claim.text[day.start : day.end]} {UNCONFIRMED}"
            yield doubt("numbers", claim, place=day, instead=instead)


def _around(
    claim: Claim, place: int, near: Sequence[Near], old: Statements
) -> Sequence[Near]:
    """Return what is nearest to the part with a figure, where it tells enough alone."""
    part = Claim(clause_at(claim.text, place), "summary")
    if len(part.terms) < 2 or part.terms == claim.terms:
        return near
    return old.near(part.terms, figures=part.figures)


def _is_held(
    number: Number, claim: Claim, near: Sequence[Near], old: Statements
) -> bool:
    """Return whether an old statement about the same has the number."""
    best = near[0].share if near else 0.0
    least = OF_BEST * best if best >= SAME else min(RELATED, best)
    for each in near:
        if each.share >= least and _has(each.claim, number, claim):
            return True
    if best < CLOSE:
        return False
    # A row of a table shares few words with the sentence that tells it.
    top = near[0].claim.terms
    return any(
        _has(other, number, claim)
        and (
            (other.terms & claim.terms) - top
            or old.share(claim.terms, other.terms) >= least
        )
        for other in old.with_number(number.text, most=_MOST_WITH_NUMBER)
    )


def _has(other: Claim, number: Number, claim: Claim) -> bool:
    held = {v for n in other.numbers for v in n.values}
    if not number.is_count:
        held |= other.values
    return _is_among(number, held, claim)


def _is_among(number: Number, held: Collection[float], claim: Claim) -> bool:
    if any(value in held for value in number.values):
        return True
    value = number.values[0]
    if number.unit and any(
        round(value * factor, 6) in held or round(value / factor, 6) in held
        for factor in _FACTORS.get(number.unit, ())
    ):
        return True
    is_loose = bool(_ROUNDED.search(claim.text))
    return any(_rounds_to(other, number, is_loose=is_loose) for other in held)


_FACTORS: Final = {
    **dict.fromkeys(("ms", "second", "minut", "hour", "h"), (1000.0, 60.0, 3600.0)),
    **dict.fromkeys(("秒", "分", "小"), (1000.0, 60.0, 3600.0)),
    **dict.fromkeys(("kb", "mb", "gb", "tb", "kib", "mib", "gib"), (1000.0, 1024.0)),
}


def _rounds_to(other: float, number: Number, *, is_loose: bool) -> bool:
    """Return whether `other`, written shorter, is the number."""
    value = number.values[0]
    if not value or abs(other - value) > 0.05 * abs(value):
        return False
    decimals = len(number.text.partition(".")[2].rstrip("%％ "))
    if not other.is_integer() and round(other, decimals) == value:
        return True
    if not is_loose:
        return False
    zeros = len(str(int(value))) - len(str(int(value)).rstrip("0"))
    return zeros > 0 and abs(other - value) <= 10**zeros


def _changed_from(
    number: Number, claim: Claim, near: Sequence[Near], *, is_sole: bool
) -> list[tuple[Number, Near]]:
    """Return the numbers that old statements about the same have in its place.

    The nearest statement comes first.
    """
    own = {v for n in claim.numbers for v in n.values}
    found: list[tuple[Number, Near]] = []
    for each in near[:_NEAREST]:
        needed = SAME if number.is_count else CLOSE
        shared = each.claim.terms & claim.terms
        if each.share < needed or (len(shared) < 2 and each.share < 0.95):
            continue
        orphans = [n for n in each.claim.numbers if not own & set(n.values)]
        same = [
            n
            for n in orphans
            if (number.unit and n.unit == number.unit)
            or (number.before and n.before == number.before)
        ]
        if same or (is_sole and len(orphans) == 1 and each.share >= SAME):
            found.append(((same or orphans)[0], each))
        elif each.share >= _ALIKE and len(each.claim.numbers) == len(claim.numbers):
            at = claim.numbers.index(number)
            found.append((each.claim.numbers[at], each))
    return found


def _alike_first(
    claim: Claim, sources: Sequence[tuple[Number, Near]], old: Statements
) -> list[tuple[Number, Near]]:
    """Return what may stand in a number's place, the most alike first, then the newest.

    Alike is what has another number of the claim, then what tells little else.
    """
    own = {v for n in claim.numbers for v in n.values}

    def rank(source: tuple[Number, Near]) -> tuple[bool, float, int]:
        other = source[1].claim
        is_same_row = any(own & set(n.values) for n in other.numbers)
        share = source[1].share * old.share(other.terms, claim.terms)
        return is_same_row, round(share, 1), source[1].place

    return sorted(sources, key=rank, reverse=True)


def _is_known(number: Number, claim: Claim, old: Statements, section: str) -> bool:
    """Return whether the number may stand though no statement near has it."""
    if number.is_count or not number.digits or section == "open":
        return True
    return _is_among(number, old.values, claim)


def _names(
    claim: Claim, near: Sequence[Near], old: Statements, within: Within
) -> Iterator[Doubt]:
    section, references = within.section, within.references
    for place in names(claim.text):
        name = place.text
        # The program's references stand beside the text, not in it.
        if not _CHECKABLE.search(name) or HISTORY_REFERENCE.fullmatch(name):
            continue
        if old.has_name(name) or name in references:
            continue
        known = [(n, each) for each in near[:_NEAREST] for n in each.claim.names]
        rated = [(_likeness(name, other), other, each) for other, each in known]
        best = max(rated, key=lambda each: each[0], default=None)
        if best and best[0] >= _SIMILAR_NAME:
            if _is_next(name, best[1], best[2], within):
                continue
            told = best[1] if "/" in name else best[1].rsplit("/", 1)[-1]
            is_moved = is_put_off(claim, best[2].claim, within=within)
            yield _beside("names", claim, best[2], place, told, is_moved=is_moved)
        elif section != "open" and not (section == "work" and _PATH.search(name)):
            # A file that was written stands in a call, which is not said.
            instead = f"{name} {UNCONFIRMED}"
            yield doubt("names", claim, place=place, instead=instead)


def _is_next(name: str, other: str, near: Near, within: Within) -> bool:
    """Return whether it may be the next of a row, which was not looked at yet."""
    if within.section in MOVING and near.claim.text in within.moving:
        return True
    if within.section != "open":
        return False
    is_row = _DIGITS.sub("0", name) == _DIGITS.sub("0", other)
    return is_row and bool(_PATH.search(name))


_DIGITS: Final = re.compile(r"\d+")
_PATH: Final = re.compile(r"/|\.[A-Za-z]\w{0,5}$")


def _likeness(name: str, other: str) -> float:
    """Return how alike two names are, 0 to 1; but for the digits: 0.9 at least."""
    ratio = SequenceMatcher(None, name, other).ratio()
    shapes = [_DIGITS.sub("0", each.lower()) for each in (name, other)]
    is_same = shapes[0] == shapes[1] or shapes[1].endswith("/" + shapes[0])
    return max(ratio, 0.9) if is_same and len(name) > 2 else ratio
