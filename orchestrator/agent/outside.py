"""What the program itself takes from outside of a run, beside models and tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from orchestrator.agent.reopening import Reopened
from orchestrator.events import MemoryKept, MemoryRecalled

__all__ = ["LIVE", "Handed", "M", "Outside", "Staleness"]

Staleness = Literal["changed", "gone"]
"""What has become of a file since it was read."""


M = TypeVar("M", MemoryKept, MemoryRecalled)


@dataclass(frozen=True, slots=True)
class Handed:
    """One brief of one call: who sends it, the id of the call, its place from 0."""

    parent: str
    call: str
    index: int


class Outside(Protocol):
    """Answers by looking, or, where a run is replayed, from its record.

    What is not async may be called in a thread.
    """

    def problems(self, brief: Handed, look: Callable[[], list[str]]) -> list[str]:
        """Return why a brief is refused; empty where it stands alone."""
        ...

    def tree(self, brief: Handed, look: Callable[[], str]) -> str:
        """Return the hash of the files in the scope of a brief, "" if unknown."""
        ...

    def stale(
        self, told: str, of: str, look: Callable[[], Mapping[str, Staleness]]
    ) -> Mapping[str, Staleness]:
        """Return which files have changed that the findings of a subagent are from.

        Args:
            told: the agent that gets them; "": whoever reads the report.
            of: the subagent.
            look: reads the files.
        """
        ...

    async def reopened(
        self, agent: str, look: Callable[[], Awaitable[Sequence[Reopened]]]
    ) -> Sequence[Reopened]:
        """Return the files that an agent is shown afresh after a compaction."""
        ...

    async def remembered(
        self, agent: str, kind: type[M], look: Callable[[], Awaitable[M]]
    ) -> M | None:
        """Return what an event of a kind is to tell of memory; None: there is none.

        Args:
            agent: whose event it is.
            kind: of it.
            look: reads or writes memory.
        """
        ...

    async def turn(self, agent: str) -> None:
        """Wait until it is this agent's turn to set something of the budget aside."""
        ...


class _Live:
    """Looks."""

    def problems(self, brief: Handed, look: Callable[[], list[str]]) -> list[str]:
        del brief
        return look()

    def tree(self, brief: Handed, look: Callable[[], str]) -> str:
        del brief
        return look()

    def stale(
        self, told: str, of: str, look: Callable[[], Mapping[str, Staleness]]
    ) -> Mapping[str, Staleness]:
        del told, of
        return look()

    async def reopened(
        self, agent: str, look: Callable[[], Awaitable[Sequence[Reopened]]]
    ) -> Sequence[Reopened]:
        del agent
        return await look()

    async def remembered(
        self, agent: str, kind: type[M], look: Callable[[], Awaitable[M]]
    ) -> M | None:
        del agent, kind
        return await look()

    async def turn(self, agent: str) -> None:
        """Whoever comes first is first."""


LIVE: Outside = _Live()
