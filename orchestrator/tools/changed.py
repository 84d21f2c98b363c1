"""Tell what a command changed: to the program with texts, to the model in a line."""

from __future__ import annotations

import stat
from collections.abc import Sequence

from orchestrator.events import FileChange
from orchestrator.messages import clean_text
from orchestrator.tools.base import ToolContext
from orchestrator.tools.baseline import MAX_FILE_BYTES, Difference, Version
from orchestrator.tools.decoding import describe_binary
from orchestrator.tools.extraction import plain
from orchestrator.tools.versions import keep

__all__ = ["changes_of", "told"]

MAX_CHANGES = 500
MAX_WITH_TEXT = 50
"""Each text is synced to disk."""
_NAMED = 20


def changes_of(
    differences: Sequence[Difference], context: ToolContext
) -> tuple[FileChange, ...]:
    """Return the changes as they are kept, at most 500, with texts for the first 50.

    Args:
        differences: of files that the caller may see.
        context: of the call.

    Raises:
        StoreError: a text cannot be stored.
    """
    return tuple(
        _change(each, context, has_text=index < MAX_WITH_TEXT)
        for index, each in enumerate(differences[:MAX_CHANGES])
    )


def _change(
    difference: Difference, context: ToolContext, *, has_text: bool
) -> FileChange:
    name = _name(difference.path)
    versions = (difference.before, difference.after)
    before, after = (
        _text(name, version, context) if has_text else "" for version in versions
    )
    note = next((note for each in reversed(versions) if (note := _note(each))), "")
    if not has_text:
        note = note or f"only the first {MAX_WITH_TEXT} files of a command are kept"
    return FileChange(
        path=name,
        before=before,
        after=after,
        before_sha256=difference.before.sha256 if difference.before else "",
        after_sha256=difference.after.sha256 if difference.after else "",
        note=note,
    )


def _text(name: str, version: Version | None, context: ToolContext) -> str:
    """Return the artifact with the text of a version, "" where there is none."""
    if version is None or not version.data:
        return ""
    found = plain(version.data)
    return keep(name, version.data, found.text, context).seen.artifact if found else ""


def _note(version: Version | None) -> str:
    """Return why a version has no text, "" where it has."""
    if version is None:
        return ""
    if stat.S_ISLNK(version.stamp[4]):
        return "a link"
    if version.data is not None:
        is_binary = plain(version.data) is None
        return describe_binary(version.data, version.size) if is_binary else ""
    if version.size > MAX_FILE_BYTES:
        return f"{version.size:,} bytes, too big to be kept"
    return f"not kept, {version.size:,} bytes"


def told(differences: Sequence[Difference]) -> str:
    """Return the changes in one line for the model, "" for none."""
    if not differences:
        return ""
    named = [f"{_name(each.path)}{_what(each)}" for each in differences[:_NAMED]]
    more = len(differences) - len(named)
    return ", ".join([*named, *([f"and {more:,} more"] if more else [])])


def _what(difference: Difference) -> str:
    if difference.before is None:
        return " (new)"
    return " (removed)" if difference.after is None else ""


def _name(path: str) -> str:
    """Return a path as text on one line; names are any bytes."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return clean_text(text.replace("\n", "\ufffd"))
