"""Who was sent out, and what became of it: records only, nothing at work here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.events import (
    BriefRefused,
    BriefReused,
    ControlReceived,
    SubagentAsked,
    SubagentEnded,
)
from orchestrator.findings import Findings
from orchestrator.ids import LEAD
from orchestrator.messages import one_line
from orchestrator.subagents.child import Child
from orchestrator.subagents.place import MAX_REASON_CHARS, Place, makes_up_for
from orchestrator.subagents.render import Refused

__all__ = ["USED_UP", "WITHDREW", "Roster"]

USED_UP = "subagents of this run are used up"
NO_BUDGET = "no room in what is left of the budget"
WITHDREW = "cancelled it: "
"""Between who ended a subagent that it had sent, and why."""
MAX_TITLES = 5

Key = tuple[str, str, int]
"""Parent, call, and place of the brief in that call, from 0."""


@dataclass(frozen=True, slots=True)
class _Turned:
    """A brief that was turned away.

    Attributes:
        refused: as its parent was told.
        before: how many had been accepted.
    """

    refused: Refused
    before: int


class Roster:
    """The subagents of a run, in order of acceptance, and the refused briefs."""

    def __init__(self, *, highest: int = 0) -> None:
        """Make an empty one.

        Args:
            highest: number of the newest subagent that anything is known of.
        """
        self._places: dict[Key, Place] = {}
        self._by_id: dict[str, Place] = {}
        # Asked for at every turn of every agent: not to be searched for among all.
        self._sent: dict[str, dict[Key, Place]] = {}
        self._highest = highest
        self._turned: dict[Key, _Turned] = {}
        self._reused: dict[Key, str] = {}
        self._lost: list[SubagentEnded] = []

    @staticmethod
    def withdraw(place: Place, asked: ControlReceived) -> None:
        """Stop a subagent for good because its parent does not need it any more."""
        place.is_withdrawn = True
        place.child.brake.pull(f"{asked.by} {WITHDREW}{asked.reason}")

    def stop(self, agent: str, why: str) -> None:
        """Stop one subagent for good; what it has goes to its parent.

        Its siblings go on. One that has ended stays as it is.

        Args:
            agent: its id.
            why: by whom, in words; the parent is told.
        """
        place = self._by_id.get(agent)
        if place is not None and place.ended is None:
            place.child.brake.pull(why)

    @property
    def places(self) -> list[Place]:
        """Return all accepted briefs, in order of acceptance."""
        return list(self._places.values())

    @property
    def at_work(self) -> dict[str, Place]:
        """Return agent id → place of those that have not ended, waiting ones too."""
        return {place.id: place for place in self.places if place.ended is None}

    def get(self, agent: str) -> Place | None:
        """Return the place of a subagent, or None."""
        return self._by_id.get(agent)

    def sent_by(self, parent: str) -> list[Place]:
        """Return the subagents of one agent."""
        return list(self._sent.get(parent, {}).values())

    def depth_of(self, agent: str) -> int:
        """Return how many levels an agent is below the lead."""
        place = self._by_id.get(agent)
        return 1 + self.depth_of(place.parent) if place else 0

    def below(self, agent: str) -> Iterator[str]:
        """Yield the ids of all subagents below an agent."""
        for place in self.sent_by(agent):
            yield place.id
            yield from self.below(place.id)

    def findings_for(self, parent: str) -> dict[str, Findings]:
        """Return agent id → all it delivered to its parent, as far as it has ended."""
        lost = {
            each.id: Findings.model_validate(each.findings, extra="ignore")
            for each in self._lost_of(parent)
        }
        places = self.sent_by(parent)
        return lost | {place.id: found for place in places if (found := place.findings)}

    def unsupported_for(self, parent: str) -> dict[str, list[int]]:
        """Return agent id → numbers of its items without found evidence, from 1."""
        lost = {each.id: list(each.unsupported_items) for each in self._lost_of(parent)}
        places = {place.id: place.unsupported for place in self.sent_by(parent)}
        return {agent: numbers for agent, numbers in (lost | places).items() if numbers}

    def sources_for(self, parent: str) -> dict[str, dict[str, str]]:
        """Return agent id → path → hash of the files that its evidence is from."""
        return {
            place.id: {
                path: digest
                for each in place.answers
                for path, digest in each.sources.items()
            }
            for place in self.sent_by(parent)
        }

    def _lost_of(self, parent: str) -> list[SubagentEnded]:
        """Return the ends of subagents of which nothing else is known."""
        return self._lost if parent == LEAD else []

    def of_call(self, parent: str, call: str) -> list[Place]:
        """Return the accepted briefs of one call."""
        return [place for place in self.sent_by(parent) if place.call == call]

    def refused_of_call(self, parent: str, call: str) -> list[Refused]:
        """Return the refused briefs of one `delegate` call."""
        return [
            turned.refused
            for (who, of, _), turned in self._turned.items()
            if (who, of) == (parent, call)
        ]

    def reused_of_call(self, parent: str, call: str) -> list[Place]:
        """Return the finished subagents that answer briefs of one call."""
        found = [
            self._by_id.get(agent)
            for (who, of, _), agent in self._reused.items()
            if (who, of) == (parent, call)
        ]
        return [place for place in found if place is not None]

    def asked_by_call(self, parent: str, call: str) -> tuple[Place, int] | None:
        """Return whom a `follow_up` call asked, and which question of it that is."""
        for place in self.sent_by(parent):
            for number, asked in enumerate(place.asked, 1):
                if asked.call == call:
                    return place, number
        return None

    def holds(self, parent: str, call: str, index: int) -> bool:
        """Return whether a brief of a call was accepted, or answered from before."""
        key = parent, call, index
        return key in self._places or key in self._reused

    def next_id(self) -> str:
        """Return the id of the next subagent; it is not given out again."""
        self._highest += 1
        return f"a{self._highest}"

    def take_in(
        self, child: Child, call: str, index: int, *, scope_hash: str = ""
    ) -> Place:
        """Add an accepted brief and return its place.

        Args:
            child: who works on it.
            call: id of the call that sent it.
            index: its place in that call, from 0.
            scope_hash: of the tree that it may see; "" if unknown.
        """
        after = frozenset(place.id for place in self.places if place.ended)
        place = Place(child, call, after, scope_hash)
        key = child.parent, call, index
        self._places[key] = self._by_id[child.id] = place
        self._sent.setdefault(child.parent, {})[key] = place
        return place

    def ask(self, asked: SubagentAsked) -> Place:
        """Note a further question; the subagent is at work again.

        A stop that came too late for its last work is none of the new one.
        """
        place = self._by_id[asked.id]
        place.asked.append(asked)
        place.child = Child(place.id, place.brief, place.parent)
        place.is_begun = place.is_withdrawn = False
        return place

    def note_refused(self, refused: BriefRefused, parent: str) -> Refused:
        """Remember a brief that was refused, and return it as its parent is told."""
        known = Refused(
            refused.index,
            refused.title,
            refused.problems,
            refused.no_room,
            refused.no_budget,
        )
        key = parent, refused.call, refused.index
        self._turned[key] = _Turned(known, len(self._places))
        return known

    def note_reused(self, reused: BriefReused, parent: str) -> None:
        """Remember a brief that earlier findings answer."""
        self._reused[parent, reused.call, reused.index] = reused.id

    def missing(self, parent: str, *, has_explored: bool) -> list[str]:
        """Return what an agent asked for and did not get, a line each.

        A failed subagent is left out where a later one, sent after it had failed,
        answered the same title; so is a brief that there was no room for at first.

        Args:
            parent: the agent.
            has_explored: it has read something by itself.
        """
        places = self.sent_by(parent)
        lines = [_line(place) for place in _unmet(places)]
        lines += self._unanswered(places)
        turned = [t for (who, _, _), t in self._turned.items() if who == parent]
        if turned and not places and not has_explored and not self._reused:
            why = one_line(" ".join(turned[-1].refused.problems), MAX_REASON_CHARS)
            lines.append(f"nothing was explored, every brief was refused: {why}")
        for why in (USED_UP, NO_BUDGET):
            if titles := self._without_room(parent, why):
                lines.append(_turned_away(titles, why))
        return lines

    def unread(self, agents: Iterable[str]) -> list[str]:
        """Return whose findings came too late for a hand-in, a line each.

        Args:
            agents: whose findings were not there; those that have a problem besides
                are left out.
        """
        places = (self._by_id.get(agent) for agent in agents)
        return [
            f"subagent {place.id} ({place.title}): its findings came too late for the "
            "report"
            for place in places
            if place and not place.problem and not place.is_withdrawn
        ]

    def stopped(self) -> list[str]:
        """Return those of the lines of `missing` of the lead that a person wanted."""
        unmet = _unmet(self.sent_by(LEAD))
        return [_line(each) for each in unmet if each.is_cancelled]

    def _unanswered(self, places: list[Place]) -> list[str]:
        return [
            f"subagent {place.id} ({place.title}), {problem}"
            for place in places
            if not place.is_withdrawn
            for call, problem in place.unanswered
            if not any(
                each.call == call and not each.problem for each in places
            )  # a new one took its place
        ]

    def _without_room(self, parent: str, why: str) -> list[str]:
        """Return the titles that were turned away and that got no answer.

        Titles may be the same: those of one call are briefs of their own, those of
        another call the same briefs tried again.
        """
        tries: dict[str, Counter[str]] = {}
        first: dict[str, tuple[str, int]] = {}  # as written, and how many were there
        for (who, call, _), turned in self._turned.items():
            refused = turned.refused
            fits = refused.no_room if why == USED_UP else refused.no_budget
            if who == parent and fits:
                title = one_line(refused.title)
                first.setdefault(title.casefold(), (title, turned.before))
                tries.setdefault(title.casefold(), Counter())[call] += 1
        titles: list[str] = []
        for key, (title, before) in first.items():
            came = [
                each
                for each in self.places[before:]
                if each.parent == parent
                and each.title.casefold() == key
                and not each.problem
            ]
            titles += [title] * (max(tries[key].values()) - len(came))
        return titles

    def remarks(self) -> list[str]:
        """Return what a reader of the report should know besides, a line each."""
        lines = [
            f"Withdrawn by the lead: {place.id} ({place.title}): "
            + one_line(place.ended.reason, MAX_REASON_CHARS)
            for place in self.sent_by(LEAD)
            if place.is_withdrawn and place.is_cancelled and place.ended
        ]
        return lines + [
            "Unsupported, the quoted evidence was not found in its source: "
            + ", ".join(f"[{agent}#{number}]" for number in numbers)
            for agent, numbers in self.unsupported_for(LEAD).items()
        ]

    def note_end_of_unknown(self, ended: SubagentEnded) -> None:
        """Note an end whose brief is lost: it counts for its findings only."""
        self._lost.append(ended)


def _unmet(places: list[Place]) -> list[Place]:
    return [
        place
        for place in places
        if place.problem
        and not place.is_withdrawn
        and not any(makes_up_for(each, place) for each in places)
    ]


def _turned_away(titles: list[str], why: str) -> str:
    shown = ", ".join(titles[:MAX_TITLES])
    more = len(titles) - MAX_TITLES
    shown += f" and {more} more" if more > 0 else ""
    briefs = "1 brief" if len(titles) == 1 else f"{len(titles)} briefs"
    if why == USED_UP:
        return f"{briefs} found no subagent, all {USED_UP}: {shown}"
    return f"{briefs} found {why}: {shown}"


def _line(place: Place) -> str:
    return f"subagent {place.id} ({place.title}) {place.problem}"
