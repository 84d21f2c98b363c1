"""Look through a workspace for what of it may be seen in a sandbox."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import ToolError
from orchestrator.security.workspace import Workspace

__all__ = ["Seen", "look"]

MAX_ENTRIES = 500_000
MAX_HIDDEN = 1_000
MAX_SHOWN = 1_000
_OPEN_TO_ALL = ("/", "/proc", "/sys", "/dev", "/run", "/usr", "/etc", "/bin", "/lib")


@dataclass(slots=True)
class Seen:
    """Absolute paths, parents before what is in them.

    Attributes:
        shown: what is to be seen of a workspace that is narrowed, each with all that
            is below it.
        hidden_folders: below that, and not to be seen.
        hidden_files: likewise; sockets too, since whoever listens there is outside.
    """

    shown: list[str] = field(default_factory=list)
    hidden_folders: list[str] = field(default_factory=list)
    hidden_files: list[str] = field(default_factory=list)


def look(workspace: Workspace, visible: tuple[Path, ...] = ()) -> Seen:
    """Return what of a workspace may be seen, as it is now.

    Links are neither followed nor hidden: what they lead to counts.

    Args:
        workspace: with what it includes and excludes.
        visible: further folders; sockets in them are found.

    Raises:
        ToolError: it is no folder of its own, too big to be looked through, or too
            many single paths of it are hidden or shown.
    """
    root = str(workspace.real_root)
    if root in _OPEN_TO_ALL or not workspace.real_root.is_dir():
        raise ToolError(
            f"commands cannot run in `{root}`: a workspace must be a folder of its own"
        )
    walk = _Walk(workspace)
    if workspace.view(".") == "whole":
        walk.seen.shown.append(root)
        walk.whole(root, "")
    else:
        walk.part(root, "")
    for folder in visible:
        walk.foreign(os.path.realpath(folder))
    return walk.seen


class _Walk:
    """One pass over a tree, without recursion into what is hidden."""

    def __init__(self, workspace: Workspace) -> None:
        self.seen = Seen()
        self._workspace = workspace
        self._left = MAX_ENTRIES

    def part(self, folder: str, above: str) -> None:
        """Take of a folder what is in scope."""
        todo = [(folder, above)]
        while todo:
            here, prefix = todo.pop()
            for entry in self._entries(here):
                relative = f"{prefix}{entry.name}"
                view = self._workspace.view(relative)
                if view == "part":
                    todo.append((entry.path, f"{relative}/"))
                elif view == "whole" and not _is_socket(entry):
                    _add(self.seen.shown, entry.path, MAX_SHOWN, "shown")
                    if entry.is_dir(follow_symlinks=False):
                        self.whole(entry.path, f"{relative}/")

    def whole(self, folder: str, above: str) -> None:
        """Find what is hidden below a folder that is shown."""
        todo = [(folder, above)]
        hides = bool(self._workspace.exclude)
        while todo:
            here, prefix = todo.pop()
            for entry in self._entries(here):
                if entry.is_symlink():
                    continue
                is_folder = entry.is_dir(follow_symlinks=False)
                relative = f"{prefix}{entry.name}"
                if hides and self._workspace.view(relative) == "hidden":
                    self._hide(entry.path, is_folder=is_folder)
                elif is_folder:
                    todo.append((entry.path, f"{relative}/"))
                elif _is_socket(entry):
                    self._hide(entry.path, is_folder=False)

    def foreign(self, folder: str) -> None:
        """Find the sockets in a folder that is no part of the workspace."""
        todo = [folder] if Path(folder).is_dir() else []
        while todo:
            for entry in self._entries(todo.pop()):
                if entry.is_dir(follow_symlinks=False):
                    todo.append(entry.path)
                elif _is_socket(entry):
                    self._hide(entry.path, is_folder=False)

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                entries = list(found)
        except OSError:  # gone meanwhile, or not ours: then not theirs either
            return []
        self._left -= len(entries)
        if self._left < 0:
            raise ToolError(
                f"the workspace holds over {MAX_ENTRIES:,} files and folders, too many "
                "to look through before each command; narrow it"
            )
        return entries

    def _hide(self, path: str, *, is_folder: bool) -> None:
        where = self.seen.hidden_folders if is_folder else self.seen.hidden_files
        _add(where, path, MAX_HIDDEN, "hidden")


def _is_socket(entry: os.DirEntry[str]) -> bool:
    if entry.is_file(follow_symlinks=False) or entry.is_symlink():
        return False
    try:
        return stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _add(paths: list[str], path: str, most: int, what: str) -> None:
    if len(paths) >= most:
        raise ToolError(
            f"over {most:,} single paths of the workspace are {what}; name the folders "
            "that hold them"
        )
    paths.append(path)
