"""Claims of a run that may be worth keeping, weighed, each once.

A claim counts where its quote was found, it says something definite, and it is about
the files and not about the run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.evidence import fold, parse_source
from orchestrator.findings import Findings, Item
from orchestrator.memory.entries import Place
from orchestrator.memory.search.words import is_number, terms_of
from orchestrator.memory.volatile import why_volatile
from orchestrator.security.placeholders import PLACEHOLDER

__all__ = [
    "MAX_PLACES",
    "SAME",
    "SAME_AT_ONE_PLACE",
    "Fact",
    "facts_of",
    "figures",
    "meet",
    "share",
    "words_of",
]

MIN_CONFIDENCE: Final = 0.5
MIN_TERMS: Final = 3
"""A claim of fewer says nothing by itself."""
MAX_QUOTE_CHARS: Final = 160
MAX_PLACES: Final = 4
# Shares of the terms of the shorter one that two claims have in common, from which they
# are one. The one word that differs is mostly the subject, so that nothing may be
# missing, unless they rest on the same lines.
SAME: Final = 1.0
SAME_AT_ONE_PLACE: Final = 0.75

_OF_THE_RUN: Final = re.compile(
    r"\b(?:I|we) (?:searched|read|looked|found|checked|could|did|was|were)\b"
    r"|\bthis (?:run|brief|task|session)(?:'s)? "
    r"(?:asks?|says?|did|was|has|covers?|objective|questions?)\b"
    r"|\bnothing (?:was|is|could be) found\b"
    r"|\b(?:was|were) not found in (?:the|any)\b"
    r"|\bno (?:mention|evidence|match(?:es)?|results?) (?:of|for|was|were|found)\b"
    r"|\ba\d+#\d+\b|\b\d{8}-\d{6}-\w|\bart_[0-9a-f]{6,}"
    r"|本次(?:运行|任务|搜索|查找)|没有找到|未能?找到|未发现",
    re.IGNORECASE,
)
_ASKS: Final = re.compile(r"[?？][\"'”’)）*_`\s]*$")
# What a sentence cannot end with; the rest of it may be a condition.
_CUT_OFF: Final = re.compile(
    r"(?:[,:，：、–—]|\b(?:that|and|or|the|an?|of|to|if|with|for|by|in|on|at|from|unless|"
    r"when|which|is|are))$",
    re.IGNORECASE,
)
_ANSWER: Final = re.compile(
    r"^\W{0,3}(?P<asked>[^\n→]{6,200}[?？])\s*→\s*(?P<said>\S.*)$"
)
_FIELD_MARK: Final = re.compile(r"^\s*(?:[-*+>#]+\s+)+")
_NAME: Final = re.compile(
    r"`[^`]+`|\b\w+_\w+|\b[a-z]+[A-Z]\w*|\b[A-Z]{2,}\b|\b\w+\.\w{1,5}\b"
)
_DEFINES: Final = re.compile(
    r"\b(?:is|are|means?|defaults?|must|may not|never|always|because|since)\b|="
    r"|[为是指]|必须|不得|默认|因为",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim that may be kept.

    Attributes:
        claim: in one line.
        quote: the words it rests on, in one line, where they are short; or "".
        asked: the question that it was found for, or "".
        places: where it can be checked, at least one.
        confidence: 0 to 1.
        score: what speaks for keeping it.
        terms: of the claim.
        numbers: of the claim.
    """

    claim: str
    quote: str
    asked: str
    places: tuple[Place, ...]
    confidence: float
    score: float = 0.0
    terms: frozenset[str] = field(default=frozenset())
    numbers: frozenset[str] = field(default=frozenset())

    @property
    def path(self) -> str:
        """Return the file that it is from."""
        return self.places[0].path


def facts_of(
    findings: Mapping[str, Findings],
    *,
    unsupported: Mapping[str, Collection[int]],
    objective: str,
) -> list[Fact]:
    """Return the facts of a run, the best first; for the arguments see `extracted`."""
    wanted = frozenset(terms_of(objective))
    facts = [
        _weighed(fact, wanted)
        for agent, each in findings.items()
        for number, item in enumerate(each.items, 1)
        if number not in unsupported.get(agent, ())
        and (fact := _fact(item, each)) is not None
    ]
    facts.sort(key=lambda fact: (-fact.score, fact.path, fact.claim))
    return _without_twins(facts)


def _fact(item: Item, of: Findings) -> Fact | None:
    """Return a claim that may be kept, or None."""
    claim = _FIELD_MARK.sub("", " ".join(item.claim.split()))
    places = tuple(_places(item))
    if not places or item.confidence < MIN_CONFIDENCE or not _is_of_use(claim):
        return None
    terms = terms_of(claim)
    numbers = frozenset(term for term in terms if is_number(term))
    return Fact(
        claim,
        _quote(item, claim),
        _asked(claim, of.summary),
        places[:MAX_PLACES],
        round(item.confidence, 2),
        terms=frozenset(terms),
        numbers=numbers,
    )


def _is_of_use(claim: str) -> bool:
    if PLACEHOLDER.search(claim) or _OF_THE_RUN.search(claim):
        return False
    if why_volatile(claim):
        return False  # the store would refuse it
    if _ASKS.search(claim) or _CUT_OFF.search(claim.rstrip()):
        return False
    return len(set(terms_of(claim))) >= MIN_TERMS


def _places(item: Item) -> Iterator[Place]:
    """Yield the places in files of the workspace, each once."""
    seen: set[Place] = set()
    for each in item.evidence:
        source = parse_source(each.source)
        path = source.target.removeprefix("./")
        if not _is_file(path) or not each.quote.strip():
            continue
        place = Place(path, source.first or 0, source.last or source.first or 0)
        if place not in seen:
            seen.add(place)
            yield place


def _is_file(path: str) -> bool:
    """Return whether a source is a file of the workspace, and no artifact or page."""
    is_other = "://" in path or path.startswith(("/", "art_", ".orchestrate/"))
    return bool(path) and not is_other and ".." not in path.split("/")


def _quote(item: Item, claim: str) -> str:
    """Return the first quote where it is short and says more than the claim, or ""."""
    quote = fold(item.evidence[0].quote)
    if not quote or len(quote) > MAX_QUOTE_CHARS or PLACEHOLDER.search(quote):
        return ""
    said, own = frozenset(terms_of(claim)), frozenset(terms_of(quote))
    return quote if own and len(own & said) < 0.8 * len(own) else ""


def _asked(claim: str, summary: str) -> str:
    """Return the question that a summary gives this claim as the answer to, or ""."""
    for line in summary.splitlines():
        found = _ANSWER.match(line)
        said = found["said"].rstrip(" …")[:200] if found else ""
        if found and said and claim.startswith(said):
            return " ".join(found["asked"].split())
    return ""


def _weighed(fact: Fact, wanted: frozenset[str]) -> Fact:
    text = fact.claim
    specific = (
        0.3 * bool(fact.numbers)
        + 0.15 * min(len(_NAME.findall(text)), 2)
        + 0.2 * bool(_DEFINES.search(text))
        + 0.2 * (len(fact.terms) >= 2 * MIN_TERMS)
    )
    shared = len(fact.terms & wanted) / (len(fact.terms) or 1)
    score = fact.confidence + 0.3 * specific + 0.1 * shared
    return replace(fact, score=round(score, 4))


def _without_twins(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts, each once, with the places of those that say the same."""
    kept: list[Fact] = []
    for fact in facts:
        for at, other in enumerate(kept):
            if _is_twin(fact, other):
                places = tuple(dict.fromkeys((*other.places, *fact.places)))
                kept[at] = replace(other, places=places[:MAX_PLACES])
                break
        else:
            kept.append(fact)
    return kept


def _is_twin(fact: Fact, other: Fact) -> bool:
    if fact.numbers != other.numbers:
        return False  # perhaps two papers that contradict each other
    least = SAME_AT_ONE_PLACE if meet(fact.places, other.places) else SAME
    return share(fact.terms, other.terms) >= least


def share(one: Collection[str], other: Collection[str]) -> float:
    """Return how much of the shorter of two texts the other one holds, from 0 to 1."""
    least = min(len(one), len(other))
    return len(set(one) & set(other)) / least if least else 0.0


def meet(one: Sequence[Place], other: Sequence[Place]) -> bool:
    """Return whether two facts rest on lines that meet."""
    return any(
        a.path == b.path
        and (not a.first or not b.first or (a.first <= b.last and b.first <= a.last))
        for a in one
        for b in other
    )


def figures(text: str) -> frozenset[str]:
    """Return the numbers of a text, as terms."""
    return frozenset(filter(is_number, terms_of(text)))


def words_of(text: str) -> frozenset[str]:
    """Return the terms of a text, numbers left out."""
    return frozenset(term for term in terms_of(text) if not is_number(term))
