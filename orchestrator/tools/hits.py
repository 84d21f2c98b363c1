"""Show what a search found: bounded in matches, in tokens and in line width."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orchestrator.errors import ToolError
from orchestrator.events import FileSeen
from orchestrator.messages import shortened
from orchestrator.security.beneath import is_file
from orchestrator.tools.base import ToolContext, ToolOutput
from orchestrator.tools.cleaning import clean
from orchestrator.tools.decoding import decode
from orchestrator.tools.pages import around, fitting
from orchestrator.tools.versions import Version, keep, opened

__all__ = ["FileHit", "Shower", "parse_line"]

LINE_CHARS = 300
_PATTERN_CHARS = 200
_MAX_FILES = 12
_MAX_FILE_BYTES = 1_000_000
_FOOT_TOKENS = 100
_CHANGED = "[it changed while it was searched]"
_NEAR_CHARS = 20_000
_PLACE = re.compile(rb"(\d+)(?::(\d+):|-)")


@dataclass(frozen=True, slots=True)
class FileHit:
    """One line of a file, or one file.

    Attributes:
        path: relative to the workspace.
        line: number of the line, from 1; or the number of matching lines.
        at: index of the match in the line, in characters; -1 for a context line.
        text: the line as it is in the file.
        seen: where the line is one of a stored text: the version it is of.
    """

    path: str
    line: int
    at: int = -1
    text: str = ""
    seen: FileSeen | None = None


def parse_line(line: bytes, *, is_count: bool) -> FileHit | None:
    """Return one line of ripgrep's output, or None for its separators and remarks."""
    # In its CR LF mode ripgrep ends every line of its own with both.
    raw, nul, rest = line.removesuffix(b"\r").partition(b"\0")
    if not nul:
        return None
    path = raw.decode("utf-8", "replace").removeprefix("./")
    if is_count:
        return FileHit(path, int(rest)) if rest.isdigit() else None
    place = _PLACE.match(rest)
    if place is None:
        return None
    text = rest[place.end() :]
    number = int(place[1])
    if place[2] is None:
        return FileHit(path, number, -1, text.decode("utf-8", "replace"))
    before = text[: int(place[2]) - 1].decode("utf-8", "replace")
    return FileHit(path, number, len(before), text.decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class _Kept:
    """The version of a file that is shown, and where its lines went.

    Attributes:
        version: its lines end at LF, CR LF and bare CR, as readers see them.
        first_lines: of each line as ripgrep counts, which ends at LF only, the first
            line of the version; empty where both count alike.
    """

    version: Version
    first_lines: tuple[int, ...] = ()

    def translated(self, hit: FileHit) -> FileHit:
        """Return `hit` with the line in which it is for readers."""
        if not 0 < hit.line <= len(self.first_lines):
            return hit
        first, before = self.first_lines[hit.line - 1], hit.text[: max(hit.at, 0)]
        at = hit.at if hit.at < 0 else len(before) - before.rfind("\r") - 1
        return replace(hit, line=first + before.count("\r"), at=at)


@dataclass(slots=True)
class Shower:
    """Turns hits into the output of one call."""

    context: ToolContext
    max_matches: int
    _versions: dict[str, _Kept | None] = field(default_factory=dict)
    _inside: dict[str, bool] = field(default_factory=dict)
    _cut: FileHit | None = None
    _one_of: str = ""

    def lines(
        self, hits: Iterable[FileHit], pattern: str, *, context_lines: int
    ) -> ToolOutput:
        """Return `path:line:text`, and `path-line-text` for context lines.

        The lines are those of the version that is kept, so that a quote from them can
        be looked up; beyond a number of files they are only shown.
        """
        rows: list[str] = []
        places: list[FileHit] = []
        left = self.context.clip_tokens * 8  # characters; no text is so cheap
        matches = 0
        more = ""
        for found in hits:
            if not self._is_inside(found):
                continue
            if found.at >= 0 and matches == self.max_matches:
                more = f"first {matches} matches"
                break
            matches += found.at >= 0
            hit = self._translated(found)
            row = self._row(hit)
            if context_lines and places and _is_gap(places[-1], hit):
                row = f"--\n{row}"
            rows.append(row)
            places.append(hit)
            left -= len(row)
            if left < 0:
                break
        if not rows:
            return _nothing(pattern)
        limit = self.context.clip_tokens
        limit = max(limit - _FOOT_TOKENS, limit // 2)
        fit = fitting(rows, limit_tokens=limit, count=self.context.count)
        if fit.rows < len(rows) or left < 0:
            rows, places = rows[: fit.rows], places[: fit.rows]
            more = f"first {sum(place.at >= 0 for place in places)} matches"
        return self._finished(rows, places, more)

    def _finished(
        self, rows: list[str], places: list[FileHit], more: str
    ) -> ToolOutput:
        stored = {place.path: place.seen for place in places}
        if more:
            rows.append(
                f"[{more}; there are more: narrow with `pattern`, `path` or `glob`]"
            )
        if self._cut is not None:
            rows.append(
                f'[long lines are cut; read_file("{self._cut.path}", '
                f"first_line={self._cut.line}) has the whole]"
            )
        if self._one_of:
            rows.append(
                f"[`{self._one_of}` ends lines with CR alone; of those in a row only "
                "the first match is shown, read_file shows all]"
            )
        return ToolOutput("\n".join(rows), files=self._seen(stored), paged=True)

    def counts(
        self, hits: Iterable[FileHit], pattern: str, *, only_paths: bool
    ) -> ToolOutput:
        """Return paths, or `path:count`, one a line."""
        found: list[FileHit] = []
        more = 0
        for hit in hits:
            if len(found) == self.max_matches:
                more += 1
            elif self._is_inside(hit):
                found.append(hit)
        if not found:
            return _nothing(pattern)
        rows = [hit.path if only_paths else f"{hit.path}:{hit.line}" for hit in found]
        if more:
            rows.append(f"[{more:,} more files; narrow with `path` or `glob`]")
        return ToolOutput("\n".join(rows))

    def _row(self, hit: FileHit) -> str:
        mark = ":" if hit.at >= 0 else "-"
        shown = self._text(hit)
        if len(shown) > LINE_CHARS and self._cut is None and hit.at >= 0:
            self._cut = hit
        return f"{hit.path}{mark}{hit.line}{mark}{shown}"

    def _text(self, hit: FileHit) -> str:
        """Return the line, or what is around the match where it is long."""
        at = max(hit.at, 0)
        if hit.seen is not None:
            return around(hit.text, at, chars=LINE_CHARS)
        kept = self._version(hit.path)
        if kept is not None:
            lines = kept.version.lines
            line = lines[hit.line - 1] if hit.line <= len(lines) else _CHANGED
            return around(line, at, chars=LINE_CHARS)
        # Redacted before it is cut, so that no secret is cut in half and missed.
        start = max(at - _NEAR_CHARS, 0)
        near = hit.text[start : start + 2 * _NEAR_CHARS]
        return around(
            self._fit(near),
            len(self._fit(near[: at - start])),
            chars=LINE_CHARS,
            before=start,
            after=len(hit.text) - start - len(near),
        )

    def _is_inside(self, hit: FileHit) -> bool:
        """Return whether a hit is in a file to which no link leads.

        ripgrep goes by names: a folder may have become a link under its hands.
        """
        if hit.path not in self._inside:
            root = self.context.workspace.real_root
            self._inside[hit.path] = hit.seen is not None or is_file(root, hit.path)
        return self._inside[hit.path]

    def _fit(self, text: str) -> str:
        return self.context.redact(clean(text))

    def _translated(self, hit: FileHit) -> FileHit:
        kept = None if hit.seen is not None else self._version(hit.path)
        if kept is None or not kept.first_lines:
            return hit
        if hit.at >= 0 and "\r" in hit.text[hit.at :]:
            self._one_of = hit.path
        return kept.translated(hit)

    def _version(self, path: str) -> _Kept | None:
        if path not in self._versions:
            kept = sum(version is not None for version in self._versions.values())
            self._versions[path] = self._kept(path) if kept < _MAX_FILES else None
        return self._versions[path]

    def _kept(self, path: str) -> _Kept | None:
        try:
            with opened(self.context.workspace, path) as file:
                if os.fstat(file.fileno()).st_size > _MAX_FILE_BYTES:
                    return None
                data = file.read()
        except ToolError:
            return None  # it went away since; the line is still worth showing
        text = decode(data)
        if text is None:
            return None
        return _Kept(keep(path, data, text, self.context), _first_lines(text))

    def _seen(self, stored: Mapping[str, FileSeen | None]) -> tuple[FileSeen, ...]:
        found: list[FileSeen] = []
        for path, seen in stored.items():
            kept = self._versions.get(path)
            shown = kept.version.seen if seen is None and kept is not None else seen
            if shown is not None and shown.artifact:
                found.append(shown)
        return tuple(found)


def _first_lines(text: str) -> tuple[int, ...]:
    """Return where the lines that end at LF begin, if bare CRs end lines as well."""
    text = text.replace("\r\n", "\n")
    if "\r" not in text:
        return ()
    firsts, number = [], 1
    for line in text.split("\n"):
        firsts.append(number)
        number += 1 + line.count("\r")
    return tuple(firsts)


def _is_gap(before: FileHit, hit: FileHit) -> bool:
    return before.path != hit.path or hit.line != before.line + 1


def _nothing(pattern: str) -> ToolOutput:
    bounded = shortened(pattern, _PATTERN_CHARS)
    return ToolOutput(
        f"No match for `{bounded}`. Try other words, fewer of them, or `(?i)`."
    )
