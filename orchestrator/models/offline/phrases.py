"""The few sentences the offline model says itself, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.models.offline.ranking import Hit
from orchestrator.models.offline.words import is_han

__all__ = [
    "answered",
    "claim",
    "dropped",
    "form",
    "numbers_in",
    "objective",
    "shortened",
    "title",
    "unanswered",
]

MAX_CLAIM_CHARS = 600
TITLE_CHARS = 70
_TITLE = re.compile(r"^(?:Question|问题)s? (\d+)(?:-(\d+))?[:：]")
_ANSWER_MARK = re.compile(r"^\W*(?:答|A)\s*[:：]\s*")


def shortened(text: str, chars: int) -> str:
    """Return `text` in one line of at most `chars` characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else line[: chars - 1].rstrip() + "…"


def claim(hit: Hit) -> str:
    """Return what a place says, with the heading it stands under."""
    unit = hit.unit
    text = _ANSWER_MARK.sub("", unit.text)
    if hit.first < unit.first and unit.before:
        text = f"{unit.before} {text}"
    head = (
        shortened(unit.heads[-1].split("\n")[0].strip(" :："), 120)
        if unit.heads
        else ""
    )
    if head and head not in text:
        text = f"{head}：{text}" if is_han(text) else f"{head}: {text}"
    text = shortened(text, MAX_CLAIM_CHARS)
    return text if len(text) >= 8 else f"{hit.page.path}: {text}"


def answered(question: str, text: str) -> str:
    """Return a line of the summary for a question with an answer."""
    return f"{shortened(question, 200)} → {shortened(text, 300)}"


def unanswered(question: str) -> str:
    """Return a line of the summary for a question without one."""
    said = "没有找到。" if is_han(question) else "nothing was found."
    return f"{shortened(question, 200)} → {said}" if question else said


def dropped(count: int) -> str:
    """Return a line that says how many claims were taken back."""
    return f"{count} extracted places were taken back: their quotes were not found."


# ---- briefs -------------------------------------------------------------------------


def title(numbers: Sequence[int], question: str) -> str:
    """Return the title of a brief; it names its questions by number."""
    bare = shortened(question, TITLE_CHARS).rstrip("?？")
    chinese = is_han(question)
    first, last = numbers[0], numbers[-1]
    span = f"{first}" if first == last else f"{first}-{last}"
    if chinese:
        return f"问题 {span}：{bare}"
    return f"Question{'' if first == last else 's'} {span}: {bare}"


def numbers_in(brief_title: str) -> list[int]:
    """Return the numbers that `title` put into a title."""
    match = _TITLE.match(brief_title)
    if match is None:
        return []
    return list(range(int(match.group(1)), int(match.group(2) or match.group(1)) + 1))


def objective(questions: Sequence[str], *, chinese: bool) -> str:
    """Return the objective of a brief."""
    if chinese:
        said = " ".join(f"“{question}”" for question in questions)
        return f"在工作区的文件中找到回答下列问题的原文位置：{said}"
    said = " ".join(f'"{question}"' for question in questions)
    return f"Find the places in the files of the workspace that answer: {said}"


def form(*, chinese: bool) -> str:
    """Return the form of a brief's deliverable."""
    if chinese:
        return "每个问题一条结论，附原文引用和行号；没有答案的写明已搜索的词。"
    return (
        "For each question one claim with the lines it was copied from; where there is "
        "no answer, the terms that were searched for."
    )
