"""The roster that earlier processes left, from what they wrote down.

In a damaged log the end of a subagent may be lost that was asked further, or the
question: what it handed in takes the place of the one, the end tells of the other. So
numbers of deliveries and of items stay what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from orchestrator.agent.rebuild import NOT_BEGUN, AgentPast
from orchestrator.brief import Brief
from orchestrator.events import (
    BriefRefused,
    BriefReused,
    ControlReceived,
    Event,
    FindingsSubmitted,
    RunReopened,
    SubagentAccepted,
    SubagentAsked,
    SubagentEnded,
    parse,
)
from orchestrator.findings import Findings
from orchestrator.ids import LEAD
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.child import Child
from orchestrator.subagents.place import Place
from orchestrator.subagents.roster import WITHDREW, Roster

__all__ = ["mustered"]

LOST = "The record of these findings is damaged."

EventsOf = Callable[[str], Sequence[Event]]


def mustered(
    past: Iterable[Event],
    past_of: Callable[[str], AgentPast],
    events_of: EventsOf,
    *,
    highest: int,
) -> Roster:
    """Return the roster that earlier processes left.

    Args:
        past: how subagents were accepted, ended, asked, stopped, and refused, and when
            the lead was told what is missing.
        past_of: agent that has not ended → what was done with it.
        events_of: agent → all its events; only asked for where the log is damaged.
        highest: number of the newest subagent that anything is known of.
    """
    roster = Roster(highest=highest)
    for event in past:
        _take(roster, event, events_of)
    for place in roster.at_work.values():
        own = NOT_BEGUN if place.asked else past_of(place.id)
        place.child = place.child.with_past(own)
        if own.cancelled:  # and only the record of what it left is not there
            place.child.brake.pull(own.cancelled)
    return roster


def _take(roster: Roster, event: Event, events_of: EventsOf) -> None:
    match event.kind:
        case SubagentAccepted.KIND:
            accepted = parse(event, SubagentAccepted)
            brief = Brief.model_validate(accepted.brief, extra="ignore")
            child = Child(accepted.id, brief, event.agent or LEAD)
            call, index = accepted.call, accepted.index
            roster.take_in(child, call, index, scope_hash=accepted.scope_hash)
        case SubagentEnded.KIND:
            _end(roster, parse(event, SubagentEnded))
        case SubagentAsked.KIND:
            _ask(roster, event, events_of)
        case BriefRefused.KIND:
            roster.note_refused(parse(event, BriefRefused), event.agent or LEAD)
        case BriefReused.KIND:
            roster.note_reused(parse(event, BriefReused), event.agent or LEAD)
        case RunReopened.KIND if not event.data["question"]:
            roster.told_at = len(roster.places)
        case ControlReceived.KIND if event.data["to"]:
            _stop(roster, parse(event, ControlReceived))


def _end(roster: Roster, ended: SubagentEnded) -> None:
    place = roster.get(ended.id)
    if place is None:
        roster.note_end_of_unknown(ended)
        return
    if place.ended is not None and ended.question:
        roster.ask(SubagentAsked(ended.id, "", ended.question, ""))
    if place.ended is None:
        place.answers.append(ended)
    if place.is_cancelled and ended.reason.startswith(f"{place.parent} {WITHDREW}"):
        place.is_withdrawn = True


def _ask(roster: Roster, event: Event, events_of: EventsOf) -> None:
    asked = parse(event, SubagentAsked)
    place = roster.get(asked.id)
    if place is None:
        return
    if place.ended is None:  # it had: who is at work is not asked
        place.answers.append(_handed_in(place, events_of(asked.id), event.seq))
    roster.ask(asked)


def _handed_in(place: Place, events: Sequence[Event], before: int) -> SubagentEnded:
    """Return an end whose record is lost, with what was handed in then.

    Args:
        place: whose.
        events: its own.
        before: `seq` of what it was asked next.
    """
    found = Findings(status="partial", summary=LOST)
    for event in events:
        if event.seq >= before:
            break
        if event.kind == SubagentAsked.KIND:
            found = Findings(status="partial", summary=LOST)
        elif event.kind == FindingsSubmitted.KIND and event.data["accepted"]:
            found = Findings.model_validate(event.data["findings"], extra="ignore")
    return SubagentEnded(
        id=place.id,
        status=found.status,
        outcome="submitted",
        reason="",
        findings=found.model_dump(mode="json"),
        explored_tokens=0,
        returned_tokens=0,
        first_item=1 + sum(len(each.findings["items"]) for each in place.answers),
        question=place.asked[-1].question if place.asked else "",
    )


def _stop(roster: Roster, asked: ControlReceived) -> None:
    place = roster.at_work.get(asked.to)
    if place is not None and asked.by:
        roster.withdraw(place, asked)
    else:
        roster.stop(asked.to, BY_A_PERSON)
