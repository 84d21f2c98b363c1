"""Which versions of which files each agent saw, read off the log."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from orchestrator.events import (
    ContextCompacted,
    Event,
    FileChange,
    FileSeen,
    MemoryRecalled,
    SubagentAccepted,
    SubagentEnded,
    ToolEnded,
)
from orchestrator.ids import LEAD
from orchestrator.spec.foreign import EXPLORE_NOTHING

__all__ = ["Sightings"]

_SHOWN = frozenset({ContextCompacted.KIND, MemoryRecalled.KIND})
"""Kinds with files that the program itself showed, or looked into for the agent."""


@dataclass(slots=True)
class Sightings:
    """The files whose text was shown to an agent; fed by the log, live or on resume.

    A path is relative to the workspace. Of subagents that have delivered only what a
    report may cite is kept.

    Attributes:
        explored: agent id → estimated tokens of all that its reading tools had, before
            clipping.
        seen: agent id → path → versions, the newest last; the lines of each that it
            knows without a gap are its page.
        delivered: path → most lines of any version that those others saw.
        parents: subagent of a subagent → that one, which may quote what it saw.
    """

    explored: dict[str, int] = field(default_factory=dict)
    seen: dict[str, dict[str, list[FileSeen]]] = field(default_factory=dict)
    delivered: dict[str, int] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Sightings:
        """Return one of its own, which goes on from here."""
        seen = {
            agent: {path: list(versions) for path, versions in files.items()}
            for agent, files in self.seen.items()
        }
        return Sightings(
            dict(self.explored), seen, dict(self.delivered), dict(self.parents)
        )

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        if event.kind == SubagentAccepted.KIND and event.agent not in ("", LEAD):
            self.parents[event.data["id"]] = event.agent
        elif event.kind == SubagentEnded.KIND:
            self._close(event.data["id"])
        elif event.kind == ToolEnded.KIND:
            self._see(event)
        elif event.kind in _SHOWN:
            self._see_files(event)

    def _close(self, agent: str) -> None:
        for path, lines in self.lines(agent).items():
            self.delivered[path] = max(self.delivered.get(path, 0), lines)
        self.explored.pop(agent, None)
        seen = self.seen.pop(agent, {})
        if agent in self.parents:
            for versions in seen.values():
                for each in versions:
                    self._add(self.parents[agent], each)

    def reopen(self, agent: str, events: Iterable[Event]) -> None:
        """Take in again what an agent saw that had delivered: it goes on.

        Args:
            agent: its id.
            events: its own, all of them.
        """
        self.explored.pop(agent, None)
        self.seen.pop(agent, None)
        for event in events:
            if event.kind == ToolEnded.KIND:
                self._see(event)
            elif event.kind in _SHOWN:
                self._see_files(event)

    def _see(self, event: Event) -> None:
        if event.data["name"] not in EXPLORE_NOTHING:
            before = self.explored.get(event.agent, 0)
            self.explored[event.agent] = before + event.data["full_tokens"]
        self._see_files(event)

    def _see_files(self, event: Event) -> None:
        changes = {
            each.path: each
            for entry in event.data.get("changes") or ()
            for each in (
                entry if isinstance(entry, FileChange) else FileChange.stored(entry),
            )
        }
        for entry in event.data.get("files") or ():
            seen = entry if isinstance(entry, FileSeen) else FileSeen.stored(entry)
            change = changes.get(seen.path)
            if change is not None and self._knows_all(event.agent, change):
                seen = replace(seen, first=1, last=seen.lines)
            self._add(event.agent, seen)

    def _knows_all(self, agent: str, change: FileChange) -> bool:
        """Return whether an agent that made a change knows all lines afterwards."""
        return not change.before or any(
            each.sha256 == change.before_sha256
            and each.first == 1
            and each.last == each.lines
            for each in self.of(agent).get(change.path, ())
        )

    def _add(self, agent: str, seen: FileSeen) -> None:
        versions = self.seen.setdefault(agent, {}).setdefault(seen.path, [])
        # One file may have several texts: as it is, and as its page reads.
        if seen in versions:
            seen = _joined(versions.pop(versions.index(seen)), seen)
        versions.append(seen)

    def of(self, agent: str) -> dict[str, list[FileSeen]]:
        """Return path → versions that `agent` saw; empty if it saw none."""
        return self.seen.get(agent, {})

    def newest(self, agent: str) -> Callable[[str], FileSeen | None]:
        """Return what gives the version of a path that `agent` saw last, if any."""

        def find(path: str) -> FileSeen | None:
            versions = self.of(agent).get(path)
            return versions[-1] if versions else None

        return find

    def lines(self, agent: str | None = None) -> dict[str, int]:
        """Return path → most lines of any version that was seen, by `agent` or anyone.

        A report may cite any of them.
        """
        most = dict(self.delivered) if agent is None else {}
        agents = self.seen if agent is None else (agent,)
        for files in map(self.of, agents):
            for path, versions in files.items():
                most[path] = max(most.get(path, 0), *(each.lines for each in versions))
        return most


def _joined(before: FileSeen, now: FileSeen) -> FileSeen:
    """Return a version with what is known of it: both pages, if they meet."""
    if not before.first or not now.first:
        return now if now.first else before
    if now.first > before.last + 1 or before.first > now.last + 1:
        return now
    return replace(
        now, first=min(before.first, now.first), last=max(before.last, now.last)
    )
