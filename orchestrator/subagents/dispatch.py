"""Dispatching subagents: briefs in, a queue, findings out.

A join: called again for the same `delegate` call, after a resume, it finds the
children by (call, index), uses what is finished and goes on with the rest.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress

import anyio
import anyio.to_thread

from orchestrator.agent.rebuild import Left
from orchestrator.brief import Brief, lint
from orchestrator.errors import StoreError
from orchestrator.events import (
    BriefRefused,
    ControlReceived,
    Event,
    SubagentAccepted,
    SubagentEnded,
    parse,
)
from orchestrator.findings import Findings
from orchestrator.models.choose import window_tokens
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.child import Child, broken_off, run_child
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.fan_out import Delivery, delivery
from orchestrator.subagents.place import CANCELLED, Place, as_delivered, makes_up_for
from orchestrator.subagents.render import Refused
from orchestrator.tools.base import ToolOutput
from orchestrator.tools.executor import is_cancelled

__all__ = ["Dispatcher"]

USED_UP = "subagents of this run are used up"
MAX_REASON_CHARS = 300
MAX_TITLES = 5
FAN_OUT_SHARE = 0.25
"""Of the parent's free window: what all findings of one call may take together."""


class Dispatcher:
    """Accepts briefs and runs their subagents side by side, as many as allowed.

    Attributes:
        free_tokens: what is left of the parent's window; set by who makes the parent.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        parent: str = "lead",
        past: Iterable[Event] = (),
        left: Callable[[str], Left] = lambda _agent: Left(),
        highest: int = 0,
    ) -> None:
        """Take over what earlier processes dispatched.

        Args:
            crew: what subagents are made from.
            parent: who sends them.
            past: how subagents were accepted, ended and refused.
            left: agent that has not ended → where it was left.
            highest: number of the newest subagent that anything is known of.
        """
        self.free_tokens: Callable[[], int] = lambda: window_tokens(crew.models.lead)
        self._crew = crew
        self._parent = parent
        self._places: dict[tuple[str, int], Place] = {}
        self._highest = highest
        self._without_room: list[str] = []
        self._refusal = ""
        self._refused: dict[tuple[str, int], Refused] = {}
        self._lost: list[SubagentEnded] = []
        self._room = anyio.CapacityLimiter(crew.task.limits.concurrency)
        self._door = anyio.Lock()
        events = list(past)
        over = {
            event.data["id"] for event in events if event.kind == SubagentEnded.KIND
        }
        for event in events:
            if event.kind == SubagentAccepted.KIND:
                accepted = parse(event, SubagentAccepted)
                self._restore(accepted, None if accepted.id in over else left)
            elif event.kind == SubagentEnded.KIND:
                self._end(parse(event, SubagentEnded))
            elif event.kind == BriefRefused.KIND:
                self._note_refused(parse(event, BriefRefused))
            elif event.kind == ControlReceived.KIND and event.data["to"]:
                self.cancel(event.data["to"], BY_A_PERSON)

    @property
    def places(self) -> list[Place]:
        """Return all accepted briefs, in order of acceptance."""
        return list(self._places.values())

    @property
    def findings(self) -> dict[str, Findings]:
        """Return agent id → findings as delivered, of all that are finished."""
        lost = {each.id: Findings.model_validate(each.findings) for each in self._lost}
        found = {place.id: found for place in self.places if (found := place.findings)}
        return lost | found

    @property
    def unsupported(self) -> dict[str, list[int]]:
        """Return agent id → numbers of its items without found evidence, from 1."""
        return {
            ended.id: list(ended.unsupported_items)
            for ended in [*self._lost, *(place.ended for place in self.places)]
            if ended and ended.unsupported_items
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
        refused = await self._accept_all(call, briefs)
        await self._crew.services.log.sync()
        mine = [place for place in self.places if place.call == call]
        await self._run_all([place for place in mine if place.ended is None])
        told = await anyio.to_thread.run_sync(self._delivery, mine, refused)
        return ToolOutput(
            told.text,
            is_error=bool(refused) and not mine,
            paged=True,
            # It is bounded; clipped once more, claims would be torn apart.
            limit_tokens=2 * told.tokens,
        )

    def told(self, call: str) -> str:
        """Return what a call brought that was over, where the record of it is lost.

        "" if not all of its subagents are known to have ended.

        Raises:
            StoreError: the run folder cannot be written.
        """
        mine = [place for place in self.places if place.call == call]
        if not mine or any(place.ended is None for place in mine):
            return ""
        refused = [each for (of, _), each in self._refused.items() if of == call]
        return self._delivery(mine, refused).text

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
                for place in self.places
                if place.ended is None
                and place.call not in waiting
                and place.child.resumed
                and place.child.resumed.is_over
            ]
        )

    @property
    def at_work(self) -> set[str]:
        """Return the ids of subagents that have not ended, waiting ones too."""
        return {place.id for place in self.places if place.ended is None}

    def cancel(self, agent: str, why: str) -> None:
        """Stop one subagent for good; what it has goes to its parent as it is.

        Its siblings go on. One that has ended stays as it is.

        Args:
            agent: its id.
            why: by whom, in words; the parent is told.
        """
        if agent in self.at_work:
            self._place(agent).child.brake.pull(why)

    def missing(self) -> list[str]:
        """Return what was asked for and did not come, a line each.

        A failed subagent is left out where a later one, sent after it had failed,
        answered the same title; so is a brief that there was no room for at first.
        """
        places = self.places
        lines = [
            f"subagent {place.id} ({place.title}) {place.problem}"
            for place in places
            if place.problem and not any(makes_up_for(each, place) for each in places)
        ]
        answered = {place.title.casefold() for place in places if not place.problem}
        titles = [
            each for each in self._without_room if each.casefold() not in answered
        ]
        if self._refusal and not places and not self._crew.sightings.of(self._parent):
            lines.append(
                f"nothing was explored, every brief was refused: {self._refusal}"
            )
        if titles:
            shown = ", ".join(titles[:MAX_TITLES])
            more = len(titles) - MAX_TITLES
            shown += f" and {more} more" if more > 0 else ""
            briefs = "1 brief" if len(titles) == 1 else f"{len(titles)} briefs"
            lines.append(f"{briefs} found no subagent, all {USED_UP}: {shown}")
        return lines

    def remarks(self) -> list[str]:
        """Return what a reader of the report should know besides, a line each."""
        return [
            "Unsupported, the quoted evidence was not found in its source: "
            + ", ".join(f"[{agent}#{number}]" for number in numbers)
            for agent, numbers in self.unsupported.items()
        ]

    async def _accept_all(self, call: str, briefs: Sequence[Brief]) -> list[Refused]:
        """Give each good brief its agent; return the others and what to mend."""
        new = [
            (index, brief)
            for index, brief in enumerate(briefs)
            if (call, index) not in self._places
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
            for (index, brief), problems in zip(new, verdicts, strict=True):
                if problems:
                    event = BriefRefused(call, index, brief.title, problems)
                    log.append(event, agent=self._parent, cause=asked)
                    self._note_refused(event)
                    refused.append(Refused(index, brief.title, problems))
                else:
                    self._accept(call, index, brief, asked)
        return refused

    def _judge(self, call: str, briefs: Sequence[Brief]) -> list[list[str]]:
        """Return what keeps each brief from being accepted; in a thread."""
        crew, allowed = self._crew, self._crew.task.limits.subagents
        used = len(self._places)
        others = [
            place.brief
            for place in self.places
            if place.ended is None or place.call == call
        ]
        verdicts: list[list[str]] = []
        for brief in briefs:
            if used >= allowed:
                verdicts.append([f"all {allowed} {USED_UP}"])
                continue
            problems = lint(
                brief, workspace=crew.workspace, profiles=crew.profiles, others=others
            )
            problems += crew.tool_problems(brief)
            verdicts.append(problems)
            if not problems:
                used += 1
                others.append(brief)
        return verdicts

    def _accept(self, call: str, index: int, brief: Brief, asked: int) -> None:
        self._highest += 1
        agent, log = f"a{self._highest}", self._crew.services.log
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
        self._take_in(Child(agent, brief, self._parent), call, index)

    def _take_in(self, child: Child, call: str, index: int) -> None:
        after = frozenset(place.id for place in self.places if place.ended)
        self._places[call, index] = Place(child, call, index, after)

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
            if brake.why and place.child.resumed is None:
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

    def _restore(
        self, accepted: SubagentAccepted, left: Callable[[str], Left] | None
    ) -> None:
        """Take a subagent over; `left` is None where it has ended."""
        at = left(accepted.id) if left else Left()
        child = Child(
            accepted.id,
            Brief.model_validate(accepted.brief),
            self._parent,
            at.resumed,
            at.headless,
            tuple(Findings.model_validate(each) for each in at.returned),
        )
        self._take_in(child, accepted.call, accepted.index)

    def _end(self, ended: SubagentEnded) -> None:
        """Take over an end; one whose brief is lost counts for its findings only."""
        for place in self.places:
            if place.id == ended.id:
                place.ended = ended
                return
        self._lost.append(ended)

    def _note_refused(self, refused: BriefRefused) -> None:
        """Remember why the newest was refused, and what found no subagent."""
        self._refusal = " ".join(" ".join(refused.problems).split())[:MAX_REASON_CHARS]
        known = Refused(refused.index, refused.title, refused.problems)
        self._refused[refused.call, refused.index] = known
        title = " ".join(refused.title.split())
        no_room = any(problem.endswith(USED_UP) for problem in refused.problems)
        if no_room and title not in self._without_room:
            self._without_room.append(title)

    def _place(self, agent: str) -> Place:
        return next(place for place in self.places if place.id == agent)
