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
            # One file may have several texts: as it is, and as its page reads.
            if seen in versions:
                versions.remove(seen)
            versions.append(seen)

    def of(self, agent: str) -> dict[str, list[FileSeen]]:
        """Return path → versions that `agent` saw; empty if it saw none."""
        return self._seen.get(agent, {})

    def lines(self, agent: str | None = None) -> dict[str, int]:
        """Return path → most lines of any version that was seen, by `agent` or anyone.

        A report may cite any of them.
        """
        most: dict[str, int] = {}
        agents = self._seen if agent is None else (agent,)
        for files in map(self.of, agents):
            for path, versions in files.items():
                most[path] = max(most.get(path, 0), *(each.lines for each in versions))
        return most
