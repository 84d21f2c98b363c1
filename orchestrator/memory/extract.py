"""What of a run's findings will be useful again, chosen without a language model.

The same claims give the same entries; what memory has already is brought up to date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.findings import Findings
from orchestrator.memory import naming
from orchestrator.memory.entries import Place, folded_key
from orchestrator.memory.facts import (
    MAX_PLACES,
    SAME,
    SAME_AT_ONE_PLACE,
    Fact,
    facts_of,
    figures,
    meet,
    share,
    words_of,
)
from orchestrator.memory.filing import Filing
from orchestrator.memory.keeping import Put
from orchestrator.memory.memory import Known

__all__ = ["MAX_ENTRIES", "extracted"]

MAX_ENTRIES: Final = 12
"""Of one run."""
MAX_VALUE_CHARS: Final = 500
SAME_BY_KEY: Final = 0.4
"""Share of the terms of a value from which an entry of that key is the same fact."""
_SENTENCE: Final = re.compile(r"(?<=[。！？])|(?<=[.!?])\s+(?=[\"'“(`]*[A-Z0-9])")


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry that memory has.

    Attributes:
        known: the entry.
        key: folded.
        said: words of the first line of its value.
        words: these, and those of its key.
        numbers: of that line.
    """

    known: Known
    key: str
    said: frozenset[str]
    words: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, known: Known) -> _Held:
        """Read an entry."""
        line = known.entry.value.partition("\n")[0]
        said = words_of(line)
        key = known.entry.key
        return cls(known, folded_key(key), said, said | words_of(key), figures(line))


def extracted(
    findings: Mapping[str, Findings],
    *,
    unsupported: Mapping[str, Collection[int]],
    objective: str,
    known: Sequence[Known],
) -> list[Put]:
    """Return what to keep of what a run found, the best first.

    Args:
        findings: agent id → its accepted findings.
        unsupported: agent id → numbers, from 1, of its items without a found quote.
        objective: of the task, or the further question.
        known: what memory has on the subject; the same fact keeps its key and topic.

    Returns:
        At most `MAX_ENTRIES`, each with evidence, under different keys.
    """
    facts = facts_of(findings, unsupported=unsupported, objective=objective)
    return _puts(facts, known)


def _puts(facts: Sequence[Fact], known: Sequence[Known]) -> list[Put]:
    held = [_Held.of(each) for each in known]
    keys = {each.key for each in held}
    taken: set[str] = set()
    chosen: list[tuple[Fact, str, Known | None]] = []
    for fact in facts:
        same = _same(fact, held)
        key = same.entry.key if same else _free_key(fact, taken | keys)
        if not key or folded_key(key) in taken:
            continue
        taken.add(folded_key(key))
        if same is None or not _says_nothing_new(fact, same):
            chosen.append((fact, key, same))
        if len(chosen) == MAX_ENTRIES:
            break
    files = Filing([(f.path, f.terms) for f, _, same in chosen if same is None], known)
    return [_put(fact, key, same, files) for fact, key, same in chosen]


def _put(fact: Fact, key: str, same: Known | None, files: Filing) -> Put:
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
    if not same.is_stale and fact.numbers <= figures(entry.value):
        value = entry.value
    if same.state == "unchanged":
        places = tuple(dict.fromkeys((*map(_unsealed, entry.evidence), *places)))
    sure = max(entry.confidence or 0.0, fact.confidence)
    return Put(same.topic, key, value, places[:MAX_PLACES], sure)


def _unsealed(place: Place) -> Place:
    return replace(place, seal="")


def _same(fact: Fact, known: Sequence[_Held]) -> Known | None:
    """Return the entry that is the same fact, perhaps with another figure."""
    key = folded_key(naming.key_of(fact.claim, fact.path))
    shares = [(_likeness(fact, key, each), each) for each in known]
    best = max(shares, key=lambda one: one[0], default=None)
    return best[1].known if best and best[0] else None


def _likeness(fact: Fact, key: str, held: _Held) -> float:
    """Return the share of terms that fact and entry have in common; 0: another fact."""
    own = fact.terms - fact.numbers
    if not fact.numbers <= held.numbers and 2 * len(own & held.said) < len(held.said):
        return 0.0  # it would take the place of much more than it says
    by_value = share(own, held.said)
    if held.key == key:
        return by_value if by_value >= SAME_BY_KEY else 0.0
    most = max(by_value, share(own, held.words))
    meets = most >= SAME_AT_ONE_PLACE and meet(fact.places, held.known.entry.evidence)
    return most if meets or most >= SAME else 0.0


def _says_nothing_new(fact: Fact, known: Known) -> bool:
    """Return whether a person wrote the same, which stays as it is."""
    return known.entry.is_by_a_person and fact.numbers <= figures(known.entry.value)


def _free_key(fact: Fact, taken: Collection[str]) -> str:
    """Return a key that no other fact has; "": there is none."""
    for words in (naming.MAX_WORDS, naming.MAX_WORDS + 3):
        key = naming.key_of(fact.claim, fact.path, words=words)
        label = naming.label_of(fact.path)
        for each in (key, f"{label}{naming.DASH}{key}"):
            if folded_key(each) not in taken:
                return each
    return ""


def _value(fact: Fact) -> str:
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
