"""Who was sent out, and what became of it: records only, nothing at work here."""

from __future__ import annotations

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
from orchestrator.subagents.child import Child
from orchestrator.subagents.place import Place, all_findings
from orchestrator.subagents.render import Refused

__all__ = ["USED_UP", "WITHDREW", "Roster", "TurnedAway"]

USED_UP = "subagents of this run are used up"
WITHDREW = "cancelled it: "
"""Between who ended a subagent that it had sent, and why."""

Key = tuple[str, str, int]
"""Parent, call, and place of the brief in that call, from 0."""


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """A brief that was refused.

    Attributes:
        call: that sent it.
        refused: as its parent was told.
        before: how many had been accepted in the whole run.
    """

    call: str
    refused: Refused
    before: int


class Roster:
    """The subagents of a run, in order of acceptance, and the refused briefs.

    Attributes:
        told_at: how many had been accepted when the lead, after its end, was told what
            is missing, to do it; -1 if it never was.
    """

    def __init__(self, *, highest: int = 0) -> None:
        """Make an empty one.

        Args:
            highest: number of the newest subagent that anything is known of.
        """
        self.told_at = -1
        self._places: dict[Key, Place] = {}
        self._by_id: dict[str, Place] = {}
        # Asked for at every turn of every agent: not to be searched for among all.
        self._sent: dict[str, dict[Key, Place]] = {}
        self._highest = highest
        self._turned: dict[Key, TurnedAway] = {}
        self._reused: dict[Key, str] = {}
        self._lost: dict[str, list[SubagentEnded]] = {}

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
        places = self.sent_by(parent)
        return {
            **{agent: all_findings(ends) for agent, ends in self._lost_of(parent)},
            **{place.id: found for place in places if (found := place.findings)},
        }

    def unsupported_for(self, parent: str) -> dict[str, list[int]]:
        """Return agent id → numbers of its items without found evidence, from 1."""
        lost = {
            agent: [n for each in ends for n in each.unsupported_items]
            for agent, ends in self._lost_of(parent)
        }
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

    def _lost_of(self, parent: str) -> Iterable[tuple[str, list[SubagentEnded]]]:
        """Return the ends of subagents of which nothing else is known."""
        return self._lost.items() if parent == LEAD else ()

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
        place = Place(child, call, len(self._places) + 1, after, scope_hash)
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
        self._turned[key] = TurnedAway(refused.call, known, len(self._places))
        return known

    def note_reused(self, reused: BriefReused, parent: str) -> None:
        """Remember a brief that earlier findings answer."""
        self._reused[parent, reused.call, reused.index] = reused.id

    def turned_away(self, parent: str) -> list[TurnedAway]:
        """Return the refused briefs of one agent, oldest first."""
        return [each for key, each in self._turned.items() if key[0] == parent]

    def has_reused(self, parent: str) -> bool:
        """Return whether earlier findings answer a brief of one agent."""
        return any(key[0] == parent for key in self._reused)

    def note_end_of_unknown(self, ended: SubagentEnded) -> None:
        """Note an end whose brief is lost: it counts for its findings only."""
        self._lost.setdefault(ended.id, []).append(ended)
