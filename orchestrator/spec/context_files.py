"""The small files that every agent has from the start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import SpecError

__all__ = ["ContextFile", "guide_of", "read_context", "relative_path"]

MAX_FILE_BYTES = 32_000
MAX_TOTAL_BYTES = 96_000
GUIDES = ("AGENTS.md", "CLAUDE.md")


@dataclass(frozen=True, slots=True)
class ContextFile:
    """One file as agents are shown it."""

    path: str
    """Relative to the workspace, with forward slashes."""
    text: str


def guide_of(workspace: Path) -> str:
    """Return the name of the workspace's own guide for agents, or "".

    A guide that a link leads out of the workspace is not taken.
    """
    root = workspace.resolve()
    for name in GUIDES:
        path = workspace / name
        if path.is_file() and path.resolve().is_relative_to(root):
            return name
    return ""


def relative_path(workspace: Path, written: str) -> str:
    """Return `written` relative to `workspace`, with forward slashes.

    Raises:
        SpecError: it is no file inside the workspace.
    """
    try:
        root = workspace.resolve()
        named = root / Path(written).expanduser()
        path = named.resolve()
        is_file = path.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise SpecError(f"`{written}` cannot be opened: {error}") from error
    if not path.is_relative_to(root):
        raise SpecError(f"`{written}` lies outside the workspace {workspace}")
    if not is_file:
        what = "is a folder" if path.is_dir() else "does not exist"
        raise SpecError(
            f"`{written}` {what}; files in the workspace {workspace} are allowed"
        )
    plain = Path(os.path.normpath(named))  # a link inside keeps its own name
    shown = plain if plain.is_relative_to(root) else path
    return shown.relative_to(root).as_posix()


def read_context(workspace: Path, paths: tuple[str, ...]) -> tuple[ContextFile, ...]:
    """Return the context files of a loaded task, in order.

    Args:
        workspace: the task's, absolute.
        paths: `Task.context` of a loaded task.

    Raises:
        SpecError: one is missing, outside, too big or not text.
    """
    files: list[ContextFile] = []
    total = 0
    for written in paths:
        name = relative_path(workspace, written)
        try:
            with (workspace / name).open("rb") as stream:
                data = stream.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            raise SpecError(f"`{name}` cannot be read: {error.strerror}") from error
        total += len(data)
        if len(data) > MAX_FILE_BYTES:
            raise SpecError(_too_big(name, f"{MAX_FILE_BYTES:,} bytes a file"))
        if total > MAX_TOTAL_BYTES:
            raise SpecError(_too_big(name, f"{MAX_TOTAL_BYTES:,} bytes in all"))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SpecError(f"`{name}` is not UTF-8 text") from error
        if "\0" in text:
            raise SpecError(f"`{name}` is not text")
        files.append(ContextFile(name, text))
    return tuple(files)


def _too_big(name: str, limit: str) -> str:
    own = " or leave all of them out with `context: []`" if name in GUIDES else ""
    return (
        f"`{name}` is too big: every agent carries the context files, so at most "
        f"{limit}; shorten it{own}"
    )
