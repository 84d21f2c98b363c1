"""Files that the open work needs, opened again after a compaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio.to_thread

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.messages import Message, tool_calls
from orchestrator.security.urls import is_url
from orchestrator.tools.base import ToolContext
from orchestrator.tools.entry import admit
from orchestrator.tools.files import ReadFile, ReadFileArgs

__all__ = ["Reopened", "reopen", "wanted_files"]

_DONE: Final = re.compile(r"^\s*[-*]?\s*\[[xX]\].*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reopened:
    """A file as it is now.

    Attributes:
        path: relative to the workspace.
        text: what is shown: the file, or where it can be opened.
        files: the version that is shown, for the look-up of quotes.
    """

    path: str
    text: str
    files: tuple[FileSeen, ...] = ()


def wanted_files(
    touched: Mapping[str, str], open_work: str, *, tail: Sequence[Message], most: int
) -> list[str]:
    """Return the files that open work names and that are out of sight, newest first.

    Args:
        touched: those that were read or changed, and pages; the newest last.
        open_work: what is still to be done; ticked items do not count.
        tail: messages that stay in sight.
        most: how many at most.
    """
    named = _DONE.sub("", open_work)
    seen = {
        call["input"].get("path")
        for message in tail
        for call in tool_calls(message["content"])
        if isinstance(call["input"], dict)
    }
    return [
        path
        for path in reversed(list(touched))
        if not is_url(path)
        and path not in seen
        and (path in named or path.rpartition("/")[2] in named)
    ][:most]


async def reopen(
    paths: Sequence[str], limit_tokens: int, *, context: Callable[[str], ToolContext]
) -> list[Reopened]:
    """Return files as they are now; those that are gone or too large are named only.

    Args:
        paths: relative to the workspace.
        limit_tokens: of each.
        context: makes the context of a call from its id.
    """
    open_one = partial(_opened, context=context("reopen"), limit_tokens=limit_tokens)
    return [await anyio.to_thread.run_sync(open_one, path) for path in paths]


def _opened(path: str, *, context: ToolContext, limit_tokens: int) -> Reopened:
    try:
        output = ReadFile().run(ReadFileArgs(path=path), context)
    except ToolError as error:
        return Reopened(path, f"`{path}`: {error}")
    admitted = admit(output, context, lambda text, **_: text)
    is_whole = all(seen.last in (0, seen.lines) for seen in output.files)
    if not is_whole or admitted.tokens > limit_tokens:
        lines = max((seen.lines for seen in output.files), default=0)
        return Reopened(path, f"`{path}` has {lines:,} lines: `read_file` opens it.")
    return Reopened(path, str(admitted.content), output.files)
