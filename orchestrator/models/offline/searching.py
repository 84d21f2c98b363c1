"""What a subagent searches for, and what it makes of the results.

The plan is a pure function of the questions, so that each turn finds its own earlier
calls again in the conversation and needs no memory.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.models.offline.noting import Noted, noted_in
from orchestrator.models.offline.passages import Page
from orchestrator.models.offline.patterns import (
    definition_pattern,
    pair_pattern,
    pattern,
)
from orchestrator.models.offline.ranking import Question, rarity
from orchestrator.models.offline.reading import Call, Conversation
from orchestrator.models.offline.words import Bag, Concept

__all__ = [
    "Candidate",
    "Search",
    "Seen",
    "all_read",
    "candidates",
    "for_pairs",
    "line_rows",
    "narrower",
    "pages_read",
    "plan_of",
    "rows_of",
    "seen_in",
]

# So many concepts of a question are counted one by one.
COUNTED = 4
MAX_LINES = 60
MAX_FILES = 1000
PAGE_LINES = 400
AROUND_LINES = 50
# Where results were cut, so that there is little room.
TIGHT_LINES = 60
# Folders and files of the top in which a failed search is made once more.
MAX_PLACES = 40

# Its answer names one file and says how many more there are.
HOW_MANY: Mapping[str, Any] = {"pattern": ".", "output": "files", "max_matches": 1}

_MORE_FILES = re.compile(r"^\[([\d,]+) more files", re.MULTILINE)
_LEFT_OUT = re.compile(r"^\[… ([\d,]+) lines?\b[^\n]* left out; ", re.MULTILINE)
_COUNT_ROW = re.compile(r"^(?P<path>[^\[\n].*?)(?::|\t)\s?(?P<count>\d[\d,]*)$")
_LINE_ROW = re.compile(r"^(?P<path>[^\n]+?):(?P<line>\d+):(?P<text>.*)$")
_READ_ROW = re.compile(r"^\s*(\d+)\t(.*)$")
_CUT = re.compile(r"\[… [\d,]+ characters left out|\[…[\d,]+\]|\[[\d,]+…\]")
_HOPELESS = re.compile(r"not installed|cannot be started|refuses this|NUL character")
_HIDDEN = re.compile(r"(?:^|/)\.[^/]")


@dataclass(frozen=True, slots=True)
class Search:
    """One planned `grep`."""

    question: int
    """Place of its question, from 0; -1: for all."""
    kind: str
    """`pairs`, `files`, or the label of the concept that is counted."""
    input: Mapping[str, Any]


@dataclass(slots=True)
class Seen:
    """What the searches for one question found."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """Lines by path, by label of concept."""
    hidden: dict[str, int] = field(default_factory=dict)
    """Files that a count left out, by label of concept."""
    lines: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """Lines with two concepts, by path."""
    searched: bool = False
    errors: list[str] = field(default_factory=list)
    all_files: int = 0
    """Files in scope, as far as the search said."""
    noted: Noted | None = None
    """What was written down of it, where the results are gone."""
    is_whole: bool = True
    """No result is gone."""
    is_tight: bool = False
    """What was found side by side was too long to be shown."""

    @property
    def files(self) -> int:
        """Return how many files there are, at least."""
        paths = {path for counted in self.counts.values() for path in counted}
        return max(len(paths | set(self.lines)) + 1, self.all_files)

    def leave_out(self, paths: Set[str]) -> None:
        """Forget what was found in these files."""
        for path in paths:
            self.lines.pop(path, None)
            for counted in self.counts.values():
                counted.pop(path, None)

    @property
    def found_in(self) -> dict[str, int]:
        """Return the number of files by label of concept."""
        if self.noted:
            return self.noted.found_in
        return {
            label: len(counted) + self.hidden.get(label, 0)
            for label, counted in self.counts.items()
        }


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file worth reading, and where to begin."""

    path: str
    score: float
    input: Mapping[str, Any]
    line: int = 0
    """The best line that a search showed; 0: it showed none."""


def plan_of(questions: Sequence[Question]) -> list[Search]:
    """Return the searches for `questions`, as many for each as for one alone."""
    if not questions:
        return []
    planned = [Search(-1, "files", HOW_MANY)]
    for number, question in enumerate(questions):
        strong = list(question.strong)
        if not strong:
            continue
        ranked = sorted(strong, key=lambda concept: -concept.weight)
        lines = pair_pattern(for_pairs(question))
        if question.asks_where:
            lines = definition_pattern(strong)
        planned.append(_search(number, "pairs", lines))
        planned += [
            _search(number, concept.label, pattern(concept))
            for concept in ranked[:COUNTED]
        ]
    return planned


def for_pairs(question: Question) -> list[Concept]:
    """Return the concepts of which two on one line are looked for."""
    strong = list(question.strong)
    if len(strong) == 1:
        return [*strong, *(c for c in question.concepts if c.is_weak)][:4]
    return strong[:7]


def _search(question: int, kind: str, expression: str) -> Search:
    arguments: dict[str, Any] = {"pattern": f"(?i){expression}"}
    if kind == "pairs":
        arguments |= {"output": "lines", "max_matches": MAX_LINES}
    else:
        arguments |= {"output": "count", "max_matches": MAX_FILES}
    return Search(question, kind, arguments)


def seen_in(
    conversation: Conversation, planned: Iterable[Search], questions: int
) -> list[Seen]:
    """Return what the planned searches have found, one entry per question."""
    found = [Seen() for _ in range(questions)]
    planned = list(planned)
    made: dict[tuple[str, str], list[Call]] = {}
    for call in conversation.named("grep"):
        if call.answered:
            made.setdefault(_key(call.input), []).append(call)
    for search in planned:
        calls = made.get(_key(search.input), [])
        narrower = [call for call in calls if "path" in call.input]
        for call in narrower or calls:
            _take(found, search, call)
    asking = {page.path for page in all_read(conversation) if _asks(page)}
    notes, _ = noted_in(conversation)
    for number, seen in enumerate(found, 1):
        if number in notes and not (seen.searched and seen.is_whole):
            seen.noted, seen.searched = notes[number], True
            seen.all_files = max(seen.all_files, notes[number].files)
        seen.leave_out(asking)
    return found


def _asks(page: Page) -> bool:
    """Return whether a file is a task of this program, which answers nothing."""
    is_yaml = page.path.lower().endswith((".yaml", ".yml"))
    return is_yaml and any(
        line.startswith("objective:") for line in page.lines.values()
    )


def _take(found: list[Seen], search: Search, call: Call) -> None:
    if search.question < 0:
        if call.is_cleared:
            return
        more = _MORE_FILES.search(call.result)
        files = 1 + int(more.group(1).replace(",", "")) if more else 1
        for seen in found:
            seen.all_files = files
        return
    seen = found[search.question]
    seen.searched = True
    seen.is_whole &= not call.is_cleared
    if call.is_error:
        where = f"{call.input['path']}: " if "path" in call.input else ""
        seen.errors.append(where + " ".join(call.result.split())[:200])
    elif search.kind == "pairs":
        for path, line, text in line_rows(call.result):
            seen.lines.setdefault(path, []).append((line, text))
    else:
        seen.counts.setdefault(search.kind, {}).update(_count_rows(call.result))
        if left_out := _LEFT_OUT.search(call.result):
            seen.hidden[search.kind] = int(left_out[1].replace(",", ""))


def narrower(conversation: Conversation, planned: Sequence[Search]) -> list[Search]:
    """Return searches that failed, once more for each folder and file of the top.

    Nothing, where the tool itself cannot run or the pattern cannot be used.
    """
    failed = [
        search
        for search in planned
        if (call := conversation.has_made("grep", search.input))
        and call.is_error
        and not _HOPELESS.search(call.result)
    ]
    return [
        replace(search, input={**search.input, "path": name.rstrip("/")})
        for search in failed
        for name in conversation.listed[:MAX_PLACES]
        if search.question >= 0 and not name.startswith(".")
    ]


def _key(arguments: Mapping[str, Any]) -> tuple[str, str]:
    return str(arguments.get("pattern")), str(arguments.get("output"))


def _count_rows(result: str) -> Iterable[tuple[str, int]]:
    for row in result.splitlines():
        match = _COUNT_ROW.match(row)
        if match:
            yield match["path"], int(match["count"].replace(",", ""))


def line_rows(result: str) -> Iterable[tuple[str, int, str]]:
    """Yield (path, line, text) of the rows of a `grep` for lines."""
    for row in result.splitlines():
        match = _LINE_ROW.match(row)
        if match:
            yield match["path"], int(match["line"]), match["text"]


# ---- which files to read ------------------------------------------------------------


def candidates(question: Question, seen: Seen) -> list[Candidate]:
    """Return the files worth reading for `question`, the best first."""
    if seen.noted:
        return [
            Candidate(path, 1.0, _reading(path, line, is_tight=True), line)
            for path, line in seen.noted.to_read
        ]
    weights = {
        concept.label: concept.weight
        * rarity(seen.found_in.get(concept.label, 2), seen.files)
        for concept in question.concepts
    }
    counted = {c.label: c for c in question.strong if c.label in seen.counts}
    paths = {path for found in seen.counts.values() for path in found}
    ranked: list[Candidate] = []
    for path in sorted(paths | set(seen.lines)):
        named = Bag.of(path)
        score = 0.0
        for label, concept in counted.items():
            lines = seen.counts[label].get(path, 0)
            if label in seen.hidden:
                lines = lines or _holding(concept, seen.lines.get(path, []))
            if lines:
                score += weights[label] * (1 + 0.1 * math.log(lines))
            elif label in seen.hidden:
                # As likely as for any file that the list leaves out.
                score += weights[label] * seen.hidden[label] / seen.files
            score += 0.3 * weights[label] * concept.match(named)
        best_line, on_line = _best_line(question, weights, seen.lines.get(path, []))
        score += 0.8 * on_line
        if _HIDDEN.search(path):
            score *= 0.5
        if score > 0:
            reading = _reading(path, best_line, is_tight=seen.is_tight)
            ranked.append(Candidate(path, score, reading, best_line))
    ranked.sort(key=lambda candidate: (-candidate.score, candidate.path))
    floor = 0.45 * ranked[0].score if ranked else 0.0
    return [candidate for candidate in ranked if candidate.score >= floor]


def _holding(concept: Concept, lines: Sequence[tuple[int, str]]) -> int:
    """Return how many of the lines hold a concept, where its count is not shown."""
    return sum(bool(concept.match(Bag.of(text))) for _number, text in lines)


def _best_line(
    question: Question, weights: Mapping[str, float], lines: list[tuple[int, str]]
) -> tuple[int, float]:
    best = (0, 0.0)
    for number, text in lines:
        bag = Bag.of(text)
        score = sum(weights[c.label] * c.match(bag) for c in question.concepts)
        if score > best[1]:
            best = (number, score)
    return best


def _reading(path: str, line: int, *, is_tight: bool) -> dict[str, Any]:
    arguments: dict[str, Any] = {"path": path}
    if is_tight and line:
        arguments["first_line"] = max(line - TIGHT_LINES // 4, 1)
        arguments["max_lines"] = TIGHT_LINES
    elif line > PAGE_LINES - AROUND_LINES:
        arguments["first_line"] = line - AROUND_LINES
        arguments["max_lines"] = 4 * AROUND_LINES
    else:
        arguments["max_lines"] = PAGE_LINES
    return arguments


# ---- what was read ------------------------------------------------------------------


def pages_read(conversation: Conversation) -> list[Page]:
    """Return what was read, a page per file, without the files of tasks."""
    return [page for page in all_read(conversation) if not _asks(page)]


def rows_of(result: str) -> dict[int, str]:
    """Return the lines that a `read_file` showed, by number; cut ones are left out."""
    found = (_READ_ROW.match(row) for row in result.split("\n"))
    return {int(m[1]): m[2] for m in found if m and not _CUT.search(m[2])}


def all_read(conversation: Conversation) -> list[Page]:
    """Return all that was read, a page per file; lines that were cut are left out."""
    lines: dict[str, dict[int, str]] = {}
    for call in conversation.named("read_file"):
        if not call.answered or call.is_error:
            continue
        lines.setdefault(str(call.input.get("path")), {}).update(rows_of(call.result))
    if not lines and "read_file" not in conversation.tools:
        for call in conversation.named("grep"):
            if call.answered and not call.is_error:
                for path, number, text in line_rows(call.result):
                    if not _CUT.search(text):
                        lines.setdefault(path, {})[number] = text
    for path, rows in noted_in(conversation)[1].items():
        known = lines.setdefault(path, {})
        known |= {at: text for at, text in rows.items() if at not in known}
    return [Page(path, page) for path, page in lines.items() if page]
