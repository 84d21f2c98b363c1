"""What memory holds for the task, as the first message shows it, and what it answers.

An entry whose lines are unchanged answers a question where it would have been chosen
among passages, and holds all that the question is about. A wrong answer from memory is
worse than a second look.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from orchestrator.evidence import parse_source
from orchestrator.models.offline import phrases
from orchestrator.models.offline.overview import is_overview
from orchestrator.models.offline.passages import PROSE, Page
from orchestrator.models.offline.places import is_citable
from orchestrator.models.offline.ranking import Question, best_hits
from orchestrator.models.offline.reading import sections
from orchestrator.models.offline.roles import asks_for_summary
from orchestrator.models.offline.statements import statements_in
from orchestrator.models.offline.words import Bag, Concept

__all__ = ["Recalled", "Remembered", "Spot", "recalled", "remembered_in"]

HEADING = "what earlier runs learned"
State = Literal["unchanged", "moved", "changed", "gone", "unknown"]

_ENTRY = re.compile(r"^\s*[-*] `(?P<topic>[^`\n]+)` › (?P<rest>\S.*)$")
# What stands behind a value: date, who or how sure, evidence and its state.
_TOLD = re.compile(
    r"(?P<said>.*?)(?:\s*\((?P<told>(?P<when>\d{4}-\d{2}-\d{2})?"
    r"(?:(?:^|, |(?<=\())(?P<who>by a person|confidence [\d.]+))?"
    r"(?:(?:, |(?<=\())(?P<places>`[^`]+`(?:, ?`[^`]+`)*)(?: and \d+ more)?"
    r"(?P<state>[^`()]*))?)\))?\s*"
)
_TICKED = re.compile(r"`([^`]+)`")
_STATES: tuple[tuple[State, re.Pattern[str]], ...] = (
    ("gone", re.compile(r"\bgone\b|\bmissing\b|不存在", re.IGNORECASE)),
    ("changed", re.compile(r"\bstale\b|\bchanged since\b|过时", re.IGNORECASE)),
    ("moved", re.compile(r"\bmoved\b|移动", re.IGNORECASE)),
    ("unchanged", re.compile(r"\bunchanged\b|未变", re.IGNORECASE)),
)
_FOUND_FOR = re.compile(r"^(?:Found for: |问题：)(?P<asked>.+)$")


@dataclass(frozen=True, slots=True)
class Spot:
    """Lines of a file, from 1; 0: none are named."""

    path: str
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Remembered:
    """One entry of memory, as it is shown.

    Attributes:
        topic: the file that it is in.
        key: names it.
        lines: of its value.
        when: `YYYY-MM-DD`, or "".
        spots: what it rests on.
        state: of that.
    """

    topic: str
    key: str
    lines: tuple[str, ...]
    when: str = ""
    spots: tuple[Spot, ...] = ()
    state: State = "unknown"

    @property
    def said(self) -> str:
        """Return what it says, without its quote and what it was found for."""
        told = [
            line
            for line in self.lines
            if not line.startswith("> ") and not _FOUND_FOR.match(line)
        ]
        return " ".join(told) or " ".join(self.lines)

    @property
    def asked(self) -> tuple[str, ...]:
        """Return the questions that it was found for."""
        found = map(_FOUND_FOR.match, self.lines)
        return tuple(each["asked"] for each in found if each)

    @property
    def spot(self) -> Spot | None:
        """Return the place that a report can cite, or None."""
        fit = (each for each in self.spots if each.first and is_citable(each.path))
        return next(fit, None)

    @property
    def is_firm(self) -> bool:
        """Whether it can be relied on without another look.

        Lines that have moved are named where they are now.
        """
        return self.state in ("unchanged", "moved") and self.spot is not None

    @property
    def is_hint(self) -> bool:
        """Whether nothing is there that it could be checked by."""
        return not self.spots or self.state == "unknown"


@dataclass(slots=True)
class Recalled:
    """What memory has on one question.

    Attributes:
        answers: an entry for each part of the question; empty: it is to be looked up.
        doubtful: entries that would answer, if their files had not changed.
        hints: entries that would answer, without evidence.
    """

    answers: list[Remembered] = field(default_factory=list)
    doubtful: list[Remembered] = field(default_factory=list)
    hints: list[Remembered] = field(default_factory=list)


def remembered_in(first: str) -> list[Remembered]:
    """Return the entries of memory that a first message shows, best first."""
    text = sections(first).get(HEADING, "")
    found = (_ENTRY.match(line) for line in text.splitlines())
    return [_read(each["topic"], each["rest"]) for each in found if each]


def _read(topic: str, rest: str) -> Remembered:
    found = _TOLD.fullmatch(rest)
    said = found["said"] if found else rest
    key, colon, value = said.partition(": ")
    if not colon:
        key, value = "", said
    lines = tuple(line.strip() for line in value.split(" / ") if line.strip())
    if found is None or not found["told"]:
        return Remembered(topic, key, lines)
    spots = tuple(_spots(found["places"] or ""))
    state = _state(found["state"] or "")
    return Remembered(topic, key, lines, found["when"] or "", spots, state)


def _spots(text: str) -> Iterable[Spot]:
    for told in _TICKED.findall(text):
        source = parse_source(told)
        first = source.first or 0
        yield Spot(source.target, first, source.last or first)


def _state(text: str) -> State:
    for state, pattern in _STATES:
        if pattern.search(text):
            return state
    return "unknown"


# ---- what it answers ----------------------------------------------------------------


def recalled(
    question: str, entries: Sequence[Remembered], allows: Callable[[str], bool]
) -> Recalled:
    """Return what entries have on a question.

    Args:
        question: with all of its parts; it is answered only where each of them is.
        entries: what is shown of memory.
        allows: whether a file may be looked at in this task.
    """
    found = Recalled()
    if not entries or _needs_the_files(question):
        return found
    fit = [e for e in entries if all(allows(spot.path) for spot in e.spots)]
    firm = [entry for entry in fit if not entry.is_hint]
    loose = [entry for entry in fit if entry.is_hint]
    parts = Question.parts(phrases.without_frame(question))
    best = [_best(part, firm) for part in parts]
    hints = [_best(part, loose) for part in parts]
    if best and all(entry is not None and entry.is_firm for entry in best):
        found.answers = _once(best)
    found.doubtful = [entry for entry in _once(best) if not entry.is_firm]
    found.hints = _once(hints)
    return found


def _needs_the_files(question: str) -> bool:
    """Return whether no single fact answers: a summary, an overview, a check."""
    return (
        asks_for_summary(question)
        or is_overview(Question.of(question))
        or bool(statements_in(question))
    )


def _once(entries: Iterable[Remembered | None]) -> list[Remembered]:
    return list(dict.fromkeys(entry for entry in entries if entry is not None))


def _best(part: Question, entries: Sequence[Remembered]) -> Remembered | None:
    """Return the entry that answers a part of a question best, or None."""
    asked = _plain(part.text)
    scored: list[tuple[tuple[bool, float], Remembered]] = []
    for entry in entries:
        if not _holds_all(part, entry):
            continue
        hits = best_hits(part, [_page(entry)], found_in={}, files=0)
        # What answered this very question once has more to say for it than words do.
        is_known = any(_plain(phrases.without_frame(q)) == asked for q in entry.asked)
        scored += [((is_known, hit.score), entry) for hit in hits]
    return max(scored, key=lambda one: one[0])[1] if scored else None


def _plain(text: str) -> str:
    """Return the words of a question, whatever is between them."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _holds_all(part: Question, entry: Remembered) -> bool:
    """Return whether an entry holds every word of a question that is no filler.

    Small words decide here: `part-time` is not `full-time`, 二线城市 not 一线城市.
    """
    paths = " ".join(spot.path for spot in entry.spots)
    bag = Bag.of(" \n ".join([entry.topic, paths, entry.key, *entry.lines]))
    own = Question.of(part.text).concepts
    is_about = any(not concept.is_weak for concept in own)
    return is_about and all(_is_there(concept, bag) for concept in own)


def _is_there(concept: Concept, bag: Bag) -> bool:
    match = concept.match(bag)
    if concept.kind != "han":
        return match > 0
    # A part of a Chinese term is another term.
    return (
        match == 1
        or any(text in bag.lower for text in concept.texts)
        or (any(bag.stems.issuperset(words) for words in concept.words))
    )


def _page(entry: Remembered) -> Page:
    """Return an entry as a page of prose: its key, what it was found for, its value."""
    path = entry.spots[0].path if entry.spots else entry.topic
    asked = (f"## {each}" for each in entry.asked)
    heads = [f"# {entry.key}" if entry.key else "", *asked]
    told = [line for line in entry.lines if not _FOUND_FOR.match(line)]
    lines = [*heads, "", *told]
    name = path if path.lower().endswith(PROSE) else f"{path}.md"
    return Page(name, {number: text for number, text in enumerate(lines, 1) if text})
