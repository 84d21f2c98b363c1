"""Dispatching subagents: briefs in, a queue, findings out.

A join: called again for the same `delegate` call, after a resume, it finds the
children by (call, index), uses what is finished and goes on with the rest.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

import anyio
import anyio.to_thread

from orchestrator.brief import Brief, lint
from orchestrator.errors import StoreError
from orchestrator.events import BriefRefused, SubagentAccepted
from orchestrator.ids import LEAD
from orchestrator.models.choose import window_tokens
from orchestrator.subagents.child import Child, broken_off, run_child, write_findings
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.fan_out import Delivery, delivery
from orchestrator.subagents.place import CANCELLED, Place, as_delivered
from orchestrator.subagents.render import Refused
from orchestrator.subagents.roster import USED_UP, Roster
from orchestrator.tools.base import ToolOutput
from orchestrator.tools.executor import is_cancelled

__all__ = ["Dispatcher"]

FAN_OUT_SHARE = 0.25
"""Of the parent's free window: what all findings of one call may take together."""


class _Judged(NamedTuple):
    """What keeps a brief from being accepted, if anything does."""

    problems: list[str]
    no_room: bool = False


class Dispatcher:
    """Accepts briefs and runs their subagents side by side, as many as allowed.

    Attributes:
        roster: who was sent, and what became of it.
        free_tokens: what is left of the parent's window; set by who makes the parent.
    """

    def __init__(
        self, crew: Crew, *, roster: Roster | None = None, parent: str = LEAD
    ) -> None:
        """Make it.

        Args:
            crew: what subagents are made from.
            roster: who was sent already; it is taken over. None: nobody.
            parent: who sends them.
        """
        self.free_tokens: Callable[[], int] = lambda: window_tokens(crew.models.lead)
        self.roster = roster or Roster()
        self._crew = crew
        self._parent = parent
        self._room = anyio.CapacityLimiter(crew.task.limits.concurrency)
        self._door = anyio.Lock()

    async def delegate(
        self, call: str, briefs: Sequence[Brief], wait: str
    ) -> ToolOutput:
        """Run the subagents of one call and wait for all of them.

        A brief that does not stand alone is refused, with what to mend; the others
        run. A subagent that fails never disturbs its siblings. Cancelling the caller
        cancels every subagent.

        Args:
            call: id of the `delegate` call.
            briefs: in the lead's order.
            wait: `all`; the tool refuses the rest.

        Raises:
            StoreError: the run folder cannot be written.
        """
        del wait
        refused = await self._accept_all(call, briefs)
        await self._crew.services.log.sync()
        mine = self.roster.of_call(call)
        await self._run_all([place for place in mine if place.ended is None])
        told = await anyio.to_thread.run_sync(self._delivery, mine, refused)
        return ToolOutput(
            told.text,
            is_error=bool(refused) and not mine,
            paged=True,
            # It is bounded; clipped once more, claims would be torn apart.
            limit_tokens=2 * told.tokens,
        )

    def remade(self, call: str) -> str:
        """Return what a call brought that was over, where the record of it is lost.

        "" if not all of its subagents are known to have ended.

        Raises:
            StoreError: the run folder cannot be written.
        """
        mine = self.roster.of_call(call)
        if not mine or any(place.ended is None for place in mine):
            return ""
        return self._delivery(mine, self.roster.refused_of_call(call)).text

    def _delivery(self, mine: Sequence[Place], refused: Sequence[Refused]) -> Delivery:
        services = self._crew.services
        total = int(self.free_tokens() * FAN_OUT_SHARE)
        found = [as_delivered(place) for place in mine]
        return delivery(found, refused, total, services.count, services.artifacts)

    async def catch_up(self, waiting: Collection[str]) -> None:
        """Let subagents deliver that had ended, where the record of that is lost.

        Args:
            waiting: ids of calls that have no result yet; theirs do once these go on.

        Raises:
            StoreError: the run folder cannot be written.
        """
        await self._run_all(
            [
                place
                for place in self.roster.places
                if place.ended is None
                and place.call not in waiting
                and place.child.past.is_over
            ]
        )

    def write_missing(self) -> None:
        """Write the findings of those that have ended where their files are gone."""
        for place in self.roster.places:
            folder = self._crew.folder.agent(place.id)
            if place.ended and not (folder / "findings.json").exists():
                write_findings(self._crew, place.child, place.ended)

    def cancel(self, agent: str, why: str) -> None:
        """Stop one subagent for good; what it has goes to its parent as it is.

        Its siblings go on. One that has ended stays as it is.

        Args:
            agent: its id.
            why: by whom, in words; the parent is told.
        """
        place = self.roster.at_work.get(agent)
        if place is not None:
            place.child.brake.pull(why)

    async def _accept_all(self, call: str, briefs: Sequence[Brief]) -> list[Refused]:
        """Give each good brief its agent; return the others and what to mend."""
        new = [
            (index, brief)
            for index, brief in enumerate(briefs)
            if not self.roster.holds(call, index)
        ]
        refused: list[Refused] = []
        log = self._crew.services.log
        asked = log.newest(self._parent)
        # One call at a time: twins, the number allowed and the ids hang together.
        async with self._door:
            # It reads the names in the workspace, perhaps many of them.
            verdicts = await anyio.to_thread.run_sync(
                self._judge, call, [brief for _, brief in new]
            )
            for (index, brief), judged in zip(new, verdicts, strict=True):
                if judged.problems:
                    event = BriefRefused(call, index, brief.title, *judged)
                    log.append(event, agent=self._parent, cause=asked)
                    refused.append(self.roster.note_refused(event))
                else:
                    self._accept(call, index, brief, asked)
        return refused

    def _judge(self, call: str, briefs: Sequence[Brief]) -> list[_Judged]:
        """Return what keeps each brief from being accepted; in a thread."""
        crew, allowed = self._crew, self._crew.task.limits.subagents
        used = len(self.roster.places)
        others = [
            place.brief
            for place in self.roster.places
            if place.ended is None or place.call == call
        ]
        verdicts: list[_Judged] = []
        for brief in briefs:
            if used >= allowed:
                verdicts.append(_Judged([f"all {allowed} {USED_UP}"], no_room=True))
                continue
            problems = lint(
                brief, workspace=crew.workspace, profiles=crew.profiles, others=others
            )
            problems += crew.tool_problems(brief)
            verdicts.append(_Judged(problems))
            if not problems:
                used += 1
                others.append(brief)
        return verdicts

    def _accept(self, call: str, index: int, brief: Brief, asked: int) -> None:
        agent, log = self.roster.next_id(), self._crew.services.log
        accepted = log.append(
            SubagentAccepted(
                id=agent,
                call=call,
                index=index,
                title=brief.title,
                profile=brief.agent,
                brief=brief.model_dump(mode="json"),
            ),
            agent=self._parent,
            cause=asked,
        )
        log.link(agent, accepted.seq)
        self.roster.take_in(Child(agent, brief, self._parent), call, index)

    async def _run_all(self, places: Sequence[Place]) -> None:
        broken: list[StoreError] = []
        async with anyio.create_task_group() as group:

            async def work(place: Place) -> None:
                try:
                    await self._wait_and_run(place)
                except StoreError as error:  # not this subagent's: the run must end
                    broken.append(error)
                    group.cancel_scope.cancel()

            for place in places:
                group.start_soon(work, place, name=place.id)
        if broken:
            raise broken[0]

    async def _wait_and_run(self, place: Place) -> None:
        """Run a subagent once there is room; a cancelled one needs none."""
        brake = place.child.brake
        with brake.watching():
            await self._room.acquire_on_behalf_of(place.id)
        try:
            if brake.why and place.child.past.rebuilt is None:
                place.ended = await broken_off(
                    self._crew, place.child, brake.why, outcome=CANCELLED
                )
            else:
                await self._run_one(place)
        finally:
            with suppress(RuntimeError):  # it was cancelled while it waited
                self._room.release_on_behalf_of(place.id)

    async def _run_one(self, place: Place) -> None:
        why, trace = "", ""
        try:
            place.ended = await run_child(self._crew, place.child)
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
            place.ended = await broken_off(self._crew, place.child, why, trace)
