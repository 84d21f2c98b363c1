"""Who was sent out, and what became of it: records only, nothing at work here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.brief import Brief
from orchestrator.events import (
    BriefRefused,
    ControlReceived,
    Event,
    SubagentAccepted,
    SubagentEnded,
    parse,
)
from orchestrator.findings import Findings
from orchestrator.messages import one_line
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.child import Child
from orchestrator.subagents.place import MAX_REASON_CHARS, Place, makes_up_for
from orchestrator.subagents.render import Refused

__all__ = ["USED_UP", "Roster"]

USED_UP = "subagents of this run are used up"
MAX_TITLES = 5


class Roster:
    """The subagents of one parent, in order of acceptance, and the refused briefs."""

    def __init__(self, *, highest: int = 0) -> None:
        """Make an empty one.

        Args:
            highest: number of the newest subagent that anything is known of.
        """
        self._places: dict[tuple[str, int], Place] = {}
        self._highest = highest
        self._refused: dict[tuple[str, int], Refused] = {}
        self._accepted_before: dict[tuple[str, int], int] = {}
        """Of a refused brief: how many were accepted before it."""
        self._lost: list[SubagentEnded] = []

    @classmethod
    def of(
        cls,
        past: Iterable[Event],
        past_of: Callable[[str], AgentPast],
        *,
        parent: str,
        highest: int,
    ) -> Roster:
        """Return the roster that earlier processes left.

        Args:
            past: how subagents were accepted, ended and refused.
            past_of: agent that has not ended → what was done with it.
            parent: who sent them.
            highest: as for an empty one.
        """
        roster = cls(highest=highest)
        events = list(past)
        over = {
            event.data["id"] for event in events if event.kind == SubagentEnded.KIND
        }
        for event in events:
            if event.kind == SubagentAccepted.KIND:
                accepted = parse(event, SubagentAccepted)
                brief = Brief.model_validate(accepted.brief, extra="ignore")
                own = NOT_BEGUN if accepted.id in over else past_of(accepted.id)
                child = Child(accepted.id, brief, parent, own)
                roster.take_in(child, accepted.call, accepted.index)
            elif event.kind == SubagentEnded.KIND:
                roster._end(parse(event, SubagentEnded))
            elif event.kind == BriefRefused.KIND:
                roster.note_refused(parse(event, BriefRefused))
            elif event.kind == ControlReceived.KIND and event.data["to"]:
                place = roster.at_work.get(event.data["to"])
                if place is not None:
                    place.child.brake.pull(BY_A_PERSON)
        return roster

    @property
    def places(self) -> list[Place]:
        """Return all accepted briefs, in order of acceptance."""
        return list(self._places.values())

    @property
    def at_work(self) -> dict[str, Place]:
        """Return agent id → place of those that have not ended, waiting ones too."""
        return {place.id: place for place in self.places if place.ended is None}

    @property
    def findings(self) -> dict[str, Findings]:
        """Return agent id → findings as delivered, of all that are finished."""
        lost = {
            each.id: Findings.model_validate(each.findings, extra="ignore")
            for each in self._lost
        }
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

    def of_call(self, call: str) -> list[Place]:
        """Return the accepted briefs of one `delegate` call."""
        return [place for place in self.places if place.call == call]

    def refused_of_call(self, call: str) -> list[Refused]:
        """Return the refused briefs of one `delegate` call."""
        return [each for (of, _), each in self._refused.items() if of == call]

    def holds(self, call: str, index: int) -> bool:
        """Return whether a brief of a call was accepted."""
        return (call, index) in self._places

    def next_id(self) -> str:
        """Return the id of the next subagent; it is not given out again."""
        self._highest += 1
        return f"a{self._highest}"

    def take_in(self, child: Child, call: str, index: int) -> None:
        """Add an accepted brief.

        Args:
            child: who works on it.
            call: id of the `delegate` call.
            index: its place in that call, from 0.
        """
        after = frozenset(place.id for place in self.places if place.ended)
        self._places[call, index] = Place(child, call, index, after)

    def note_refused(self, refused: BriefRefused) -> Refused:
        """Remember a brief that was refused, and return it as its parent is told."""
        known = Refused(refused.index, refused.title, refused.problems, refused.no_room)
        place = refused.call, refused.index
        self._refused[place] = known
        self._accepted_before[place] = len(self._places)
        return known

    def missing(self, *, has_explored: bool) -> list[str]:
        """Return what was asked for and did not come, a line each.

        A failed subagent is left out where a later one, sent after it had failed,
        answered the same title; so is a brief that there was no room for at first.

        Args:
            has_explored: the parent has read something by itself.
        """
        places = self.places
        lines = [_line(place) for place in self._unmet()]
        if self._refused and not places and not has_explored:
            *_, newest = self._refused.values()
            why = one_line(" ".join(newest.problems), MAX_REASON_CHARS)
            lines.append(f"nothing was explored, every brief was refused: {why}")
        titles = self._without_room()
        if titles:
            shown = ", ".join(titles[:MAX_TITLES])
            more = len(titles) - MAX_TITLES
            shown += f" and {more} more" if more > 0 else ""
            briefs = "1 brief" if len(titles) == 1 else f"{len(titles)} briefs"
            lines.append(f"{briefs} found no subagent, all {USED_UP}: {shown}")
        return lines

    def stopped(self) -> list[str]:
        """Return those of the lines of `missing` that a person asked for."""
        return [_line(each) for each in self._unmet() if each.is_cancelled]

    def _unmet(self) -> list[Place]:
        places = self.places
        return [
            place
            for place in places
            if place.problem and not any(makes_up_for(each, place) for each in places)
        ]

    def _without_room(self) -> list[str]:
        """Return the titles that there was no subagent for and that got no answer.

        Titles may be the same: those of one call are briefs of their own, those of
        another call the same briefs tried again.
        """
        tries: dict[str, Counter[str]] = {}
        first: dict[str, tuple[str, int]] = {}  # as written, and how many were there
        for (call, index), refused in self._refused.items():
            if refused.no_room:
                title = one_line(refused.title)
                before = self._accepted_before[call, index]
                first.setdefault(title.casefold(), (title, before))
                tries.setdefault(title.casefold(), Counter())[call] += 1
        titles: list[str] = []
        for key, (title, before) in first.items():
            came = [
                each
                for each in self.places[before:]
                if each.title.casefold() == key and not each.problem
            ]
            titles += [title] * (max(tries[key].values()) - len(came))
        return titles

    def remarks(self) -> list[str]:
        """Return what a reader of the report should know besides, a line each."""
        return [
            "Unsupported, the quoted evidence was not found in its source: "
            + ", ".join(f"[{agent}#{number}]" for number in numbers)
            for agent, numbers in self.unsupported.items()
        ]

    def _end(self, ended: SubagentEnded) -> None:
        """Take over an end; one whose brief is lost counts for its findings only."""
        for place in self.places:
            if place.id == ended.id:
                place.ended = ended
                return
        self._lost.append(ended)


def _line(place: Place) -> str:
    return f"subagent {place.id} ({place.title}) {place.problem}"
