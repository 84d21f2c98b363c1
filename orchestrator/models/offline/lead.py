"""The offline model as lead: a brief per question, and a report of cited places."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import AgentResult, is_unfinished
from orchestrator.models.offline.chapters import Chapter, Task, newest_chapter
from orchestrator.models.offline.explorer import alone, look
from orchestrator.models.offline.from_memory import results_from
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.reading import Call, Conversation
from orchestrator.models.offline.recollecting import notes_of, opening
from orchestrator.models.offline.report import (
    Draft,
    compose,
    without_citations,
)
from orchestrator.models.offline.roles import asks_for_summary
from orchestrator.models.offline.rounds import (
    MAX_ROUNDS,
    Round,
    results_of,
    rounds_of,
)
from orchestrator.models.offline.scope import Scope, scope_of
from orchestrator.models.offline.statements import statements_in
from orchestrator.models.offline.subagent import wait_after
from orchestrator.models.offline.words import is_han

__all__ = ["lead"]

MAX_LISTINGS = 3
OPENS = "- [ ] Open what subagents brought, then hand in the report."
_EDITED = re.compile(r'^(?:> )?A person changed the section "([^"]+)" of', re.MULTILINE)
_RAISED = re.compile(r"Not taken yet\b")
_WRONG = re.compile(r"^wrong citation\b")

Step = tuple[str, dict[str, Any]]


def lead(conversation: Conversation) -> list[Step]:
    """Return the calls of the lead's next turn."""
    chapter = newest_chapter(conversation)
    task, view = chapter.task, chapter.view
    finished = chapter.newest.view.named("finish")
    is_held_back = bool(finished) and is_unfinished(finished[-1].result)
    if is_held_back and (waits := wait_after(view, finished[-1])):
        return waits
    # A limit that stopped it was raised since, or others were at work still: the work
    # goes on where it was.
    goes_on = bool(finished) and _goes_on(finished[-1])
    finished = tuple(each for each in finished if not _goes_on(each))
    if not goes_on and finished and finished[-1].answered and finished[-1].is_error:
        return [("finish", _mended_finish(finished))]
    if "delegate" not in view.tools:
        return _by_itself(chapter)
    scope = scope_of(task.constraints, (), view.listed)
    rounds = rounds_of(chapter)
    scope = _if_refused(scope, rounds)
    if not view.must_end:
        steps = _before_results(chapter, rounds, scope)
        if steps:
            return steps
    results = results_of(rounds)
    steps = _look_again(view, task, results)
    own: list[AgentResult] = []
    if not steps:
        steps, own = _by_own_search(chapter, rounds[-1], scope)
    return steps or _hand_in(chapter, [*results, *own], scope)


def _by_own_search(
    chapter: Chapter, last: Round, scope: Scope
) -> tuple[list[Step], list[AgentResult]]:
    """Return the next searches for what no subagent takes, or what they found."""
    view, task = chapter.view, chapter.task
    # Refused to the end, or more than the subagents can take.
    left = [*(number for group in last.groups for number in group), *last.left]
    if not left or scope.is_closed or "grep" not in view.tools:
        return [], []
    steps = look(view, [task.questions[number - 1] for number in left], scope)
    if steps and not view.must_end:
        return steps, []
    return [], _alone(view, task, left, scope) if view.named("grep") else []


def _alone(
    view: Conversation, task: Task, numbers: Sequence[int], scope: Scope
) -> list[AgentResult]:
    """Return what own searches found for some questions."""
    own = alone(view, [task.questions[number - 1] for number in numbers], scope)
    return [
        replace(result, questions=[number])
        for number, result in zip(numbers, own, strict=True)
    ]


def _goes_on(finish: Call) -> bool:
    return bool(_RAISED.match(finish.result)) or is_unfinished(finish.result)


def _look_again(
    view: Conversation, task: Task, results: Sequence[AgentResult]
) -> list[Step]:
    """Return what shows again what is not in sight and the report needs."""
    steps = opening(view, results)
    if steps and "update_notes" in view.tools:
        plan = _note("Plan", OPENS, edited=_edited(view))
        # What was brought needs the room that notes have.
        steps = steps if _has(view, plan) else [plan, *steps]
    listings = view.named("list_dir")
    is_bare = (
        "list_dir" in view.tools and not view.listed and len(listings) < MAX_LISTINGS
    )
    if task.constraints and is_bare and not view.must_end and not steps:
        return [*notes_of(view, results), ("list_dir", {"path": "."})]
    return steps


def _has(view: Conversation, step: Step) -> bool:
    return OPENS in view.so_far or view.has_made(*step) is not None


# ---- before the subagents -----------------------------------------------------------


def _before_results(
    chapter: Chapter, rounds: Sequence[Round], scope: Scope
) -> list[Step]:
    """Return the look around or the next `delegate`, or nothing where all is out."""
    steps = _first_steps(chapter) if len(rounds) == 1 else []
    if steps or scope.is_closed:
        return steps
    if rounds[-1].groups and len(rounds) <= MAX_ROUNDS:
        return [_delegate(chapter, rounds, scope)]
    return []


def _first_steps(chapter: Chapter) -> list[Step]:
    """Return a look at the workspace and the first notes, or nothing if taken."""
    view, task = chapter.view, chapter.task
    if view.named("list_dir") or view.named("update_notes"):
        return []
    if not task.open and not task.constraints:
        return []  # all of it stands in memory
    steps: list[Step] = []
    if "list_dir" in view.tools:
        steps.append(("list_dir", {"path": "."}))
    if "update_notes" in view.tools:
        plan = "\n".join(
            f"- [ ] {question}" if number in task.open else f"- [x] {question}"
            for number, question in enumerate(task.questions, 1)
        )
        edited = _edited(view)
        steps += [
            _note("Goal", phrases.shortened(task.objective, 600), edited=edited),
            _note("Plan", plan, edited=edited),
        ]
    return steps


def _note(section: str, text: str, *, edited: Container[str] = ()) -> Step:
    """Return the call that notes a text; what a person wrote there stays above it."""
    mode = "append" if section in edited else "replace"
    return ("update_notes", {"section": section, "mode": mode, "text": text})


def _edited(view: Conversation) -> set[str]:
    """Return the sections of the notes that a person is told to have changed."""
    texts = [view.first, *view.said, view.so_far]
    return {name for text in texts for name in _EDITED.findall(text)}


def _delegate(chapter: Chapter, rounds: Sequence[Round], scope: Scope) -> Step:
    """Return the next `delegate`, the refused briefs said in another way."""
    last, task = rounds[-1], chapter.task
    quoted = [
        words for each in rounds for refusal in each.refused for words in refusal.quoted
    ]
    problems = [text for each in rounds for r in each.refused for text in r.problems]
    briefs: list[dict[str, Any]] = []
    for group in last.groups[len(last.briefs) :]:
        asked = [task.questions[number - 1] for number in group]
        if any("`scope." not in text for text in problems):
            is_last = len(rounds) >= MAX_ROUNDS
            asked = [_said_again(each, quoted, plainly=is_last) for each in asked]
        where = scope
        if not scope.include and len(rounds) == 1 and not last.refused:
            where = scope_of(task.constraints, asked, chapter.view.listed)
        briefs.append(_brief(task, asked, where))
    _tell_apart(briefs, [*chapter.earlier_titles, *map(_title, last.briefs)])
    return (
        "delegate",
        {"briefs": [*map(dict, last.briefs), *briefs], "wait": "all"},
    )


def _title(brief: Mapping[str, Any]) -> str:
    return str(brief.get("title"))


def _tell_apart(briefs: Sequence[dict[str, Any]], taken: Sequence[str]) -> None:
    """Give each brief a title of its own."""
    marks = {phrases.mark(title) for title in taken}
    for number, brief in enumerate(briefs, 1):
        title, at = brief["title"], max(number, 2)
        while phrases.mark(brief["title"]) in marks:
            brief["title"] = f"{title} ({at})"
            at += 1
        marks.add(phrases.mark(brief["title"]))


def _if_refused(scope: Scope, rounds: Sequence[Round]) -> Scope:
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


def _brief(task: Task, questions: Sequence[str], scope: Scope) -> dict[str, Any]:
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
        brief["agent"] = _profile_for(questions, task.profiles)
    return brief


def _profile_for(questions: Sequence[str], profiles: Sequence[str]) -> str:
    """Return who is asked: for a summary or a check its own, else the explorer."""
    if "summarizer" in profiles and all(map(asks_for_summary, questions)):
        return "summarizer"
    if "reviewer" in profiles and all(map(statements_in, questions)):
        return "reviewer"
    return "explorer" if "explorer" in profiles else profiles[0]


# ---- what came back -----------------------------------------------------------------


def _by_itself(chapter: Chapter) -> list[Step]:
    """Search and answer without subagents, where none may be used."""
    view, task = chapter.view, chapter.task
    has_listing = view.named("list_dir") or "list_dir" not in view.tools
    if task.constraints and not has_listing and not view.must_end:
        return [("list_dir", {"path": "."})]
    scope = scope_of(task.constraints, (), view.listed)
    if scope.unclear:
        return _hand_in(chapter, (), scope)
    if not view.must_end:
        steps = look(view, [task.questions[n - 1] for n in task.open], scope)
        if steps:
            return steps
    return _hand_in(chapter, _alone(view, task, task.open, scope), scope)


def _hand_in(
    chapter: Chapter, results: Sequence[AgentResult], scope: Scope
) -> list[Step]:
    view, task = chapter.view, chapter.task
    draft = compose(
        task.objective,
        task.questions,
        [*results_from(task.memory, task.questions), *results],
        deliverable=task.deliverable,
        max_tokens=task.max_tokens,
        cut_short=view.must_end,
        scope=scope,
    )
    wrong = "\n".join(line for line in chapter.missing if _WRONG.match(line))
    if wrong:
        draft.report = without_citations(draft.report, wrong, drop_all=False)
    steps: list[Step] = []
    if "update_notes" in view.tools and not view.must_end:
        edited = _edited(view)
        steps = [_note(name, text, edited=edited) for name, text in _notes(draft)]
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
