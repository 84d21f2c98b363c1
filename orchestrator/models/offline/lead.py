"""The offline model as lead: a brief per question, and a report of cited places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import (
    AgentResult,
    parse_results,
    refused_titles,
)
from orchestrator.models.offline.explorer import alone, look
from orchestrator.models.offline.reading import (
    Call,
    Conversation,
    bullets,
    paths_in,
    questions_of,
    sections,
)
from orchestrator.models.offline.report import (
    Draft,
    compose,
    without_citations,
)
from orchestrator.models.offline.words import is_han

__all__ = ["lead"]

MAX_BRIEFS = 64
MAX_PER_BRIEF = 8
MAX_ROUNDS = 3
_SUBAGENTS = re.compile(r"\b(\d+) subagents?\b")
_PROFILE = re.compile(r"^- `([\w-]+)`:", re.MULTILINE)
_MAX_TOKENS = re.compile(r"\bat most (\d+) tokens\b")
_LEAVE_OUT = re.compile(
    r"\b(?:do not|don't|never|leave out|exclude|skip|ignore|without|except|stay out)\b"
    r"|不要|不得|禁止|请勿|勿|避开|排除|忽略|除了",
    re.IGNORECASE,
)
_LOOK_ONLY = re.compile(
    r"\b(?:only|solely|nothing but|confined to|limited to)\b"
    r"|只[在看用]|仅[在限看]|限于",
    re.IGNORECASE,
)

Step = tuple[str, dict[str, Any]]


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
    if finished and finished[-1].answered and finished[-1].is_error:
        return [("finish", _mended_finish(finished))]
    rounds = conversation.named("delegate")
    if "delegate" not in conversation.tools:
        return _by_itself(conversation, task)
    if not rounds and not conversation.must_end:
        return _first_steps(conversation, task) or [_delegate(conversation, task, 0)]
    results = [part for call in rounds for part in parse_results(call.result)]
    again = _refused(rounds)
    if again and not conversation.must_end:
        return [_delegate(conversation, task, len(rounds), again)]
    return _hand_in(conversation, task, results)


# ---- before the subagents -----------------------------------------------------------


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


def _delegate(
    conversation: Conversation,
    task: _Task,
    round_number: int,
    kept: Sequence[int] | None = None,
) -> Step:
    groups = _groups(task)
    listed = _listed(conversation)
    briefs = [
        _brief(task, group, listed if round_number == 0 else [])
        for group in groups
        if kept is None or group[0] in kept
    ]
    return ("delegate", {"briefs": briefs, "wait": "all"})


def _groups(task: _Task) -> list[list[int]]:
    """Return the numbers of the questions by brief, evenly spread."""
    count = len(task.questions)
    briefs = min(count, task.most)
    size = min(-(-count // briefs), MAX_PER_BRIEF)
    numbers = list(range(1, count + 1))
    return [numbers[at : at + size] for at in range(0, count, size)][:briefs]


def _listed(conversation: Conversation) -> list[str]:
    """Return the names of the top of the workspace, folders with a slash."""
    names: list[str] = []
    for call in conversation.named("list_dir"):
        if call.answered and not call.is_error:
            for row in call.result.splitlines()[1:]:
                name = re.sub(r" \([^()]*\)$", "", row.strip())
                if name and not name.startswith("["):
                    names.append(name)
    return names


def _brief(task: _Task, group: Sequence[int], listed: Sequence[str]) -> dict[str, Any]:
    questions = [task.questions[number - 1] for number in group]
    chinese = is_han(questions[0])
    brief: dict[str, Any] = {
        "title": phrases.title(group, questions[0]),
        "objective": phrases.objective(questions, chinese=chinese),
        "questions": questions,
        "deliverable": {"form": phrases.form(chinese=chinese), "max_tokens": 1200},
    }
    scope = _scope(task, questions, listed)
    if scope:
        brief["scope"] = scope
    if task.profiles:
        has_explorer = "explorer" in task.profiles
        brief["agent"] = "explorer" if has_explorer else task.profiles[0]
    return brief


def _scope(
    task: _Task, questions: Sequence[str], listed: Sequence[str]
) -> dict[str, list[str]]:
    """Return what constraints and questions say about where to look, if it is there."""
    include: list[str] = []
    exclude: list[str] = []
    for constraint in task.constraints:
        # A clause each: "only in src/, not in src/old/" says both.
        for clause in re.split(r"[;；,，。]|\.\s|\bbut\b", constraint):
            there = _there(paths_in([clause]), listed)
            if _LEAVE_OUT.search(clause):
                exclude += there
            elif _LOOK_ONLY.search(clause) or _LOOK_ONLY.search(constraint):
                include += there
    if not include:
        include = _there([p for p in paths_in(questions) if "/" in p], listed)
    found = {"include": include, "exclude": exclude}
    return {name: list(dict.fromkeys(paths)) for name, paths in found.items() if paths}


def _there(paths: Sequence[str], listed: Sequence[str]) -> list[str]:
    """Return the paths at the top of the workspace that were seen in its listing."""
    seen = {name.rstrip("/"): name for name in listed}
    return [
        seen[path.rstrip("/")] if "/" not in path.rstrip("/") else path
        for path in paths
        if path.rstrip("/").split("/")[0] in seen and not path.startswith("/")
    ]


# ---- what came back -----------------------------------------------------------------


def _refused(rounds: Sequence[Call]) -> list[int]:
    """Return the questions of refused briefs, while another try is worth it."""
    last = rounds[-1] if rounds else None
    if last is None or not last.answered or len(rounds) >= MAX_ROUNDS:
        return []
    titles = refused_titles(last.result)
    if last.is_error and not titles and not parse_results(last.result):
        titles = [str(brief.get("title")) for brief in last.input.get("briefs") or []]
    return [number for each in titles for number in phrases.numbers_in(each)]


def _by_itself(conversation: Conversation, task: _Task) -> list[Step]:
    """Search and answer without subagents, where none may be used."""
    if not conversation.must_end:
        steps = look(conversation, task.questions)
        if steps:
            return steps
    return _hand_in(conversation, task, alone(conversation, task.questions))


def _hand_in(
    conversation: Conversation, task: _Task, results: Sequence[AgentResult]
) -> list[Step]:
    draft = compose(
        task.objective,
        task.questions,
        results,
        deliverable=task.deliverable,
        max_tokens=task.max_tokens,
        cut_short=conversation.must_end,
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
