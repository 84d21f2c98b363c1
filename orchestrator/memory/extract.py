"""What of a run's findings will be useful again, chosen without a language model.

A claim is kept where its quote was found, it says something definite, and it is about
the files and not about the run. The same claims give the same entries.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.evidence import citations, fold, parse_source
from orchestrator.findings import Findings, Item
from orchestrator.memory import naming
from orchestrator.memory.entries import Place, folded_key
from orchestrator.memory.filing import Filing
from orchestrator.memory.keeping import Put
from orchestrator.memory.memory import Known
from orchestrator.memory.search.words import is_number, terms_of

__all__ = ["MAX_ENTRIES", "extracted"]

MAX_ENTRIES: Final = 12
"""Of one run."""
MIN_CONFIDENCE: Final = 0.5
MIN_TERMS: Final = 3
"""A claim of fewer says nothing by itself."""
MAX_VALUE_CHARS: Final = 500
MAX_QUOTE_CHARS: Final = 160
MAX_PLACES: Final = 4
# Shares of the terms of the shorter one that two claims have in common, from which they
# are one. The one word that differs is mostly the subject, so that nothing may be
# missing, unless they rest on the same lines.
SAME: Final = 1.0
SAME_AT_ONE_PLACE: Final = 0.75
SAME_BY_KEY: Final = 0.4

_OF_THE_RUN: Final = re.compile(
    r"\b(?:I|we) (?:searched|read|looked|found|checked|could|did|was|were)\b"
    r"|\b(?:this|the) (?:run|brief|task|subagent|session)(?:'s)? "
    r"(?:asks?|says?|did|was|has|covers?|objective|questions?)\b"
    r"|\bnothing (?:was|is|could be) found\b|\b(?:was|were|is|are) not found in\b"
    r"|\bno (?:mention|evidence|match(?:es)?|results?) (?:of|for|was|were|found)\b"
    r"|\ba\d+#\d+\b|\b\d{8}-\d{6}-\w|\bart_[0-9a-f]{6,}"
    r"|本次(?:运行|任务|搜索|查找)|没有找到|未能?找到|未发现",
    re.IGNORECASE,
)
_SECRET: Final = "[secret:"  # noqa: S105
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
_SENTENCE: Final = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+(?=[\"'“(`]*[A-Z0-9])")
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
class _Fact:
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


def extracted(
    findings: Mapping[str, Findings],
    *,
    unsupported: Mapping[str, Collection[int]],
    objective: str,
    known: Sequence[Known],
    report: str = "",
) -> list[Put]:
    """Return what to keep of what a run found, the best first.

    Args:
        findings: agent id → its accepted findings.
        unsupported: agent id → numbers, from 1, of its items without a found quote.
        objective: of the task, or the further question.
        known: what memory has on the subject; the same fact keeps its key and topic.
        report: what was handed in; what it cites is preferred.

    Returns:
        At most `MAX_ENTRIES`, each with evidence, under different keys.
    """
    wanted = frozenset(terms_of(objective))
    facts = [
        _weighed(fact, wanted, is_cited=_is_cited(fact, agent, number, cited))
        for cited in [_cited(report)]
        for agent, each in findings.items()
        for number, item in enumerate(each.items, 1)
        if number not in unsupported.get(agent, ())
        and (fact := _fact(item, each)) is not None
    ]
    facts.sort(key=lambda fact: (-fact.score, fact.path, fact.claim))
    return _puts(_without_twins(facts), known)


# ---- facts --------------------------------------------------------------------------


def _fact(item: Item, of: Findings) -> _Fact | None:
    """Return a claim that may be kept, or None."""
    claim = _FIELD_MARK.sub("", " ".join(item.claim.split()))
    places = tuple(_places(item))
    if not places or item.confidence < MIN_CONFIDENCE or not _is_of_use(claim):
        return None
    terms = terms_of(claim)
    numbers = frozenset(term for term in terms if is_number(term))
    return _Fact(
        claim,
        _quote(item, claim),
        _asked(claim, of.summary),
        places[:MAX_PLACES],
        round(item.confidence, 2),
        terms=frozenset(terms),
        numbers=numbers,
    )


def _is_of_use(claim: str) -> bool:
    if _SECRET in claim or _OF_THE_RUN.search(claim):
        return False
    if _ASKS.search(claim) or _CUT_OFF.search(claim.rstrip()):
        return False
    return len(set(terms_of(claim))) >= MIN_TERMS


def _places(item: Item) -> Iterator[Place]:
    """Yield the places in files of the workspace, each once."""
    seen: set[Place] = set()
    for each in item.evidence:
        source = parse_source(each.source)
        path = source.target.removeprefix("./")
        is_file = "://" not in path and not path.startswith(
            ("/", "art_", ".orchestrate/")
        )
        if not path or not is_file or ".." in path.split("/") or not each.quote.strip():
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
    if not quote or len(quote) > MAX_QUOTE_CHARS or _SECRET in quote:
        return ""
    said, own = frozenset(terms_of(claim)), frozenset(terms_of(quote))
    return quote if own and len(own & said) < 0.8 * len(own) else ""


def _asked(claim: str, summary: str) -> str:
    """Return the question that a summary gives this claim as the answer to, or ""."""
    for line in summary.splitlines():
        found = _ANSWER.match(line)
        if found and claim.startswith(found["said"].rstrip().rstrip("…")[:200]):
            return " ".join(found["asked"].split())
    return ""


def _weighed(fact: _Fact, wanted: frozenset[str], *, is_cited: bool) -> _Fact:
    text = fact.claim
    specific = (
        0.3 * bool(fact.numbers)
        + 0.15 * min(len(_NAME.findall(text)), 2)
        + 0.2 * bool(_DEFINES.search(text))
        + 0.2 * (len(fact.terms) >= 2 * MIN_TERMS)
    )
    shared = len(fact.terms & wanted) / (len(fact.terms) or 1)
    score = fact.confidence + 0.3 * specific + 0.1 * is_cited + 0.1 * shared
    return replace(fact, score=round(score, 4))


def _cited(report: str) -> list[tuple[str, int, int]]:
    """Return what a report cites: agent and item, or path and lines."""
    return [
        (each.agent, each.item, each.item)
        if each.agent
        else (each.target, each.first, each.last)
        for each in citations(report)
    ]


def _is_cited(
    fact: _Fact, agent: str, number: int, cited: Sequence[tuple[str, int, int]]
) -> bool:
    return any(
        (name, first) == (agent, number)
        or _meet((Place(name, first, last),), fact.places)
        for name, first, last in cited
    )


def _without_twins(facts: Sequence[_Fact]) -> list[_Fact]:
    """Return facts, each once, with the places of those that say the same."""
    kept: list[_Fact] = []
    for fact in facts:
        for at, other in enumerate(kept):
            if _is_twin(fact, other):
                places = tuple(dict.fromkeys((*other.places, *fact.places)))
                kept[at] = replace(other, places=places[:MAX_PLACES])
                break
        else:
            kept.append(fact)
    return kept


def _is_twin(fact: _Fact, other: _Fact) -> bool:
    if fact.numbers != other.numbers and fact.path != other.path:
        return False  # two papers that contradict each other
    least = SAME_AT_ONE_PLACE if _meet(fact.places, other.places) else SAME
    if fact.numbers != other.numbers:
        return False
    return _share(fact.terms, other.terms) >= least


def _share(one: Collection[str], other: Collection[str]) -> float:
    """Return how much of the shorter of two texts the other one holds, from 0 to 1."""
    least = min(len(one), len(other))
    return len(set(one) & set(other)) / least if least else 0.0


def _meet(one: Sequence[Place], other: Sequence[Place]) -> bool:
    """Return whether two facts rest on lines that meet."""
    return any(
        a.path == b.path
        and (not a.first or not b.first or (a.first <= b.last and b.first <= a.last))
        for a in one
        for b in other
    )


# ---- entries ------------------------------------------------------------------------


def _puts(facts: Sequence[_Fact], known: Sequence[Known]) -> list[Put]:
    held = {folded_key(each.entry.key) for each in known}
    taken: set[str] = set()
    chosen: list[tuple[_Fact, str, Known | None]] = []
    for fact in facts:
        same = _same(fact, known)
        key = same.entry.key if same else _free_key(fact, taken | held)
        if not key or folded_key(key) in taken:
            continue
        taken.add(folded_key(key))
        if same is None or not _says_nothing_new(fact, same):
            chosen.append((fact, key, same))
        if len(chosen) == MAX_ENTRIES:
            break
    files = Filing([(f.path, f.terms) for f, _, same in chosen if same is None], known)
    return [_put(fact, key, same, files) for fact, key, same in chosen]


def _put(fact: _Fact, key: str, same: Known | None, files: Filing) -> Put:
    """Return the change for a fact; one that is known keeps its place and wording."""
    if same is None:
        return Put(
            files.topic_of(fact.path),
            key,
            _value(fact),
            fact.places,
            fact.confidence,
            files.description_of(fact.path),
        )
    entry, value, places = same.entry, _value(fact), fact.places
    if not same.is_stale and fact.numbers <= _figures(entry.value):
        value = entry.value
    if same.state == "unchanged":
        places = tuple(dict.fromkeys((*map(_unsealed, entry.evidence), *places)))
    sure = max(entry.confidence or 0.0, fact.confidence)
    return Put(same.topic, key, value, places[:MAX_PLACES], sure)


def _unsealed(place: Place) -> Place:
    return replace(place, seal="")


def _figures(text: str) -> frozenset[str]:
    return frozenset(filter(is_number, terms_of(text)))


def _same(fact: _Fact, known: Sequence[Known]) -> Known | None:
    """Return the entry that is the same fact, perhaps with another figure."""
    shares = [(_likeness(fact, each), each) for each in known]
    best = max(shares, key=lambda one: one[0], default=None)
    return best[1] if best and best[0] else None


def _likeness(fact: _Fact, known: Known) -> float:
    """Return the share of terms that fact and entry have in common; 0: another fact."""
    entry = known.entry
    own, said = fact.terms - fact.numbers, _first(entry.value)
    words = _words(said)
    if not fact.numbers <= _figures(said) and 2 * len(own & words) < len(words):
        return 0.0  # it would take the place of much more than it says
    by_value = _share(own, words)
    if folded_key(entry.key) == folded_key(naming.key_of(fact.claim, fact.path)):
        return by_value if by_value >= SAME_BY_KEY else 0.0
    share = max(by_value, _share(own, _words(f"{entry.key} {said}")))
    meets = _meet(fact.places, entry.evidence)
    return share if share >= (SAME_AT_ONE_PLACE if meets else SAME) else 0.0


def _words(text: str) -> frozenset[str]:
    return frozenset(term for term in terms_of(text) if not is_number(term))


def _first(value: str) -> str:
    return value.partition("\n")[0]


def _says_nothing_new(fact: _Fact, known: Known) -> bool:
    """Return whether a person wrote the same, which stays as it is."""
    return known.entry.is_by_a_person and fact.numbers <= _figures(known.entry.value)


def _free_key(fact: _Fact, taken: Collection[str]) -> str:
    """Return a key that no other fact has; "": there is none."""
    for words in (naming.MAX_WORDS, naming.MAX_WORDS + 3):
        key = naming.key_of(fact.claim, fact.path, words=words)
        label = naming.label_of(fact.path)
        for each in (key, f"{label}{naming.DASH}{key}"):
            if folded_key(each) not in taken:
                return each
    return ""


def _value(fact: _Fact) -> str:
    """Return the claim, the words it rests on, and what it was found for."""
    parts = [_cut(fact.claim)]
    if fact.quote:
        parts.append(f"> {fact.quote}")
    if fact.asked:
        label = "问题：" if naming.is_wide(fact.asked) else "Found for: "
        parts.append(f"{label}{fact.asked}")
    return "\n\n".join(parts)


def _cut(claim: str) -> str:
    """Return the first whole sentences that are short enough together."""
    if len(claim) <= MAX_VALUE_CHARS:
        return claim
    kept = ""
    for sentence in _SENTENCE.split(claim):
        glue = " " if kept and kept.isascii() else ""
        if kept and len(kept) + len(sentence) > MAX_VALUE_CHARS:
            break
        kept = f"{kept}{glue}{sentence.strip()}"
    return kept if len(kept) <= MAX_VALUE_CHARS else f"{kept[: MAX_VALUE_CHARS - 1]}…"
