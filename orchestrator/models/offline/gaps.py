"""What the tools could not look at: files that were not searched, or are damaged."""

from __future__ import annotations

import re
from collections.abc import Iterable

from orchestrator.models.offline.phrases import shortened
from orchestrator.models.offline.reading import Conversation

__all__ = ["TRIED", "briefly", "gaps_in", "merged", "said_as_gap"]

TRIED = "Searching every file"
"""What a subagent names as tried without success; `answers` reads it."""
MAX_CHARS = 480

_NOTE = re.compile(r"^\[(\d[\d,]* .*)\]$")
_PART = re.compile(r"\. (?=\d[\d,]* )")
_GAP = re.compile(r"not searched|could not be read|damaged|for ASCII only")
_DAMAGED = re.compile(r"^(?P<path>[^\n]+?): [^\n]*\bwhich is damaged\b")
_COUNT = re.compile(r"^\d[\d,]*")


def gaps_in(conversation: Conversation) -> list[str]:
    """Return what the tools said was left out, each thing once."""
    return merged(
        shortened(text, MAX_CHARS)
        for call in conversation.calls
        if call.answered and not call.is_error
        for text in _said(call.name, call.result)
    )


def _said(tool: str, result: str) -> list[str]:
    if tool == "read_file":
        damaged = _DAMAGED.match(result)
        return [f"`{damaged['path']}` is damaged and may lack parts"] if damaged else []
    note = _NOTE.match(result[result.rfind("\n") + 1 :])
    parts = _PART.split(note[1]) if note and tool in ("grep", "glob") else []
    return [part for part in parts if _GAP.search(part.partition(":")[0])]


def merged(said: Iterable[str]) -> list[str]:
    """Return gaps without repetition; of one kind, the one of most files."""
    found: dict[str, str] = {}
    for text in said:
        kind = _COUNT.sub("", briefly(text)) if _COUNT.match(text) else text
        if kind not in found or _count(text) > _count(found[kind]):
            found[kind] = text
    return list(found.values())


def _count(text: str) -> int:
    number = _COUNT.match(text)
    return int(number[0].replace(",", "")) if number else 0


def briefly(gap: str) -> str:
    """Return a gap without reasons and names."""
    return gap.partition(":")[0] if _COUNT.match(gap) else gap


def said_as_gap(gap: str) -> str:
    """Return a gap as it stands after “Not searched:”."""
    return gap.replace(" were not searched", "", 1)
