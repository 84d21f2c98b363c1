"""Tell which files have changed since the evidence in them was read.

The findings stay as they were handed in: what is stale is said beside them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from orchestrator.agent.outside import Staleness
from orchestrator.errors import ToolError
from orchestrator.evidence import parse_source
from orchestrator.findings import Findings
from orchestrator.ids import REFERENCE
from orchestrator.messages import clean_text, one_line
from orchestrator.security.urls import is_url
from orchestrator.security.workspace import Workspace
from orchestrator.tools.extraction import MAX_DOCUMENT_BYTES
from orchestrator.tools.versions import MAX_KEPT_BYTES

__all__ = ["stale", "stale_note"]

MAX_PATHS = 10
MAX_ITEMS = 8
MAX_PATH_CHARS = 120
_MOST_BYTES = max(MAX_KEPT_BYTES, MAX_DOCUMENT_BYTES)
"""Evidence is never from a bigger file: one that is bigger now has changed."""
_CHUNK_BYTES = 1 << 20
_WORDS: dict[Staleness, str] = {
    "changed": "changed since it was read",
    "gone": "gone since it was read",
}


def stale(workspace: Workspace, sources: Mapping[str, str]) -> dict[str, Staleness]:
    """Return which files are not what they were, and how.

    It reads them; call it in a thread. A file that cannot be read any more, or that is
    out of scope by now, is gone. Stored results and addresses are no files.

    Args:
        workspace: what the agent sees that is told.
        sources: path → SHA-256 of the bytes as they were read.
    """
    found: dict[str, Staleness] = {}
    for path, sha256 in sources.items():
        if not sha256 or _is_no_file(path):
            continue
        now = _state(workspace, path)
        if now != sha256:
            found[path] = "changed" if now else "gone"
    return found


def _is_no_file(path: str) -> bool:
    return is_url(path) or REFERENCE.fullmatch(path) is not None


def _state(workspace: Workspace, path: str) -> str:
    """Return the SHA-256 of a file's bytes, "too big", or "" if it cannot be read."""
    hashed = hashlib.sha256()
    size = 0
    try:
        with workspace.resolve_file(path).open("rb") as file:
            while chunk := file.read(_CHUNK_BYTES):
                size += len(chunk)
                if size > _MOST_BYTES:
                    return "too big"
                hashed.update(chunk)
    except (OSError, ToolError):
        return ""
    return hashed.hexdigest()


def stale_note(
    findings: Findings,
    stale_files: Mapping[str, str],
    *,
    agent: str,
    first_item: int = 1,
) -> str:
    """Return what to say beside findings whose files have changed, in one line.

    Args:
        findings: as delivered.
        stale_files: as `stale` returns it.
        agent: whose they are.
        first_item: number of their first item.

    Returns:
        Such as "changed since it was read: `src/a.py` (a2#1, a2#3); gone since it was
        read: `b.md` (a2#2)"; "" where nothing is stale.
    """
    items = _items_by_path(findings, first_item)
    parts: list[str] = []
    for kind, words in _WORDS.items():
        paths = [path for path, how in stale_files.items() if how == kind]
        if not paths:
            continue
        # Those that items rest on come first.
        paths.sort(key=lambda path: path not in items)
        shown = [_named(path, items.get(path, ()), agent) for path in paths[:MAX_PATHS]]
        more = len(paths) - MAX_PATHS
        last = f" and {more} more files" if more > 0 else ""
        parts.append(f"{words}: {', '.join(shown)}{last}")
    return "; ".join(parts)


def _items_by_path(findings: Findings, first_item: int) -> dict[str, list[int]]:
    """Return path → numbers of the items with evidence there."""
    items: dict[str, list[int]] = {}
    for number, item in enumerate(findings.items, first_item):
        paths = {parse_source(each.source).target for each in item.evidence}
        for path in paths:
            items.setdefault(path, []).append(number)
    return items


def _named(path: str, items: Iterable[int], agent: str) -> str:
    name = clean_text(one_line(path)).replace("`", "'")
    if len(name) > MAX_PATH_CHARS:
        name = f"…{name[1 - MAX_PATH_CHARS :]}"
    cited = [f"{agent}#{number}" for number in items]
    if not cited:
        return f"`{name}`"
    more = len(cited) - MAX_ITEMS
    last = f" and {more} more" if more > 0 else ""
    return f"`{name}` ({', '.join(cited[:MAX_ITEMS])}{last})"
