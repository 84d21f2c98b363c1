"""The retrieval set of the memory, and what a search makes of it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.memory.entries import Entry, Topic

__all__ = [
    "Figures",
    "Question",
    "Search",
    "is_of_a_number",
    "measured",
    "questions",
    "topics",
]

_DATA: Final = Path(__file__).parents[1] / "data" / "memory"

Search = Callable[[str], Sequence[str]]
"""Returns the keys that a query finds, the best first."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the keys of which each one answers it; none: nothing does."""

    kind: str
    text: str
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a search makes of questions; each one a share, 0 to 1.

    Attributes:
        at_5, at_1: of those with an answer, where it is among the first five, is first.
        alarms: of those without an answer, where something is found.
        confused: of those that name a number or id, where one with another comes first,
            or anything is found for one that is not there.
        kinds: `at_5` by kind.
    """

    at_5: float
    at_1: float
    alarms: float
    confused: float
    kinds: dict[str, float]


def topics() -> list[Topic]:
    """Return the topic files, with a few hundred entries."""
    rows = [json.loads(line) for line in _lines("retrieval_entries.jsonl")]
    grouped = itertools.groupby(rows, key=lambda row: (row["topic"], row["title"]))
    return [
        Topic(
            path,
            title,
            "",
            tuple(Entry(row["key"], row["value"], row["when"]) for row in held),
        )
        for (path, title), held in grouped
    ]


def questions(part: str) -> list[Question]:
    """Return one part of the questions.

    Args:
        part: `dev`, by which all was chosen; `test`, looked at while faults were
            mended; `fresh`, written after that.
    """
    rows = [json.loads(line) for line in _lines("retrieval_questions.jsonl")]
    return [
        Question(row["kind"], row["question"], tuple(row["answers"]))
        for row in rows
        if row["part"] == part
    ]


def measured(search: Search, asked: Iterable[Question]) -> Figures:
    """Return what a search makes of questions."""
    rows = [(each, list(search(each.text))) for each in asked]
    hits = [(each, found) for each, found in rows if each.answers]
    alarms = [bool(found) for each, found in rows if not each.answers]
    kinds: dict[str, list[bool]] = {}
    for each, found in hits:
        kinds.setdefault(each.kind, []).append(bool(set(found[:5]) & set(each.answers)))
    return Figures(
        at_5=_share(hit for row in kinds.values() for hit in row),
        at_1=_share(bool(set(found[:1]) & set(each.answers)) for each, found in hits),
        alarms=_share(alarms),
        confused=_share(
            bool(found) and found[0] not in each.answers
            for each, found in rows
            if is_of_a_number(each)
        ),
        kinds={kind: _share(row) for kind, row in kinds.items()},
    )


def is_of_a_number(question: Question) -> bool:
    """Return whether a question names a number or id, one that is there or not."""
    return question.kind == "numbers" or (
        question.kind == "none" and any(map(str.isdigit, question.text))
    )


def _share(flags: Iterable[bool]) -> float:
    held = list(flags)
    return sum(held) / len(held)


def _lines(name: str) -> list[str]:
    return (_DATA / name).read_text(encoding="utf-8").splitlines()
