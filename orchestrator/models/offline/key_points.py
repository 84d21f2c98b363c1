"""The telling lines of a part of a document, and the merge of many parts' lines.

Telling are numbers, rules and exceptions, definitions, and what the brief asks about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from orchestrator.models.offline.passages import Page, Unit, units
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import quote_near, span
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.words import Bag

__all__ = ["Point", "merged", "points_of", "room_for", "size_of", "tells"]

PER_PART = 12
MAX_QUOTE_CHARS = 240
MAX_CLAIM_CHARS = 280
SHORT_CHARS = 160
MAX_PLACES = 3
MIN_CHARS = 24
BYTES_PER_TOKEN = 2.5
FRAME_TOKENS = 24
"""What stands around one item: its number, its source, its marks."""
SUMMARY_SHARE = 0.25
MIN_SHARED = 30
"""Characters without digits from which on two lines tell of the same thing."""

_RULE = re.compile(
    r"\b(?:must|never|not|no longer|only|except|unless|at (?:most|least)|shall|may|"
    r"decided|required|forbidden|instead|replaces?|because|fails?|errors?)\b"
    r"|必须|不得|不能|禁止|除非|仅|只能|至少|最多|决定|取代|错误",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_FILLING = re.compile(r"^[\W\d_]*$")


@dataclass(frozen=True, slots=True)
class Point:
    """One line of a document that tells something, ready to be cited."""

    claim: str
    source: str
    quote: str
    """Word for word; "" where its lines are not in sight."""
    score: float = 0.0
    more: tuple[tuple[str, str], ...] = field(default=())
    """Further places that say it too, each with its quote."""

    @property
    def text(self) -> str:
        """Return what it is compared by."""
        return self.quote or self.claim

    @property
    def place(self) -> tuple[str, int, int]:
        """Return path, first and last line of its source."""
        path, _, lines = self.source.rpartition(":")
        first, _, last = lines.partition("-")
        return path, int(first), int(last or first)

    @property
    def mark(self) -> str:
        """Return its words for comparison."""
        return " ".join(re.findall(r"\w+", self.text.lower()))

    def item(self) -> dict[str, Any]:
        """Return it as an item of findings."""
        places = [(self.source, self.quote), *self.more]
        return {
            "claim": self.claim,
            "evidence": [{"source": s, "quote": q} for s, q in places[:MAX_PLACES]],
            "confidence": 0.7,
        }


def points_of(page: Page, focus: Sequence[str] = ()) -> list[Point]:
    """Return the telling lines of a part, the most telling first.

    Args:
        page: the part.
        focus: what the brief asks about, in its words.
    """
    rows = tuple(sorted(page.lines.items()))
    return list(_points(page.path, rows, tuple(focus)))


# The same page is read again from the conversation at every turn.
@lru_cache(maxsize=1024)
def _points(
    path: str, rows: tuple[tuple[int, str], ...], focus: tuple[str, ...]
) -> tuple[Point, ...]:
    page = Page(path, dict(rows))
    wanted = [c for text in focus for c in Question.of(text).strong if not c.is_weak]
    found: dict[str, Point] = {}
    for unit in units(page):
        if unit.asks or not _says_something(unit.text):
            continue
        first, last = unit.first, unit.last
        quoted = quote_near(page, first, last, most=MAX_QUOTE_CHARS, begin=unit.text)
        if not quoted:
            continue
        first, last, quote = quoted
        bag = Bag.of(unit.text)
        asked = sum(c.weight * c.match(bag) for c in wanted)
        score = _telling(unit) + asked
        point = Point(_claim(unit), f"{path}:{span(first, last)}", quote, score)
        found.setdefault(point.mark, point)
    ranked = sorted(found.values(), key=lambda point: -point.score)
    return tuple(ranked[:PER_PART])


def _says_something(text: str) -> bool:
    """Return whether a text is a statement, not a rule, a number or a block of code."""
    return len(text) >= MIN_CHARS and "```" not in text and not _FILLING.match(text)


def tells(text: str) -> float:
    """Return how telling a text is by itself: its numbers and rules."""
    score = 0.5 * min(len(_NUMBER.findall(text)), 2)
    return score + 0.6 * min(len(_RULE.findall(text)), 2)


def _telling(unit: Unit) -> float:
    score = tells(unit.text)
    score += 0.5 * unit.defines
    # What stands right under a heading says what the section is about.
    score += 0.3 * bool(unit.heads and not unit.before)
    # A short line that holds as much is worth more: there is room for more of them.
    return score / max(len(unit.text) / SHORT_CHARS, 1.0)


def _claim(unit: Unit) -> str:
    head = (
        shortened(unit.heads[-1].split("\n")[0].strip(" :："), 80) if unit.heads else ""
    )
    text = unit.text if not head or head in unit.text else f"{head}: {unit.text}"
    return shortened(text, MAX_CLAIM_CHARS)


# ---- the merge ----------------------------------------------------------------------


def room_for(max_tokens: int) -> int:
    """Return the tokens that items may take in findings of this size."""
    return int(max_tokens * (1 - SUMMARY_SHARE))


def size_of(text: str) -> float:
    """Return the tokens of a text, on the cautious side."""
    return len(text.encode()) / BYTES_PER_TOKEN


def merged(parts: Sequence[Sequence[Point]], room: int) -> list[Point]:
    """Return points of all parts within a size, the best of each part first.

    What several parts say is said once, with its places. Two lines that differ in one
    number alone are one point that says so; three and more are a series.

    Args:
        parts: the points of each part, the most telling first.
        room: tokens that all of them may take.
    """
    kept: list[Point] = []
    left = float(room)
    pairs = _pairs(point for part in parts for point in part)
    depth = max((len(part) for part in parts), default=0)
    for rank in range(depth):
        row = [part[rank] for part in parts if rank < len(part)]
        # Where not even one of each part fits, the most telling ones are heard.
        row.sort(key=lambda point: -point.score)
        for point in row:
            at = next(
                (i for i, k in enumerate(kept) if _is_twin(k, point, pairs)), None
            )
            grown = point if at is None else _joined(kept[at], point)
            cost = _cost(grown) - (0.0 if at is None else _cost(kept[at]))
            if cost > left:
                continue
            left -= cost
            if at is None:
                kept.append(grown)
            else:
                kept[at] = grown
    return kept


def _cost(point: Point) -> float:
    item = point.item()
    places = [(e["quote"] or point.claim) + e["source"] for e in item["evidence"]]
    texts = [point.claim, *places]
    return sum(size_of(text) for text in texts) + FRAME_TOKENS * len(texts) / 2


def _pairs(points: Iterable[Point]) -> set[str]:
    """Return lines without their numbers of which there are two, and no more."""
    found: dict[str, set[str]] = {}
    for point in points:
        found.setdefault(_NUMBER.sub("#", point.text), set()).add(point.mark)
    return {bare for bare, marks in found.items() if len(marks) == 2}


def _is_twin(one: Point, other: Point, pairs: Collection[str]) -> bool:
    if one.mark == other.mark:
        return True
    is_pair = _NUMBER.sub("#", one.text) in pairs
    # A claim may name its heading, with a number that is no part of what is said.
    is_pair &= bool(one.quote and other.quote)
    return is_pair and _differs_in_one_number(one.text, other.text)


def _differs_in_one_number(one: str, other: str) -> bool:
    bare = _NUMBER.sub("#", one)
    if bare != _NUMBER.sub("#", other) or len(bare) < MIN_SHARED:
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return len([a for a, b in pairs if a != b]) == 1


def _joined(known: Point, other: Point) -> Point:
    """Return a point with the place of another that says the same, or nearly."""
    if len(known.more) + 1 >= MAX_PLACES:
        return known
    claim = known.claim
    if known.mark != other.mark and not known.more:
        claim = shortened(
            f"Two places differ in a number: {claim} – but {other.source} says: "
            f"{other.claim}",
            2 * MAX_CLAIM_CHARS,
        )
    place = (other.source, other.quote)
    return replace(known, claim=claim, more=(*known.more, place))
