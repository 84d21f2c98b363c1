"""Search files that are shown as another text than their bytes.

PDF, DOCX and HTML, and texts that are not UTF-8. ripgrep searches the artifacts that
`read_file` shows of them, so that both agree on every line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.messages import shortened
from orchestrator.tools.base import ToolContext
from orchestrator.tools.decoding import encoding_of
from orchestrator.tools.documents import HOW_TO_INSTALL, is_installed, kind_of
from orchestrator.tools.extraction import (
    MAX_DOCUMENT_BYTES,
    TEXT,
    StillReading,
    kept_text,
)
from orchestrator.tools.hits import FileHit, parse_line
from orchestrator.tools.ripgrep import lines_of_ripgrep
from orchestrator.tools.threads import stop_if_abandoned
from orchestrator.tools.versions import MAX_KEPT_BYTES, opened, read_bytes

__all__ = ["DOCUMENT_TYPE", "Converted", "Limits", "may_name_documents", "order_of"]

DOCUMENT_TYPE = (
    "--type-add=documents:*.[pP][dD][fF]",
    "--type-add=documents:*.[dD][oO][cC][xX]",
    "--type-add=documents:*.[hH][tT][mM]",
    "--type-add=documents:*.[hH][tT][mM][lL]",
    "--type-add=documents:*.[xX][hH][tT][mM][lL]",
    "--type=documents",
)
_SUFFIXES = ("pdf", "docx", "htm")
_CLOSED = frozenset({"pdf", "docx"})  # without a library they are no text at all
_GLOB_TAIL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789{,}")
_HEAD_BYTES = 8192
_SHOWN_NAMES = 3
_SHOWN_CHARS = 60


def may_name_documents(glob: str) -> bool:
    """Return whether files that fit `glob` may be documents; if unsure, they may."""
    lower = glob.lower()
    _, dot, tail = lower.rpartition(".")
    if not dot or not tail or not _GLOB_TAIL.issuperset(tail):
        return True
    return any(suffix in lower for suffix in _SUFFIXES)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one search reads of files that must be converted."""

    files: int = 500
    bytes: int = 200_000_000
    seconds: float = 20


@dataclass(slots=True)
class Converted:
    """The converted files of one search.

    Attributes:
        context: of the call.
        limits: of all that is converted for it.
        seen: path → the version whose text is searched.
        left_out: label and reason → paths that were not searched.
    """

    context: ToolContext
    limits: Limits
    seen: dict[str, FileSeen] = field(default_factory=dict)
    left_out: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    _not_raw: set[str] = field(default_factory=set)
    _files: int = 0
    _bytes: int = 0
    _deadline: float = 0

    def covers(self, path: str) -> bool:
        """Return whether the bytes of a file are not to be searched."""
        return path in self._not_raw

    def add(self, paths: Iterable[str], *, may_be_text: bool = False) -> None:
        """Convert what is to be converted, within the limits.

        Args:
            paths: relative to the workspace.
            may_be_text: they may be texts in another encoding.

        Raises:
            StoreError: a text cannot be stored.
        """
        self._deadline = self._deadline or time.monotonic() + self.limits.seconds
        for path in paths:
            stop_if_abandoned()
            if path not in self._not_raw:
                self._add(path, may_be_text=may_be_text)

    def _add(self, path: str, *, may_be_text: bool) -> None:
        workspace = self.context.workspace
        try:
            with opened(workspace, path) as file:
                size = os.fstat(file.fileno()).st_size
                head = file.read(_HEAD_BYTES)
        except ToolError:
            return  # ripgrep tells of it
        kind = kind_of(path, head)
        if not kind and may_be_text and _may_be_text(head, size):
            kind = TEXT
        if not kind or (kind == "html" and not is_installed(kind)):
            return
        if kind in _CLOSED:
            self._not_raw.add(path)
        if reason := self._refusal(kind, size):
            self._leave_out(kind, reason, path)
            return
        self._files += 1
        self._bytes += size
        left = self._deadline - time.monotonic()
        try:
            data = read_bytes(workspace, path)
            kept = kept_text(path, kind, data, self.context, limit_s=left)
        except StillReading:
            self._leave_out(kind, _NO_TIME, path)
        except ToolError as error:
            self._leave_out(kind, str(error), path)
        else:
            if kept is not None:
                self._not_raw.add(path)
                self.seen[path] = kept.seen

    def _refusal(self, kind: str, size: int) -> str:
        if kind in _CLOSED and not is_installed(kind):
            return (
                f"an optional package is not installed ({HOW_TO_INSTALL}); go on "
                "without them and say so"
            )
        if size > (MAX_KEPT_BYTES if kind == TEXT else MAX_DOCUMENT_BYTES):
            return "too big"
        if time.monotonic() >= self._deadline:
            return _NO_TIME
        too_many = self._files >= self.limits.files
        if too_many or self._bytes + size > self.limits.bytes:
            return "too many for one search; narrow `path` or `glob`"
        return ""

    def _leave_out(self, kind: str, reason: str, path: str) -> None:
        self.left_out.setdefault((_LABELS[kind], reason), []).append(path)

    def hits(
        self, options: Sequence[str], *, is_count: bool, most: int
    ) -> Iterator[FileHit]:
        """Yield what ripgrep finds in the texts, in the order of paths.

        Args:
            options: of ripgrep, with the pattern.
            is_count: they ask for one row per file.
            most: so many matches are enough, where rows are lines.

        Raises:
            ToolError: ripgrep is missing, refuses the pattern, or takes too long.
        """
        paths_of: dict[str, list[str]] = {}
        for path in sorted(self.seen, key=order_of):
            if artifact := self.seen[path].artifact:
                paths_of.setdefault(artifact, []).append(path)
        if not paths_of:
            return
        found: list[FileHit] = []
        texts = self._in_texts([*options, "--text"], list(paths_of), is_count)
        with closing(texts):
            for hit in texts:
                found += [
                    replace(hit, path=path, seen=self.seen[path])
                    for path in paths_of[hit.path]
                ]
                # Every further text comes later: no row of it would be shown.
                most -= hit.at >= 0
                if most < 0 and not is_count:
                    break
        found.sort(key=lambda hit: order_of(hit.path))
        yield from found

    def _in_texts(
        self, options: Sequence[str], artifacts: Sequence[str], is_count: bool
    ) -> Generator[FileHit, None, None]:
        files = [self.context.artifacts.path(ref) for ref in artifacts]
        lines = lines_of_ripgrep(
            [*options, "--", *(file.name for file in files)], folder=files[0].parent
        )
        with closing(lines):
            for line in lines:
                hit = parse_line(line, is_count=is_count)
                if hit is not None:
                    yield replace(hit, path=hit.path.partition(".")[0])

    def note(self, unread: Sequence[str] = ()) -> str:
        """Return what was left out and what to do, on one line; or "".

        Args:
            unread: paths that could not be read at all.
        """
        parts = [
            f"{label.format(n=sum(map(len, groups.values())))}: "
            + "; ".join(_group(reason, paths) for reason, paths in groups.items())
            for label, groups in self._by_label().items()
        ]
        if unread:
            parts.append(f"{len(unread)} files could not be read: {_names(unread)}")
        return f"[{'. '.join(parts)}]" if parts else ""

    def _by_label(self) -> dict[str, dict[str, list[str]]]:
        labels: dict[str, dict[str, list[str]]] = {}
        for (label, reason), paths in self.left_out.items():
            labels.setdefault(label, {})[reason] = paths
        return labels


_NO_TIME = "no time left; the same search again goes on with them"
_LABELS = {
    "pdf": "{n} PDF/DOCX files were not searched",
    "docx": "{n} PDF/DOCX files were not searched",
    "html": "{n} HTML files were searched as source, not as `read_file` shows them",
    TEXT: "{n} files that are not UTF-8 were searched for ASCII only; use `read_file`",
}


def _may_be_text(head: bytes, size: int) -> bool:
    """Return whether a file may be text that is not UTF-8, from its first bytes."""
    if b"\0" in head or size > MAX_KEPT_BYTES:
        return encoding_of(head, is_whole=False) not in (None, "utf-8", "utf-8-sig")
    return True


def order_of(path: str) -> list[str]:
    """Return what sorts paths as ripgrep does: name by name."""
    return path.split("/")


def _group(reason: str, paths: Sequence[str]) -> str:
    return f"{shortened(reason, 200)}: {_names(paths)}"


def _names(paths: Sequence[str]) -> str:
    names = [
        path if len(path) <= _SHOWN_CHARS else f"…{path[-_SHOWN_CHARS:]}"
        for path in paths[:_SHOWN_NAMES]
    ]
    more = len(paths) - len(names)
    shown = ", ".join(f"`{name}`" for name in names)
    return f"{shown} and {more} more" if more else shown
