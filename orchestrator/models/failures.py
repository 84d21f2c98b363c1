"""What an endpoint says of a failure, in whatever form it says it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.models.classify import Failure, bounded

__all__ = ["failure"]

MAX_PAGE_CHARS = 4096
"""What is looked at of a page; its title comes early."""
_TITLE: Final = re.compile(r"<(title|h1)\b[^>]*>([^<]+)", re.IGNORECASE)
_TAG: Final = re.compile(r"<[^>]*>")
# Where servers with another form of error put their words.
_WORDS: Final = ("message", "detail", "msg", "error_description", "title", "error")


def failure(
    status: int, said: object, *, retry_after_s: float | None = None
) -> Failure:
    """Return what a body or an event tells, in the API's own form or another.

    Args:
        status: HTTP status; 200 for what came inside an answer.
        said: a JSON value, or a text that is none.
        retry_after_s: seconds the service asked to wait, or None.
    """
    whole = said if isinstance(said, dict) else {}
    error = whole.get("error")
    facts = error if isinstance(error, dict) else {}
    details = facts.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    kind = facts.get("type")
    return Failure(
        status,
        type=kind if isinstance(kind, str) else "",
        code=code if isinstance(code, str) else "",
        message=_words(facts) or _words(whole) or _of_other(said),
        retry_after_s=retry_after_s,
    )


def _words(facts: Mapping[str, Any]) -> str:
    """Return the words of an error object, or ""."""
    for name in _WORDS:
        words = facts.get(name)
        if isinstance(words, str) and words.strip():
            return words
        if isinstance(words, list) and words:
            return _shown(words[:3])
    return ""


def _of_other(said: object) -> str:
    """Return what can be shown of something that is no error object, or ""."""
    if not isinstance(said, str):
        return _shown(said) if said else ""
    text = said.strip()
    if not text.startswith("<"):
        return text
    page = text[:MAX_PAGE_CHARS]
    title = _TITLE.search(page)
    return f"a web page: {bounded(title[2] if title else _TAG.sub(' ', page))}"


def _shown(said: object) -> str:
    """Return a JSON value as a text, or "" where it is too odd for one."""
    try:
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""
