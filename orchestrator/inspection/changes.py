"""What a run changed in its workspace, folded by file from its log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import orjson

from orchestrator.errors import StoreError
from orchestrator.events import Event, FileChange, ToolEnded, ToolStarted
from orchestrator.events.diffs import Diff, diff
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.store.records import REF

__all__ = ["ChangeSum", "Changes", "FileDiff", "diffs_of", "sum_of"]

State = Literal["created", "edited", "removed"]

_CHANGING = frozenset({"bash", "edit_file", "write_file"})
UNSHOWN = "only characters that are not shown differ, such as line ends"
GONE = "its text is no longer in the run's folder"


@dataclass(slots=True)
class Changes:
    """What the calls of a run changed; `apply` adds one event of its log."""

    _found: list[tuple[str, Any]] = field(default_factory=list)
    """Agent, and the changes as they are logged: a list, or where that is stored."""
    _open: dict[tuple[str, str], str] = field(default_factory=dict)
    """Agent and call → tool, of those that may change files and have not ended."""
    _cut: list[str] = field(default_factory=list)

    @property
    def cut_off(self) -> list[str]:
        """Return the tools of calls whose changes are not known, in order.

        They were cut off, or are still at work.
        """
        return [*self._cut, *self._open.values()]

    def apply(self, event: Event) -> None:
        """Take over one event."""
        call = event.agent, str(event.data.get("call"))
        name = str(event.data.get("name"))
        if event.kind == ToolStarted.KIND and name in _CHANGING:
            self._open[call] = name
        elif event.kind == ToolEnded.KIND:
            tool = self._open.pop(call, None)
            if tool and event.data.get("content") == UNKNOWN:
                self._cut.append(tool)
            if event.data.get("changes"):
                self._found.append((event.agent, event.data["changes"]))

    def files(self, read_text: Callable[[str], str]) -> list[FileDiff]:
        """Return the files that are not as they were before the run, by path.

        What is damaged is passed over.

        Args:
            read_text: gives an artifact.
        """
        known: dict[str, FileDiff] = {}
        for agent, logged in self._found:
            for entry in _entries(logged, read_text):
                change = _change(entry)
                if change is None:
                    continue
                each = known.get(change.path) or FileDiff(change.path, change, change)
                agents = {**each.agents, agent: each.agents.get(agent, 0) + 1}
                known[change.path] = replace(each, last=change, agents=agents)
        return [each for _, each in sorted(known.items()) if not each.is_unchanged]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A file that a run changed.

    Attributes:
        path: relative to the workspace.
        first: the first change; its state before counts.
        last: the last change; its state after counts.
        agents: who changed it → how often, in the order of the log.
    """

    path: str
    first: FileChange
    last: FileChange
    agents: dict[str, int] = field(default_factory=dict)

    @property
    def is_unchanged(self) -> bool:
        """Return whether it is as it was before the run."""
        return self.first.before_sha256 == self.last.after_sha256

    @property
    def state(self) -> State:
        """Return what has become of it."""
        if not self.first.before_sha256:
            return "created"
        return "edited" if self.last.after_sha256 else "removed"

    @property
    def note(self) -> str:
        """Return why there is no text to compare, or ""."""
        return self.last.note or self.first.note


@dataclass(frozen=True, slots=True)
class ChangeSum:
    """How much a run changed; lines of files without a text do not count."""

    files: int = 0
    added: int = 0
    removed: int = 0


def diffs_of(
    changes: Changes, read_text: Callable[[str], str]
) -> Iterator[tuple[FileDiff, Diff, str]]:
    """Yield each file with its diff, and a remark where that does not say all.

    Args:
        changes: of a run.
        read_text: gives an artifact.
    """
    for each in changes.files(read_text):
        if each.note:
            yield each, Diff(), each.note
            continue
        try:
            before, after = (
                read_text(ref) if ref else ""
                for ref in (each.first.before, each.last.after)
            )
        except StoreError:
            yield each, Diff(), GONE
            continue
        found = diff(before, after)
        is_plain = found.rows or each.state != "edited"
        yield each, found, "" if is_plain else UNSHOWN


def sum_of(found: Iterable[tuple[FileDiff, Diff, str]]) -> ChangeSum:
    """Return how much was changed in all."""
    files = added = removed = 0
    for _each, lines, _remark in found:
        files += 1
        added += lines.added
        removed += lines.removed
    return ChangeSum(files, added, removed)


def _entries(logged: Any, read_text: Callable[[str], str]) -> list[Any]:  # noqa: ANN401 - whatever a log holds
    if isinstance(logged, dict) and isinstance(logged.get(REF), str):
        try:
            logged = orjson.loads(read_text(logged[REF]))
        except (StoreError, ValueError):
            return []
    return logged if isinstance(logged, list) else []


def _change(entry: Any) -> FileChange | None:  # noqa: ANN401 - whatever a log holds
    if isinstance(entry, FileChange):
        return entry
    if not isinstance(entry, dict):
        return None
    texts = {name: value for name, value in entry.items() if isinstance(value, str)}
    return FileChange.stored(texts) if texts.get("path") else None
