"""Change one file of the workspace: checked, atomic, one after the other.

The agent must have read what it changes, in the version that is there now. So neither
a person's edit nor another agent's is ever lost.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import ToolError
from orchestrator.events import FileChange, FileSeen
from orchestrator.ids import sha256
from orchestrator.security.beneath import open_file, replace_file
from orchestrator.security.guarded import why_guarded, why_no_name
from orchestrator.store.disk import reason
from orchestrator.store.layout import is_run
from orchestrator.tools.base import ToolContext
from orchestrator.tools.documents import kind_of
from orchestrator.tools.texts import FileText, refuse_unwritable
from orchestrator.tools.threads import in_thread, stop_if_abandoned
from orchestrator.tools.turn import Turn
from orchestrator.tools.versions import MAX_KEPT_BYTES, Version, keep

__all__ = ["Before", "Changed", "Writer", "look_at", "restored"]


@dataclass(frozen=True, slots=True)
class Before:
    """A file as it is before a change.

    Attributes:
        name: relative to the workspace.
        data: its bytes; none where there is no file.
        found: as the system describes it; None: there is no file.
        text: its text.
    """

    name: str
    data: bytes = b""
    found: os.stat_result | None = None
    text: FileText = field(default_factory=FileText)


@dataclass(frozen=True, slots=True)
class Changed:
    """A change that was made.

    Attributes:
        before: the file as it was.
        version: the file as it is, kept.
        change: for the log.
    """

    before: Before
    version: Version
    change: FileChange


class Writer:
    """Changes files, one at a time; one for all agents of a run.

    Args:
        turn: of all that may change files; default: of these changes alone.
    """

    def __init__(self, turn: Turn | None = None) -> None:
        self._turn = turn or Turn()
        # The thread of a call that was given up may still be at work.
        self._lock = threading.Lock()

    async def change(
        self,
        path: str,
        context: ToolContext,
        make: Callable[[Before], str],
        *,
        is_whole: bool,
    ) -> Changed:
        """Replace the text of a file.

        Args:
            path: as the model wrote it.
            context: of the call.
            make: returns the new text for what is there; in a thread.
            is_whole: nothing of the old text stays, so that all of it must be known.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: the file may not be changed, is not known to the agent as it is
                now, or cannot be written; it is as it was.
            StoreError: a version cannot be kept; the file is as it was.
        """
        async with self._turn.taken(context.agent):
            return await in_thread(self._change, path, context, make, is_whole)

    def _change(
        self,
        path: str,
        context: ToolContext,
        make: Callable[[Before], str],
        is_whole: bool,
    ) -> Changed:
        with self._lock:
            stop_if_abandoned()
            before = look_at(path, context)
            _refuse_unknown(before, context.seen(before.name), is_whole=is_whole)
            text = make(before)
            data = before.text.encoded(text)
            if len(data) > MAX_KEPT_BYTES:
                raise ToolError(
                    f"`{before.name}` would have {len(data):,} bytes; at most "
                    f"{MAX_KEPT_BYTES:,} can be written"
                )
            if before.found is not None and data == before.data:
                raise ToolError(f"`{before.name}` has this content already")
            old = keep(before.name, before.data, before.text.text, context)
            new = keep(before.name, data, text, context)
            _put(before, data, context)
        change = FileChange(
            before.name,
            old.seen.artifact,
            new.seen.artifact,
            "" if before.found is None else sha256(before.data),
            sha256(data),
        )
        return Changed(before, new, change)


def restored(name: str, text: str, context: ToolContext) -> str:
    """Return what the model wrote as it is to be in a file.

    Secrets are put back, and marks that it saw defused are as they were.

    Args:
        name: of the argument.
        text: its value.
        context: of the call.

    Raises:
        ToolError: it cannot be in a text, or a secret may not be put back.
    """
    refuse_unwritable(name, text)
    return context.restore_file(text)


def look_at(path: str, context: ToolContext) -> Before:
    """Return the file that `path` means, as it is now.

    Raises:
        OutsideWorkspace: it leads out of the workspace or its scope.
        ToolError: it may not be changed.
    """
    workspace = context.workspace
    real = workspace.resolve(path)
    name = workspace.relative(real)
    if why := why_guarded(name):
        raise ToolError(f"`{name}` is not written: {why}")
    root = workspace.real_root
    if any(is_run(each) for each in real.parents if each.is_relative_to(root)):
        raise ToolError(f"`{name}` belongs to a run of this program; it stays as it is")
    try:
        exists = os.path.lexists(real)
    except OSError as error:
        raise ToolError(f"cannot write `{name}`: {reason(error)}") from error
    if not exists:
        if why := why_no_name(name):
            raise ToolError(f"`{name}` is no path for a new file: {why}")
        return Before(name)
    workspace.resolve_file(path)  # says what it is, where it is no file
    return _read(name, root)


def _read(name: str, root: Path) -> Before:
    try:
        with open_file(root, name) as file:
            found = os.fstat(file.fileno())
            if found.st_size > MAX_KEPT_BYTES:
                raise ToolError(
                    f"`{name}` has {found.st_size:,} bytes; files over "
                    f"{MAX_KEPT_BYTES:,} are not changed"
                )
            data = file.read()
    except OSError as error:
        raise ToolError(f"cannot read `{name}`: {error.strerror}") from error
    if kind_of(name, data) in ("pdf", "docx"):
        raise ToolError(f"`{name}` is a document; only text files can be changed")
    return Before(name, data, found, FileText.of(name, data))


def _refuse_unknown(before: Before, seen: FileSeen | None, *, is_whole: bool) -> None:
    """Refuse to change what the agent has not seen as it is now."""
    name = before.name
    if not before.data:  # new or empty: nothing can be lost
        return
    if seen is None:
        raise ToolError(
            f"`{name}` exists and you have not read it; read it first, so that nothing "
            "in it is lost unseen"
        )
    if seen.sha256 != sha256(before.data):
        raise ToolError(
            f"`{name}` has changed since you read it; read it again and make the "
            "change to what is there now"
        )
    if is_whole and (seen.first > 1 or seen.last < seen.lines):
        known = f"lines {seen.first}-{seen.last} of " if seen.first else "only hits in "
        raise ToolError(
            f"of `{name}` you have read {known}{seen.lines} lines; read the rest "
            "before you replace all of it, or change a part with `edit_file`"
        )


def _put(before: Before, data: bytes, context: ToolContext) -> None:
    try:
        replace_file(context.workspace.real_root, before.name, data, found=before.found)
    except OSError as error:
        why = (
            "it changed at this very moment; read it again"
            if error.errno == errno.ESTALE
            else reason(error)
        )
        raise ToolError(f"cannot write `{before.name}`: {why}") from error
