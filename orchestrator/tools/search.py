"""`grep` and `glob`: find places in the workspace."""

from __future__ import annotations

import heapq
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import ToolError
from orchestrator.security.beneath import is_file, is_there
from orchestrator.security.workspace import Workspace
from orchestrator.store.layout import is_run
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.converted import (
    DOCUMENT_TYPE,
    Converted,
    Limits,
    may_name_documents,
    order_of,
)
from orchestrator.tools.globs import asks_for_hidden, ignore_lines, matcher
from orchestrator.tools.hits import FileHit, Shower, parse_line
from orchestrator.tools.ripgrep import PATTERN, lines_of_ripgrep
from orchestrator.tools.scan import MAX_LITERAL_CHARS, Scan, simple_scan
from orchestrator.tools.sought import as_in_files
from orchestrator.tools.versions import opened

__all__ = ["Glob", "Grep"]

_MAX_PATHS = 500
_BEYOND_ASCII = re.compile(r"\\[pPxuU]")
# Bytes that are not UTF-8, as a few Chinese words in GBK nearly always hold them.
_NOT_UTF8 = r"(?-u)[\xC0-\xFF][\x00-\x7F\xC0-\xFF]|[\x00-\x7F][\x80-\xBF]|^[\x80-\xBF]"


class GrepArgs(BaseModel):
    """Arguments of `grep`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str = Field(
        min_length=1,
        max_length=2000,
        description="Rust regex, one line at a time; `(?i)` ignores case. No "
        "look-around. Escape `(`, `[`, `{`, `.` to mean themselves.",
    )
    path: str = Field(default=".", description="A folder or one file.")
    glob: str = Field(
        default="", description="Which files, e.g. `*.py`, `src/**/*.ts`."
    )
    output: Literal["lines", "files", "count"] = Field(
        default="lines", description="`path:line:text`, paths, or hits per file."
    )
    context_lines: int = Field(default=0, ge=0, le=20)
    max_matches: int = Field(default=100, ge=1, le=1000)


class Grep:
    """Finds lines by a regex."""

    name: ClassVar[str] = "grep"
    description: ClassVar[str] = (
        "Find lines by a regex, in all text files below `path` and in the text of PDF, "
        "DOCX and HTML; hidden and ignored files only if `path` asks for them. Try "
        "several words at once: `token|jwt|session`."
    )
    Args: ClassVar[type[BaseModel]] = GrepArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 60

    def __init__(self, limits: Limits | None = None) -> None:
        """Make the tool.

        Args:
            limits: of what a call reads of documents.
        """
        self.limits = limits or Limits()

    def run(self, args: GrepArgs, context: ToolContext) -> ToolOutput:
        """Return matching lines, files or counts, sorted by path.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: there is no such path, ripgrep refuses the pattern, or what a
            placeholder in it stands for is not at hand.
        """
        if "\0" in args.pattern:
            raise ToolError("`pattern` holds a NUL character")
        target = _target(args.path, context)
        pattern = as_in_files(args.pattern, context)
        sought = args.model_copy(update={"pattern": pattern})
        search = _Search(sought, target, context, self.limits)
        shower = Shower(context, max_matches=args.max_matches)
        with closing(search.hits()) as hits:
            if args.output == "lines":
                output = shower.lines(
                    hits, args.pattern, context_lines=args.context_lines
                )
            else:
                output = shower.counts(
                    hits, args.pattern, only_paths=args.output == "files"
                )
        note = search.note()
        return replace(output, text=f"{output.text}\n{note}") if note else output


@dataclass(slots=True)
class _Search:
    """One search: in the bytes of files, and in the texts of those converted."""

    args: GrepArgs
    target: Path
    context: ToolContext
    limits: Limits
    _converted: Converted = field(init=False)
    _unread: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._converted = Converted(self.context, self.limits)

    def note(self) -> str:
        """Return what was not searched, after the hits."""
        workspace = self.context.workspace
        unread = [
            path
            for path in self._unread
            if workspace.allows(path) and is_there(workspace.real_root, path)
        ]
        return self._converted.note(unread)

    def hits(self) -> Generator[FileHit, None, None]:
        args, context = self.args, self.context
        name = context.workspace.relative(self.target)
        if self.target.is_file():
            scan = simple_scan(args.pattern)
            text = _small_text(context.workspace, name)
            self._converted.add([name], may_be_text=text is None or "\0" in text)
            if not self._converted.covers(name):
                if scan is not None and text is not None and scan.fits(text):
                    yield from _scanned(args, name, text, scan)
                else:
                    yield from _ripgrepped(args, name, context, self._unread)
                return
        else:
            self._convert_below(name)
        in_texts = self._converted.hits(
            _options(args), is_count=args.output != "lines", most=args.max_matches
        )
        if self.target.is_file():
            yield from in_texts
            return
        with closing(_ripgrepped(args, name, context, self._unread)) as raw:
            in_bytes = (hit for hit in raw if not self._converted.covers(hit.path))
            yield from heapq.merge(
                in_bytes, in_texts, key=lambda hit: order_of(hit.path)
            )

    def _convert_below(self, name: str) -> None:
        args, converted = self.args, self._converted
        if may_name_documents(args.glob):
            options = ["--files", "--null", *DOCUMENT_TYPE]
            converted.add(_paths(options, args.glob, name, self.context))
        if not args.pattern.isascii() or _BEYOND_ASCII.search(args.pattern):
            options = ["--files-with-matches", "--null", "--regexp", _NOT_UTF8]
            paths = _paths(options, args.glob, name, self.context)
            converted.add(paths, may_be_text=True)


def _scanned(
    args: GrepArgs, name: str, text: str, scan: Scan
) -> Generator[FileHit, None, None]:
    around = args.context_lines if args.output == "lines" else 0
    hits = scan.hits(text, context_lines=around)
    if args.output == "lines":
        for hit in hits:
            yield FileHit(name, hit.line, hit.at, hit.text)
    elif found := sum(1 for _ in hits):
        yield FileHit(name, found)


def _small_text(workspace: Workspace, name: str) -> str | None:
    """Return the text of a small UTF-8 file, or None."""
    try:
        with opened(workspace, name) as file:
            if os.fstat(file.fileno()).st_size > MAX_LITERAL_CHARS:
                return None
            return file.read().decode("utf-8")
    except (ToolError, UnicodeDecodeError):
        return None


def _options(args: GrepArgs) -> list[str]:
    options = ["--with-filename", "--null", "--crlf", PATTERN, args.pattern]
    if args.output == "lines":
        around = ["--context", str(args.context_lines)]
        return [*options, "--line-number", "--column", "--no-heading", *around]
    options.append("--count")
    return [*options, "--max-count", "1"] if args.output == "files" else options


def _ripgrepped(
    args: GrepArgs, name: str, context: ToolContext, unread: list[str]
) -> Generator[FileHit, None, None]:
    is_wanted = _wanted(args.glob, name, context)
    allowed: dict[str, bool] = {}
    lines = _searched(_options(args), args.glob, name, context, unread)
    with closing(lines):
        for line in lines:
            if not line.startswith(b"./"):
                continue  # the end of a name that holds a line end: no file of its own
            hit = parse_line(line, is_count=args.output != "lines")
            if hit is None:
                continue
            if hit.path not in allowed:
                allowed[hit.path] = is_wanted(hit.path)
            if allowed[hit.path]:
                yield hit


def _paths(options: list[str], glob: str, name: str, context: ToolContext) -> list[str]:
    """Return the files that ripgrep lists and that are wanted."""
    is_wanted = _wanted(glob, name, context)
    with closing(_searched(options, glob, name, context)) as lines:
        return [path for path in _split_at_nul(lines) if is_wanted(path)]


def _wanted(glob: str, name: str, context: ToolContext) -> Callable[[str], bool]:
    """Return a check of paths: in scope, fit for `glob`, and not part of a run."""
    workspace = context.workspace
    if _is_file(name, context):
        return workspace.allows
    fits = matcher(glob, name)
    runs: dict[str, bool] = {name: False, ".": False, "": False}

    def is_in_run(folder: str) -> bool:
        if folder not in runs:
            above = folder.rpartition("/")[0]
            runs[folder] = is_in_run(above) or is_run(workspace.real_root / folder)
        return runs[folder]

    return lambda path: (
        workspace.allows(path) and fits(path) and not is_in_run(path.rpartition("/")[0])
    )


def _is_file(name: str, context: ToolContext) -> bool:
    return (context.workspace.real_root / name).is_file()


def _searched(
    options: list[str],
    glob: str,
    name: str,
    context: ToolContext,
    unread: list[str] | None = None,
) -> Generator[bytes, None, None]:
    workspace = context.workspace
    target = workspace.real_root / name
    if any(is_run(folder) for folder in (target, *target.parents)):
        # Asked for by name: the line that hides runs from searches does not count.
        options = [*options, "--no-ignore-vcs"]
    if _is_file(name, context):
        glob = ""  # one file was named; there is nothing to choose
    ignore = ignore_lines(glob, name, workspace.exclude)
    if asks_for_hidden(glob):
        options = [*options, "--hidden"]
    roots = [f"./{root}" if root != "." else "./" for root in _roots(name, context)]
    return lines_of_ripgrep(
        [*options, "--", *roots],
        folder=workspace.real_root,
        ignore=ignore,
        unread=unread,
    )


def _roots(name: str, context: ToolContext) -> list[str]:
    """Return where to search: the parts of `name` that are in scope.

    Only to save work, since every result is checked: with anything but plain, existing
    folders and files in the scope, all of `name` is searched.
    """
    workspace = context.workspace
    roots: list[str] = []
    for entry in sorted(workspace.include):
        plain = entry.strip("/").removeprefix("./")
        path = workspace.real_root / plain
        if not plain or any(mark in plain for mark in "*?[{") or not path.exists():
            return [name]
        if path.is_symlink() or path.resolve() != path:
            return [name]
        if name != "." and not f"{plain}/".startswith(f"{name}/"):
            return [name]
        if not any(f"{plain}/".startswith(f"{root}/") for root in roots):
            roots.append(plain)
    return roots or [name]


def _target(path: str, context: ToolContext) -> Path:
    target = context.workspace.resolve(path or ".")
    return target if target.is_dir() else context.workspace.resolve_file(path)


class GlobArgs(BaseModel):
    """Arguments of `glob`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pattern: str = Field(
        min_length=1, max_length=500, description="E.g. `*.md`, `src/**/*_test.py`."
    )
    path: str = Field(default=".", description="A folder.")


class Glob:
    """Finds files by name."""

    name: ClassVar[str] = "glob"
    description: ClassVar[str] = (
        "Find files by name, at any depth below `path`; hidden and ignored ones as in "
        "`grep`."
    )
    Args: ClassVar[type[BaseModel]] = GlobArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 40

    def run(self, args: GlobArgs, context: ToolContext) -> ToolOutput:
        """Return paths, sorted.

        Raises:
            OutsideWorkspace: the path leads out of the workspace or its scope.
            ToolError: there is no such folder, or the glob is none.
        """
        workspace = context.workspace
        folder = workspace.resolve(args.path or ".")
        name = workspace.relative(folder)
        if not folder.is_dir():
            raise ToolError(f"no folder `{args.path[:200]}`")
        paths = _paths(["--files", "--null"], args.pattern, name, context)
        root = workspace.real_root
        # ripgrep goes by names: a folder may have become a link under its hands.
        rows = [path for path in sorted(paths)[:_MAX_PATHS] if is_file(root, path)]
        if not rows:
            return ToolOutput(f"No file fits `{args.pattern[:200]}` in `{name}`.")
        if len(paths) > _MAX_PATHS:
            rows.append(
                f"[{len(paths) - _MAX_PATHS:,} more; narrow with `path` or `pattern`]"
            )
        return ToolOutput("\n".join(rows))


def _split_at_nul(lines: Iterator[bytes]) -> Iterator[str]:
    """Yield paths; those that hold a line end are left out, since no row can."""
    rest = b""
    for line in lines:
        first, *others = line.split(b"\0")
        if not others:
            rest += first + b"\n"
            continue
        for path in (rest + first, *others[:-1]):
            if path and b"\n" not in path:
                yield path.decode("utf-8", "replace").removeprefix("./")
        rest = others[-1] + b"\n" if others[-1] else b""
