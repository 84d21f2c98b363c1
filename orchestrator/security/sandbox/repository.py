"""Keep a repository from being pointed at settings that a command has written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

__all__ = ["watch_repository"]


def watch_repository(root: Path) -> Callable[[], bool]:
    """Return what is to be called after a command that could write.

    Settings and hooks are read-only in a sandbox, and a file `.git/commondir` makes Git
    take others instead. No mount can keep a file from being made in a folder that has
    to be writable, so that one that is new is removed again. It returns whether it was.

    Args:
        root: of the workspace.
    """
    file = root / ".git" / "commondir"
    is_ours = file.is_symlink() or file.exists()

    def undo() -> bool:
        if is_ours or (root / ".git").is_symlink():
            return False
        with suppress(OSError):
            file.unlink()
            return True
        return False

    return undo
