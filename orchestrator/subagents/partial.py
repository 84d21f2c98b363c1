"""Findings that the program makes itself where a subagent could not hand in its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.findings import Findings
from orchestrator.security.untrusted import defused

__all__ = [
    "MAX_TEXT_CHARS",
    "UNVALIDATED",
    "partial_from",
    "text_of_input",
    "unvalidated",
]

UNVALIDATED = "unvalidated: taken as it was written, none of it was checked"
"""The note that goes with such findings, wherever they are shown."""

MAX_TEXT_CHARS = 4000
MAX_NOTES_CHARS = 2500
MAX_WORDS_CHARS = 2500
"""Of a text in the model's own words, up to here it is shown whole."""
MAX_FILES_NAMED = 30
MAX_DEPTH = 8


def partial_from(
    *,
    reason: str,
    notes: str = "",
    files: Sequence[str] = (),
    last_text: str = "",
) -> Findings:
    """Return what is known of the work of a subagent that ended early.

    Args:
        reason: why it ended, in words.
        notes: its own notes, as Markdown.
        files: paths it opened, oldest first.
        last_text: its last words outside calls.

    Returns:
        `partial` findings without items, bounded; `failed` if nothing is known.
    """
    told = [text for text in (notes.strip(), last_text.strip()) if text]
    parts = [
        f"Ended early: {_head(' '.join(reason.split()), 500) or 'unknown reason'}."
    ]
    if notes.strip():
        parts.append("Its notes:\n" + _head(notes.strip(), MAX_NOTES_CHARS))
    if last_text.strip():
        parts.append("Its last words:\n" + _tail(last_text.strip(), MAX_WORDS_CHARS))
    if files:
        parts.append("Files it opened: " + _names(files))
    if told:
        parts.append(f"This is {UNVALIDATED}.")
    return Findings(
        status="partial" if told else "failed",
        summary=defused("\n".join(parts), beside_ours=True),
        open_questions=("Nothing of the brief was answered with evidence.",),
    )


def unvalidated(text: str, *, reason: str) -> Findings:
    """Return findings that hold what a model wrote in place of valid ones.

    Args:
        text: its words, or what `text_of_input` makes of a broken hand-in.
        reason: why they are not valid.

    Returns:
        `partial` findings without items, bounded; `failed` if there are no words.
    """
    words = text.strip()
    why = _head(" ".join(reason.split()), 500)
    summary = f"Not valid findings ({why}); {UNVALIDATED}."
    if not words:
        return Findings(status="failed", summary=summary)
    return Findings(
        status="partial",
        summary=defused(f"{summary}\n{_head(words, MAX_TEXT_CHARS)}", beside_ours=True),
    )


def text_of_input(value: object) -> str:
    """Return the words in a hand-in of any shape, a line each, bounded."""
    lines: list[str] = []
    _collect(value, "", lines, MAX_DEPTH)
    return _head("\n".join(lines), MAX_TEXT_CHARS)


def _collect(value: object, name: str, lines: list[str], depth: int) -> None:
    if len(lines) > MAX_TEXT_CHARS or depth == 0:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _collect(inner, str(key), lines, depth - 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _collect(inner, name, lines, depth - 1)
    elif isinstance(value, str):
        if value.strip():
            lines.append(f"{name}: {value.strip()}" if name else value.strip())
    elif value is not None:
        lines.append(f"{name}: {value}" if name else str(value))


def _names(files: Sequence[str]) -> str:
    unique = list(dict.fromkeys(files))
    shown = ", ".join(_head(name, 200) for name in unique[:MAX_FILES_NAMED])
    more = len(unique) - MAX_FILES_NAMED
    return _head(shown, 1500) + (f" and {more} more" if more > 0 else "")


def _head(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _tail(text: str, limit: int) -> str:
    return text if len(text) <= limit else "…" + text[-(limit - 1) :].lstrip()
