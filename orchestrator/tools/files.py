"""`read_file` and `list_dir`: what is in the workspace, page by page."""

from __future__ import annotations

import os
from typing import BinaryIO, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.evidence import split_lines
from orchestrator.security.beneath import entries
from orchestrator.store.layout import is_run
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.decoding import describe_binary, encoding_of
from orchestrator.tools.documents import kind_of
from orchestrator.tools.extraction import MAX_DOCUMENT_BYTES, kept_text, plain
from orchestrator.tools.pages import Source, unseen_page
from orchestrator.tools.versions import (
    MAX_KEPT_BYTES,
    keep,
    opened,
    read_window,
)

__all__ = ["ListDir", "ReadFile"]

_HEAD_BYTES = 64 * 1024
_WINDOW_CHARS = 1_000_000
_WAIT_S = 50  # for a document; less than the call may take
_MAX_ENTRIES = 500


class ReadFileArgs(BaseModel):
    """Arguments of `read_file`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1, description="Relative to the workspace.")
    first_line: int = Field(default=1, ge=1)
    max_lines: int | None = Field(default=None, ge=1, description="Else a page.")


class ReadFile:
    """Shows numbered lines of one file and keeps the version it showed."""

    name: ClassVar[str] = "read_file"
    description: ClassVar[str] = (
        "Read a text file as `number<TAB>line`, a page at a time; the answer says how "
        "to read on. PDF, DOCX and HTML come as text. Look with `grep` first. Quotes "
        "in findings are copied from lines seen here or in `grep`, without the number."
    )
    Args: ClassVar[type[BaseModel]] = ReadFileArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 60

    def run(self, args: ReadFileArgs, context: ToolContext) -> ToolOutput:
        """Return one page.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: there is no such file, or it cannot be read.
        """
        path = context.workspace.resolve_file(args.path)
        name = context.workspace.relative(path)
        with opened(context.workspace, name) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(_HEAD_BYTES)
            kind = kind_of(path.name, head)
            if size > MAX_KEPT_BYTES and not (kind and size <= MAX_DOCUMENT_BYTES):
                return _big(file, name, head, args, context)
            data = head + file.read()
        if not data:
            return ToolOutput(f"`{name}` is empty.")
        return _whole(data, name, kind, args, context)


def _whole(
    data: bytes, name: str, kind: str, args: ReadFileArgs, context: ToolContext
) -> ToolOutput:
    kept = kept_text(name, kind, data, context, limit_s=_WAIT_S) if kind else None
    if kept is not None:
        seen, note = kept.seen, kept.note
        text = context.artifacts.read_text(seen.artifact) if seen.artifact else ""
        lines = split_lines(text)
    else:
        found = plain(data)
        if found is None:
            return _binary(name, data, len(data))
        version = keep(name, data, found.text, context)
        seen, note, lines = version.seen, found.note, version.lines
    files = (seen,) if seen.artifact else ()
    source = Source(name, lines, len(lines), note=note, files=files)
    return _page(source, args, context)


def _big(
    file: BinaryIO, name: str, head: bytes, args: ReadFileArgs, context: ToolContext
) -> ToolOutput:
    encoding = encoding_of(head, is_whole=False)
    size = os.fstat(file.fileno()).st_size
    if encoding is None:
        return _binary(name, head, size)
    file.seek(0)
    window = read_window(
        file,
        encoding,
        context,
        first_line=args.first_line,
        max_chars=_WINDOW_CHARS,
    )
    seen = FileSeen(name, window.sha256, "", window.total)
    source = Source(
        name,
        window.lines,
        window.total,
        before=window.before,
        note=f", {size:,} bytes",
        files=(seen,),
    )
    return _page(source, args, context)


def _page(source: Source, args: ReadFileArgs, context: ToolContext) -> ToolOutput:
    return unseen_page(
        source, context, first_line=args.first_line, max_lines=args.max_lines
    )


def _binary(name: str, head: bytes, size: int) -> ToolOutput:
    what = describe_binary(head, size)
    return ToolOutput(f"`{name}` is {what}; it cannot be shown as text.")


class ListDirArgs(BaseModel):
    """Arguments of `list_dir`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(default=".", description="A folder.")


class ListDir:
    """Shows the entries of one folder."""

    name: ClassVar[str] = "list_dir"
    description: ClassVar[str] = (
        "List one folder: its folders (`name/`) and its files with their sizes."
    )
    Args: ClassVar[type[BaseModel]] = ListDirArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 30

    def run(self, args: ListDirArgs, context: ToolContext) -> ToolOutput:
        """Return the entries, sorted, folders first.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: there is no such folder.
        """
        workspace = context.workspace
        path = workspace.resolve(args.path or ".")
        name = workspace.relative(path)
        if path.is_file():
            raise ToolError(f"`{name}` is a file; use `read_file`")
        above = "" if name == "." else f"{name}/"
        folders: list[str] = []
        files: list[str] = []
        runs = 0
        try:
            with entries(workspace.real_root, name) as found:
                for entry in found:
                    if not workspace.allows(f"{above}{entry.name}"):
                        continue
                    if _is_folder(entry) and is_run(path / entry.name):
                        runs += 1
                    else:
                        (folders if _is_folder(entry) else files).append(_row(entry))
        except OSError as error:
            raise ToolError(f"cannot list `{name}`: {error.strerror}") from error
        rows = sorted(folders) + sorted(files)
        head = f"{name}: {len(folders)} folders, {len(files)} files"
        if len(rows) > _MAX_ENTRIES:
            left = len(rows) - _MAX_ENTRIES
            rows = [*rows[:_MAX_ENTRIES], f"[{left:,} more; narrow with `glob`]"]
        if runs:
            rows.append(f"[{runs} folders of earlier runs of this program: left out]")
        return ToolOutput("\n".join([head, *rows]))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _row(entry: os.DirEntry[str]) -> str:
    name = entry.name.replace("\n", "\ufffd")
    if entry.is_symlink():
        return f"{name} (link)"
    if _is_folder(entry):
        return f"{name}/"
    if not entry.is_file(follow_symlinks=False):
        return f"{name} (no ordinary file)"
    return f"{name} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
