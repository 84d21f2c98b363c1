"""Directing the subagents of one agent: briefs in, findings out, each told once.

Subagents are at work beside the agent that sent them. `delegate`, `wait_for` and
`follow_up` are joins: called again after a resume, they find whom they are about and
wait for the rest. What comes in while nobody waits is delivered after the next step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from orchestrator.agent.budget import Amount
from orchestrator.agent.loop import Agent
from orchestrator.agent.replay import Remade
from orchestrator.agent.team import Late
from orchestrator.brief import Brief
from orchestrator.errors import StoreError, ToolError
from orchestrator.events import ControlReceived
from orchestrator.ids import LEAD
from orchestrator.messages import Block, one_line
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.acceptance import Acceptance
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.expecting import expected_tokens, outstanding_tokens
from orchestrator.subagents.following import Following
from orchestrator.subagents.joining import Joins
from orchestrator.subagents.mail import Due, Mail, output_of
from orchestrator.subagents.nursery import Nursery
from orchestrator.subagents.place import Place
from orchestrator.subagents.reserve import Reserve
from orchestrator.subagents.roster import Roster
from orchestrator.subagents.shortfall import missing
from orchestrator.subagents.standing import Standing
from orchestrator.subagents.working import Worker
from orchestrator.tools.base import Tool, ToolOutput
from orchestrator.tools.delegate import Delegate
from orchestrator.tools.directing import Cancel, FollowUp, Mode, WaitFor

__all__ = ["Dispatcher"]

CANCEL_S = 15.0
"""How long `cancel` waits for the end; calls with effects have a second for theirs."""
MAX_NAMED = 20


class Dispatcher:
    """Sends the subagents of one agent, waits for them, and ends them.

    Attributes:
        roster: who was sent in the whole run, and what became of it.
        standing: what is on record of those of this agent.
    """

    def __init__(
        self,
        crew: Crew,
        *,
        roster: Roster | None = None,
        parent: str = LEAD,
        workspace: Workspace | None = None,
    ) -> None:
        """Make it.

        Args:
            crew: what subagents are made from.
            roster: who was sent already; it is shared by the whole run. None: nobody.
            parent: who sends them.
            workspace: what that one may see; None: all of the run's.
        """
        self.roster = Roster() if roster is None else roster
        self._crew = crew
        self._parent = parent
        self._levels = crew.task.limits.depth - self.roster.depth_of(parent)
        self._agent: Agent | None = None
        workspace = workspace or crew.workspace
        self._mail = Mail(crew, self.roster, parent, workspace)
        self._reserve = reserve = Reserve(crew, self.roster, parent)
        below = self._levels - 1
        self._acceptance = Acceptance(
            crew, self.roster, parent, reserve, workspace=workspace, levels=below
        )
        self._worker = Worker(
            crew,
            self.roster,
            workspace=workspace,
            levels=below,
            below=self._below,
            parent_budget=reserve.budget,
            minutes_left=self._minutes_left,
            begins=reserve.begins,
        )
        self._nursery = Nursery(reserve.kept_during(self._worker.work))
        self._following = Following(crew, self.roster, self._acceptance)
        rested = crew.services.budget.tell
        self.standing = Standing(parent, self.roster, self._mail)
        self._join = Joins(parent, self._mail, self._nursery, crew.room, rested).join

    @property
    def tools(self) -> Sequence[Tool[Any]]:
        """Return the tools with which subagents are sent; none: no level is left."""
        if self._levels <= 0:
            return ()
        return (Delegate(self), WaitFor(self), FollowUp(self), Cancel(self))

    def _below(self, agent: str, workspace: Workspace) -> Dispatcher:
        """Return what a subagent sends its own with."""
        return Dispatcher(
            self._crew, roster=self.roster, parent=agent, workspace=workspace
        )

    @asynccontextmanager
    async def directing(self, agent: Agent) -> AsyncIterator[None]:
        """Let subagents work meanwhile; at the end those still at work are ended.

        Those of an earlier process go on at once.

        Args:
            agent: who sends them.

        Raises:
            StoreError: the run folder cannot be written.
        """
        if not (self.tools or self._mine or self._parent == LEAD):
            yield  # it sends nobody: kept here, it would live on after its end
            return
        self._agent = agent
        self._mail.attach(agent)
        self._reserve.attach(agent)
        async with self._nursery.open():
            if self._parent == LEAD:
                await self._worker.end_orphans()
            # Their work is done, and only the record of what they brought is lost.
            over = [place for place in self._at_work if place.child.past.is_over]
            self._start(over)
            await self._join(over)
            if not agent.state.is_handed_in:
                self._start(self._at_work)
            why = f"{self._parent} ended before it did"
            try:
                yield
            except StoreError:  # nothing can be written down any more
                raise
            except Exception:
                await self._end_all(why)
                raise
            await self._end_all(why)

    @property
    def _mine(self) -> list[Place]:
        return self.roster.sent_by(self._parent)

    @property
    def _at_work(self) -> list[Place]:
        return [place for place in self._mine if place.ended is None]

    def _start(self, places: Sequence[Place]) -> None:
        for place in places:
            if place.ended is None:
                self._nursery.start(place)

    async def delegate(
        self, call: str, briefs: Sequence[Brief], wait: str
    ) -> ToolOutput:
        """Send subagents, and wait for all of them, for the first, or for none.

        A brief that does not stand alone is refused, with what to mend; the others
        run. A subagent that fails never disturbs its siblings.

        Args:
            call: id of the `delegate` call.
            briefs: in the agent's order.
            wait: `all`, `first` or `none`.

        Raises:
            StoreError: the run folder cannot be written.
        """
        taken = await self._acceptance.take(call, briefs, room=self._room)
        self._hold_back()
        await self._crew.services.log.sync()
        mine = self.roster.of_call(self._parent, call)
        self._start(mine)
        if wait != "none":
            await self._join(mine, "any" if wait == "first" else "all")
        reused = self.roster.reused_of_call(self._parent, call)
        dues = self._mail.due(mine)
        told = await self._mail.deliver(
            dues,
            refused=taken.refused,
            reused=reused,
            others=_others(mine, dues),
            told=taken.told,
        )
        is_error = bool(taken.refused) and not mine and not reused
        return output_of(told, dues, is_error=is_error)

    async def wait_for(
        self, agents: Sequence[str], mode: Mode, timeout_s: float | None
    ) -> ToolOutput:
        """Wait for subagents and return what they brought, and a table of them.

        Args:
            agents: whom; none: all whose findings have not come yet.
            mode: `any` or `all` of them.
            timeout_s: the longest wait, in seconds; 0 gives the table at once. None:
                their own limits end it.

        Raises:
            ToolError: one of them is nobody's subagent.
            StoreError: the run folder cannot be written.
        """
        places = [self._known(agent) for agent in dict.fromkeys(agents)]
        if not agents:
            seen = {each.place.id for each in self._mail.due(self._mine)}
            places = [p for p in self._mine if p.ended is None or p.id in seen]
        is_timely = await self._join(places, mode, timeout_s)
        dues = self._mail.due(places)
        rows = _others(places, dues) if places else self._mine
        told = ""
        if timeout_s and not is_timely:
            told = f"{timeout_s:g} s are over; who is at work goes on."
        if not places:
            told = "No subagent is at work, and all findings have been delivered."
        return output_of(await self._mail.deliver(dues, others=rows, told=told), dues)

    async def follow_up(self, call: str, agent: str, question: str) -> ToolOutput:
        """Ask a subagent that has ended something more, and wait for its answer.

        It goes on with all that it has read. Where it cannot, a new one is sent with
        its brief and its findings.

        Args:
            call: id of the `follow_up` call.
            agent: whom.
            question: what.

        Raises:
            ToolError: it is nobody's subagent, still at work, or was cut off.
            StoreError: the run folder cannot be written.
        """
        place = self._known(agent)
        if self.roster.asked_by_call(self._parent, call) is None:
            await self._following.ask(call, place, question)
        await self._crew.services.log.sync()
        self._start([place])
        await self._join([place], "all")
        await self._following.replace_failed(call, place, question)
        sent = self.roster.of_call(self._parent, call)
        self._start(sent)
        await self._join(sent, "all")
        dues = self._mail.due([place, *sent])
        told = "" if not sent else f"{agent} could not go on: a new subagent was sent."
        delivered = await self._mail.deliver(dues, told=told)
        return output_of(delivered, dues)

    async def cancel(self, agent: str, reason: str) -> ToolOutput:
        """End a subagent and all below it; what it has goes to its parent.

        Args:
            agent: whom.
            reason: why; it is on record.

        Raises:
            ToolError: it is nobody's subagent.
            StoreError: the run folder cannot be written.
        """
        place = self._known(agent)
        if place.ended is not None:
            dues = self._mail.due([place])
            told = f"{agent} has ended already."
            rows = _others([place], dues)
            return output_of(
                await self._mail.deliver(dues, others=rows, told=told), dues
            )
        asked = ControlReceived("cancel", agent, by=self._parent, reason=reason)
        log = self._crew.services.log
        log.append(asked, cause=log.newest(self._parent))
        self.roster.withdraw(place, asked)
        self._start([place])
        await self._join([place], "all", CANCEL_S)
        dues = self._mail.due([place])
        found = await self._mail.deliver(dues, others=_others([place], dues))
        return output_of(found, dues)

    def _known(self, agent: str) -> Place:
        place = self.roster.get(agent.strip())
        if place is None or place.parent != self._parent:
            names = [each.id for each in self._mine]
            shown = ", ".join(names[-MAX_NAMED:]) or "none"
            raise ToolError(
                f"no subagent `{one_line(agent, 40)}` of yours; there are: {shown}"
            )
        return place

    def expects(self, calls: Sequence[Block]) -> int:
        """Return how many tokens of findings may come in while others spend."""
        return expected_tokens(calls) + outstanding_tokens(self._mine, self._mail)

    def is_out(self) -> bool:
        """Return whether a subagent is at work, or has findings not delivered yet."""
        self._mail.end_step()
        return bool(self._at_work or self._mail.unseen())

    async def wait(self) -> None:
        """Wait until no subagent is at work; their own limits bound that."""
        await self._join(self._mine, "all")

    async def settle(self, seconds: float) -> None:
        """Wait for those at work, and end them where they take too long.

        Args:
            seconds: how long they are waited for; 0 ends them at once.
        """
        if not await self._join(self._mine, "all", max(seconds, 0.0)):
            await self._end_all(f"{self._parent} reached a limit")

    async def late(self) -> Late | None:
        """Return what has come in and is not delivered yet, bounded; None: nothing.

        Raises:
            StoreError: the run folder cannot be written.
        """
        self._mail.end_step()
        dues = self._mail.unseen()
        if not dues:
            return None
        found = await self._mail.deliver(dues)
        text = self._crew.services.words("late_findings", findings=found.text)
        return Late(text, tuple(each.id for each in dues))

    def unfinished(self) -> Mapping[str, str]:
        """Return id → state, in words, of those whose findings are not read yet."""
        out = {place.id: _named(place, place.state) for place in self._at_work}
        for due in self._mail.unseen():
            words = _named(due.place, "its findings come with this message")
            out.setdefault(due.place.id, words)
        return out

    def missing(self) -> list[str]:
        """Return what it asked of its subagents and did not get, a line each."""
        return missing(self.roster, self._parent, has_explored=True)

    async def _end_all(self, why: str) -> None:
        """End those that are at work; what they have is on record."""
        for place in self._at_work:
            place.child.brake.pull(why)
        self._start(self._at_work)
        while self._at_work:
            await self._nursery.changed()

    def remade(self, call: str, *, delivered: Collection[str] = ()) -> Remade:
        """Return what a call brought that was over, where the record of it is lost.

        Nothing, if not all of its subagents are known to have ended.

        Args:
            call: of `delegate`.
            delivered: what the log says was delivered, then or later.

        Raises:
            StoreError: the run folder cannot be written.
        """
        mine = self.roster.of_call(self._parent, call)
        if not mine or any(place.ended is None for place in mine):
            return Remade()
        dues = [due for place in mine if (due := Due(place, 0)).id not in delivered]
        told = self._mail.render(
            dues,
            refused=self.roster.refused_of_call(self._parent, call),
            reused=self.roster.reused_of_call(self._parent, call),
            rows=[self._mail.row(place) for place in _others(mine, dues)],
        )
        return Remade(told.text, tuple(each.id for each in dues))

    def _room(self) -> Amount:
        """Return what more subagents may use, all reserves taken off.

        The parent's own is for what those bring who are accepted by now.
        """
        self._hold_back()
        return self._reserve.budget().room("")

    def _hold_back(self) -> None:
        if self._agent:
            expected = self.expects(())
            self._agent.caller.hold(self._agent.state, expected_tokens=expected)

    def _minutes_left(self) -> float:
        """Return the time before the last call: theirs must come before that."""
        return self._agent.left_s / 60 if self._agent else float("inf")


def _others(places: Sequence[Place], dues: Collection[Due]) -> list[Place]:
    named = {each.place.id for each in dues}
    return [place for place in places if place.id not in named]


def _named(place: Place, state: str) -> str:
    return f"{place.id} ({place.title}): {state}"
