"""Statements of a draft with the places they cite, as a brief gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from orchestrator.evidence import citations
from orchestrator.models.offline.reading import asking_sections

__all__ = ["Cited", "Statement", "statements_in"]

_BULLET = re.compile(r"^\s*(?:[-*+•>]|\d+[.)、])\s+")
_SENTENCE = re.compile(r"(?<=[。！？])|(?<=[.!?;；])\s+(?=\S)|(?<=[:：])\s*(?=[\"“])")
_EDGES = " \t,.;:，。；：–—-\"'“”"


@dataclass(frozen=True, slots=True)
class Cited:
    """One place that a statement cites."""

    path: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a draft."""

    text: str
    places: tuple[Cited, ...]


def statements_in(first: str) -> list[Statement]:
    """Return the statements of a brief that cite a place, in order, each once.

    What stands right before a citation is what it is cited for: the last sentence, or
    what is quoted behind a colon.
    """
    found: dict[str, Statement] = {}
    for text in asking_sections(first):
        for line in text.splitlines():
            for statement in _of_line(_BULLET.sub("", line)):
                known = found.get(statement.text)
                places = (*(known.places if known else ()), *statement.places)
                once = tuple(dict.fromkeys(places))
                found[statement.text] = Statement(statement.text, once)
    return list(found.values())


def _of_line(line: str) -> list[Statement]:
    found: list[Statement] = []
    at = 0
    for cited in citations(line):
        if cited.agent:
            continue
        place = Cited(cited.target, cited.first, cited.last)
        said = _last_sentence(line[at : cited.start]) if cited.start >= at else ""
        if said:
            found.append(Statement(said, (place,)))
        elif found:
            last = found[-1]
            found[-1] = Statement(last.text, (*last.places, place))
        at = max(at, cited.end)
    return found


def _last_sentence(text: str) -> str:
    """Return the last sentence that says something, or ""."""
    sentences = [part.strip(_EDGES) for part in _SENTENCE.split(text) if part]
    return next((each for each in reversed(sentences) if len(each) > 3), "")
