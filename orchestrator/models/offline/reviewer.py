"""The offline model as reviewer: are the words and numbers of a draft at its places?

It compares words and understands nothing: what it reports may hold in other words, and
what it passes may still be wrong. It says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.evidence import NEAR_LINES
from orchestrator.models.offline.explorer import HAND_IN, Step, explore
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.phrases import UNSEARCHED, shortened, tried
from orchestrator.models.offline.places import quote_near, span
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.reading import Call, Conversation
from orchestrator.models.offline.searching import all_read
from orchestrator.models.offline.statements import Cited, Statement, statements_in
from orchestrator.models.offline.words import Bag

__all__ = ["review"]

MAX_READS = 80
MAX_QUOTE_CHARS = 400
ENOUGH = 0.6
"""Share of what a statement is about that its place must hold."""
CONFIDENCE = 0.4
MAX_TOLD = 12

_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*")
_WORDS_OF_NUMBERS = (
    ("zero",), ("one", "一"), ("two", "二", "两"), ("three", "三"), ("four", "四"),
    ("five", "五"), ("six", "六"), ("seven", "七"), ("eight", "八"), ("nine", "九"),
    ("ten", "十"), ("eleven", "十一"), ("twelve", "十二"),
)  # fmt: skip
_IN_WORDS = {
    word: str(number)
    for number, words in enumerate(_WORDS_OF_NUMBERS)
    for word in words
}
_ALL_WORDS = re.compile(
    r"\b(?:" + "|".join(w for w in _IN_WORDS if w.isascii()) + r")\b", re.IGNORECASE
)
_NO_NUMBERS = ("zero", "one")
_METHOD = (
    "No language model was used: words and numbers were compared with the cited lines, "
    "and what they mean was not judged."
)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What became of one statement."""

    statement: Statement
    lacking: tuple[str, ...] = ()
    """Words and numbers that no cited place holds."""
    unread: str = ""
    """Why it could not be checked, or ""."""
    page: Page | None = None
    """The first of its places that was read, and …"""
    place: Cited | None = None


def review(conversation: Conversation) -> list[Step]:
    """Return the calls of a reviewer's next turn; a brief without a draft is explored.

    Args:
        conversation: so far.
    """
    statements = statements_in(conversation.first)
    if not statements or "read_file" not in conversation.tools:
        return explore(conversation)
    if not conversation.must_end:
        steps = [
            ("read_file", given)
            for given in _readings(statements)
            if not conversation.has_made("read_file", given)
        ]
        if steps:
            return steps
    pages = {page.path: page for page in all_read(conversation)}
    refused = {
        str(call.input.get("path")): call
        for call in conversation.named("read_file")
        if call.answered and call.is_error
    }
    verdicts = [_judged(statement, pages, refused) for statement in statements]
    return [(HAND_IN, _findings(verdicts))]


def _readings(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """Return the arguments of the reads, each place once, a few lines around it."""
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    for statement in statements:
        for place in statement.places:
            first = max(place.first - NEAR_LINES, 1)
            lines = place.last + NEAR_LINES - first + 1
            given = {"path": place.path, "first_line": first, "max_lines": lines}
            found[(place.path, first, lines)] = given
    return list(found.values())[:MAX_READS]


def _judged(
    statement: Statement, pages: Mapping[str, Page], refused: Mapping[str, Call]
) -> _Verdict:
    """Return what the cited lines hold of a statement."""
    text: list[str] = []
    shown: tuple[Page, Cited] | None = None
    why = ""
    for place in statement.places:
        page = pages.get(place.path)
        lines = _around(page, place) if page else ""
        if page and lines:
            text.append(lines)
            shown = shown or (page, place)
            continue
        call = refused.get(place.path)
        cited = f"{place.path}:{span(place.first, place.last)}"
        why = why or f"{cited} " + (
            f"cannot be opened ({shortened(call.result, 160)})"
            if call
            else "was not read: no room was left, or there are no such lines"
        )
    if shown is None:
        return _Verdict(statement, unread=why)
    lacking = _lacking(statement.text, "\n".join(text))
    return _Verdict(statement, lacking, why if lacking else "", *shown)


def _around(page: Page, place: Cited) -> str:
    numbers = range(place.first - NEAR_LINES, place.last + NEAR_LINES + 1)
    if not any(number in page.lines for number in range(place.first, place.last + 1)):
        return ""
    return "\n".join(page.lines[n] for n in numbers if n in page.lines)


def _lacking(statement: str, text: str) -> tuple[str, ...]:
    """Return what a statement says and a text does not hold; () where enough is there.

    A number, or a name that is quoted or written like code, must be there. Of other
    words a part may be missing, for a statement is seldom in the words of its place.
    """
    there = _numbers(text)
    said = _NUMBER.findall(statement)
    # `one` is seldom a number: one of them, one another.
    said += [w for w in _ALL_WORDS.findall(statement) if w.lower() not in _NO_NUMBERS]
    numbers = [n for n in said if _IN_WORDS.get(n.lower(), n) not in there]
    bag = Bag.of(text)
    strong = [c for c in Question.of(statement).strong if c.kind != "number"]
    missing = [c for c in strong if c.match(bag) < ENOUGH]
    whole = sum(concept.weight for concept in strong)
    held = sum(concept.weight * concept.match(bag) for concept in strong)
    names = [concept.label for concept in missing if concept.kind == "exact"]
    is_enough = not whole or held >= ENOUGH * whole
    words = [] if is_enough else [concept.label for concept in missing]
    return tuple(dict.fromkeys([*numbers, *names, *words]))


def _numbers(text: str) -> set[str]:
    found = set(_NUMBER.findall(text))
    found |= {_IN_WORDS[word.lower()] for word in _ALL_WORDS.findall(text)}
    han = {word: number for word, number in _IN_WORDS.items() if not word.isascii()}
    return found | {number for word, number in han.items() if word in text}


def _findings(verdicts: Sequence[_Verdict]) -> dict[str, Any]:
    """Return the findings: the verdict first, then an item for each fault."""
    faults = [each for each in verdicts if each.lacking]
    unread = [each for each in verdicts if each.unread and not each.lacking]
    checked = len(verdicts) - len(unread)
    said = f"{checked} of {len(verdicts)} statements were checked. "
    if faults:
        said = f"The draft does not hold as it stands: {len(faults)} faults. {said}"
    elif unread:
        said = f"No fault was found, but not everything could be checked. {said}"
    else:
        said = f"The draft holds, as far as words and numbers go. {said}"
    status = "complete" if faults else "nothing_found"
    # A fault that no line can be quoted for is no less a fault.
    items = [_item(each) for each in faults]
    if unread or not all(item["evidence"] for item in items):
        status = "partial"
    return {
        "status": status,
        "summary": f"{said}{_METHOD}",
        "items": items,
        "open_questions": [
            f"“{shortened(each.statement.text, 200)}”: {each.unread}" for each in unread
        ],
        "failed_attempts": [
            {
                "tried": tried(each.statement.text, _words_of(each)),
                "why": _why(each)[:480],
            }
            for each in verdicts
            if not each.lacking
        ][:MAX_TOLD],
    }


def _words_of(verdict: _Verdict) -> str:
    strong = Question.of(verdict.statement.text).strong
    return ", ".join(concept.label for concept in strong) or "-"


def _why(verdict: _Verdict) -> str:
    """Return why a statement is no fault; the lead reads the mark before the colon."""
    if verdict.unread:
        return f"{UNSEARCHED}: {verdict.unread}"
    return "no fault: the cited lines hold its words and numbers"


def _item(verdict: _Verdict) -> dict[str, Any]:
    page, place = verdict.page, verdict.place
    lacking = ", ".join(f"`{each}`" for each in verdict.lacking[:8])
    claim = (
        f"Unsupported: “{shortened(verdict.statement.text, 300)}”. The cited lines and "
        f"those right around them do not hold {lacking}."
    )
    evidence = []
    if page and place:
        around = NEAR_LINES
        quoted = quote_near(
            page, place.first, place.last, most=MAX_QUOTE_CHARS, around=around
        )
        if quoted:
            first, last, text = quoted
            source = f"{place.path}:{span(first, last)}"
            evidence = [{"source": source, "quote": text}]
    if verdict.unread:
        claim += f" {verdict.unread[:200]}."
    return {"claim": claim, "evidence": evidence, "confidence": CONFIDENCE}
