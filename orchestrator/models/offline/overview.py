"""What a folder holds, where a question names nothing that could be searched for.

`Describe what this folder holds`, `where does one start reading`: a sentence from the
file that tells most about each part of it, word for word.
"""

from __future__ import annotations

import re
from typing import Any

from orchestrator.models.offline.passages import PROSE, Page, units
from orchestrator.models.offline.ranking import Hit, Question
from orchestrator.models.offline.reading import Conversation
from orchestrator.models.offline.words import stem

__all__ = ["ALL_FILES", "is_overview", "overview_hits", "overview_reads"]

ALL_FILES = {"pattern": "**/*"}
MAX_PAGES = 8
HEAD_LINES = 60
MIN_CHARS = 8
_ABOUT_ALL = frozenset(
    stem(word)
    for word in re.findall(
        r"\w+",
        """
    main part parts piece folder folders directory hold holds held contain contains
    fit fits together start starts begin read reading overview structure project
    projects repository repo workspace file files document documents describe
    description collect fact facts note notes content contents layout look find
    explain summarise summarize summary organise organised organize organized
    everything material information work works tomorrow someone use used code base
    codebase important key gather list topic topics purpose page pages text texts
    briefly short shortly line lines speak review going
    """,
    )
)
_ABOUT_ALL_HAN = re.compile(
    r"文件夹?|项目|目录|内容|结构|部分|概述|概况|介绍|资料|工作区|笔记|收集|描述|总结|阅读|开始|"
    r"主要|哪里|里面|这|个|份|有|入手|事实|读|整个|整理|说明|各|组成"
)
_STARTS = re.compile(r"\b(?:start|begin|first)\b|入手|开始|先读", re.IGNORECASE)
_FIRST = re.compile(
    r"(?:^|/)(?:readme|index|about|overview|说明|简介)\b", re.IGNORECASE
)
_TEXT = (*PROSE, ".py", ".js", ".ts", ".go", ".rs", ".java", ".c", ".h", ".rb", ".sh")


def is_overview(question: Question) -> bool:
    """Return whether a question names nothing but the whole of what is there."""
    if any(concept.kind in ("exact", "number") for concept in question.concepts):
        return False
    said = [concept for concept in question.concepts if not concept.is_weak]
    if question.wants or question.asks_why:
        return False
    return bool(question.concepts) and all(
        not _ABOUT_ALL_HAN.sub("", concept.label)
        if concept.kind == "han"
        else all(stem(word) in _ABOUT_ALL for word in concept.label.split())
        for concept in said
    )


def overview_reads(conversation: Conversation) -> list[dict[str, Any]]:
    """Return the reads that an overview needs, in order."""
    return [
        {"path": path, "max_lines": HEAD_LINES}
        for path in _chosen(_files(conversation))
    ]


def overview_hits(
    conversation: Conversation, question: Question, pages: list[Page]
) -> list[Hit]:
    """Return a sentence a file; only the first where it is asked where to start."""
    by_path = {page.path: page for page in pages}
    found = [
        hit
        for path in _chosen(_files(conversation))
        if path in by_path and (hit := _opening(by_path[path]))
    ]
    return found[:1] if _STARTS.search(question.text) else found


def _files(conversation: Conversation) -> list[str]:
    call = conversation.has_made("glob", ALL_FILES)
    if call is None or call.is_error:
        return []
    rows = (re.sub(r" \([\d,]+ bytes\)$", "", row) for row in call.result.split("\n"))
    return [
        row
        for row in rows
        if row.lower().endswith(_TEXT) and not re.search(r"(?:^|/)\.|^\[", row)
    ]


def _chosen(files: list[str]) -> list[str]:
    """Return what tells most: files named so, then one of each folder."""

    def rank(path: str) -> tuple[bool, int, bool, str]:
        is_text = path.lower().endswith(PROSE)
        return (not _FIRST.search(path), path.count("/"), not is_text, path)

    ranked = sorted(files, key=rank)
    first: dict[str, str] = {}
    for path in ranked:
        if "/" in path:
            first.setdefault(path.split("/")[0], path)
    top = [path for path in ranked if "/" not in path]
    chosen = [*top[:3], *first.values(), *top[3:], *ranked]
    return list(dict.fromkeys(chosen))[:MAX_PAGES]


def _opening(page: Page) -> Hit | None:
    """Return the first sentence of a page that says something."""
    for unit in units(page):
        text = page.quote(unit.first, unit.last).strip()
        if not unit.asks and len(text) >= MIN_CHARS and re.search(r"\w{3}", unit.text):
            return Hit(page, unit, 0.5, 0.5, unit.first, unit.last)
    return None
