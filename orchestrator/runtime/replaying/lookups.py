"""What the program looked up in the workspace, in a replay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.agent.outside import Handed, M, Staleness
from orchestrator.agent.reopening import Reopened
from orchestrator.events import (
    BriefRefused,
    BriefReused,
    ContextCompacted,
    Event,
    EvidenceStale,
    FileSeen,
    SubagentAccepted,
    parse,
)
from orchestrator.runtime.replaying.conductor import Conductor
from orchestrator.runtime.replaying.results import stored

__all__ = ["RecordedOutside"]


@dataclass(frozen=True, slots=True)
class RecordedOutside:
    """What the program looked up in the workspace, as recorded.

    Attributes:
        conductor: has the record.
        hashes: subagent → hash of the tree that it was to look at.
    """

    conductor: Conductor
    hashes: Mapping[str, str]

    def problems(self, brief: Handed, look: Callable[[], list[str]]) -> list[str]:
        """Return why the brief was refused."""
        del look
        refused = self._of(BriefRefused.KIND, brief)
        if refused is None or refused.data["no_room"] or refused.data["no_budget"]:
            return []
        return [str(each) for each in refused.data["problems"]]

    def tree(self, brief: Handed, look: Callable[[], str]) -> str:
        """Return the hash of the tree that the brief was about."""
        del look
        if (accepted := self._of(SubagentAccepted.KIND, brief)) is not None:
            return str(accepted.data["scope_hash"])
        # Of one that was refused after the look nobody asks again.
        reused = self._of(BriefReused.KIND, brief)
        return self.hashes.get(str(reused.data["id"]), "") if reused else ""

    def _of(self, kind: str, brief: Handed) -> Event | None:
        return self.conductor.find(brief.parent, kind, brief.call, str(brief.index))

    def stale(
        self, told: str, of: str, look: Callable[[], Mapping[str, Staleness]]
    ) -> Mapping[str, Staleness]:
        """Return which files were told to have changed."""
        del look
        for event in self.conductor.soon(told, EvidenceStale.KIND):
            if event.data["of"] == of:
                files: dict[str, Staleness] = event.data["files"]
                return files
        return {}

    async def reopened(
        self, agent: str, look: Callable[[], Awaitable[Sequence[Reopened]]]
    ) -> Sequence[Reopened]:
        """Return the files that were shown afresh."""
        del look
        place = self.conductor.ahead(agent, ContextCompacted.KIND)
        if place is None:
            return []
        told = parse(self.conductor.events[place], ContextCompacted)
        seen = [stored(FileSeen, each) for each in told.files]
        return [
            Reopened(
                path,
                told.text[slice(*told.opened.get(path, (0, 0)))],
                tuple(each for each in seen if each.path == path),
            )
            for path in told.reopened
        ]

    async def remembered(
        self, agent: str, kind: type[M], look: Callable[[], Awaitable[M]]
    ) -> M | None:
        """Return what was told of memory, which nobody looks into."""
        del look
        place = self.conductor.ahead(agent, kind.KIND)
        return None if place is None else parse(self.conductor.events[place], kind)

    async def turn(self, agent: str) -> None:
        """Wait until what the agent does next is next of all."""
        await self.conductor.turn(agent)
