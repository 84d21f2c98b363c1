"""The offline model as lead: a brief per question, and a report of cited places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import (
    AgentResult,
    Refusal,
    parse_results,
    refusals,
)
from orchestrator.models.offline.explorer import alone, look
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.reading import (
    Call,
    Conversation,
    bullets,
    questions_of,
    sections,
)
from orchestrator.models.offline.report import (
    Draft,
    compose,
    without_citations,
)
from orchestrator.models.offline.scope import Scope, scope_of
from orchestrator.models.offline.words import is_han

__all__ = ["lead"]

MAX_BRIEFS = 64
MAX_PER_BRIEF = 20
"""More questions are refused."""
MAX_ROUNDS = 3
_SUBAGENTS = re.compile(r"\b(\d+) subagents?\b")
_PROFILE = re.compile(r"^- `([^`\n]+)`:", re.MULTILINE)
_RAISED = re.compile(r"Not taken yet\b")
_MAX_TOKENS = re.compile(r"\bat most (\d+) tokens\b")

Step = tuple[str, dict[str, Any]]
Group = list[int]


class _Task:
    """The task as its first message says it."""

    def __init__(self, conversation: Conversation) -> None:
        parts = sections(conversation.first)
        self.objective = parts.get("objective") or parts.get("目标") or parts[""]
        self.objective = self.objective or conversation.first
        named = parts.get("questions") or parts.get("问题") or ""
        self.questions = questions_of(named, self.objective)
        self.constraints = bullets(parts.get("constraints", ""))
        self.profiles = _PROFILE.findall(conversation.first)
        allowed = _SUBAGENTS.search(parts.get("setting", "") or conversation.first)
        self.most = max(min(int(allowed.group(1)) if allowed else 8, MAX_BRIEFS), 1)
        self.deliverable = parts.get("deliverable", "")
        tokens = _MAX_TOKENS.search(self.deliverable)
        self.max_tokens = int(tokens.group(1)) if tokens else 4000


def lead(conversation: Conversation) -> list[Step]:
    """Return the calls of the lead's next turn."""
    task = _Task(conversation)
    finished = conversation.named("finish")
    # A limit that stopped it was raised since: the work goes on where it was.
    goes_on = bool(finished) and bool(_RAISED.match(finished[-1].result))
    finished = tuple(each for each in finished if not _RAISED.match(each.result))
    if not goes_on and finished and finished[-1].answered and finished[-1].is_error:
        return [("finish", _mended_finish(finished))]
    calls = conversation.named("delegate")
    if "delegate" not in conversation.tools:
        return _by_itself(conversation, task)
    scope = scope_of(task.constraints, (), conversation.listed)
    rounds = _rounds(task, calls)
    scope = _if_refused(scope, rounds)
    if not conversation.must_end:
        steps = _before_results(conversation, task, rounds, scope)
        if steps:
            return steps
    results = [part for each in rounds for part in each.results]
    # Refused to the end, or more than the subagents can take.
    given = {number for group in _groups(task) for number in group}
    left = [number for group in rounds[-1].groups for number in group]
    left += [n for n in range(1, len(task.questions) + 1) if n not in given]
    if left and calls and not scope.is_closed and "grep" in conversation.tools:
        texts = [task.questions[number - 1] for number in left]
        steps = look(conversation, texts, scope)
        if steps and not conversation.must_end:
            return steps
        own = alone(conversation, texts, scope) if conversation.named("grep") else []
        results += [
            replace(result, questions=[number])
            for number, result in zip(left, own, strict=False)
        ]
    return _hand_in(conversation, task, results, scope)


# ---- before the subagents -----------------------------------------------------------


def _before_results(
    conversation: Conversation, task: _Task, rounds: Sequence[_Round], scope: Scope
) -> list[Step]:
    """Return the look around or the next `delegate`, or nothing where all is out."""
    is_first = len(rounds) == 1
    steps = _first_steps(conversation, task) if is_first else []
    if steps or scope.is_closed:
        return steps
    if is_first or (rounds[-1].groups and len(rounds) <= MAX_ROUNDS):
        return [_delegate(task, rounds, scope, conversation.listed)]
    return []


def _first_steps(conversation: Conversation, task: _Task) -> list[Step]:
    """Return a look at the workspace and the first notes, or nothing if taken."""
    if conversation.named("list_dir") or conversation.named("update_notes"):
        return []
    steps: list[Step] = []
    if "list_dir" in conversation.tools:
        steps.append(("list_dir", {"path": "."}))
    if "update_notes" in conversation.tools:
        plan = [f"- [ ] {question}" for question in task.questions]
        steps += [
            _note("Goal", phrases.shortened(task.objective, 600)),
            _note("Plan", "\n".join(plan)),
        ]
    return steps


def _note(section: str, text: str) -> Step:
    return ("update_notes", {"section": section, "mode": "replace", "text": text})


@dataclass(frozen=True, slots=True)
class _Round:
    """One `delegate`: what it brought, and which groups of questions it left."""

    results: list[AgentResult]
    groups: list[Group]
    refused: list[Refusal]


def _rounds(task: _Task, calls: Sequence[Call]) -> list[_Round]:
    """Return the rounds so far; the first is the state before any call."""
    rounds = [_Round([], _groups(task), [])]
    for call in calls:
        asked = rounds[-1].groups
        titles = [str(brief.get("title")) for brief in call.input.get("briefs") or []]
        numbers = {
            phrases.mark(title): group
            for title, group in zip(titles, asked, strict=False)
        }
        results = [
            replace(result, questions=numbers.get(phrases.mark(result.title), []))
            for result in parse_results(call.result)
        ]
        refused = refusals(call.result)
        left = [asked[each.index] for each in refused if each.index < len(asked)]
        if call.is_error and not refused and not results:
            left = asked
        rounds.append(_Round(results, left if call.answered else [], refused))
    return rounds


def _delegate(
    task: _Task, rounds: Sequence[_Round], scope: Scope, listed: Sequence[str]
) -> Step:
    """Return the next `delegate`, the refused briefs said in another way."""
    last = rounds[-1]
    quoted = [
        words for each in rounds for refusal in each.refused for words in refusal.quoted
    ]
    problems = [text for each in rounds for r in each.refused for text in r.problems]
    briefs: list[dict[str, Any]] = []
    for group in last.groups:
        asked = [task.questions[number - 1] for number in group]
        if any("`scope." not in text for text in problems):
            is_last = len(rounds) >= MAX_ROUNDS
            asked = [_said_again(each, quoted, plainly=is_last) for each in asked]
        where = scope
        if not scope.include and len(rounds) == 1:
            where = scope_of(task.constraints, asked, listed)
        briefs.append(_brief(task, asked, where))
    marks: set[str] = set()
    for number, brief in enumerate(briefs, 1):
        if phrases.mark(brief["title"]) in marks:
            brief["title"] = f"{brief['title']} ({number})"
        marks.add(phrases.mark(brief["title"]))
    return ("delegate", {"briefs": briefs, "wait": "all"})


def _if_refused(scope: Scope, rounds: Sequence[_Round]) -> Scope:
    """Return `scope`, closed where the places that constraints keep to were refused."""
    problems = [text for each in rounds for r in each.refused for text in r.problems]
    about = [text for text in problems if "`scope.include`" in text]
    return replace(scope, refused=about[0]) if about and scope.include else scope


def _said_again(question: str, quoted: Sequence[str], *, plainly: bool) -> str:
    """Return a refused question without what was named, or its terms alone."""
    bare = phrases.without_words(question, quoted)
    read = Question.of(bare)
    if bare != question and not plainly and not all(c.is_weak for c in read.concepts):
        return bare
    terms = [concept.label for concept in read.strong if concept.label not in quoted]
    terms = terms or [concept.label for concept in Question.of(question).strong]
    return phrases.speaks_of(terms, chinese=is_han(question)) if terms else bare


def _groups(task: _Task) -> list[list[int]]:
    """Return the numbers of the questions by brief, evenly spread."""
    count = len(task.questions)
    briefs = min(count, task.most)
    size = min(-(-count // briefs), MAX_PER_BRIEF)
    numbers = list(range(1, count + 1))
    return [numbers[at : at + size] for at in range(0, count, size)][:briefs]


def _brief(task: _Task, questions: Sequence[str], scope: Scope) -> dict[str, Any]:
    chinese = is_han(questions[0])
    tokens = min(900 + 300 * len(questions), 4000)
    brief: dict[str, Any] = {
        "title": phrases.title(questions),
        "objective": phrases.objective(questions, chinese=chinese),
        "questions": list(questions),
        "deliverable": {"form": phrases.form(chinese=chinese), "max_tokens": tokens},
    }
    fields = scope.fields()
    if fields:
        brief["scope"] = fields
    if task.profiles:
        has_explorer = "explorer" in task.profiles
        brief["agent"] = "explorer" if has_explorer else task.profiles[0]
    return brief


# ---- what came back -----------------------------------------------------------------


def _by_itself(conversation: Conversation, task: _Task) -> list[Step]:
    """Search and answer without subagents, where none may be used."""
    has_listing = conversation.named("list_dir") or "list_dir" not in conversation.tools
    if task.constraints and not has_listing and not conversation.must_end:
        return [("list_dir", {"path": "."})]
    scope = scope_of(task.constraints, (), conversation.listed)
    if scope.unclear:
        return _hand_in(conversation, task, (), scope)
    if not conversation.must_end:
        steps = look(conversation, task.questions, scope)
        if steps:
            return steps
    return _hand_in(
        conversation, task, alone(conversation, task.questions, scope), scope
    )


def _hand_in(
    conversation: Conversation,
    task: _Task,
    results: Sequence[AgentResult],
    scope: Scope,
) -> list[Step]:
    draft = compose(
        task.objective,
        task.questions,
        results,
        deliverable=task.deliverable,
        max_tokens=task.max_tokens,
        cut_short=conversation.must_end,
        scope=scope,
    )
    steps: list[Step] = []
    if "update_notes" in conversation.tools and not conversation.must_end:
        steps = [_note(section, text) for section, text in _notes(draft)]
    given: dict[str, Any] = {"report": draft.report}
    if draft.has_result:
        given["result"] = draft.result
    return [*steps, ("finish", given)]


def _notes(draft: Draft) -> list[tuple[str, str]]:
    notes = [
        ("Plan", "\n".join(draft.plan)),
        ("Facts", "\n".join(draft.facts)),
        ("Open questions", "\n".join(draft.open)),
        ("Next", "Hand in the report."),
    ]
    return [(section, text) for section, text in notes if text]


def _mended_finish(finished: Sequence[Call]) -> dict[str, Any]:
    """Return the last report without the citations that were sent back."""
    last = finished[-1]
    given = dict(last.input)
    report = str(given.get("report") or "")
    given["report"] = without_citations(report, last.result, drop_all=len(finished) > 2)
    if len(finished) > 1 and given["report"] == report:
        given.pop("result", None)
    return given
