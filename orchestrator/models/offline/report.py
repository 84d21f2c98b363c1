"""Compose the report, and a JSON result, from the places that came back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.evidence import citations
from orchestrator.models.offline.answers import AgentResult, Missed, Place
from orchestrator.models.offline.from_memory import note_on
from orchestrator.models.offline.gaps import briefly, merged, said_as_gap
from orchestrator.models.offline.phrases import UNSEARCHED, UNTRIED, shortened
from orchestrator.models.offline.places import is_citable
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.result import fill, schema_in
from orchestrator.models.offline.scope import Scope
from orchestrator.models.offline.words import Bag, is_han

__all__ = ["Draft", "compose", "without_citations"]

CHARS_PER_TOKEN = 2.0


@dataclass(slots=True)
class Draft:
    """A report and what the notes say about it."""

    report: str
    result: Any = None
    has_result: bool = False
    plan: list[str] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)


_WORDS = {
    False: {
        "title": "# Report",
        "made": "> No language model was used. The offline model searched the files "
        "for the words of each question and copied what it found; it understands "
        "nothing, so read the cited lines.",
        "none": "Nothing was found.",
        "none_for": "Nothing was found for “{part}”.",
        "tried": " Searched for: {terms}: {why}.",
        "unsearched": "Could not be searched: {why}.",
        "untried": "Not tried: {why}.",
        "part": " (for “{part}”)",
        "unapplied": "> Constraints that could not be applied: {items}.",
        "left_out": "> Left out, as a constraint asks: {items}.",
        "kept_to": "> Looked only in: {items}.",
        "gaps": "> Not searched: {items}.",
        "gap": " Not searched: {items}.",
        "unsupported": "(its quote was not found again, so no place is cited)",
        "failed": "Not answered: {agent} failed ({why}).",
        "unseen": "Not answered: what {agents} handed in could not be opened again.",
        "refused": "Not answered: no subagent worked on it.",
        "unclear": "Not answered: the constraint “{constraint}” names `{path}`, and "
        "the offline model cannot tell what it asks; reword it as “Leave out "
        "`{path}`.” or “Look only in `{path}`.”",
        "closed": "Not answered: the constraints keep to a place that cannot be "
        "searched ({why}).",
        "cut": "The run reached a limit before all was done; what is missing is said "
        "under each question.",
        "incomplete": "## What is missing",
        "no_result": "Left out of the JSON result, since no place clearly holds it: "
        "{names}.",
    },
    True: {
        "title": "# 报告",
        "made": "> 本报告没有使用语言模型：离线模型只按问题中的词语搜索文件并摘录原文，"
        "并不理解内容，请以所引行为准。（No language model was used.）",
        "none": "没有找到。（Nothing was found.）",
        "none_for": "没有找到“{part}”的答案。（Nothing was found.）",
        "tried": "已搜索：{terms}：{why}。",
        "unsearched": "无法搜索（could not be searched）：{why}。",
        "untried": "尚未查找（not tried）：{why}。",
        "part": "（问题“{part}”）",
        "unapplied": "> 未能执行的约束：{items}。",
        "left_out": "> 按约束未查看：{items}。",
        "kept_to": "> 只查看了：{items}。",
        "gaps": "> 未搜索（not searched）：{items}。",
        "gap": "未搜索：{items}。",
        "unsupported": "（引文未能再次找到，故不注明出处）",
        "failed": "未能回答:{agent} 失败（{why}）。",
        "unseen": "未能回答（Not answered）：{agents} 提交的内容无法再次打开。",
        "refused": "未能回答：没有子代理处理此问题。",
        "unclear": "未能回答（Not answered）：约束“{constraint}”提到 `{path}`，"
        "离线模型无法确定其要求；请改写为“不要看 `{path}`。”或“只看 `{path}`。”",
        "closed": "未能回答（Not answered）：约束限定的位置无法搜索（{why}）。",
        "cut": "运行在完成之前达到上限，缺少的部分在各问题下说明。",
        "incomplete": "## 缺少的部分",
        "no_result": "JSON 结果中未填（没有找到明确的出处）：{names}。",
    },
}


def compose(
    objective: str,
    questions: Sequence[str],
    results: Sequence[AgentResult],
    *,
    deliverable: str,
    max_tokens: int,
    cut_short: bool,
    scope: Scope,
) -> Draft:
    """Return the report: a section a question, each claim with its place.

    Args:
        objective: the task's; its language is the report's.
        questions: in order.
        results: what the subagents brought.
        deliverable: the text of that section of the task.
        max_tokens: most that the report may have.
        cut_short: a limit was reached, so that the report must say so.
        scope: what the constraints made of where to look.
    """
    words = _WORDS[is_han(objective)]
    by_question = _by_question(questions, results)
    draft = Draft("")
    gaps = merged(gap for result in results for gap in result.gaps)
    notes = [words["made"], *_on_scope(scope, words)]
    notes += [_gaps("gaps", gaps, words)] if gaps else []
    notes += note_on(results, chinese=is_han(objective))
    parts = [words["title"], "\n>\n".join(notes)]
    if cut_short:
        parts.append(words["cut"])
    share = int(max_tokens * CHARS_PER_TOKEN / max(len(questions), 1))
    for number, question in enumerate(questions, 1):
        parts.append(f"## {number}. {_plain(shortened(question, 300))}")
        places, missed = by_question[number]
        if scope.is_closed and not places:
            parts.append(_unclear(scope, words))
        else:
            failure = _failure(number, results) or _unseen(number, results, words)
            parts.append(
                _answer(
                    places, missed, failure, _said_for(number, results, words), share
                )
            )
        parts += _remarks(number, results, places)
        mark = "x" if places else " "
        draft.plan.append(f"- [{mark}] {shortened(question, 160)}")
        draft.facts += [
            f"- {shortened(place.claim, 200)} {_cite(place)}{place.note}"
            for place in places[:2]
            if not place.unsupported
        ]
        if not places:
            draft.open.append(f"- {shortened(question, 160)}")
    missing = _missing(results, words)
    if missing:
        parts += [words["incomplete"], "\n".join(missing)]
    schema = schema_in(deliverable)
    if schema is not None:
        answers = [
            (question, by_question[number][0])
            for number, question in enumerate(questions, 1)
        ]
        draft.result, lacking = fill(schema, objective, answers)
        draft.has_result = draft.result is not None
        if lacking:
            names = ", ".join(f"`{name}`" for name in lacking)
            parts.append(words["no_result"].format(names=names))
    draft.report = "\n\n".join(parts) + "\n"
    return draft


def _on_scope(scope: Scope, words: dict[str, str]) -> list[str]:
    """Return what the opening note says about constraints."""
    said: list[str] = []
    kept_to = () if scope.is_closed else scope.include
    for name, items in (
        ("left_out", [f"`{path}`" for path in scope.exclude]),
        ("kept_to", [f"`{path}`" for path in kept_to]),
        ("unapplied", [f"“{_plain(shortened(c, 160))}”" for c in scope.unapplied]),
    ):
        if items:
            said.append(words[name].format(items=", ".join(items)))
    return said


def _gaps(name: str, gaps: Sequence[str], words: dict[str, str]) -> str:
    items = "; ".join(_plain(said_as_gap(gap)).rstrip(".") for gap in gaps)
    return words[name].format(items=items)


def _said_for(
    number: int, results: Sequence[AgentResult], words: dict[str, str]
) -> dict[str, str]:
    """Return the words for a question: where nothing was found, what was not searched.

    Reasons and names stand in the opening note.
    """
    mine = [r for r in results if number in r.questions or not r.questions]
    gaps = merged(briefly(gap) for result in mine for gap in result.gaps)
    return {**words, "gap": _gaps("gap", gaps, words) if gaps else ""}


def _unclear(scope: Scope, words: dict[str, str]) -> str:
    """Return why no question was looked up: a constraint that may not be broken."""
    if scope.refused:
        return words["closed"].format(why=_plain(shortened(scope.refused, 300)))
    return "\n\n".join(
        words["unclear"].format(constraint=_plain(shortened(text, 160)), path=path)
        for text, path in scope.unclear
    )


def _by_question(
    questions: Sequence[str], results: Sequence[AgentResult]
) -> dict[int, tuple[list[Place], list[Missed]]]:
    found: dict[int, tuple[list[Place], list[Missed]]] = {
        number: ([], []) for number in range(1, len(questions) + 1)
    }
    for result in results:
        numbers = [n for n in result.questions if n in found] or list(found)
        for missed in result.missed:
            number = _asking(missed, numbers, questions)
            if missed not in found[number][1]:
                found[number][1].append(missed)
        if len(numbers) == 1:
            found[numbers[0]][0].extend(result.places)
            continue
        # A question of one part that was missed has no place.
        lacking = {_asking(missed, numbers, questions) for missed in result.missed}
        able = [
            number
            for number in numbers
            if number not in lacking or len(Question.parts(questions[number - 1])) > 1
        ]
        one_each = len(able) == len(result.places)
        for place, number in zip(result.places, able, strict=False) if one_each else ():
            found[number][0].append(place)
        for place in () if one_each else result.places:
            found[_closest(place, able or numbers, questions)][0].append(place)
    return found


def _asking(missed: Missed, numbers: Sequence[int], questions: Sequence[str]) -> int:
    """Return the question that a missed one is, or is a part of."""
    if len(numbers) == 1:
        return numbers[0]
    asked = missed.question.rstrip("…")
    bag = Bag.of(asked)

    def fit(number: int) -> tuple[bool, float]:
        concepts = Question.of(questions[number - 1]).concepts
        shared = sum(concept.weight * concept.match(bag) for concept in concepts)
        return asked in " ".join(questions[number - 1].split()), shared

    return max(numbers, key=lambda number: (*fit(number), -number))


def _closest(place: Place, numbers: Sequence[int], questions: Sequence[str]) -> int:
    """Return the question that a claim answers, by the words they share."""
    bag = Bag.of(f"{place.path} {place.claim} {place.quote}")

    def share(number: int) -> float:
        concepts = Question.of(questions[number - 1]).concepts
        total = sum(concept.weight for concept in concepts) or 1.0
        return sum(c.weight * c.match(bag) for c in concepts) / total

    return max(numbers, key=lambda number: (share(number), -number))


def _answer(
    places: Sequence[Place],
    missed: Sequence[Missed],
    failure: str,
    words: dict[str, str],
    share: int,
) -> str:
    if not places and not missed:
        if failure:
            return words["refused"] if failure == "-" else failure
        return words["none"] + words["gap"]
    room = max(share // max(len(places), 1) - 80, 80)
    lines = [
        f"- {_plain(shortened(place.claim, room))} "
        + (words["unsupported"] if place.unsupported else _cite(place))
        + place.note
        for place in places
    ]
    is_whole = not places and len(missed) == 1
    said = [_missed(each, words, is_whole=is_whole) for each in missed]
    return "\n".join(lines + (said if is_whole else [f"- {text}" for text in said]))


def _missed(missed: Missed, words: dict[str, str], *, is_whole: bool) -> str:
    """Return why there is no place for a question or for a part of it."""
    part = _plain(shortened(missed.question, 160)).rstrip("?？")
    for name, mark in (("unsearched", UNSEARCHED), ("untried", UNTRIED)):
        if missed.why.startswith(f"{mark}: "):
            why = _plain(shortened(missed.why[len(mark) + 2 :], 240)).rstrip(".")
            said = words[name].format(why=why)
            return said if is_whole else said + words["part"].format(part=part)
    none = words["none"] if is_whole else words["none_for"].format(part=part)
    terms = _plain(shortened(missed.terms, 160))
    why = _plain(shortened(missed.why, 240))
    return none + words["tried"].format(terms=terms, why=why) + words["gap"]


def _remarks(
    number: int, results: Sequence[AgentResult], places: Sequence[Place]
) -> list[str]:
    """Return what is said below an answer and is not what `places` in it say."""
    mine = [remark for r in results if number in r.questions for remark in r.remarks]
    claims = {place.claim for place in places}
    hints = [r.hints for r in results if number in r.questions]
    mine += [
        told for each in hints for said, told in each.items() if said not in claims
    ]
    return ["\n".join(f"- {_plain(remark)}" for remark in mine)] if mine else []


def _failure(number: int, results: Sequence[AgentResult]) -> str:
    """Return why a question was not worked on: "-" where no brief was accepted."""
    mine = [r for r in results if number in r.questions or not r.questions]
    mine = [r for r in mine if not r.is_from_memory]
    if not mine:
        return "-"
    failed = [r for r in mine if r.has_failed]
    if len(failed) < len(mine):
        return ""
    return "; ".join(f"{r.agent}: {_plain(shortened(r.state, 200))}" for r in failed)


def _unseen(number: int, results: Sequence[AgentResult], words: dict[str, str]) -> str:
    """Return that items for a question were handed in and are not in sight, or ""."""
    mine = [r for r in results if number in r.questions or not r.questions]
    hidden = [r.agent for r in mine if r.items and not r.places]
    return words["unseen"].format(agents=", ".join(hidden)) if hidden else ""


def _missing(results: Sequence[AgentResult], words: dict[str, str]) -> list[str]:
    return [
        "- "
        + words["failed"].format(
            agent=f"{result.agent} “{_plain(shortened(result.title, 80))}”",
            why=_plain(shortened(result.state, 200)),
        )
        for result in results
        if result.has_failed
    ]


def _cite(place: Place) -> str:
    if not is_citable(place.path):
        return f"[{place.agent}#{place.item}]"
    span = (
        f"{place.first}" if place.first == place.last else f"{place.first}-{place.last}"
    )
    return f"[{place.path}:{span}]"


def _plain(text: str) -> str:
    """Return extracted text in which nothing is taken for a citation of this report.

    A bracket that looks like one keeps its words and gets backslashes, which Markdown
    does not show.
    """
    for citation in reversed(citations(text)):
        bracket = text[citation.start : citation.end]
        inner = re.sub(r"(?<!\\)([,;])", r"\\\1", bracket[1:-1])
        escaped = f"\\[{inner}\\]"
        if citations(escaped):
            escaped = bracket.translate({91: "(", 93: ")"})
        text = text[: citation.start] + escaped + text[citation.end :]
    return text


def without_citations(report: str, refusal: str, *, drop_all: bool) -> str:
    """Return `report` without the lines whose citations a refusal names.

    Args:
        report: as it was handed in.
        refusal: the answer to it.
        drop_all: where that did not help, leave out every cited claim.
    """
    kept: list[str] = []
    for line in report.split("\n"):
        named = [citation.text for citation in citations(line)]
        if named and (drop_all or any(f"[{text}]" in refusal for text in named)):
            chinese = is_han(line)
            kept.append(
                "- "
                + (
                    "一条摘录因引文有误已删去。"
                    if chinese
                    else "An extract was taken out: its citation did not hold."
                )
            )
        else:
            kept.append(line)
    return "\n".join(kept)
