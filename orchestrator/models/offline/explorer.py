"""The offline model as a subagent: search, read, and hand in quoted places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import AgentResult, Place
from orchestrator.models.offline.ranking import Hit, Question, best_hits
from orchestrator.models.offline.reading import (
    Call,
    Conversation,
    questions_of,
    sections,
)
from orchestrator.models.offline.searching import (
    Seen,
    candidates,
    pages_read,
    plan_of,
    seen_in,
)

__all__ = ["alone", "explore", "look"]

HAND_IN = "submit_findings"
MAX_QUESTIONS = 8
MAX_CALLS = 9
# Rounds of reading; a later one only for questions that are still open.
ROUNDS = 2
MAX_QUOTE_CHARS = 1200
_ITEM_NAMED = re.compile(r"\bitems?\W{0,3}(\d+)", re.IGNORECASE)

Step = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Answer:
    question: Question
    hits: list[Hit]
    seen: Seen


def explore(conversation: Conversation) -> list[Step]:
    """Return the calls of a subagent's next turn."""
    handed_in = conversation.named(HAND_IN)
    if handed_in and handed_in[-1].answered:
        return [(HAND_IN, _mended(handed_in))]
    questions = [Question.of(text) for text in _questions(conversation.first)]
    if not conversation.must_end:
        step = _next_search(conversation, questions)
        if step:
            return step
    answers = _answers(conversation, questions)
    if not conversation.must_end:
        step = _next_reads(conversation, answers)
        if step:
            return step
    return [(HAND_IN, _findings(conversation, answers))]


def look(conversation: Conversation, texts: Sequence[str]) -> list[Step]:
    """Return the next searches or reads for questions, or nothing when looked up."""
    questions = [Question.of(text) for text in texts]
    step = _next_search(conversation, questions)
    return step or _next_reads(conversation, _answers(conversation, questions))


def alone(conversation: Conversation, texts: Sequence[str]) -> list[AgentResult]:
    """Return what was found for each question, as a subagent's result."""
    results: list[AgentResult] = []
    answers = _answers(conversation, [Question.of(text) for text in texts])
    for number, answer in enumerate(answers, 1):
        title = phrases.title([number], answer.question.text)
        result = AgentResult("lead", title, "complete")
        result.places = [
            Place(
                phrases.claim(hit),
                "lead",
                place,
                hit.page.path,
                hit.first,
                hit.last,
                hit.page.quote(hit.first, hit.last),
            )
            for place, hit in enumerate(answer.hits, 1)
        ]
        results.append(result)
    return results


def _questions(first: str) -> list[str]:
    parts = sections(first)
    known = ("constraints", "context files", "questions", "scope", "background")
    objective = parts.get("objective") or next(
        (text for name, text in parts.items() if text and name not in known), first
    )
    named = parts.get("questions") or parts.get("问题") or ""
    return questions_of(named, objective)[:MAX_QUESTIONS]


# ---- looking ------------------------------------------------------------------------


def _next_search(conversation: Conversation, questions: list[Question]) -> list[Step]:
    """Return the searches that were not made yet."""
    if "grep" not in conversation.tools:
        return _without_search(conversation)
    return [
        ("grep", dict(search.input))
        for search in plan_of(questions)
        if not conversation.has_made("grep", search.input)
    ]


def _next_reads(conversation: Conversation, answers: list[_Answer]) -> list[Step]:
    if not {"grep", "read_file"} <= conversation.tools:
        return []
    done = [call.input for call in conversation.named("read_file")]
    read = {str(given.get("path")) for given in done}
    left = max(MAX_CALLS - len(conversation.calls), 0 if read else 2)
    at_once = 3 if len(answers) == 1 else 2
    wanted: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if answer.hits:
            continue
        ranked = candidates(answer.question, answer.seen)[: at_once * ROUNDS]
        fresh = [c for c in ranked if c.path not in read]
        if len(ranked) - len(fresh) >= at_once * ROUNDS:
            continue
        for candidate in fresh[:at_once]:
            wanted.setdefault(candidate.path, dict(candidate.input))
    return [("read_file", given) for given in list(wanted.values())[: max(left, 0)]]


def _without_search(conversation: Conversation) -> list[Step]:
    """Read the first files of a listing, where there is no `grep`."""
    tools = conversation.tools
    if "read_file" not in tools or conversation.named("read_file"):
        return []
    listing = conversation.named("glob") or conversation.named("list_dir")
    if not listing:
        if "glob" in tools:
            return [("glob", {"pattern": "**/*"})]
        return [("list_dir", {"path": "."})] if "list_dir" in tools else []
    rows = [
        re.sub(r" \([\d,]+ bytes\)$", "", r) for r in listing[-1].result.split("\n")
    ]
    files = [row for row in rows if re.fullmatch(r"[^\[\n:]+\.\w{1,8}", row)]
    return [("read_file", {"path": path}) for path in files[:6]]


def _answers(conversation: Conversation, questions: list[Question]) -> list[_Answer]:
    seen = seen_in(conversation, plan_of(questions), len(questions))
    pages = pages_read(conversation)
    return [
        _Answer(
            question,
            best_hits(question, pages, found_in=found.found_in, files=found.files),
            found,
        )
        for question, found in zip(questions, seen, strict=True)
    ]


# ---- handing in ---------------------------------------------------------------------


def _findings(conversation: Conversation, answers: Sequence[_Answer]) -> dict[str, Any]:
    items: list[dict[str, Any]] = []
    lines: list[str] = []
    for answer in answers:
        for hit in answer.hits:
            item = _item(hit)
            items.append(item)
            lines.append(phrases.answered(answer.question.text, item["claim"]))
        if not answer.hits:
            lines.append(phrases.unanswered(answer.question.text))
    open_ones = [answer for answer in answers if not answer.hits]
    looked = any(call.answered and not call.is_error for call in conversation.calls)
    if items:
        status = "partial" if open_ones else "complete"
    else:
        status = "nothing_found" if looked else "failed"
    return {
        "status": status,
        "summary": "\n".join(lines)[:6000] or phrases.unanswered(""),
        "items": items,
        "open_questions": [answer.question.text for answer in open_ones],
        "failed_attempts": [_failed(conversation, answer) for answer in open_ones],
    }


def _item(hit: Hit) -> dict[str, Any]:
    page, first, last = hit.page, hit.first, hit.last
    quote = page.quote(first, last)
    if len(quote) > MAX_QUOTE_CHARS:
        first = last = hit.unit.first
        line = page.quote(first, last)
        at = max(line.find(hit.unit.text[:40]), 0)
        quote = line[at : at + MAX_QUOTE_CHARS]
    span = f"{first}" if first == last else f"{first}-{last}"
    return {
        "claim": phrases.claim(hit),
        "evidence": [{"source": f"{page.path}:{span}", "quote": quote}],
        "confidence": round(min(0.9, 0.25 + 0.6 * hit.coverage), 2),
    }


def _failed(conversation: Conversation, answer: _Answer) -> dict[str, str]:
    terms = ", ".join(concept.label for concept in answer.question.strong) or "-"
    found = sorted(answer.seen.found_in.items(), key=lambda pair: pair[1])
    nowhere = [label for label, count in found if not count]
    if answer.seen.errors:
        why = f"the search failed: {answer.seen.errors[0]}"
    elif not answer.seen.searched and not conversation.calls:
        why = "no tool for searching was at hand"
    elif nowhere:
        why = f"no line holds: {', '.join(nowhere)}"
    else:
        why = "no place holds enough of the terms together"
    return {"tried": f"searched for: {terms}"[:480], "why": why[:480]}


def _mended(handed_in: Sequence[Call]) -> dict[str, Any]:
    """Return the last findings without what was sent back."""
    last = handed_in[-1]
    findings = dict(last.input)
    items = list(findings.get("items") or [])
    named = {int(number) for number in _ITEM_NAMED.findall(last.result)}
    kept = [item for at, item in enumerate(items, 1) if at not in named]
    if not named or len(handed_in) > 2:
        kept = []
    if kept == items:
        kept = items[: len(items) // 2]
    findings["items"] = kept
    findings["summary"] = str(findings.get("summary") or "-")[:1500]
    if len(kept) < len(items):
        dropped = [str(item.get("claim"))[:200] for item in items if item not in kept]
        findings["status"] = "partial" if kept else "nothing_found"
        findings["summary"] = phrases.dropped(len(dropped))
        findings["failed_attempts"] = [
            *(findings.get("failed_attempts") or []),
            *({"tried": claim, "why": "its quote was sent back"} for claim in dropped),
        ]
    return findings
