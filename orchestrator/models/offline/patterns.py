"""Regular expressions for `grep` that find the lines which may hold a concept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.models.offline.words import Concept

__all__ = ["definition_pattern", "pair_pattern", "pattern"]

_MAX_PIECES = 14
_MAX_PATTERN_CHARS = 1800


def pattern(concept: Concept, *, pieces: int = _MAX_PIECES) -> str:
    """Return a regular expression that finds all lines that may hold `concept`.

    Args:
        concept: what to find.
        pieces: alternatives at most; the concept itself comes before what is related.
    """
    own: list[str] = []
    for entry in concept.words:
        joined = r"\W+(?:\w+\W+)?".join(_open_ended(part) for part in entry)
        own.append(rf"(?:\b|_){joined}")
    texts = [_escape(text) for text in concept.texts]
    if concept.kind != "han":
        return "|".join(dict.fromkeys([*own, *texts][:pieces]))
    label = concept.label
    pairs = [label[at : at + 2] for at in range(len(label) - 1)]
    return "|".join(dict.fromkeys([*(pairs or texts[:1]), *texts, *own][:pieces]))


def pair_pattern(wanted: Sequence[Concept]) -> str:
    """Return a regular expression for lines that hold two different concepts.

    Stays below what `grep` takes: related words are left out first, then concepts.
    """
    for pieces, concepts_kept in ((_MAX_PIECES, 7), (6, 7), (4, 5), (2, 5), (2, 3)):
        kept = wanted[:concepts_kept]
        alternatives = [pattern(concept, pieces=pieces) for concept in kept]
        if len(alternatives) == 1:
            return alternatives[0]
        whole = "|".join(
            f"(?:{one}).*(?:{'|'.join(others)})"
            for at, one in enumerate(alternatives)
            if (others := alternatives[:at] + alternatives[at + 1 :])
        )
        if len(whole) <= _MAX_PATTERN_CHARS:
            return whole
    return pattern(wanted[0])[:_MAX_PATTERN_CHARS].rpartition("|")[0]


def definition_pattern(wanted: Sequence[Concept]) -> str:
    """Return a regular expression for lines of code that define what is wanted."""
    names: dict[str, None] = {}
    for concept in wanted[:4]:
        for entry in concept.words[:2]:
            names["\\w*".join(_open_ended(part) for part in entry)] = None
        for text in concept.texts[:1]:
            names[_escape(text)] = None
    kinds = "class|def|func|function|fn|struct|type|interface|trait|enum|const|let|var"
    return rf"\b(?:{kinds})\s+\w*(?:{'|'.join(names)})"


def _open_ended(part: str) -> str:
    # `citi` stands for city and cities.
    return rf"{part[:-1] if part.endswith('i') and len(part) > 3 else part}\w*"


def _escape(text: str) -> str:
    return re.sub(r"([\\.+*?()|\[\]{}^$#&~\-])", r"\\\1", text)
