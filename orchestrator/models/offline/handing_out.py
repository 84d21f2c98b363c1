"""Hand a long document out in ranges of lines, to subagents of the same kind."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.models.offline.answers import parse_results, refusals
from orchestrator.models.offline.reading import Conversation, paths_in, sections
from orchestrator.models.offline.roles import asks_for_summary

__all__ = ["Range", "briefs_for", "covered", "documents_in"]

MAX_DOCUMENTS = 6

LONG_PAGES = 10
"""A document of more pages is handed out."""
PAGES_EACH = 5
MAX_RANGES = 8
MIN_TOKENS = 400
MAX_TOKENS = 2000

_PROFILE = re.compile(r"^- `([^`\n]+)`: (.*)$", re.MULTILINE)
_LINES = re.compile(r"\blines \d+-\d+\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Range:
    """Lines of a document; 0 as the last one means: to its end."""

    first: int = 1
    last: int = 0


def documents_in(first: str, texts: Sequence[str]) -> list[str]:
    """Return the files that a brief names, those of its scope first."""
    scope = sections(first).get("scope", "")
    kept = [line for line in scope.splitlines() if "Leave out" not in line]
    left = [line for line in scope.splitlines() if "Leave out" in line]
    outside = set(paths_in(left))
    found = [
        path
        for path in paths_in([*kept, *texts])
        if not path.endswith("/") and path not in outside
    ]
    files = [p for p in dict.fromkeys(found) if "." in p.rsplit("/", 1)[-1]]
    return [path for path in files if not set(path) & set("*?[{")][:MAX_DOCUMENTS]


def briefs_for(
    first: str,
    *,
    path: str,
    total: int,
    page_lines: int,
    focus: Sequence[str],
    max_tokens: int,
) -> list[dict[str, Any]]:
    """Return a brief for each range; none where the document is not that long.

    Args:
        first: the brief of who hands out; it says which profiles there are.
        path: of the document.
        total: its lines.
        page_lines: lines of its first page.
        focus: what counts as a key point.
        max_tokens: what all of it may take in the end.
    """
    pages = total / max(page_lines, 1)
    kinds = _PROFILE.findall(sections(first).get("subagents", ""))
    own = [name for name, told in kinds if asks_for_summary(f"{name} {told}")]
    if pages <= LONG_PAGES or not own:
        return []
    count = min(math.ceil(pages / PAGES_EACH), MAX_RANGES)
    size = math.ceil(total / count)
    # Twice what is needed, so that the merge has a choice.
    each = min(max(2 * max_tokens // count, MIN_TOKENS), MAX_TOKENS)
    return [
        {
            "title": f"Lines {start}-{min(start + size - 1, total)} of {path}",
            "objective": f"Summarise lines {start}-{min(start + size - 1, total)} of "
            f"`{path}`: their key points with quotes, for a summary of the whole "
            "document.",
            "questions": list(focus),
            "scope": {"include": [path]},
            "deliverable": {
                "form": "One item for each key point, with its lines.",
                "max_tokens": each,
            },
            "agent": own[0],
        }
        for start in range(1, total + 1, size)
    ]


def covered(conversation: Conversation) -> list[str] | None:
    """Return the ranges that were handed out and not summarised; None: none was."""
    calls = [call for call in conversation.named("delegate") if call.answered]
    titles = [
        str(brief.get("title"))
        for call in calls
        for brief in call.input.get("briefs") or []
    ]
    results = [r for call in calls for r in parse_results(call.result)]
    refused = [r for call in calls for r in refusals(call.result)]
    if not results or (refused and len(refused) == len(titles)):
        return None
    done = {_lines(r.title) for r in results if not r.has_failed}
    return [lines for title in titles if (lines := _lines(title)) not in done]


def _lines(title: str) -> str:
    found = _LINES.search(title)
    return found[0].lower() if found else title
