"""The newest chapter of a lead's conversation: one thing asked, and all done for it.

A further question opens a chapter. Where the work goes on, as something is missing,
the chapter has one more stretch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.models.offline.answers import parse_results
from orchestrator.models.offline.openings import Opening
from orchestrator.models.offline.reading import (
    Call,
    Conversation,
    asked_in,
    bullets,
    paths_in,
    questions_of,
    sections,
)
from orchestrator.models.offline.remembered import Recalled, recalled, remembered_in
from orchestrator.models.offline.scope import scope_of

__all__ = ["Chapter", "Stretch", "Task", "newest_chapter"]

MAX_BRIEFS = 64
_SUBAGENTS = re.compile(r"\b(\d+) subagents?\b")
_USED = re.compile(r"\b(\d+) of \d+ subagents? used\b")
_PROFILE = re.compile(r"^- `([^`\n]+)`:", re.MULTILINE)
_MAX_TOKENS = re.compile(r"\bat most (\d+) tokens\b")
_AGENT = re.compile(r"^subagent a(\d+) \(")
_KNOWN = {"objective", "目标", "questions", "问题"}


class Task:
    """What is asked: the task as its first message says it, or a further question.

    Attributes:
        objective: of the task, or the further question.
        questions: in order.
        constraints: the task's, which hold for every question.
        profiles: subagents that a brief may name.
        deliverable: how to hand in.
        max_tokens: most that the report may have.
        memory: number of a question → what memory has on it.
    """

    def __init__(self, first: str, question: str = "") -> None:
        """Read the first message, and a further question unless it is ""."""
        parts = sections(first)
        self.constraints = bullets(parts.get("constraints", ""))
        self.profiles = _PROFILE.findall(first)
        self.deliverable = parts.get("deliverable", "")
        tokens = _MAX_TOKENS.search(self.deliverable)
        self.max_tokens = int(tokens.group(1)) if tokens else 4000
        # What the first message shows of memory was compared when the task began.
        self.memory: dict[int, Recalled] = {}
        whole = question or first
        if question:
            parts = sections(question)
            self.constraints += bullets(parts.get("constraints", ""))
            if _KNOWN.isdisjoint(parts):
                self.objective, self.questions = question, asked_in(question)
                return
        self.objective = parts.get("objective") or parts.get("目标") or parts[""]
        self.objective = self.objective or whole
        named = parts.get("questions") or parts.get("问题") or ""
        self.questions = questions_of(named, self.objective)
        if not question:
            self.memory = _memory(first, self.questions, self.constraints)

    @property
    def open(self) -> list[int]:
        """Return the numbers of the questions that memory does not answer."""
        numbers = range(1, len(self.questions) + 1)
        return [
            n for n in numbers if n not in self.memory or not self.memory[n].answers
        ]


def _memory(
    first: str, questions: Sequence[str], constraints: Sequence[str]
) -> dict[int, Recalled]:
    """Return what memory has on each question, within what constraints allow."""
    entries = remembered_in(first)
    if not entries:
        return {}
    # Told by this message alone, so that a later listing cannot change the answer.
    paths = [spot.path for entry in entries for spot in entry.spots]
    tops = {path.partition("/")[0] + "/" * ("/" in path) for path in paths}
    tops |= {p.partition("/")[0] + "/" * ("/" in p) for p in paths_in(constraints)}
    scope = scope_of(constraints, (), sorted(tops))
    if scope.is_closed:
        return {}
    return {
        number: recalled(text, entries, scope.allows)
        for number, text in enumerate(questions, 1)
    }


@dataclass(frozen=True, slots=True)
class Stretch:
    """Turns of a chapter, up to the next text of the program that lets it go on.

    Attributes:
        view: the conversation with the calls of these turns alone.
        most: subagents that were left when it began.
        missing: what the program said is not there, a line each.
    """

    view: Conversation
    most: int
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chapter:
    """One thing asked, and what was done for it.

    Attributes:
        task: what is asked.
        view: the conversation with the calls of this chapter alone.
        stretches: at least one.
        earlier: calls of the chapters before.
    """

    task: Task
    view: Conversation
    stretches: tuple[Stretch, ...]
    earlier: tuple[Call, ...] = ()

    @property
    def newest(self) -> Stretch:
        """Return the stretch at work."""
        return self.stretches[-1]

    @property
    def missing(self) -> list[str]:
        """Return all that the program said is not there."""
        return [line for stretch in self.stretches for line in stretch.missing]

    @property
    def earlier_titles(self) -> list[str]:
        """Return the titles of briefs for what was asked before."""
        return [str(brief.get("title")) for brief in briefs_in(self.earlier)]


def newest_chapter(conversation: Conversation) -> Chapter:
    """Return what is asked by now, and what was done for it."""
    openings = conversation.openings
    asked = [at for at, opening in enumerate(openings) if opening.question]
    first = asked[-1] if asked else -1
    question = openings[first].question if asked else ""
    start = openings[first].turn if asked else 0
    begins = [start, *(opening.turn for opening in openings[first + 1 :])]
    ends = [*begins[1:], conversation.turns]
    stretches = [
        Stretch(
            conversation.between(begin, end),
            _left(conversation, openings[: first + 1 + number], begin),
            openings[first + number].missing if number else (),
        )
        for number, (begin, end) in enumerate(zip(begins, ends, strict=True))
    ]
    return Chapter(
        Task(conversation.first, question),
        conversation.between(start, conversation.turns),
        tuple(stretches),
        conversation.between(0, start).calls,
    )


def briefs_in(calls: Iterable[Call]) -> list[Mapping[str, Any]]:
    """Return all briefs that were sent, refused ones too."""
    return [
        brief
        for call in calls
        if call.name == "delegate"
        for brief in call.input.get("briefs") or []
        if isinstance(brief, dict)
    ]


def _left(conversation: Conversation, openings: Sequence[Opening], turn: int) -> int:
    """Return how many subagents were left at a turn, as far as the texts tell."""
    setting = sections(conversation.first).get("setting", "") or conversation.first
    texts = [setting, *(opening.limits for opening in openings)]
    said = [found for text in texts if (found := _SUBAGENTS.search(text))]
    allowed = int(said[-1].group(1)) if said else 8
    if not turn and not openings:
        return max(min(allowed, MAX_BRIEFS), 1)
    # Subagents are numbered as they are accepted.
    used = [
        int(result.agent[1:])
        for call in conversation.between(0, turn).named("delegate")
        for result in parse_results(call.result)
    ]
    used += [
        int(named.group(1))
        for opening in openings
        for line in opening.missing
        if (named := _AGENT.match(line))
    ]
    used += [int(n) for opening in openings for n in _USED.findall(opening.limits)]
    return max(min(allowed - max(used, default=0), MAX_BRIEFS), 0)
