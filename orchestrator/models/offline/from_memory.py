"""What a report takes from memory, marked as such, and what it says of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.models.offline.answers import MEMORY, AgentResult, Place
from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.places import span
from orchestrator.models.offline.remembered import Recalled, Remembered
from orchestrator.models.offline.words import is_han

__all__ = ["note_on", "results_from"]

MAX_SAID_CHARS = 300
MAX_REMARKS = 3
"""On one question."""

_WORDS = {
    False: {
        "day": "of {when}",
        "no_day": "without a date",
        "note": " (from memory {day}; these lines are unchanged since)",
        "changed": "Memory was stale here: its entry {day} says “{said}”, and {where} "
        "changed since, so it was not relied on.",
        "gone": "Memory was stale here: its entry {day} says “{said}”, and {where} is "
        "gone, so it was not relied on.",
        "other": "Memory has an entry {day}: “{said}” ({where}); no lines of it can be "
        "cited, so it was not relied on.",
        "hint": "A hint from memory, {day} and without evidence to check: “{said}”",
        "top": "> From memory, and not read again: {numbers}.",
        "one": "question {number}",
        "many": "questions {number}",
    },
    True: {
        "day": " {when} 的",
        "no_day": "无日期的",
        "note": "（来自{day}记忆（from memory），所引行此后未变）",
        "changed": "此处记忆已过时（stale）：{day}条目写着“{said}”，而 {where} "
        "此后已改动，故未采用。",
        "gone": "此处记忆已过时（stale）：{day}条目写着“{said}”，而 {where} "
        "已不存在，故未采用。",
        "other": "记忆中有{day}条目：“{said}”（{where}）；没有可引用的行，故未采用。",
        "hint": "记忆中的线索（hint，{day}，没有可核对的出处）：“{said}”",
        "top": "> 来自记忆（from memory），没有重新阅读：{numbers}。",
        "one": "问题 {number}",
        "many": "问题 {number}",
    },
}


def results_from(
    memory: Mapping[int, Recalled], questions: Sequence[str]
) -> list[AgentResult]:
    """Return what memory has as results, one for each question that it has.

    Args:
        memory: number of a question → what is recalled.
        questions: of the task, in order.
    """
    results: list[AgentResult] = []
    for number, found in sorted(memory.items()):
        words = _WORDS[is_han(questions[number - 1])]
        result = AgentResult(MEMORY, MEMORY, "complete", questions=[number])
        for at, entry in enumerate(found.answers, 1):
            if (spot := entry.spot) is not None:
                place = Place(entry.said, MEMORY, at, spot.path, spot.first, spot.last)
                place.note = words["note"].format(day=_day(entry, words))
                result.places.append(place)
        told = [_doubt(entry, words) for entry in found.doubtful]
        result.remarks = told[:MAX_REMARKS]
        hints = found.hints[: MAX_REMARKS - len(result.remarks)]
        result.hints = {each.said: _told("hint", each, words) for each in hints}
        if result.places or result.remarks or result.hints:
            results.append(result)
    return results


def note_on(results: Sequence[AgentResult], *, chinese: bool) -> list[str]:
    """Return what a report says at its top where answers are from memory."""
    numbers = [n for r in results if r.is_from_memory and r.places for n in r.questions]
    if not numbers:
        return []
    words = _WORDS[chinese]
    form = words["one"] if len(numbers) == 1 else words["many"]
    told = ("、" if chinese else ", ").join(map(str, numbers))
    return [words["top"].format(numbers=form.format(number=told))]


def _doubt(entry: Remembered, words: Mapping[str, str]) -> str:
    name = entry.state if entry.state in ("changed", "gone") else "other"
    return _told(name, entry, words)


def _told(name: str, entry: Remembered, words: Mapping[str, str]) -> str:
    where = ", ".join(
        f"`{spot.path}:{span(spot.first, spot.last)}`"
        if spot.first
        else f"`{spot.path}`"
        for spot in entry.spots
    )
    said = shortened(entry.said, MAX_SAID_CHARS)
    return words[name].format(day=_day(entry, words), said=said, where=where)


def _day(entry: Remembered, words: Mapping[str, str]) -> str:
    return words["day"].format(when=entry.when) if entry.when else words["no_day"]
