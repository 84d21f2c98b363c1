"""Compare what an earlier run quoted with the workspace as it is now."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.errors import ToolError
from orchestrator.evidence import FoldedText, parse_source
from orchestrator.ids import HISTORY_REFERENCE, REFERENCE, SKILL_PREFIX
from orchestrator.memory.bounded import read_start
from orchestrator.memory.entries import Place
from orchestrator.memory.seals import State, worst
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.workspace import Workspace

__all__ = ["MAX_FILE_BYTES", "Now", "QuotesNow", "Said"]

MAX_FILE_BYTES: Final = 2_000_000
"""A larger file is not read for one quote: what it holds is `unknown`."""
MAX_FILES: Final = 200
"""Texts that are kept at a time."""


@dataclass(frozen=True, slots=True)
class Said:
    """A place as an earlier run named it, and the words it copied from there.

    Attributes:
        path: as written; a URL or a reference too.
        first: first line, from 1; 0: none was named.
        last: last line.
        quote: the words; "" where none were copied.
    """

    path: str
    first: int = 0
    last: int = 0
    quote: str = ""

    @classmethod
    def of(cls, source: str, quote: str) -> Said:
        """Return evidence as it stands in findings."""
        place = parse_source(source)
        first = place.first or 0
        return cls(place.target, first, place.last or first, quote)

    @property
    def is_reference(self) -> bool:
        """Return whether it names what only agents of its own run could open."""
        return bool(
            REFERENCE.fullmatch(self.path)
            or HISTORY_REFERENCE.fullmatch(self.path)
            or self.path.startswith(SKILL_PREFIX)
        )


@dataclass(frozen=True, slots=True)
class Now:
    """Places, and the state of the worst of them; `unknown` where none tells."""

    places: tuple[Place, ...]
    state: State


@dataclass(slots=True)
class QuotesNow:
    """Looks up quotes; each file is read once. For one thread, and one moment."""

    workspace: Path
    _view: Workspace = field(init=False)
    _texts: dict[str, FoldedText | State] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._view = Workspace(self.workspace)

    def look(self, said: Iterable[Said]) -> Now:
        """Return where the words stand now, or stood, and whether they do still.

        References that nobody can open any more are left out.
        """
        places: list[Place] = []
        states: set[State] = set()
        for each in said:
            if each.is_reference:
                continue
            place, state = self._one(each)
            states.add(state)
            if place not in places:
                places.append(place)
        return Now(tuple(places), worst(states))

    def _one(self, said: Said) -> tuple[Place, State]:
        then = Place(said.path, said.first, said.last)
        if "://" in said.path:
            return then, "unknown"
        text = self._text(said.path)
        if isinstance(text, str):
            return then, text
        # In the file stands the secret itself, which nobody here knows.
        if not said.quote.strip() or PLACEHOLDER.search(said.quote):
            return then, "unknown"
        lines = (said.first, said.last) if said.first else None
        found = text.find(said.quote, lines)
        if found is None:
            return then, "changed"
        # A run may have named lines a little off: those that hold the words are shown.
        if lines is None or found.distance(lines) == 0:
            return then, "unchanged"
        return Place(said.path, found.first, found.last), "moved"

    def _text(self, path: str) -> FoldedText | State:
        if path not in self._texts:
            if len(self._texts) >= MAX_FILES:
                self._texts.clear()
            self._texts[path] = self._read(path)
        return self._texts[path]

    def _read(self, path: str) -> FoldedText | State:
        try:
            resolved = self._view.resolve(path.replace("\\", "/"))
            relative = os.path.relpath(resolved, self._view.real_root)
            data = read_start(self._view.real_root, relative, MAX_FILE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except (OSError, ValueError, ToolError):
            return "unknown"
        if len(data) > MAX_FILE_BYTES:
            return "unknown"
        return FoldedText(data.decode("utf-8-sig", "replace"))
