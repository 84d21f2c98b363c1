"""Accepting briefs: what stands alone, fits the limits and was not answered before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import anyio.to_thread

from orchestrator.agent.budget import NOTHING, Amount
from orchestrator.agent.outside import Handed
from orchestrator.agent.reserving import findings_part
from orchestrator.brief import Brief, Scope, lint
from orchestrator.events import BriefRefused, BriefReused, SubagentAccepted
from orchestrator.findings import Findings
from orchestrator.security.workspace import Workspace
from orchestrator.spec.limits import AgentLimits
from orchestrator.subagents.admission import Verdict, Wanted, admit
from orchestrator.subagents.child import Child
from orchestrator.subagents.crew import Crew
from orchestrator.subagents.place import Place
from orchestrator.subagents.places import with_places
from orchestrator.subagents.render import Refused
from orchestrator.subagents.reserve import Reserve
from orchestrator.subagents.reuse import is_same_work, tree_hash
from orchestrator.subagents.roster import USED_UP, Roster
from orchestrator.subagents.shortfall import is_stopped_by_a_person

__all__ = ["Acceptance", "Taken"]

STOPPED = (
    "a person stopped {agent}, which had this very brief, and that holds: go on "
    "without it, and say in your report what is missing"
)
REUSABLE = frozenset({"complete", "nothing_found"})


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the briefs of one call.

    Attributes:
        refused: those that were turned away.
        told: the figures by which they were, or were made smaller; "" for none.
    """

    refused: tuple[Refused, ...] = ()
    told: str = ""


@dataclass(frozen=True, slots=True)
class _Judged:
    """One brief, and what keeps it from being accepted, if anything does."""

    index: int
    brief: Brief
    problems: tuple[str, ...] = ()
    no_room: bool = False
    no_budget: bool = False
    answered_by: str = ""
    scope_hash: str = ""

    @property
    def is_good(self) -> bool:
        """Return whether a subagent is to be sent for it."""
        return not self.problems and not self.answered_by


class Acceptance:
    """Takes the briefs of one agent, or says what is to be mended."""

    def __init__(
        self,
        crew: Crew,
        roster: Roster,
        parent: str,
        reserve: Reserve,
        *,
        workspace: Workspace,
        levels: int,
    ) -> None:
        """Make it.

        Args:
            crew: what subagents are made from.
            roster: gets the accepted ones.
            parent: who sends them.
            reserve: keeps a last call for each of them.
            workspace: what that one may see; they see no more.
            levels: of subagents that may be below those.
        """
        self._crew = crew
        self._reserve = reserve
        self._roster = roster
        self._parent = parent
        self._workspace = workspace
        self._levels = levels

    async def take(
        self, call: str, briefs: Sequence[Brief], *, room: Callable[[], Amount]
    ) -> Taken:
        """Give each good brief its agent; return the others and what to mend.

        A call that is made again after a crash takes only what it had not taken.

        Args:
            call: that sends them.
            briefs: in order.
            room: what subagents may use, all reserves taken off; asked for once
                nobody else is accepted meanwhile.

        Raises:
            StoreError: the run folder cannot be written.
        """
        new = [
            (index, brief)
            for index, brief in enumerate(briefs)
            if not self._roster.holds(self._parent, call, index)
        ]
        log, refused = self._crew.services.log, []
        asked = log.newest(self._parent)
        # One call at a time: twins, the number allowed and the ids hang together.
        async with self._crew.door:
            # It reads the names in the workspace, perhaps many of them.
            judged = await anyio.to_thread.run_sync(self._judge, call, new)
            judged, told = self._admit(judged, room())
            for each in judged:
                if each.problems:
                    refused.append(self._refuse(call, each, asked))
                elif each.answered_by:
                    self._reuse(call, each, asked)
                else:
                    self.accept(call, each.index, each.brief, asked, each.scope_hash)
        return Taken(tuple(refused), told)

    def accept(
        self, call: str, index: int, brief: Brief, asked: int, scope_hash: str = ""
    ) -> Place:
        """Give a brief its agent, whatever it says, and return its place.

        Args:
            call: that sends it.
            index: its place in that call.
            brief: what it is asked.
            asked: `seq` of the event that led to it.
            scope_hash: of the tree that it may see; "" if unknown.

        Raises:
            StoreError: the run folder cannot be written.
        """
        agent, log = self._roster.next_id(), self._crew.services.log
        accepted = log.append(
            SubagentAccepted(
                id=agent,
                call=call,
                index=index,
                title=brief.title,
                profile=brief.agent,
                brief=brief.model_dump(mode="json"),
                scope_hash=scope_hash,
            ),
            agent=self._parent,
            cause=asked,
        )
        log.link(agent, accepted.seq)
        child = Child(agent, brief, self._parent)
        place = self._roster.take_in(child, call, index, scope_hash=scope_hash)
        self._reserve.keep(place)
        return place

    def _refuse(self, call: str, judged: _Judged, asked: int) -> Refused:
        event = BriefRefused(
            call,
            judged.index,
            judged.brief.title,
            list(judged.problems),
            judged.no_room,
            judged.no_budget,
        )
        self._crew.services.log.append(event, agent=self._parent, cause=asked)
        return self._roster.note_refused(event, self._parent)

    def _reuse(self, call: str, judged: _Judged, asked: int) -> None:
        event = BriefReused(call, judged.index, judged.brief.title, judged.answered_by)
        self._crew.services.log.append(event, agent=self._parent, cause=asked)
        self._roster.note_reused(event, self._parent)

    def _judge(self, call: str, briefs: Sequence[tuple[int, Brief]]) -> list[_Judged]:
        """Return what keeps each brief from being accepted; in a thread."""
        crew, mine = self._crew, self._roster.sent_by(self._parent)
        findings = self._roster.findings_for(self._parent)
        free = crew.task.limits.subagents - len(self._roster.places)
        others = [
            place.brief for place in mine if place.ended is None or place.call == call
        ]

        @cache
        def hash_of(scope: Scope) -> str:
            seen = self._workspace.narrowed(scope.include, scope.exclude)
            return tree_hash(seen)

        judged: list[_Judged] = []
        for index, given in briefs:
            brief = with_places(given, findings)
            handed = Handed(self._parent, call, index)
            one = self._judge_one(brief, handed, others, mine, hash_of)
            if one.is_good and free <= 0:
                allowed = crew.task.limits.subagents
                one = replace(one, problems=(f"all {allowed} {USED_UP}",), no_room=True)
            if one.is_good:
                free -= 1
                others.append(brief)
            judged.append(one)
        return judged

    def _judge_one(
        self,
        brief: Brief,
        handed: Handed,
        others: Sequence[Brief],
        mine: Sequence[Place],
        hash_of: Callable[[Scope], str],
    ) -> _Judged:
        crew, index = self._crew, handed.index
        outside = crew.services.outside

        def look() -> list[str]:
            problems = lint(
                brief, workspace=self._workspace, profiles=crew.profiles, others=others
            )
            return problems + crew.tool_problems(brief, levels=self._levels)

        if problems := outside.problems(handed, look):
            return _Judged(index, brief, tuple(problems))
        for place in mine:
            if is_stopped_by_a_person(place) and is_same_work(brief, place.brief):
                return _Judged(index, brief, (STOPPED.format(agent=place.id),))
        scope_hash = outside.tree(handed, lambda: hash_of(brief.scope))
        for place in mine:
            if _answers(place, scope_hash) and is_same_work(brief, place.brief):
                return _Judged(index, brief, answered_by=place.id)
        return _Judged(index, brief, scope_hash=scope_hash)

    def _admit(
        self, judged: Sequence[_Judged], room: Amount
    ) -> tuple[list[_Judged], str]:
        """Return the briefs as the budget allows them, and the figures."""
        good = [each for each in judged if each.is_good]
        measured = self._measured()
        brought = sum((self._reserve.brought(each.brief) for each in good), NOTHING)
        part = findings_part(brought, self._crew.services.budget.tightest())
        admission = admit(
            [self._wanted(each.brief, part) for each in good],
            measured=measured,
            room=room,
            outstanding=self._outstanding(measured),
        )
        verdicts = {
            each.index: verdict
            for each, verdict in zip(good, admission.verdicts, strict=True)
        }
        return [
            _admitted(each, verdicts[each.index]) if each.index in verdicts else each
            for each in judged
        ], admission.told

    def _wanted(self, brief: Brief, findings: float) -> Wanted:
        """Return what a brief asks for.

        Args:
            brief: which.
            findings: share of its findings that its parent keeps money for.
        """
        crew = self._crew
        brought = self._reserve.brought(brief).part(findings)
        floor = self._reserve.floor(brief)
        limits = AgentLimits().narrowed(crew.profiles[brief.agent].limits)
        if brief.limits:
            limits = limits.narrowed(brief.limits)
        least = floor.part(self._reserve.likely) + brought
        return Wanted(brief.agent, floor + brought, limits, least)

    def _measured(self) -> dict[str, list[Amount]]:
        """Return kind → what each ended subagent of it used, with those below it."""
        measured: dict[str, list[Amount]] = {}
        for place in self._roster.places:
            if place.ended is not None and not place.is_cancelled:
                measured.setdefault(place.brief.agent, []).append(self._used(place))
        return measured

    def _used(self, place: Place) -> Amount:
        ids = [place.id, *self._roster.below(place.id)]
        return sum((self._crew.spent_by(agent) for agent in ids), NOTHING)

    def _outstanding(self, measured: Mapping[str, Sequence[Amount]]) -> Amount:
        """Return what those at work will probably still use, their holds aside."""
        total = NOTHING
        for place in self._roster.at_work.values():
            used = measured.get(place.brief.agent, ())
            if not used:
                continue
            mean = sum(used, NOTHING)
            likely = Amount(mean.usd / len(used), mean.tokens // len(used))
            rest = likely - self._used(place) - self._reserve.kept_for(place)
            total += Amount(max(rest.usd, 0.0), max(rest.tokens, 0))
        return total


def _answers(place: Place, scope_hash: str) -> bool:
    """Tell whether what a subagent found on its brief still holds for its scope."""
    if not scope_hash or place.scope_hash != scope_hash or not place.answers:
        return False
    first = place.answers[0]
    status = Findings.model_validate(first.findings, extra="ignore").status
    return first.outcome == "submitted" and not first.reason and status in REUSABLE


def _admitted(judged: _Judged, verdict: Verdict) -> _Judged:
    if verdict.refused:
        return replace(judged, problems=(verdict.refused,), no_budget=True)
    if verdict.limits is None:
        return judged
    own = (judged.brief.limits or AgentLimits()).narrowed(verdict.limits)
    return replace(judged, brief=judged.brief.model_copy(update={"limits": own}))
