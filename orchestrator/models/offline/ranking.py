"""Choose the place that answers a question, or say that there is none.

A place is taken only where what the question is about is nearly all there: in the
unit itself, in its headings, or right beside it. A wrong place is worse than none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.models.offline.asking import AnswerType, asks_for, holds
from orchestrator.models.offline.passages import Page, Unit, units
from orchestrator.models.offline.reading import parts_of
from orchestrator.models.offline.words import (
    Bag,
    Concept,
    concepts,
    is_han,
    is_question,
)

__all__ = ["SPECIFIC", "Hit", "Question", "best_hits", "rarity", "specificity"]

# Share of what the question is about that a place must hold, and the share that
# any single important concept must reach. Tuned on the examples.
ENOUGH = 0.74
KEY_ENOUGH = 0.55
# Below this a question is about words that are everywhere: any place would fit.
SPECIFIC = 0.45
# What the name of a file is worth: papers are named after what they are about; a
# module's name says too little to decide.
BY_NAME = 0.75
BY_NAME_OF_CODE = 0.5
# What the other parts of a question weigh, of what the part itself weighs.
CONTEXT = 0.4

_OUTDATED = re.compile(
    r"superseded|deprecated|obsolete|\barchived\b|no longer (?:valid|in force)|"
    r"kept\s+for\s+the\s+record|\*\*已废止|^已废止|本版.{0,20}(?:废止|停止)|已作废|仅供存档|旧版",
    re.I | re.M,
)
_OLD_NAME = re.compile(
    r"(?:^|[/_\-])(?:old|archive[d]?|legacy|deprecated|旧|废止)", re.I
)
_WHY = re.compile(r"\b(?:why|cause[sd]?|reason)\b|为什么|原因|导致|根因", re.I)
_WHERE = re.compile(
    r"\bwhere\b.*\b(?:defined|declared|implemented)\b|\b(?:defines|implements)\b"
    r"|在哪里?(?:定义|实现|声明)|(?:定义|实现|声明)在哪",
    re.I,
)
_DEFINED = re.compile(
    r"^\s*(?:[a-z]+ )*?(?:def|class|function|func|fn|struct|type) (\w+)"
)
_BECAUSE = re.compile(
    r"\b(?:because|since|so that|due to|caused|therefore|had been|has been|expired)\b"
    r"|因为|由于|导致|原因是",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what it is about."""

    text: str
    concepts: tuple[Concept, ...]
    wants: AnswerType
    asks_why: bool
    asks_where: bool
    """It asks where something is defined, so that its definition is the answer."""

    @classmethod
    def of(cls, text: str) -> Question:
        """Read a question."""
        why, where = bool(_WHY.search(text)), bool(_WHERE.search(text))
        return cls(text, concepts(text), asks_for(text), why, where)

    @classmethod
    def parts(cls, text: str) -> tuple[Question, ...]:
        """Return what `text` asks for, one by one.

        A part is helped by what the rest is about; it is never decided by that.
        """
        read = [cls.of(part) for part in parts_of(text)]
        return tuple(
            part.beside(
                [c for other in read if other is not part for c in other.strong]
            )
            for part in read
        )

    def beside(self, others: list[Concept]) -> Question:
        """Return this question with the concepts of others as context."""
        own = {concept.label.lower() for concept in self.concepts}
        fresh = [concept for concept in others if concept.label.lower() not in own]
        whole = sum(concept.weight for concept in self.strong)
        share = min(CONTEXT * whole / max(len(fresh), 1), 0.3)
        context = tuple(replace(concept, weight=share) for concept in fresh)
        return replace(self, concepts=self.concepts + context)

    @property
    def strong(self) -> tuple[Concept, ...]:
        """Return what can decide; the weak ones too where there is nothing else."""
        return tuple(c for c in self.concepts if not c.is_weak) or self.concepts


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that answers a question."""

    page: Page
    unit: Unit
    score: float
    coverage: float
    first: int
    last: int


@dataclass(slots=True)
class _Weighed:
    """A question with the weight of each concept in what was searched."""

    question: Question
    weights: list[float]
    key: list[bool] = field(default_factory=list)
    specific: float = 0.0
    """Weight of all that can decide: little where each is in every second file."""


def _is_outdated(page: Page) -> bool:
    """Return whether a page says of itself that it is no longer in force."""
    head = "\n".join(page.lines.get(number, "") for number in range(1, 13))
    return bool(_OUTDATED.search(head) or _OLD_NAME.search(page.path))


def rarity(found_in: int, files: int) -> float:
    """Return from 0.35 (everywhere) to 1 (in one file or none)."""
    if found_in <= 1 or files <= 1:
        return 1.0
    return max(0.35, 1.0 - math.log(found_in) / math.log(files + 1))


def _rarity_of(concept: Concept, found_in: Mapping[str, int], files: int) -> float:
    """Return the rarity of a concept; what was not counted is taken as usual."""
    found = found_in.get(concept.label)
    if found is None:
        return 0.5 if concept.is_weak else 0.8
    return rarity(found, files)


def best_hits(
    question: Question,
    pages: Iterable[Page],
    *,
    found_in: Mapping[str, int],
    files: int,
) -> list[Hit]:
    """Return the best place for `question`, or none.

    Args:
        question: what is asked.
        pages: what was read.
        found_in: number of files by label of concept, as the search counted them.
        files: number of files that were searched, as far as is known.
    """
    weighed = _weigh(question, found_in, files)
    if weighed.specific < SPECIFIC and not question.asks_where:
        return []
    hits: list[Hit] = []
    for page in pages:
        hits += _hits_of(page, weighed)
    hits.sort(key=lambda hit: (-hit.score, hit.page.path, hit.first))
    return hits[:1]


def specificity(question: Question, found_in: Mapping[str, int], files: int) -> float:
    """Return how far the terms tell a place from others; see `SPECIFIC`."""
    return _weigh(question, found_in, files).specific


def _weigh(question: Question, found_in: Mapping[str, int], files: int) -> _Weighed:
    weights = [
        concept.weight * _rarity_of(concept, found_in, files)
        for concept in question.concepts
    ]
    most = max(weights, default=0.0)
    key = [
        not concept.is_weak and weight >= 0.6 * most
        for concept, weight in zip(question.concepts, weights, strict=True)
    ]
    specific = sum(
        weight
        for concept, weight in zip(question.concepts, weights, strict=True)
        if not concept.is_weak
    )
    return _Weighed(question, weights, key, specific)


def _hits_of(page: Page, weighed: _Weighed) -> list[Hit]:
    question = weighed.question
    wanted = question.concepts
    if not wanted:
        return []
    found = units(page)
    title = found[0].text if found else ""
    title_bag = Bag.of(f"{page.path} {title}")
    in_title = [concept.match(title_bag) for concept in wanted]
    years = re.findall(r"\b20\d\d\b", question.text)
    old = _is_outdated(page) and not any(year in page.path for year in years)
    bags: dict[tuple[str, ...], list[float]] = {}
    hits: list[Hit] = []
    for unit in found:
        if unit.asks:
            continue
        own = _matches(wanted, unit.text)
        if unit.heads not in bags:
            bags[unit.heads] = _matches(wanted, " \n ".join(unit.heads))
        heads = bags[unit.heads]
        if not any(own) and not any(heads):
            continue
        near = _matches(wanted, unit.near)
        if any(0 < share < 1 for share in (*own, *heads)):
            # Half of a long Chinese term may stand in the heading, half below it.
            joined = " \n ".join([unit.text, unit.near, *unit.heads])
            heads = list(map(max, heads, _matches(wanted, joined)))
        hit = _judge(weighed, page, unit, (own, near, heads, in_title), old)
        if hit:
            hits.append(hit)
    return hits


def _matches(wanted: tuple[Concept, ...], text: str) -> list[float]:
    if not text:
        return [0.0] * len(wanted)
    bag = Bag.of(text)
    return [concept.match(bag) for concept in wanted]


def _judge(
    weighed: _Weighed,
    page: Page,
    unit: Unit,
    matches: tuple[list[float], list[float], list[float], list[float]],
    old: bool,
) -> Hit | None:
    own, near, heads, title = matches
    by_name = BY_NAME if page.is_prose else BY_NAME_OF_CODE
    total = sum(weighed.weights)
    covered = own_share = 0.0
    for place, weight in enumerate(weighed.weights):
        there = max(
            own[place], near[place] * 0.85, heads[place] * 0.85, title[place] * by_name
        )
        if weighed.key[place] and there < KEY_ENOUGH:
            return None
        covered += weight * there
        own_share += weight * own[place]
    coverage, own_share = covered / total, own_share / total
    if coverage < ENOUGH:
        return None
    if own_share < 0.15 and not (weighed.question.wants or _headed(weighed, unit)):
        return None
    bonus = _bonus(weighed.question, unit)
    if bonus is None:
        return None
    named = _share_of_name(weighed.question, unit)
    if weighed.specific < SPECIFIC and named < 1:
        return None
    bonus += 0.15 * named
    score = coverage + 0.25 * own_share + bonus
    # Of sentences that are equally good, the first says it and the others go on.
    score -= 0.001 * min(unit.first - min(page.lines), 99)
    first, last = _with_antecedent(page, unit)
    return Hit(page, unit, score * (0.8 if old else 1.0), coverage, first, last)


def _share_of_name(question: Question, unit: Unit) -> float:
    """Return how far a unit defines what was asked for, by its name, from 0 to 1."""
    match = _DEFINED.match(unit.text) if unit.defines else None
    if match is None:
        return 0.0
    name = Bag.of(match.group(1))
    asked = Bag.of(question.text.replace("`", " "))
    parts = [part for part in name.stems if len(part) > 1]
    strong = question.strong
    named = sum(concept.match(name) > 0 for concept in strong) / len(strong)
    return named * sum(part in asked.stems for part in parts) / max(len(parts), 1)


def _headed(weighed: _Weighed, unit: Unit) -> bool:
    """Return whether the innermost heading names something that was asked for."""
    wanted = weighed.question.strong
    return bool(unit.heads) and any(_matches(wanted, unit.heads[-1]))


def _bonus(question: Question, unit: Unit) -> float | None:
    """Return what speaks for a unit besides its words; None if it cannot be."""
    if is_question(unit.text):
        return None
    bonus = 0.08 if unit.defines else 0.0
    if is_han(question.text) == is_han(unit.text):
        bonus += 0.12
    if question.wants:
        if not holds(question.wants, unit):
            return None
        bonus += 0.1
    if question.asks_why:
        says_why = bool(_BECAUSE.search(unit.text))
        under_why = bool(unit.heads and _WHY.search(unit.heads[-1]))
        if not (says_why or under_why):
            return None
        bonus += 0.1 * says_why + 0.25 * under_why
    return bonus


_LEANS = re.compile(
    r"^(?:It|They|This|These|That|Later|Those|He|She|Above that|After that|Between|"
    r"其|它|该|此|这)\b|^(?:其|它|该|此|这|超出)"
)


def _with_antecedent(page: Page, unit: Unit) -> tuple[int, int]:
    """Return the lines of a unit, with the sentence before where it leans on it."""
    if unit.before and _LEANS.match(unit.text) and unit.last - unit.first < 3:
        start = unit.before[:12].strip()
        for number in range(unit.first, max(unit.first - 4, 0), -1):
            if start and start in page.lines.get(number, ""):
                return number, unit.last
    return unit.first, unit.last
