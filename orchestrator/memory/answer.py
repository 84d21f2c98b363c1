"""What a model answers when it is asked what to remember, as changes to memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from orchestrator.memory.entries import Entry, parse_topic
from orchestrator.memory.fences import outside_fences
from orchestrator.memory.keeping import Drop, Put

__all__ = ["MAX_ENTRIES", "changes_in", "topic_path"]

MAX_ENTRIES: Final = 12
"""Of one answer; what comes behind is not taken."""
DEFAULT_TOPIC: Final = "notes.md"
_FENCE: Final = re.compile(
    r"\A(?:(?!#{1,2} |```)[^\n]*\n)*```[\w-]*[ \t]*\n(?=\s*#{1,2} )(?P<text>.*)\n```",
    re.DOTALL,
)
"""Around a whole answer, with words before and behind it perhaps."""
_TOPIC: Final = re.compile(r"# +(.*\S)[ \t]*")
_DROPPED: Final = re.compile(r"drop(?: it| this)?[.!]?", re.IGNORECASE)
_NOTHING: Final = re.compile(r"\W*(?:nothing|none|无|没有)\b", re.IGNORECASE)
_NO_NAME: Final = re.compile(r"[^\w/-]+")


def changes_in(answer: str) -> list[Put | Drop] | None:
    """Return what an answer asks to change; None: it is no such answer.

    Args:
        answer: entries in the form of topic files, under `# file: description`; or
            "nothing".
    """
    answer = answer.replace("\r\n", "\n")
    if (fenced := _FENCE.match(answer)) is not None:
        answer = fenced["text"]
    changes = [
        _change(entry, path, description)
        for path, description, text in _topics(answer)
        for entry in parse_topic(text, path).entries
        if entry.value.strip()
    ]
    if not changes and not _NOTHING.match(answer):
        return None
    return changes[:MAX_ENTRIES]


def topic_path(name: str) -> str:
    """Return the topic file that a model means by `name`: relative, ending in `.md`."""
    plain = name.strip().strip("`").removeprefix("/").removeprefix("memories/")
    parts = [
        _NO_NAME.sub("-", part.removesuffix(".md")).strip("-_").lower()
        for part in plain.split("/")[-2:]
    ]
    path = "/".join(filter(None, parts))[:100].strip("/-")
    return f"{path}.md" if path else DEFAULT_TOPIC


def _topics(answer: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, description and text of each topic in an answer."""
    lines = answer.split("\n")
    heads = [
        (number, head[1])
        for number, line in outside_fences(lines)
        if (head := _TOPIC.fullmatch(line)) is not None
    ]
    ends = [*(number for number, _ in heads), len(lines)]
    before = "\n".join(lines[: ends[0]])
    if before.strip():
        yield DEFAULT_TOPIC, "", before
    for (start, told), end in zip(heads, ends[1:], strict=True):
        name, _, description = told.partition(":")
        yield topic_path(name), description.strip(), "\n".join(lines[start:end])


def _change(entry: Entry, path: str, description: str) -> Put | Drop:
    if _DROPPED.fullmatch(entry.value.strip()):
        return Drop(entry.key)
    return Put(
        path,
        entry.key,
        entry.value,
        evidence=entry.evidence,
        confidence=entry.confidence,
        description=description,
    )
