"""The offline model as a subagent: search, read, and hand in quoted places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import AgentResult, Missed, Place
from orchestrator.models.offline.closer import closer, rarest, take_closer
from orchestrator.models.offline.gaps import gaps_in
from orchestrator.models.offline.handing_in import (
    Answer,
    findings_of,
    why_not,
)
from orchestrator.models.offline.noting import (
    MOST_LABELS,
    noted_in,
    read_before,
    row_note,
    search_note,
    steps_before,
)
from orchestrator.models.offline.overview import (
    ALL_FILES,
    is_overview,
    overview_hits,
    overview_reads,
)
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.ranking import Question, best_hits
from orchestrator.models.offline.reading import Conversation, questions_of, sections
from orchestrator.models.offline.scope import Scope
from orchestrator.models.offline.searching import (
    Search,
    Seen,
    candidates,
    narrower,
    pages_read,
    plan_of,
    seen_in,
)

__all__ = ["HAND_IN", "Step", "alone", "explore", "look"]

HAND_IN = "submit_findings"
# For each question: files read at once, and how often.
AT_ONCE = 3
ROUNDS = 2
MAX_READS = 60
# After so many steps that are gone it is time to hand in; without notes, much sooner.
MAX_STEPS = 32
# Results of so many characters may not stay in sight; then what they tell is noted.
LONG_CHARS = 5000
# A result that was cut and still shows so much was not cut for want of room.
WIDE_CHARS = 8000
NOTED_LINES, NOTED_CHARS = 6, 300

EVERYWHERE = Scope()

Step = tuple[str, dict[str, Any]]


def explore(conversation: Conversation) -> list[Step]:
    """Return the searches, the reads or the hand-in of a subagent's next turn."""
    texts = _questions(conversation.first)
    most = MAX_STEPS if noted_in(conversation)[0] else MAX_STEPS // 4
    if not conversation.must_end and steps_before(conversation) <= most:
        steps = look(conversation, texts)
        if steps:
            is_searched = all(name == "read_file" for name, _ in steps)
            notes = _notes(conversation, texts) if is_searched else []
            return [*notes, *steps]
    pages = pages_read(conversation)
    answers = _answers(conversation, _parts(texts), pages)
    gaps = gaps_in(conversation)
    looked = any(call.answered and not call.is_error for call in conversation.calls)
    return [(HAND_IN, findings_of(answers, pages, looked=looked, gaps=gaps))]


def look(
    conversation: Conversation, texts: Sequence[str], scope: Scope = EVERYWHERE
) -> list[Step]:
    """Return the next searches or reads for questions, or nothing when looked up.

    Args:
        conversation: so far.
        texts: the questions.
        scope: where to look, unless the tools see to that.
    """
    questions = _parts(texts)
    steps = _next_search(conversation, questions, scope)
    if steps:
        return steps
    answers = _answers(conversation, questions, pages_read(conversation))
    reads = _next_reads(conversation, answers)
    return [step for step in reads if scope.allows(step[1]["path"])]


def alone(
    conversation: Conversation, texts: Sequence[str], scope: Scope = EVERYWHERE
) -> list[AgentResult]:
    """Return what was found for each question, as a subagent's result."""
    results: list[AgentResult] = []
    pages = [page for page in pages_read(conversation) if scope.allows(page.path)]
    for number, text in enumerate(texts, 1):
        result = AgentResult("lead", text, "complete", questions=[number])
        result.gaps = gaps_in(conversation)
        for answer in _answers(conversation, _parts([text]), pages):
            result.places += [
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
            if not answer.hits:
                terms = ", ".join(concept.label for concept in answer.question.strong)
                why = why_not(answer, pages, looked=bool(conversation.calls))
                result.missed.append(Missed(answer.question.text, terms, why))
        results.append(result)
    return results


def _questions(first: str) -> list[str]:
    parts = sections(first)
    known = ("constraints", "context files", "questions", "scope", "background")
    objective = parts.get("objective") or next(
        (text for name, text in parts.items() if text and name not in known), first
    )
    named = parts.get("questions") or parts.get("问题") or ""
    return questions_of(named, objective)


def _parts(texts: Sequence[str]) -> list[Question]:
    return [
        part for text in texts for part in Question.parts(phrases.without_frame(text))
    ]


# ---- notes of a long search ----------------------------------------------------------


def _notes(conversation: Conversation, texts: Sequence[str]) -> list[Step]:
    """Return the notes that are worth taking, as one call; nothing in a short search.

    What searches found is noted while all of it is in sight; then lines that answer.
    """
    size = sum(len(call.result) for call in conversation.calls)
    is_tight = bool(conversation.so_far) or any(
        call.is_cut or call.is_cleared for call in conversation.calls
    )
    searches, rows = noted_in(conversation)
    is_long = bool(searches) or is_tight or size > LONG_CHARS
    if "update_notes" not in conversation.tools or not is_long:
        return []
    answers = _answers(conversation, _parts(texts), pages_read(conversation))
    searched = [each for each in answers if not is_overview(each.question)]
    lines: list[str] = []
    for number, answer in enumerate(searched, 1):
        seen = answer.seen
        if number not in searches and seen.searched and seen.is_whole:
            ranked = candidates(answer.question, seen)
            to_read = [(each.path, each.line) for each in ranked]
            found_in = list(seen.found_in.items())[:MOST_LABELS]
            lines.append(search_note(number, seen.files, found_in, to_read))
        for hit in answer.hits:
            known = rows.setdefault(hit.page.path, {})
            for at in range(hit.first, min(hit.last, hit.first + NOTED_LINES) + 1):
                text = hit.page.lines.get(at)
                if text is not None and at not in known and len(text) < NOTED_CHARS:
                    known[at] = text
                    lines.append(row_note(hit.page.path, at, text))
    if not lines:
        return []
    given = {"section": "Facts", "mode": "append", "text": "\n".join(lines)}
    return [("update_notes", given)]


# ---- looking ------------------------------------------------------------------------


def _next_search(
    conversation: Conversation, questions: list[Question], scope: Scope = EVERYWHERE
) -> list[Step]:
    """Return the searches that were not made yet."""
    if "grep" not in conversation.tools:
        return _without_search(conversation)
    general = [question for question in questions if is_overview(question)]
    searched = [each for each in questions if each not in general]
    if conversation.so_far and _are_searched(conversation, searched):
        return []
    planned = plan_of(searched)
    steps = [("grep", dict(search.input)) for search in planned]
    if scope.include or scope.exclude:
        # The lead's own tools see everything: it goes only where it may.
        places = scope.places(conversation.listed)
        return _not_made(
            conversation,
            [(name, {**given, "path": p}) for name, given in steps for p in places],
        )
    if general and "glob" in conversation.tools:
        steps.append(("glob", dict(ALL_FILES)))
    return (
        _not_made(conversation, steps)
        or _after_failure(conversation, planned)
        or _not_made(conversation, _closer(conversation, questions, planned))
        or _rarest(conversation, searched, planned)
    )


def _rarest(
    conversation: Conversation, searched: list[Question], planned: list[Search]
) -> list[Step]:
    """Return searches for the rarest terms, where all others were cut."""
    if not any(conversation.has_made("grep", closer(each)) for each in searched):
        return []
    found = seen_in(conversation, planned, len(searched))
    wanted = [
        rarest(conversation, question, seen)
        for question, seen in zip(searched, found, strict=True)
    ]
    return [("grep", dict(given)) for given in wanted if given]


def _are_searched(conversation: Conversation, questions: list[Question]) -> bool:
    """Return whether what a search found is in the notes, or in sight, for each."""
    notes, _ = noted_in(conversation)
    return all(
        number in notes or conversation.has_made("grep", closer(question))
        for number, question in enumerate(questions, 1)
    )


def _closer(
    conversation: Conversation, questions: list[Question], planned: list[Search]
) -> list[Step]:
    """Return searches for the files that matter most, where lists of files were cut."""
    cut = {
        each.question
        for each in planned
        if (call := conversation.has_made("grep", each.input))
        and call.is_cut
        # So much shown means that the list is long, not that there is little room.
        and len(call.result) < WIDE_CHARS
    }
    searched = [each for each in questions if not is_overview(each)]
    return [("grep", dict(closer(searched[number]))) for number in sorted(cut - {-1})]


def _after_failure(conversation: Conversation, planned: list[Search]) -> list[Step]:
    """Return narrower searches in place of those that failed."""
    has_failed = any(
        call.is_error and "path" not in call.input
        for call in conversation.named("grep")
    )
    if not has_failed or "list_dir" not in conversation.tools:
        return []
    if not conversation.named("list_dir"):
        return [("list_dir", {"path": "."})]
    again = narrower(conversation, planned)
    return _not_made(conversation, [("grep", dict(each.input)) for each in again])


def _not_made(conversation: Conversation, steps: Sequence[Step]) -> list[Step]:
    fresh: list[Step] = []
    for name, given in steps:
        if not conversation.has_made(name, given) and (name, given) not in fresh:
            fresh.append((name, given))
    return fresh


def _next_reads(conversation: Conversation, answers: list[Answer]) -> list[Step]:
    if not {"grep", "read_file"} <= conversation.tools:
        return []
    done = [call.input for call in conversation.named("read_file")]
    read = {str(given.get("path")) for given in done} | read_before(conversation)
    wanted: dict[str, dict[str, Any]] = {}
    for answer in answers:
        if is_overview(answer.question):
            for given in overview_reads(conversation):
                if given["path"] not in read:
                    wanted.setdefault(given["path"], given)
            continue
        for path, given in _unread(answer, read):
            wanted.setdefault(path, given)
    left = max(MAX_READS - len(done), 0)
    if any(answer.seen.is_tight or answer.seen.noted for answer in answers):
        left = min(left, 1)  # beside others it would be cut short
    return [("read_file", given) for given in list(wanted.values())[:left]]


def _unread(answer: Answer, read: set[str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the files that are to be read next for a question without a place."""
    if answer.hits:
        return []
    ranked = candidates(answer.question, answer.seen)[: AT_ONCE * ROUNDS]
    fresh = [each for each in ranked if each.path not in read]
    return [(each.path, dict(each.input)) for each in fresh[:AT_ONCE]]


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


def _answers(
    conversation: Conversation, questions: list[Question], pages: list[Page]
) -> list[Answer]:
    searched = [each for each in questions if not is_overview(each)]
    all_seen = seen_in(conversation, plan_of(searched), len(searched))
    for question, seen in zip(searched, all_seen, strict=True):
        take_closer(conversation, question, seen)
    found = iter(all_seen)
    return [
        _overview(conversation, question, pages)
        if is_overview(question)
        else _answer(conversation, question, next(found), pages)
        for question in questions
    ]


def _answer(
    conversation: Conversation, question: Question, seen: Seen, pages: list[Page]
) -> Answer:
    hits = best_hits(question, pages, found_in=seen.found_in, files=seen.files)
    reads = conversation.named("read_file")
    read = {str(call.input.get("path")) for call in reads} | read_before(conversation)
    wanted = dict(_unread(Answer(question, hits, seen), read))
    untried = ""
    if not hits and "grep" in conversation.tools:
        for call in reads:
            if call.is_error and str(call.input.get("path")) in _best(question, seen):
                words = " ".join(call.result.split())[:200]
                seen.errors.append(f"{call.input.get('path')}: {words}")
        if not seen.searched and question.concepts:
            untried = "the limit was reached before it was searched for"
        elif wanted and conversation.must_end:
            untried = "the limit was reached before its files were read"
        elif wanted and "read_file" in conversation.tools:
            untried = f"more than {MAX_READS} files would have to be read"
            if len(reads) < MAX_READS:
                untried = f"{len(read)} files were read; there was no room for more"
        else:
            untried = _not_all(question, seen, len(read))
    return Answer(question, hits, seen, untried)


def _not_all(question: Question, seen: Seen, read: int) -> str:
    """Return that not all files were looked at, where lists of them were cut, or ""."""
    if not (seen.hidden or seen.noted or seen.is_tight):
        return ""
    counts = [
        (seen.found_in[concept.label], concept.label)
        for concept in question.strong
        if not concept.is_weak and concept.label in seen.found_in
    ]
    if not counts:
        return f"not all that searches found was in sight; {read} files were read"
    count, label = min(counts)
    if not count:
        return ""  # there is nothing to look at
    if count > read:
        return f"of {count} files that hold ‘{label}’ {read} were read"
    return f"of {read} files only the lines around the best ones were read"


def _best(question: Question, seen: Seen) -> set[str]:
    ranked = candidates(question, seen)[: AT_ONCE * ROUNDS]
    return {candidate.path for candidate in ranked}


def _overview(
    conversation: Conversation, question: Question, pages: list[Page]
) -> Answer:
    seen = Seen(searched=True)
    call = conversation.has_made("glob", ALL_FILES)
    if call and call.is_error:
        seen.errors.append(" ".join(call.result.split())[:200])
    return Answer(question, overview_hits(conversation, question, pages), seen)
