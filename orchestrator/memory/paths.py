"""Paths under `/memories` as a model names them, and the files they mean."""

from __future__ import annotations

import re
from typing import Final

from orchestrator.errors import ToolError
from orchestrator.memory.folder import INDEX_PAGE, MAX_DEPTH
from orchestrator.memory.rules import why_no_path

__all__ = ["ROOT", "file_path", "folder_path", "refuse_index", "within"]

ROOT: Final = "/memories"
_ENCODED: Final = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
_CONTROLS: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SHOWN: Final = 200


def within(path: str) -> str:
    """Return a path relative to the scope's folder; "": the folder itself.

    Raises:
        ToolError: it leads elsewhere, or to what is hidden.
    """
    shown = path[:_SHOWN]
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"paths begin with `{ROOT}/`, got: {shown}")
    if "\\" in path or _ENCODED.search(path) or _CONTROLS.search(path):
        raise ToolError(f"`{shown!r}` has signs that no path of memory has")
    names = [name for name in path[len(ROOT) :].split("/") if name]
    if any(name in (".", "..") for name in names):
        raise ToolError(f"`{shown}` would lead out of `{ROOT}`")
    if any(name.startswith(".") for name in names):
        raise ToolError(f"`{shown}` is hidden, and the program's own")
    return "/".join(names)


def file_path(path: str) -> str:
    """Return the topic file that a path means, which need not be there.

    Raises:
        ToolError: no topic file can have that path.
    """
    relative = within(path)
    if why := why_no_path(relative):
        raise ToolError(f"nothing was written: {path[:_SHOWN]}: {why}")
    return relative


def folder_path(path: str) -> str:
    """Return the folder that a path means, which need not be there.

    Raises:
        ToolError: no folder of topic files can have that path.
    """
    relative = within(path)
    if not relative or relative.count("/") >= MAX_DEPTH or relative.endswith(".md"):
        raise ToolError(f"nothing was written: {path[:_SHOWN]} is no path of a folder")
    return relative


def refuse_index(relative: str) -> None:
    """Refuse to change the index page.

    Raises:
        ToolError: it is meant.
    """
    if relative.lower() == INDEX_PAGE.lower():
        raise ToolError(
            f"nothing was written: `{ROOT}/{INDEX_PAGE}` is written by the program "
            "from the topic files; change those"
        )
