"""The few sentences the offline model says itself, in English and in Chinese."""

from __future__ import annotations

import re
from collections.abc import Sequence

from orchestrator.models.offline import lexicon
from orchestrator.models.offline.ranking import Hit
from orchestrator.models.offline.words import is_han

__all__ = [
    "UNSEARCHED",
    "UNTRIED",
    "answered",
    "claim",
    "counted",
    "dropped",
    "form",
    "mark",
    "objective",
    "shortened",
    "speaks_of",
    "title",
    "tried",
    "unanswered",
    "without_frame",
    "without_words",
]

MAX_CLAIM_CHARS = 600
TITLE_CHARS = 70
UNSEARCHED = "could not be searched"
UNTRIED = "not tried"
_FRAME = re.compile(r"(?:Which lines speak of|哪些行提到)[:：]\s*(.+?)[?？]")
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


def counted(found: int, asked: int) -> str:
    """Return the summary where there are too many questions to name them."""
    return f"{found} of {asked} questions and parts of questions have a place."


def tried(question: str, terms: str) -> str:
    """Return what was tried for a question; `answers` reads it."""
    return f"“{shortened(question, 240)}” – searched for ‘{shortened(terms, 200)}’"


def dropped(count: int) -> str:
    """Return a line that says how many claims were taken back."""
    return f"{count} extracted places were taken back: their quotes were not found."


# ---- briefs -------------------------------------------------------------------------


def title(questions: Sequence[str]) -> str:
    """Return the title of a brief: the first question's words, the telling ones first.

    What only makes a question of it (`How many`, `What is the`) is left out.
    """
    asked = without_frame(questions[0]).replace("`", "")
    bare = " ".join(asked.split()).strip(' ?？。.!！"“”')
    words = bare.split(" ")
    while len(words) > 1 and _says_little(words[0]):
        words = words[1:]
    bare = re.sub(r"^(?:请问|请|什么是)", "", " ".join(words))
    more = f" + {len(questions) - 1}" if len(questions) > 1 else ""
    return shortened(bare or questions[0], TITLE_CHARS) + more


def _says_little(word: str) -> bool:
    return word.strip(",;:'’").lower() in lexicon.STOP_WORDS


def mark(brief_title: str) -> str:
    """Return a title for comparison; on its way back it may be altered in its marks."""
    return "".join(re.findall(r"\w+", brief_title)).casefold()[:80]


def without_words(question: str, quoted: Sequence[str]) -> str:
    """Return a question without words that a brief must not hold."""
    for words in quoted:
        question = re.sub(rf"[,，]?\s*{re.escape(words)}[,，里中]?", " ", question)
    return " ".join(question.split())


def speaks_of(terms: Sequence[str], *, chinese: bool) -> str:
    """Return a question after the lines that hold some terms."""
    if chinese:
        return f"哪些行提到：{'、'.join(terms)}？"
    return f"Which lines speak of: {', '.join(terms)}?"


def without_frame(question: str) -> str:
    """Return the terms of a question that `speaks_of` made, else the question."""
    match = _FRAME.fullmatch(question.strip())
    return match.group(1) if match else question


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
