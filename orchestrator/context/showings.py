"""Which lines of which files an agent still sees, and in which of its results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from orchestrator.events import FileSeen

__all__ = ["Showings"]


@dataclass(frozen=True, slots=True)
class _Showing:
    """A page of a file in one result; the file is `path` as of `sha256`."""

    ref: str
    path: str
    sha256: str
    first: int
    last: int

    @classmethod
    def of(cls, page: FileSeen, ref: str) -> _Showing:
        """Return a page as it stands in the result that `ref` opens."""
        return cls(ref, page.path, page.sha256, page.first, page.last)

    def shows(self, other: _Showing) -> bool:
        """Return whether every line of `other` is in it, in the same version."""
        return (
            self.path == other.path
            and self.sha256 == other.sha256
            and self.first <= other.first
            and other.last <= self.last
        )


@dataclass(slots=True)
class Showings:
    """Pages in results that are sent as they are, the oldest first."""

    _by_call: dict[str, list[_Showing]] = field(default_factory=dict)

    def add(self, call: str, files: Iterable[FileSeen], *, ref: str) -> None:
        """Take in a result.

        Args:
            call: id of its call.
            files: as its event has them; those without a page do not count.
            ref: opens it: `h12`, or `h12.2`.
        """
        pages = [
            _Showing.of(each, ref) for each in files if 0 < each.first <= each.last
        ]
        if pages:
            self._by_call.pop(call, None)
            self._by_call[call] = pages

    @property
    def calls(self) -> set[str]:
        """Return the ids of the calls whose results show something."""
        return set(self._by_call)

    def find(self, page: FileSeen) -> str:
        """Return the newest result that shows all lines of a page, or "".

        Args:
            page: of the file as it is now.
        """
        wanted = _Showing.of(page, "")
        for pages in reversed(self._by_call.values()):
            for shown in pages:
                if shown.shows(wanted):
                    return shown.ref
        return ""

    def superseded(self) -> set[str]:
        """Return calls of which nothing is worth seeing: later results show it all.

        A page is shown later where all its lines are, or where the file has changed.
        """
        found: set[str] = set()
        later: list[_Showing] = []
        newest: dict[str, str] = {}
        for call, pages in reversed(self._by_call.items()):
            if all(
                newest.get(page.path, page.sha256) != page.sha256
                or any(each.shows(page) for each in later)
                for page in pages
            ):
                found.add(call)
            later += pages
            for page in pages:
                newest.setdefault(page.path, page.sha256)
        return found

    def forget(self, call: str) -> None:
        """Take out a result that is no longer sent."""
        self._by_call.pop(call, None)

    def clear(self) -> None:
        """Take out all of them."""
        self._by_call.clear()
