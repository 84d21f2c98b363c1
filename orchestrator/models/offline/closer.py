"""Searches made once more by themselves, where results side by side were cut short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from orchestrator.models.offline.patterns import (
    definition_pattern,
    pair_pattern,
    pattern,
)
from orchestrator.models.offline.ranking import Question
from orchestrator.models.offline.reading import Conversation
from orchestrator.models.offline.searching import Seen, for_pairs, line_rows
from orchestrator.models.offline.words import Concept

__all__ = ["closer", "rarest", "take_closer"]

CLOSE_LINES = 40
RARE_FILES = 15
"""A term of so few files is looked up line by line."""
_MORE = re.compile(r"^\[first \d+ matches; there are more", re.MULTILINE)


def closer(question: Question) -> Mapping[str, Any]:
    """Return the search for telling lines once more, to be made by itself.

    For where what searches found side by side was too long to be shown.
    """
    strong = list(question.strong)
    lines = pair_pattern(for_pairs(question))
    if question.asks_where:
        lines = definition_pattern(strong)
    return {"pattern": f"(?i){lines}", "output": "lines", "max_matches": CLOSE_LINES}


def rarest(
    conversation: Conversation, question: Question, seen: Seen
) -> Mapping[str, Any] | None:
    """Return the search for the lines of the rarest term; None where that is no help.

    It is one where even the closer search was cut, and the term is in few files.
    """
    call = conversation.has_made("grep", closer(question))
    is_cut = call and (call.is_cut or _MORE.search(call.result))
    made = any(conversation.has_made("grep", _lines_with(c)) for c in question.strong)
    counts = [
        (seen.found_in[concept.label], at)
        for at, concept in enumerate(question.strong)
        if not concept.is_weak and seen.found_in.get(concept.label)
    ]
    if not is_cut or made or not counts or min(counts)[0] > RARE_FILES:
        return None
    return _lines_with(list(question.strong)[min(counts)[1]])


def _lines_with(concept: Concept) -> Mapping[str, Any]:
    expression = f"(?i){pattern(concept)}"
    return {"pattern": expression, "output": "lines", "max_matches": CLOSE_LINES}


def take_closer(conversation: Conversation, question: Question, seen: Seen) -> None:
    """Add what the closer searches of a question found, if there were any."""
    for given in (closer(question), *map(_lines_with, question.strong)):
        call = conversation.has_made("grep", given)
        if call is None or not call.answered or call.is_error:
            continue
        seen.is_tight = seen.searched = True
        seen.is_whole &= not call.is_cleared
        for path, line, text in line_rows(call.result):
            rows = seen.lines.setdefault(path, [])
            if (line, text) not in rows:
                rows.append((line, text))
