"""Asked to summarise, the offline model extracts: what was done, and telling lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.reading import (
    Conversation,
    asked_in,
    questions_of,
    sections,
)
from orchestrator.models.offline.words import Bag

__all__ = ["is_asked_for", "summarise"]

SECTIONS = (
    "Work done",
    "Decisions",
    "Failed attempts",
    "Facts and figures",
    "Open items and next step",
    "Pointers",
)
MAX_LINES = 12
CHARS_PER_TOKEN = 2
_ASKED = re.compile(
    r"\bsummar(?:y|ise|ize)\b.*\b(?:sections?|headings?)\b|\bcompact(?:ed|ion)\b.*\bsummar|"
    r"(?:总结|摘要).*(?:小节|标题|部分)",
    re.IGNORECASE | re.DOTALL,
)
_NAMED = re.compile(
    r"^(?:#{1,4}\s+|[-*]\s+\*\*|[-*]\s+`|\d+\.\s+\**)([A-Z\u4e00-\u9fff][^*`:：\n]{2,60})",
    re.MULTILINE,
)
_REFERENCE = re.compile(r"\bart_[0-9a-f]{12}\b")
_TELLING = re.compile(r"\d|error|must|never|not |错误|必须|不得", re.IGNORECASE)


def is_asked_for(conversation: Conversation) -> bool:
    """Return whether the last message wants a summary of the conversation."""
    return conversation.turns > 0 and bool(_ASKED.search(conversation.just_said))


def summarise(conversation: Conversation, max_tokens: int) -> str:
    """Return a summary with the sections that were asked for, extracted.

    Args:
        conversation: what to summarise.
        max_tokens: most that may be answered; the text stays well below.
    """
    named = [name.strip() for name in _NAMED.findall(conversation.just_said)]
    names = named if len(named) > 1 else list(SECTIONS)
    parts = [f"## {name}\n\n" + "\n".join(_lines(conversation, name)) for name in names]
    text = "Extracted without a language model.\n\n" + "\n\n".join(parts)
    return text[: max(max_tokens * CHARS_PER_TOKEN, 400)]


def _lines(conversation: Conversation, name: str) -> list[str]:
    low = name.lower()
    if "fail" in low or "失败" in low:
        rows = list(_failures(conversation))
    elif "fact" in low or "figure" in low or "事实" in low:
        rows = list(_facts(conversation))
    elif "open" in low or "next" in low or "待" in low:
        rows = [f"- {shortened(text, 200)}" for text in _wanted(conversation)]
    elif "pointer" in low or "reference" in low or "引用" in low:
        rows = list(_pointers(conversation))
    elif "work" in low or "done" in low or "完成" in low:
        rows = list(_work(conversation))
    else:
        rows = []
    merged = dict.fromkeys([*_earlier(conversation, low), *rows[:MAX_LINES]])
    return list(merged) or ["- none"]


def _earlier(conversation: Conversation, name: str) -> list[str]:
    """Return the newest lines of that section of the summary before, if any."""
    lines = sections(conversation.so_far).get(name, "").splitlines()
    return [line for line in lines if line.startswith("- ") and line != "- none"][-8:]


def _wanted(conversation: Conversation) -> list[str]:
    asked = [o.question for o in conversation.openings if o.question]
    if asked:
        return asked_in(asked[-1])
    parts = sections(conversation.first)
    objective = parts.get("objective") or conversation.first[:2000]
    return questions_of(parts.get("questions", ""), objective)


def _work(conversation: Conversation) -> Iterator[str]:
    for call in conversation.calls:
        what = call.input.get("path") or call.input.get("pattern") or ""
        yield f"- {call.name} {shortened(str(what), 100)}".rstrip()


def _failures(conversation: Conversation) -> Iterator[str]:
    for call in conversation.calls:
        if call.is_error:
            yield f"- {call.name}: {shortened(call.result, 160)}"


def _pointers(conversation: Conversation) -> Iterator[str]:
    seen: dict[str, None] = {}
    for call in conversation.calls:
        if call.name == "read_file" and not call.is_error:
            seen[f"- {call.input.get('path')}"] = None
        for ref in _REFERENCE.findall(call.result):
            seen[f"- {ref}"] = None
    return iter(seen)


def _facts(conversation: Conversation) -> Iterator[str]:
    """Yield the lines of results that hold most of what was asked for."""
    wanted = [c for text in _wanted(conversation)[:8] for c in Question.of(text).strong]
    scored: dict[str, float] = {}
    texts = [call.result for call in conversation.calls] or [conversation.first]
    for text in [*texts, *conversation.said]:
        for line in text.splitlines()[:2000]:
            bare = line.strip()
            if 12 <= len(bare) <= 400 and bare not in scored:
                bag = Bag.of(bare)
                scored[bare] = sum(
                    c.weight * c.match(bag) for c in wanted
                ) + 0.3 * bool(_TELLING.search(bare))
    best = sorted(scored.items(), key=lambda pair: -pair[1])[:MAX_LINES]
    for line, score in best:
        if score > 0.5 or not wanted:
            yield f"- {shortened(line, 200)}"
