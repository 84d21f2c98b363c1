"""Rounds of `delegate`: which questions went out, what came back, what goes out next.

Where the work goes on after the report, the rounds begin anew with the briefs of the
subagents that failed and of those that found none.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from orchestrator.models.offline import phrases
from orchestrator.models.offline.answers import (
    AgentResult,
    Refusal,
    parse_results,
    refusals,
)
from orchestrator.models.offline.chapters import Chapter, Stretch, Task
from orchestrator.models.offline.reading import Call

__all__ = ["MAX_ROUNDS", "Group", "Round", "results_of", "rounds_of"]

MAX_PER_BRIEF = 20
"""More questions are refused."""
MAX_ROUNDS = 3
# How a subagent ended is said up to a colon, and why behind it.
_FAILED = re.compile(r"^subagent (?P<agent>a\d+) \((?P<title>.+?)\) [^():]+: ")
_NO_ROOM = re.compile(r"\bfound no (?:subagent|room)\b")
_USED_UP = re.compile(r"\bused up$|^there is no budget for it\b")

Group = list[int]
Brief = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sent:
    """One brief of a `delegate`, and what became of it."""

    brief: Brief
    numbers: Group
    """Of its questions; none for what was asked before the newest question."""
    result: AgentResult | None = None
    refused: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Return its title for comparison."""
        return phrases.mark(str(self.brief.get("title")))

    @property
    def questions(self) -> list[str]:
        """Return what it asks."""
        asked = self.brief.get("questions") or [self.brief.get("objective")]
        return [str(each) for each in asked]

    @property
    def found_no_room(self) -> bool:
        """Return whether it was refused since no subagent, or no money, was left."""
        return any(_USED_UP.search(text.rstrip(".")) for text in self.refused)

    def asks_the_same(self, other: Sent) -> bool:
        """Return whether both are for the same questions, in other words perhaps."""
        if self.numbers and self.numbers == other.numbers:
            return True
        return self.mark == other.mark and self.questions == other.questions


@dataclass(frozen=True, slots=True)
class Round:
    """One `delegate`, or the state before any: what it brought, and what it left.

    Attributes:
        results: what its subagents brought.
        groups: questions to send next, by brief.
        refused: its briefs that were refused.
        briefs: the groups' briefs, word for word, where they were sent before.
        left: questions that no subagent takes.
        replaced: results that those of the briefs sent again take the place of.
        sent: its briefs.
    """

    results: list[AgentResult]
    groups: list[Group]
    refused: list[Refusal] = field(default_factory=list)
    briefs: list[Brief] = field(default_factory=list)
    left: Group = field(default_factory=list)
    replaced: list[AgentResult] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)


def rounds_of(chapter: Chapter) -> list[Round]:
    """Return the rounds of the newest stretch; the first is the state before any call.

    A brief for an earlier question that is sent again adds its questions to the task.
    """
    first, *later = chapter.stretches
    sent = [
        each
        for call in chapter.earlier
        if call.name == "delegate"
        for each in _sent(call, [])
    ]
    brought = parse_results(chapter.view.brought)
    joined = [
        r for c in chapter.view.named("delegate") for r in parse_results(c.result)
    ]
    late = {each.agent for each in brought} - {each.agent for each in joined}
    start = _start(chapter.task.open, first.most)
    rounds = _after(start, first.view.named("delegate"), brought, late)
    for stretch in later:
        sent += [each for one in rounds for each in one.sent]
        start = _again(chapter.task, stretch, rounds, sent)
        rounds = _after(start, stretch.view.named("delegate"), brought, late)
    return rounds


def results_of(rounds: Sequence[Round]) -> list[AgentResult]:
    """Return what came back by now, the newest result for each brief."""
    new = [result for each in rounds[1:] for result in each.results]
    kept = list(rounds[0].results)
    for old in rounds[0].replaced:
        later = [each for each in new if each.questions == old.questions]
        if not later:
            kept.append(old)
        elif all(each.has_failed for each in later):
            known = {(p.path, p.first, p.last) for each in later for p in each.places}
            places = [p for p in old.places if (p.path, p.first, p.last) not in known]
            kept += [replace(old, places=places)] if places else []
    return [*kept, *new]


def _start(numbers: Sequence[int], most: int) -> Round:
    """Return the state before any call: the questions by brief, evenly spread."""
    count = len(numbers)
    briefs = min(count, most)
    size = min(-(-count // max(briefs, 1)), MAX_PER_BRIEF)
    starts = range(0, count, max(size, 1))
    groups = [list(numbers[at : at + size]) for at in starts][:briefs]
    given = {number for group in groups for number in group}
    return Round([], groups, left=[n for n in numbers if n not in given])


def _after(
    start: Round,
    calls: Sequence[Call],
    brought: Sequence[AgentResult],
    late: Collection[str],
) -> list[Round]:
    """Return the rounds from `start` on.

    Args:
        start: the state before any of the calls.
        calls: each `delegate`.
        brought: all that came back, also by itself and for a further question.
        late: ids of those that no `delegate` brought.
    """
    rounds = [start]
    for call in calls:
        asked = rounds[-1].groups
        sent = _sent(call, asked)
        numbers = {each.mark: each.numbers for each in sent}
        came = {result.agent for result in parse_results(call.result)}
        results = [
            replace(result, questions=numbers.get(phrases.mark(result.title), []))
            for result in brought
            if result.agent in came
            or (result.agent in late and phrases.mark(result.title) in numbers)
        ]
        refused = refusals(call.result)
        again = [asked[each.index] for each in refused if each.index < len(asked)]
        if call.is_error and not refused and not results:
            again = asked
        rounds.append(
            Round(
                results,
                again if call.answered else [],
                refused,
                left=start.left,
                sent=sent,
            )
        )
    return rounds


def _sent(call: Call, asked: Sequence[Group]) -> list[Sent]:
    """Return the briefs of a `delegate` with what became of each."""
    results = {phrases.mark(r.title): r for r in parse_results(call.result)}
    refused = {each.index: each.problems for each in refusals(call.result)}
    sent: list[Sent] = []
    for index, brief in enumerate(call.input.get("briefs") or []):
        numbers = asked[index] if index < len(asked) else []
        one = Sent(brief, numbers, refused=refused.get(index, ()))
        result = None if index in refused else results.get(one.mark)
        if result:
            one = replace(one, result=replace(result, questions=numbers))
        sent.append(one)
    return sent


# ---- going on -----------------------------------------------------------------------


def _again(
    task: Task, stretch: Stretch, past: Sequence[Round], sent: Sequence[Sent]
) -> Round:
    """Return the state where the work goes on after `past`.

    Args:
        task: takes in the questions of briefs that it does not hold yet.
        stretch: the one that begins.
        past: the rounds of the stretch before.
        sent: all briefs so far, oldest first.
    """
    named = _named(stretch.missing, sent)
    going, held_back = named[: stretch.most], named[stretch.most :]
    room = stretch.most - len(going)
    if not any(each.sent for each in past):
        past = [_start(task.open, room)]
    # What was refused, or got no answer, and may still be said in another way.
    taken = {number for each in named for number in each.numbers}
    open_ones = [group for group in past[-1].groups if taken.isdisjoint(group)]
    room = 0 if len(past) > MAX_ROUNDS else room
    given_up = open_ones[room:]
    given_up += [each.numbers for each in held_back if each.found_no_room]
    numbers = [_taken_in(each, task) for each in going]
    before = results_of(past)
    return Round(
        [each for each in before if each.questions not in numbers],
        [*numbers, *open_ones[:room]],
        [refusal for each in past for refusal in each.refused],
        [each.brief for each in going],
        left=[*(number for group in given_up for number in group), *past[0].left],
        replaced=[each for each in before if each.questions in numbers],
    )


def _named(missing: Sequence[str], sent: Sequence[Sent]) -> list[Sent]:
    """Return the briefs that the program says are missing, each once."""
    answered = {s.mark for s in sent if s.result and not s.result.has_failed}
    found: list[Sent] = []
    for line in missing:
        failed = _FAILED.match(line)
        if failed:
            found += _by_agent(failed["agent"], failed["title"], sent)
        elif _NO_ROOM.search(line):
            found += [s for s in sent if s.found_no_room and s.mark not in answered]
    once: list[Sent] = []
    for each in found:
        if not any(each.asks_the_same(other) for other in once):
            once.append(each)
    return once


def _by_agent(agent: str, title: str, sent: Sequence[Sent]) -> list[Sent]:
    """Return the brief of a subagent; by its title where no result names it."""
    own = [each for each in sent if each.result and each.result.agent == agent]
    mark = phrases.mark(title)
    return own or [each for each in sent if each.mark == mark and not each.refused][-1:]


def _taken_in(sent: Sent, task: Task) -> Group:
    """Return the numbers of a brief's questions, which the task takes in."""
    if sent.numbers:
        return sent.numbers
    numbers: Group = []
    for text in sent.questions:
        if text not in task.questions:
            task.questions.append(text)
        numbers.append(task.questions.index(text) + 1)
    return numbers
