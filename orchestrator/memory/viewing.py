"""What a model is shown of memory's files: listings, numbered lines, snippets."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from orchestrator.errors import ToolError
from orchestrator.memory.folder import is_text
from orchestrator.memory.paths import ROOT
from orchestrator.security import beneath

__all__ = ["MAX_CHARS", "MAX_LINES", "listing_text", "numbered", "snippet"]

MAX_CHARS: Final = 16_000
"""Of what is shown at once; the API's own tool has the same bound."""
MAX_LINES: Final = 999_999
MAX_SNIPPET_LINES: Final = 30
_AROUND: Final = 2
_LEVELS: Final = 2
_WIDTH: Final = 6


def listing_text(root: Path, path: str, relative: str) -> str | None:
    """Return what lies in a folder, two levels deep; None: there is no such folder.

    Args:
        root: of the scope.
        path: as the model named it.
        relative: the same, in the scope.
    """
    found = beneath.stat_of(root, relative) if relative else _root_stat(root)
    if found is None or not stat.S_ISDIR(found.st_mode):
        if relative:
            return None
        size = 0
    else:
        size = found.st_size
    name = f"{ROOT}/{relative}".rstrip("/")
    head = (
        f"Here're the files and directories up to 2 levels deep in {path}, excluding "
        "hidden items and node_modules:"
    )
    lines = [head, f"{_size(size)}\t{name}"]
    if found is not None:
        _list(root, relative, 1, lines)
    text, shown = "\n".join(lines), len(lines)
    while len(text) > MAX_CHARS:
        shown = shown * MAX_CHARS // len(text) - 1
        text = "\n".join(lines[:shown])
    left = len(lines) - shown
    return f"{text}\n[and {left} more; view a folder of it]" if left else text


def numbered(path: str, text: str, view_range: object, *, is_cut: bool) -> str:
    """Return the lines of a file with their numbers, as far as they fit.

    Args:
        path: as the model named it.
        text: of the file.
        view_range: first and last line, -1: the last there is; None: all.
        is_cut: the text is only the beginning of a large file.

    Raises:
        ToolError: there are no such lines.
    """
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "" and len(lines) > 1:
        lines.pop()
    first, last = _range(view_range, len(lines))
    parts = [f"Here's the content of {path} with line numbers:"]
    left = MAX_CHARS - len(parts[0])
    for number in range(first, last + 1):
        line = f"{number:>{_WIDTH}}\t{lines[number - 1]}"
        left -= len(line) + 1
        if left < 0:
            if number == first:
                parts.append(line[:MAX_CHARS])
                number += 1  # noqa: PLW2901 - its rest cannot be shown
            parts.append(
                f"[cut at {MAX_CHARS:,} characters, before line {number} of "
                f"{len(lines)}; view the rest with `view_range`]"
            )
            break
        parts.append(line)
    if is_cut:
        parts.append("[the file is too large: only its beginning is read]")
    return "\n".join(parts)


def snippet(before: str, after: str) -> str:
    """Return the lines that changed, with their numbers and two lines around."""
    old, new = before.split("\n"), after.split("\n")
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    same = 0
    most = min(len(old), len(new)) - first
    while same < most and old[-1 - same] == new[-1 - same]:
        same += 1
    start = max(first - _AROUND, 0)
    end = min(len(new) - same + _AROUND, len(new))
    if new[-1] == "":
        end = min(end, len(new) - 1)
    shown = new[start : min(end, start + MAX_SNIPPET_LINES)]
    return "\n".join(
        f"{number:>{_WIDTH}}\t{line.removesuffix(chr(13))}"
        for number, line in enumerate(shown, start + 1)
    )


def _range(view_range: object, count: int) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if isinstance(view_range, list | tuple) and len(view_range) == 2:
        first, last = view_range
        if isinstance(first, int) and isinstance(last, int):
            last = count if last == -1 else min(last, count)
            if 1 <= first <= last:
                return first, last
    raise ToolError(
        f"Invalid `view_range` parameter: {view_range}. It should be [start, end] with "
        f"1 <= start <= end <= {count}; an end of -1 is the last line"
    )


def _root_stat(root: Path) -> os.stat_result | None:
    try:
        return os.lstat(root)
    except OSError:
        return None


def _list(root: Path, relative: str, level: int, lines: list[str]) -> None:
    """Add a line for each file and folder that may be shown."""
    found: list[tuple[str, bool, int]] = []
    try:
        with beneath.entries(root, relative) as entries:
            for each in entries:
                is_folder = each.is_dir(follow_symlinks=False)
                is_file = each.is_file(follow_symlinks=False)
                is_shown = is_folder or (is_file and each.name.endswith(".md"))
                if each.name.startswith(".") or not (is_shown and is_text(each.name)):
                    continue
                if each.name != "node_modules":
                    size = each.stat(follow_symlinks=False).st_size
                    found.append((each.name, is_folder, size))
    except OSError:
        return
    for name, is_folder, size in sorted(found):
        below = f"{relative}/{name}" if relative else name
        lines.append(f"{_size(size)}\t{ROOT}/{below}{'/' if is_folder else ''}")
        if is_folder and level < _LEVELS:
            _list(root, below, level + 1, lines)


def _size(count: int) -> str:
    """Return a size as the API's own tool writes it: `0B`, `512B`, `4K`, `1.5K`."""
    size, unit = float(count), "B"
    for larger in ("K", "M", "G"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"
