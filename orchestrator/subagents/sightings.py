"""Which versions of which files each agent saw, read off the log."""

from __future__ import annotations

from collections import defaultdict

from orchestrator.events import Event, FileSeen, ToolEnded
from orchestrator.spec.foreign import EXPLORE_NOTHING

__all__ = ["Sightings"]


class Sightings:
    """The files whose text was shown to an agent; fed by the log, live or on resume.

    Newest version last. A path is relative to the workspace.
    """

    def __init__(self) -> None:
        self.explored: dict[str, int] = defaultdict(int)
        """Agent id → estimated tokens of all that its reading tools had, unclipped."""
        self._seen: dict[str, dict[str, list[FileSeen]]] = defaultdict(dict)

    def apply(self, event: Event) -> None:
        """Take in one event of the log."""
        if event.kind != ToolEnded.KIND:
            return
        if event.data["name"] not in EXPLORE_NOTHING:
            self.explored[event.agent] += event.data["full_tokens"]
        for entry in event.data.get("files") or ():
            seen = entry if isinstance(entry, FileSeen) else FileSeen(**entry)
            versions = self._seen[event.agent].setdefault(seen.path, [])
            if not versions or versions[-1].sha256 != seen.sha256:
                versions.append(seen)

    def of(self, agent: str) -> dict[str, list[FileSeen]]:
        """Return path → versions that `agent` saw; empty if it saw none."""
        return self._seen.get(agent, {})

    def paths(self) -> dict[str, FileSeen]:
        """Return path → the newest version that any agent saw."""
        newest: dict[str, FileSeen] = {}
        for files in self._seen.values():
            for path, versions in files.items():
                newest[path] = versions[-1]
        return newest
