"""Where the subagents of one agent are at work, each in a task of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from orchestrator.errors import StoreError
from orchestrator.subagents.place import Place

__all__ = ["Nursery"]


class Nursery:
    """Lets subagents work side by side, and tells when one has ended.

    They outlive the call that sent them, and never the agent that made it.
    """

    def __init__(self, work: Callable[[Place], Awaitable[None]]) -> None:
        """Make it.

        Args:
            work: lets one subagent work until it has ended. Its errors are its own,
                but for those of the store.
        """
        self._work = work
        self._group: TaskGroup | None = None
        self._started: set[str] = set()
        self._change = anyio.Event()
        self._broken: StoreError | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Let subagents be started meanwhile; it ends when all have ended.

        Cancelling, or an error inside, ends them at once.

        Raises:
            StoreError: the run folder could not be written by one of them.
        """
        failed: Exception | None = None
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                yield
            except Exception as error:  # noqa: BLE001 - it goes on behind the group
                failed = error
                group.cancel_scope.cancel()
            finally:
                self._group = None
        if self._broken is not None:
            raise self._broken
        if failed is not None:
            raise failed

    def start(self, place: Place) -> None:
        """Let a subagent begin, unless it has; where nobody can work, it waits."""
        if self._group is not None and place.id not in self._started:
            self._started.add(place.id)
            self._group.start_soon(self._run, place, self._group, name=place.id)

    async def changed(self) -> None:
        """Wait until the next subagent has ended."""
        await self._change.wait()

    async def _run(self, place: Place, group: TaskGroup) -> None:
        try:
            await self._work(place)
        except StoreError as error:  # not this subagent's: the run must end
            self._broken = self._broken or error
            group.cancel_scope.cancel()
        finally:
            self._started.discard(place.id)
            self._change.set()
            self._change = anyio.Event()
