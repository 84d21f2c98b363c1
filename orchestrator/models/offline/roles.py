"""What kind of subagent is asked for, as far as the system prompt tells."""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["Role", "asks_for_summary", "role_of"]

Role = Literal["explorer", "reviewer", "summarizer"]

_SUMMARY = re.compile(
    r"\bsummar(?:y|ies|i[sz]e\w*|i[sz]ing)\b|\bcondense\b|总结|摘要|概括", re.IGNORECASE
)
_REVIEW = re.compile(
    r"\b(?:check|review|verify|proofread)\b.*\b(?:draft|report)\b|(?:检查|核对|审阅).*(?:草稿|报告)",
    re.IGNORECASE,
)


def role_of(system: str) -> Role:
    """Return the role that the first words of a system prompt give."""
    opening = system.strip().partition("\n")[0][:400]
    if _REVIEW.search(opening):
        return "reviewer"
    return "summarizer" if _SUMMARY.search(opening) else "explorer"


def asks_for_summary(question: str) -> bool:
    """Return whether `question` wants a document condensed."""
    return bool(_SUMMARY.search(question))
