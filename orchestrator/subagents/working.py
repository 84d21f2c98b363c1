"""One subagent at work: a place among those at work, its errand, its end."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import anyio.to_thread

from orchestrator.agent.budget import Budget
from orchestrator.agent.rebuild import NOT_BEGUN
from orchestrator.errors import StoreError
from orchestrator.events import SubagentEnded
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.child import Errand
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.following import past_of
from orchestrator.subagents.handover import broken_off
from orchestrator.subagents.life import Below, run_child
from orchestrator.subagents.place import CANCELLED, Place
from orchestrator.subagents.roster import Roster
from orchestrator.tools.fence import is_cancelled

__all__ = ["Worker"]


@dataclass(frozen=True, slots=True)
class Worker:
    """Lets the subagents of one agent work, one at a call.

    Attributes:
        workspace: what their parent may see.
        levels: of subagents that may be below each of them.
        below: agent, and what it may see → what it sends subagents of its own with.
        parent_budget: what pays for them all.
        minutes_left: of their parent's time.
        begins: waits until one that has a place can be paid for.
    """

    crew: Crew
    roster: Roster
    workspace: Workspace
    levels: int
    below: Callable[[str, Workspace], Below]
    parent_budget: Callable[[], Budget]
    minutes_left: Callable[[], float]
    begins: Callable[[Place], Awaitable[None]]

    async def work(self, place: Place) -> None:
        """Run a subagent once there is room; a cancelled one needs none.

        Where the run is parked, it stays in line.

        Raises:
            StoreError: the run folder cannot be written.
        """
        brake, room = place.child.brake, self.crew.room
        with brake.watching():
            await room.acquire_on_behalf_of(place.id)
            await self.begins(place)
            await self.crew.services.parking.passed()
        try:
            has_begun = place.is_begun or place.child.past is not NOT_BEGUN
            place.is_begun = True
            if brake.why and not has_begun:
                await self._break_off(place, brake.why, outcome=CANCELLED)
            else:
                await self._run(place)
        finally:
            with suppress(RuntimeError):  # it was cancelled while it waited
                room.release_on_behalf_of(place.id)

    async def end_orphans(self) -> None:
        """End those that a damaged log shows at work though their parent has ended.

        Raises:
            StoreError: the run folder cannot be written.
        """
        for place in self.roster.at_work.values():
            parent = self.roster.get(place.parent)
            if parent is not None and parent.ended is not None:
                why = f"{place.parent} ended before it did"
                await self._break_off(place, why, outcome=CANCELLED)

    async def _run(self, place: Place) -> None:
        why, trace = "", ""
        try:
            if place.asked:
                past = await anyio.to_thread.run_sync(past_of, self.crew, place.id)
                place.child = place.child.with_past(past)
                if past.cancelled:
                    place.child.brake.pull(past.cancelled)
            errand = self._errand(place)
            below = self.below(place.id, errand.workspace)
            ended = await run_child(self.crew, place.child, errand, below)
            self._end(place, ended)
        except StoreError:
            raise
        except anyio.get_cancelled_exc_class():
            if is_cancelled():
                raise
            why = "it was cancelled from within, by nobody of ours"
        except Exception as error:  # noqa: BLE001 - its siblings must go on
            why = f"a fault of the program: {type(error).__name__}: {error}"
            trace = traceback.format_exc()
        if why:
            await self._break_off(place, why, trace=trace)

    def _errand(self, place: Place) -> Errand:
        scope = place.brief.scope
        return Errand(
            workspace=self.workspace.narrowed(scope.include, scope.exclude),
            budget=self.parent_budget(),
            minutes_left=self.minutes_left(),
            levels=self.levels,
            asked=place.asked[-1] if place.asked else None,
            before=tuple(place.answers),
        )

    async def _break_off(
        self, place: Place, why: str, *, trace: str = "", outcome: str = "failed"
    ) -> None:
        ended = await broken_off(
            self.crew, place.child, self._errand(place), why, trace, outcome=outcome
        )
        self._end(place, ended)

    @staticmethod
    def _end(place: Place, ended: SubagentEnded) -> None:
        place.answers.append(ended)
        place.child = place.child.with_past(NOT_BEGUN)  # it may be large
