"""Dispatching subagents: briefs in, a queue, findings out.

A join: called again for the same `delegate` call, after a resume, it finds the
children by (call, index), uses what is finished and goes on with the rest.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import anyio

from orchestrator.agent.rebuild import rebuild
from orchestrator.brief import Brief, lint
from orchestrator.errors import StoreError
from orchestrator.events import (
    BriefRefused,
    Event,
    FindingsSubmitted,
    SubagentAccepted,
    SubagentEnded,
    parse,
)
from orchestrator.findings import Findings
from orchestrator.subagents.child import Child, broken_off, run_child
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.render import Delivered, Refused, delegate_result
from orchestrator.tools.base import ToolOutput

__all__ = ["Dispatcher", "Place"]

FAILED = frozenset({"failed", "limit", "unvalidated"})
"""Outcomes after which something the lead asked for is not there."""


@dataclass(slots=True)
class Place:
    """One accepted brief and what became of it."""

    child: Child
    call: str
    index: int
    ended: SubagentEnded | None = None

    @property
    def id(self) -> str:
        """Return the agent's id."""
        return self.child.id

    @property
    def brief(self) -> Brief:
        """Return what it was asked."""
        return self.child.brief

    @property
    def findings(self) -> Findings | None:
        """Return the findings as delivered, or None while the subagent is at work."""
        return Findings.model_validate(self.ended.findings) if self.ended else None


class Dispatcher:
    """Accepts briefs and runs their subagents side by side, as many as allowed."""

    def __init__(
        self, crew: Crew, *, parent: str = "lead", past: Iterable[Event] = ()
    ) -> None:
        """Take over what earlier processes dispatched, if `past` holds their events."""
        self._crew = crew
        self._parent = parent
        self._places: dict[tuple[str, int], Place] = {}
        self._room = anyio.CapacityLimiter(crew.task.limits.concurrency)
        events = list(past)
        for event in events:
            if event.kind == SubagentAccepted.KIND:
                self._restore(parse(event, SubagentAccepted), events)
            elif event.kind == SubagentEnded.KIND:
                self._place(event.data["id"]).ended = parse(event, SubagentEnded)

    @property
    def places(self) -> list[Place]:
        """Return all accepted briefs, in order of acceptance."""
        return list(self._places.values())

    @property
    def findings(self) -> dict[str, Findings]:
        """Return agent id → findings as delivered, of all that are finished."""
        return {place.id: found for place in self.places if (found := place.findings)}

    @property
    def unsupported(self) -> dict[str, list[int]]:
        """Return agent id → numbers of its items without found evidence, from 1."""
        return {
            place.id: list(place.ended.unsupported_items)
            for place in self.places
            if place.ended and place.ended.unsupported_items
        }

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
        refused = []
        for index, brief in enumerate(briefs):
            if (call, index) not in self._places:
                problems = self._accept(call, index, brief)
                if problems:
                    refused.append(Refused(index, brief.title, problems))
        await self._crew.services.log.sync()
        mine = [place for place in self.places if place.call == call]
        await self._run_all([place for place in mine if place.ended is None])
        delivered = [_delivered(place) for place in mine]
        text = delegate_result(delivered, refused)
        return ToolOutput(
            text,
            is_error=bool(refused) and not mine,
            paged=True,
            limit_tokens=self._crew.services.count(text) + 1,
        )

    def missing(self) -> list[str]:
        """Return what was asked for and did not come, a line each.

        A failed subagent is left out where a later one answered the same title.
        """
        answered: set[str] = set()
        lines: list[str] = []
        for place in reversed(self.places):
            ended, title = place.ended, " ".join(place.brief.title.split())
            if ended is not None and ended.outcome not in FAILED:
                answered.add(title.casefold())
            elif title.casefold() not in answered:
                why = ended.reason if ended else "it was not finished"
                lines.append(f"subagent {place.id} ({title}) failed: {why}")
        return lines[::-1]

    def remarks(self) -> list[str]:
        """Return what a reader of the report should know besides, a line each."""
        return [
            "Unsupported, the quoted evidence was not found in its source: "
            + ", ".join(f"[{agent}#{number}]" for number in numbers)
            for agent, numbers in self.unsupported.items()
        ]

    def _accept(self, call: str, index: int, brief: Brief) -> list[str]:
        """Give the brief its agent id, or return why it is refused."""
        crew = self._crew
        live = [place.brief for place in self.places if place.ended is None]
        mine = [place.brief for place in self.places if place.call == call]
        others = [*live, *(each for each in mine if each not in live)]
        problems = lint(
            brief, workspace=crew.workspace, profiles=crew.profiles, others=others
        )
        allowed = crew.task.limits.subagents
        if len(self._places) >= allowed:
            problems = [f"all {allowed} subagents of this run are used up"]
        log = crew.services.log
        if problems:
            event = BriefRefused(call, index, brief.title, problems)
            log.append(event, agent=self._parent)
            return problems
        agent = f"a{len(self._places) + 1}"
        log.append(
            SubagentAccepted(
                id=agent,
                call=call,
                index=index,
                title=brief.title,
                profile=brief.agent,
                brief=brief.model_dump(mode="json"),
            ),
            agent=self._parent,
        )
        child = Child(agent, brief, self._parent)
        self._places[call, index] = Place(child, call, index)
        return []

    async def _run_all(self, places: Sequence[Place]) -> None:
        broken: list[StoreError] = []
        async with anyio.create_task_group() as group:

            async def work(place: Place) -> None:
                try:
                    async with self._room:
                        await self._run_one(place)
                except StoreError as error:  # not this subagent's: the run must end
                    broken.append(error)
                    group.cancel_scope.cancel()

            for place in places:
                group.start_soon(work, place, name=place.id)
        if broken:
            raise broken[0]
        for place in places:
            if place.ended is None:  # cancelled from within, by nobody of ours
                place.ended = broken_off(self._crew, place.child, "it was cancelled")

    async def _run_one(self, place: Place) -> None:
        try:
            place.ended = await run_child(self._crew, place.child)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - its siblings must go on
            why = f"a fault of the program: {type(error).__name__}: {error}"
            place.ended = broken_off(
                self._crew, place.child, why, traceback.format_exc()
            )

    def _restore(self, accepted: SubagentAccepted, events: Sequence[Event]) -> None:
        returned = sum(
            event.kind == FindingsSubmitted.KIND and not event.data["accepted"]
            for event in events
            if event.agent == accepted.id
        )
        child = Child(
            accepted.id,
            Brief.model_validate(accepted.brief),
            self._parent,
            rebuild(self._crew.services, accepted.id, events),
            returned,
        )
        place = Place(child, accepted.call, accepted.index)
        self._places[accepted.call, accepted.index] = place

    def _place(self, agent: str) -> Place:
        return next(place for place in self.places if place.id == agent)


def _delivered(place: Place) -> Delivered:
    ended, found = place.ended, place.findings
    if ended is None or found is None:
        raise ValueError(f"`{place.id}` has not ended")
    return Delivered(
        agent=place.id,
        title=place.brief.title,
        findings=found,
        outcome=ended.outcome,
        reason=ended.reason,
        unsupported=tuple(ended.unsupported_items),
        notes=tuple(ended.notes),
    )
