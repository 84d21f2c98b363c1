"""Reading back `progress.md`, in whatever state people and their editors left it.

Parts are known by the comments around them; where these are damaged or gone, by their
headings. Nothing of a text is dropped here but such marks: what belongs to no part is
returned as loose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from orchestrator.store.notes import SECTIONS
from orchestrator.store.notes_page import EMPTY, PERSON, PROGRAM_HEADINGS
from orchestrator.store.notes_text import as_lines, version_of

__all__ = ["Found", "Page", "read_back"]

_NAMES: Final = {name.casefold(): name for name in (*SECTIONS, PERSON)}
_HEADINGS: Final = (*SECTIONS, PERSON, *PROGRAM_HEADINGS)
_TABLES: Final = frozenset(name.casefold() for name in PROGRAM_HEADINGS)
_OURS: Final = "program"
_LAST: Final = "effects"
"""The part of the program that a whole file ends with."""
_MARK: Final = re.compile(
    r"\s*<!--\s*(?P<end>/)?\s*(?P<kind>section|program)\b\s*"
    r"(?::\s*(?P<name>\w[\w ]*?))?(?:\s+(?P<version>[0-9a-f]{8}))?\s*-->\s*",
    re.IGNORECASE,
)
_REMAINS: Final = re.compile(
    r"[\s<!/-]*(?:section|program)\b:?(?:\s*(?:"
    + "|".join(map(re.escape, (*_NAMES, "header", "subagents", _LAST)))
    + r"))?(?:\s+[0-9a-f]{1,8})?[\s>-]*",
    re.IGNORECASE,
)
"""A mark of which a part is gone; it has `<!` or `->` in it, or is no mark."""
_HEADING: Final = re.compile(r" {0,3}(?P<level>#{1,2})(?:\s+(?P<title>.*?))?[\s#]*")
_FENCE: Final = re.compile(r"\s{0,3}(?P<fence>`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Found:
    """A section as it stands in a file.

    Attributes:
        text: all of it.
        version: what the file says that it is a change of; "": it does not say.
        is_cut: its end is missing, and so is all behind it.
    """

    text: str
    version: str = ""
    is_cut: bool = False

    @property
    def is_as_written(self) -> bool:
        """Return whether it is a version that the program wrote, and no change."""
        return version_of(self.text) == self.version


@dataclass(frozen=True, slots=True)
class Page:
    """What stands in a file.

    Attributes:
        sections: proper name → section; those that are not there are not in it.
        changed: lines of the program's own parts that are not as they were written.
        owned: all lines of the program's own parts, as they stand there.
        loose: what belongs to no part.
        is_whole: it ends as the program ends a file, whatever stands behind that.
    """

    sections: Mapping[str, Found]
    changed: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    loose: str = ""
    is_whole: bool = False


@dataclass(slots=True)
class _Piece:
    """Lines in a row that belong to one part."""

    kind: str
    """`section`, `program`, or "" for what stands outside of marks."""
    name: str
    version: str = ""
    is_closed: bool = False
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")


def read_back(text: str) -> Page:
    """Return the parts of a file; any text is one.

    Args:
        text: decoded, with or without a mark of its byte order.
    """
    lines = as_lines(text.removeprefix("\ufeff"))
    pieces = _Reader(lines).read()
    if not _is_whole(pieces) and _is_begun(lines[-1]):
        pieces = _Reader(lines[:-1]).read()
    owned = [piece for piece in pieces if piece.kind == _OURS]
    loose = [piece.text for piece in pieces if not piece.kind and not piece.name]
    return Page(
        sections=_sections(pieces),
        changed=tuple(
            line
            for piece in owned
            if piece.version and version_of(piece.text) != piece.version
            for line in piece.lines
        ),
        owned=tuple(line for piece in owned for line in piece.lines),
        loose="\n\n".join(text for text in loose if text),
        is_whole=_is_whole(pieces),
    )


def _is_whole(pieces: list[_Piece]) -> bool:
    return any(
        each.kind == _OURS and each.name == _LAST and each.is_closed for each in pieces
    )


def _is_begun(line: str) -> bool:
    """Return whether the last line of a file that was cut off begins one of ours."""
    ours = ("<!-- ", EMPTY, *(f"## {name}" for name in _HEADINGS))
    is_mark = line.startswith("<!--") and "-->" not in line
    return bool(line) and (is_mark or any(each.startswith(line) for each in ours))


def _sections(pieces: list[_Piece]) -> dict[str, Found]:
    found: dict[str, Found] = {}
    for name in _NAMES.values():
        own = [piece for piece in pieces if piece.name == name and piece.kind != _OURS]
        if not own:
            continue
        marked = [piece for piece in own if piece.kind]
        version = next((piece.version for piece in marked if piece.version), "")
        newest = own[-1]
        ends_file = newest is pieces[-1] and not newest.is_closed
        is_cut = ends_file and (bool(newest.kind) or not marked)
        found[name] = Found(_joined(own, version), version, is_cut)
    return found


def _joined(pieces: list[_Piece], version: str) -> str:
    """Return the text of one section, wherever it stands; copies of it once."""
    texts = list(dict.fromkeys(piece.text for piece in pieces if piece.text))
    if len(texts) == 1 and version_of(texts[0]) == version:
        return texts[0]
    text = "\n".join(text for text in texts if text != EMPTY)
    if version in ("", version_of("")):  # people may write above or below the words
        text = "\n".join(line for line in text.split("\n") if line != EMPTY)
    return text.strip("\n")


class _Reader:
    """Cuts the lines of a file into pieces."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._marks = [_MARK.fullmatch(line) for line in lines]
        self._ends = self._ending()
        self._pieces = [_Piece("", "")]
        self._fence = ""

    def read(self) -> list[_Piece]:
        """Return the pieces in order; those of no part have no name."""
        for at, line in enumerate(self._lines):
            mark = self._marks[at]
            if mark is not None:
                self._take_mark(mark, at)
            elif not self._takes(line):
                self._pieces[-1].lines.append(line)
        return self._pieces

    def _ending(self) -> set[int]:
        """Return the lines that begin what an end follows, before the next begins."""
        closed: set[int] = set()
        begun: int | None = None
        for at, mark in enumerate(self._marks):
            if mark is None:
                continue
            if not mark["end"]:
                begun = at
            elif begun is not None and self._kind(begun) == mark["kind"].casefold():
                closed.add(begun)
                begun = None
        return closed

    def _kind(self, at: int) -> str:
        mark = self._marks[at]
        return mark["kind"].casefold() if mark else ""

    def _take_mark(self, mark: re.Match[str], at: int) -> None:
        self._fence = ""
        piece = self._pieces[-1]
        if mark["end"]:
            if piece.kind == _OURS:
                self._pieces.append(_Piece("", ""))
            elif piece.kind:
                self._pieces.append(_Piece("", piece.name))
            return
        kind, version = mark["kind"].casefold(), (mark["version"] or "").casefold()
        named = " ".join((mark["name"] or "").split()).casefold()
        is_closed = at in self._ends
        if kind == _OURS:
            self._pieces.append(_Piece(kind, named, version, is_closed))
        elif (name := _NAMES.get(named)) is not None:
            self._pieces.append(_Piece(kind, name, version, is_closed))
        else:
            self._pieces.append(_Piece("", ""))

    def _takes(self, line: str) -> bool:
        """Take a line that is no text of a part: a damaged mark, a heading of ours.

        A heading begins a new piece in any case.
        """
        piece = self._pieces[-1]
        if piece.is_closed:  # what stands between two marks is theirs
            return False
        if ("<!" in line or "->" in line) and _REMAINS.fullmatch(line):
            return True
        if (fence := _FENCE.match(line)) is not None:
            self._fence = "" if self._fence else fence["fence"]
        found = None if self._fence else _HEADING.fullmatch(line)
        if found is None:
            return False
        title = " ".join((found["title"] or "").split()).rstrip(" :").casefold()
        if title in _TABLES:
            self._pieces.append(_Piece("", ""))
            return True
        if (name := _NAMES.get(title)) is not None:
            self._pieces.append(_Piece("", name))
            return True
        if piece.kind != _OURS:
            self._pieces.append(_Piece("", ""))
        return False
