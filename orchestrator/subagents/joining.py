"""Waiting for subagents, while others use the place of who waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import anyio

from orchestrator.ids import LEAD
from orchestrator.subagents.mail import Mail
from orchestrator.subagents.nursery import Nursery
from orchestrator.subagents.place import Place

__all__ = ["Joins"]


class Joins:
    """Lets one agent wait for its subagents."""

    def __init__(
        self,
        parent: str,
        mail: Mail,
        nursery: Nursery,
        room: anyio.CapacityLimiter,
        on_rest: Callable[[], None],
    ) -> None:
        """Make it.

        Args:
            parent: who waits.
            mail: what it has not got yet.
            nursery: where the subagents are at work.
            room: places to work in, of which it has one itself, unless it leads.
            on_rest: called when it has left its place to others.
        """
        self._parent = parent
        self._mail = mail
        self._nursery = nursery
        self._room = room
        self._on_rest = on_rest
        self._waiting = 0
        self._has_left = False
        self._back = anyio.Lock()

    async def join(
        self,
        places: Sequence[Place],
        mode: Literal["any", "all"] = "all",
        timeout_s: float | None = None,
    ) -> bool:
        """Wait until all of some subagents have ended, or any has brought something.

        Args:
            places: whom.
            mode: which of the two.
            timeout_s: the longest wait; None: their own limits bound it.

        Returns:
            False if the time was up before.
        """

        def is_met() -> bool:
            is_live = any(place.ended is None for place in places)
            return not is_live or (mode == "any" and bool(self._mail.due(places)))

        if not is_met():
            async with self._rest():
                with anyio.move_on_after(timeout_s):
                    while not is_met():
                        await self._nursery.changed()
        return is_met()

    @asynccontextmanager
    async def _rest(self) -> AsyncIterator[None]:
        """Leave the place to work in to others; joins of one step share one rest."""
        if self._parent == LEAD:
            yield
            return
        self._waiting += 1
        self._leave()
        try:
            yield
        finally:
            self._waiting -= 1
            async with self._back:  # one goes back for all
                if self._has_left and not self._waiting:
                    await self._room.acquire_on_behalf_of(self._parent)
                    self._has_left = False
                    if self._waiting:  # another join has begun meanwhile
                        self._leave()

    def _leave(self) -> None:
        """Give up the place, if there is one: who is being ended may have none."""
        if self._parent in self._room.statistics().borrowers:
            self._room.release_on_behalf_of(self._parent)
            self._has_left = True
            self._on_rest()
