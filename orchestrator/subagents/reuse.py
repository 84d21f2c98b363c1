"""Tell whether a brief was answered before, on files that have not changed since."""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from orchestrator.brief import Brief, normalised
from orchestrator.brief.paths import MAX_ENTRIES, SKIPPED
from orchestrator.security.workspace import Workspace

__all__ = ["is_same_work", "tree_hash"]

MAX_LOOKED_AT = 4 * MAX_ENTRIES
"""Names that are looked at, those out of scope too."""
_RUN_FILES = {"events.jsonl", "run.json"}
_ENDS = " .?!;:\uff1b\uff1a\u3002\uff1f\uff01"


def is_same_work(one: Brief, other: Brief) -> bool:
    """Tell whether two briefs ask for the same, so that one answer does for both.

    Of the title only the words count; of what is asked, only white space and the mark
    at the end do not. Case and signs do: `Token` is not `token`, nor `<` `>`. Order
    counts neither among questions nor in scope and tools. Limits are no part of it.
    """
    return _work(one) == _work(other)


def _work(brief: Brief) -> tuple[object, ...]:
    deliverable, scope = brief.deliverable, brief.scope
    return (
        normalised(brief.title),
        sorted(map(_folded, brief.questions)),
        _folded(brief.objective),
        _folded(brief.background),
        (_folded(deliverable.form), deliverable.max_tokens),
        (_entries(scope.include), _entries(scope.exclude)),
        None if brief.tools is None else frozenset(brief.tools),
        brief.agent,
    )


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split()).rstrip(_ENDS)


def _entries(scope: Iterable[str]) -> frozenset[str]:
    return frozenset(each.strip().removeprefix("./").rstrip("/") for each in scope)


def tree_hash(workspace: Workspace) -> str:
    """Return the SHA-256 of which files an agent may see, and of their state.

    Of each file that is its path, size, times of change and number on the disk; no file
    is read. What the linter skips (`.git`, `node_modules`, …) and folders of runs are
    left out, unless the scope names them. It looks at many names: call it in a thread.

    Args:
        workspace: narrowed to the scope of a brief.

    Returns:
        64 hex digits; "" where it is not known: more than `MAX_ENTRIES` files and
        folders, or one that cannot be looked at.
    """
    hashed = hashlib.sha256()
    found = 0
    try:
        for line in _lines(workspace):
            found += 1
            if found > MAX_ENTRIES:
                return ""
            hashed.update(line)
    except OSError:
        return ""
    return hashed.hexdigest()


def _lines(workspace: Workspace) -> Iterator[bytes]:
    """Yield what is known of each file and folder in scope, in a fixed order.

    Raises:
        OSError: a folder or file cannot be looked at, or there are too many.
    """
    named = "\n".join([*workspace.include, *chain(*workspace.within)])
    skipped = {name for name in SKIPPED if name not in named}
    looked_at = 0
    folders = [""]
    while folders:
        above = folders.pop()
        with os.scandir(workspace.real_root / above) as entries:
            some = islice(entries, MAX_LOOKED_AT)
            here = sorted(some, key=lambda entry: entry.name)
        if above and above not in named and _is_run(here):
            continue
        looked_at += len(here)
        if looked_at >= MAX_LOOKED_AT:
            raise OSError("too many names")
        for entry in here:
            path = above + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name in skipped:
                continue
            if not workspace.allows(path):
                continue
            if is_folder:
                folders.append(f"{path}/")
                yield os.fsencode(f"{path}/\0")
            else:
                yield _line(path, entry)


def _is_run(entries: Iterable[os.DirEntry[str]]) -> bool:
    return {entry.name for entry in entries} >= _RUN_FILES


def _line(path: str, entry: os.DirEntry[str]) -> bytes:
    # A link counts by itself: what it leads to is seen only where it is in scope too.
    at = entry.stat(follow_symlinks=False)
    state = (
        f"{at.st_mode}\0{at.st_size}\0{at.st_mtime_ns}\0{at.st_ctime_ns}\0{at.st_ino}"
    )
    return os.fsencode(f"{path}\0{state}\0")
