"""What a subagent hands in: quoted places, and for the rest the true reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.gaps import TRIED
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.ranking import (
    SPECIFIC,
    Hit,
    Question,
    best_hits,
    specificity,
)
from orchestrator.models.offline.reading import Call
from orchestrator.models.offline.searching import Seen

__all__ = ["Answer", "findings_of", "mended", "why_not"]

MAX_QUOTE_CHARS = 1200
MANY = 4
"""From so many questions on, quotes and the summary are kept short."""
SHORT_QUOTE_CHARS = 400
_TOO_LONG = re.compile(r"\blonger than the \d+ tokens\b")
_ITEM_NAMED = re.compile(r"\bitems?\W{0,3}(\d+)", re.IGNORECASE)
_WANTED = {
    "number": "number",
    "duration": "length of time",
    "money": "amount of money",
    "date": "date or time",
    "person": "name",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One question, or part of one, and what became of it."""

    question: Question
    hits: list[Hit]
    seen: Seen
    untried: str = ""
    """Why it was not looked up to the end, or ""."""


def findings_of(
    answers: Sequence[Answer],
    pages: Sequence[Page],
    *,
    looked: bool,
    gaps: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the findings.

    Args:
        answers: in order of the questions.
        pages: what was read.
        looked: some call brought something back.
        gaps: what the tools could not look at.
    """
    is_long = len(answers) >= MANY
    items: list[dict[str, Any]] = []
    lines: list[str] = []
    for answer in answers:
        for hit in answer.hits:
            item = _item(hit, SHORT_QUOTE_CHARS if is_long else MAX_QUOTE_CHARS)
            items.append(item)
            lines.append(phrases.answered(answer.question.text, item["claim"]))
        if not answer.hits:
            lines.append(phrases.unanswered(answer.question.text))
    open_ones = [answer for answer in answers if not answer.hits]
    summary = "\n".join(lines)[:6000] or phrases.unanswered("")
    if is_long:
        summary = phrases.counted(len(answers) - len(open_ones), len(answers))
    return {
        "status": _status(bool(items), open_ones, looked=looked),
        "summary": summary,
        "items": items,
        "open_questions": [answer.question.text for answer in open_ones],
        "failed_attempts": [
            *({"tried": TRIED, "why": gap} for gap in gaps),
            *(_missed(answer, pages, looked) for answer in open_ones),
        ],
    }


def _status(has_items: bool, open_ones: Sequence[Answer], *, looked: bool) -> str:
    if has_items:
        return "partial" if open_ones else "complete"
    if not looked or all(answer.seen.errors for answer in open_ones):
        return "failed"
    is_open = any(answer.seen.errors or answer.untried for answer in open_ones)
    return "partial" if is_open else "nothing_found"


def _item(hit: Hit, most: int) -> dict[str, Any]:
    page, first, last = hit.page, hit.first, hit.last
    quote = page.quote(first, last)
    if len(quote) > most:
        first = last = hit.unit.first
        line = page.quote(first, last)
        at = max(line.find(hit.unit.text[:40]), 0)
        quote = line[at : at + most]
    span = f"{first}" if first == last else f"{first}-{last}"
    return {
        "claim": phrases.claim(hit),
        "evidence": [{"source": f"{page.path}:{span}", "quote": quote}],
        "confidence": round(min(0.9, 0.25 + 0.6 * hit.coverage), 2),
    }


def _missed(answer: Answer, pages: Sequence[Page], looked: bool) -> dict[str, str]:
    terms = ", ".join(c.label for c in answer.question.strong if not c.is_weak)
    tried = phrases.tried(answer.question.text, terms or "-")
    return {"tried": tried, "why": why_not(answer, pages, looked=looked)[:480]}


def why_not(answer: Answer, pages: Sequence[Page], *, looked: bool) -> str:
    """Return why nothing was found for a question, as it was."""
    question, seen = answer.question, answer.seen
    if seen.errors:
        return f"{phrases.UNSEARCHED}: {seen.errors[0]}"
    if answer.untried:
        return f"{phrases.UNTRIED}: {answer.untried}"
    if not seen.searched and not looked:
        return f"{phrases.UNSEARCHED}: no tool for searching was at hand"
    strong = [concept for concept in question.strong if not concept.is_weak]
    if not strong:
        return "the question holds no word that could tell a place from others"
    nowhere = [c.label for c in strong if seen.found_in.get(c.label) == 0]
    if nowhere:
        return f"no line holds: {', '.join(nowhere)}"
    return _why_refused(question, seen, pages, single=len(strong) == 1)


def _why_refused(
    question: Question, seen: Seen, pages: Sequence[Page], *, single: bool
) -> str:
    counts, files = seen.found_in, seen.files

    def place_for(relaxed: Question) -> str:
        hits = best_hits(relaxed, pages, found_in=counts, files=files)
        return f"{hits[0].page.path}:{hits[0].first}" if hits else ""

    together = "the term stands in" if single else "the terms stand together in"
    untyped = replace(question, wants="")
    if question.wants and (place := place_for(untyped)):
        wanted = _WANTED[question.wants]
        return f"{together} {place}, but no line there holds a {wanted}"
    if question.asks_why and (place := place_for(replace(untyped, asks_why=False))):
        return f"{together} {place}, but no line there gives a reason"
    if specificity(question, counts, files) < SPECIFIC:
        which = "the term is" if single else "the terms are"
        return f"{which} in too many files to tell a place from the others"
    if single:
        return "no line with the term holds enough of the rest of the question"
    return "no place holds enough of the terms together"


def mended(handed_in: Sequence[Call]) -> dict[str, Any]:
    """Return the last findings without what was sent back."""
    last = handed_in[-1]
    findings = dict(last.input)
    items = list(findings.get("items") or [])
    named = {int(number) for number in _ITEM_NAMED.findall(last.result)}
    kept = [item for at, item in enumerate(items, 1) if at not in named]
    is_long = bool(_TOO_LONG.search(last.result))
    if is_long and not named:
        kept = items[: 2 * len(items) // 3]
    elif not named or len(handed_in) > 2:
        kept = []
    if kept == items:
        kept = items[: len(items) // 2]
    findings["items"] = kept
    findings["summary"] = str(findings.get("summary") or "-")[:1500]
    if len(kept) < len(items):
        dropped = [str(item.get("claim"))[:200] for item in items if item not in kept]
        if is_long and not named:
            return findings
        findings["status"] = "partial" if kept else "nothing_found"
        findings["summary"] = phrases.dropped(len(dropped))
        findings["failed_attempts"] = [
            *(findings.get("failed_attempts") or []),
            *({"tried": claim, "why": "its quote was sent back"} for claim in dropped),
        ]
    return findings
