"""What evidence looked like when an entry was written, and whether it still does."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from orchestrator.memory.entries import Entry, Place, folded
from orchestrator.security import beneath

__all__ = ["Seals", "State", "worst"]

State = Literal["unchanged", "moved", "changed", "gone", "unknown"]

MAX_BYTES: Final = 5_000_000
"""Of a file that is read for evidence; a larger one stays unknown."""
MAX_LINES: Final = 50_000
MAX_GUESSED: Final = 4_000
"""Characters of evidence that are looked through for secrets."""
MAX_SOUGHT: Final = 400
"""Lines of evidence that are looked for elsewhere in the file."""
_ORDER: Final[tuple[State, ...]] = (
    "gone", "changed", "unknown", "moved", "unchanged"
)  # fmt: skip


def worst(states: Iterable[State]) -> State:
    """Return what is to be said of several places together."""
    found = set(states)
    return next((state for state in _ORDER if state in found), "unknown")


@dataclass(slots=True)
class Seals:
    """Reads the files that evidence names, each once. For one look: make it anew then.

    Attributes:
        workspace: what paths are relative to; None: nothing can be known.
        redact: replaces secrets; of few lines that hold one, no seal is taken, since it
            could be guessed from that.
    """

    workspace: Path | None
    redact: Callable[[str], str] = str
    _lines: dict[str, list[str] | State] = field(default_factory=dict)

    def state_of(self, entry: Entry) -> State:
        """Return whether what an entry rests on is still as it was."""
        return worst(map(self.state, entry.evidence))

    def state(self, place: Place) -> State:
        """Return whether the lines of a place are as they were."""
        if not place.seal or self.workspace is None:
            return "unknown"
        lines = self._read(place.path)
        if not isinstance(lines, list):
            return lines
        if _seal(_part(lines, place)) == place.seal:
            return "unchanged"
        return "moved" if _elsewhere(lines, place) else "changed"

    def now(self, entry: Entry) -> Entry:
        """Return an entry whose evidence names the lines at which it stands today."""
        places = tuple(map(self._now, entry.evidence))
        return entry if places == entry.evidence else replace(entry, evidence=places)

    def _now(self, place: Place) -> Place:
        if self.state(place) != "moved":
            return place
        lines = self._read(place.path)
        first = _elsewhere(lines, place) if isinstance(lines, list) else 0
        last = first + max(place.last, place.first) - place.first
        return replace(place, first=first, last=last)

    def sealed(self, place: Place) -> Place:
        """Return a place with the seal of its lines as they are now.

        There is none where they cannot be read: the place is kept, and says less.
        """
        place = self._relative(place)
        if self.workspace is None:
            return replace(place, seal="")
        lines = self._read(place.path)
        if not isinstance(lines, list):
            return replace(place, seal="")
        part = _part(lines, place)
        is_open = len(part) > MAX_GUESSED or self.redact(part) == part
        return replace(place, seal=_seal(part) if part.strip() and is_open else "")

    def _relative(self, place: Place) -> Place:
        """Return a place whose absolute path inside the workspace is a relative one."""
        path = place.path.strip()
        if self.workspace is not None and path.startswith("/"):
            for root in (str(self.workspace), os.path.realpath(self.workspace)):
                if path.startswith(f"{root}/"):
                    path = path[len(root) + 1 :]
        return replace(place, path=path.removeprefix("./"))

    def _read(self, path: str) -> list[str] | State:
        if path not in self._lines:
            self._lines[path] = self._lines_of(path)
        return self._lines[path]

    def _lines_of(self, path: str) -> list[str] | State:
        assert self.workspace is not None  # noqa: S101 - both callers have asked
        if path.startswith("/") or "\0" in path or ".." in path.split("/"):
            return "unknown"
        if not self.workspace.is_dir():
            return "unknown"
        try:
            with beneath.open_file(self.workspace, path) as file:
                data = file.read(MAX_BYTES + 1) or b""
        except (FileNotFoundError, NotADirectoryError):
            return "gone"
        except OSError:
            return "unknown"
        if len(data) > MAX_BYTES:
            return "unknown"
        lines = data.decode("utf-8", "replace").split("\n")
        return lines if len(lines) <= MAX_LINES else "unknown"


def _part(lines: Sequence[str], place: Place) -> str:
    if not place.first:
        return "\n".join(lines)
    return "\n".join(lines[place.first - 1 : max(place.last, place.first)])


def _elsewhere(lines: Sequence[str], place: Place) -> int:
    """Return at which line the same lines stand now, the nearest; 0: nowhere."""
    size = max(place.last, place.first) - place.first + 1
    if not place.first or size > MAX_SOUGHT:
        return 0
    plain = [folded(line) for line in lines]
    found = [
        start + 1
        for start in range(len(plain) - size + 1)
        if _seal(" ".join(plain[start : start + size])) == place.seal
    ]
    return min(found, key=lambda first: abs(first - place.first), default=0)


def _seal(text: str) -> str:
    data = folded(text).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:8]
