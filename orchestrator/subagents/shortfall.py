"""What was asked of subagents and is not there, and what else a reader should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.ids import LEAD
from orchestrator.messages import one_line
from orchestrator.subagents.brake import BY_A_PERSON
from orchestrator.subagents.place import MAX_REASON_CHARS, Place, makes_up_for
from orchestrator.subagents.roster import USED_UP, Roster, TurnedAway

__all__ = ["is_stopped_by_a_person", "missing", "remarks", "stopped", "unread"]

MAX_TITLES = 20


def missing(roster: Roster, parent: str, *, has_explored: bool) -> list[str]:
    """Return what an agent asked for and did not get, a line each.

    A failed subagent is left out where a later one, sent after it had failed,
    answered the same title; so is a brief that there was no room for at first.

    Args:
        roster: of the run.
        parent: the agent.
        has_explored: it has read something by itself.
    """
    places = roster.sent_by(parent)
    refused = [
        each for each in roster.turned_away(parent) if not _has_lapsed(each, roster)
    ]
    lines = [*map(_line, _unmet(places)), *_unanswered(places)]
    if refused and not places and not has_explored and not roster.has_reused(parent):
        why = one_line(" ".join(refused[-1].refused.problems), MAX_REASON_CHARS)
        lines.append(f"nothing was explored, every brief was refused: {why}")
    no_subagent = [each for each in refused if each.refused.no_room]
    no_money = [each for each in refused if each.refused.no_budget]
    return [
        *lines,
        *_turned_away(places, no_subagent, f"found no subagent, all {USED_UP}"),
        *_turned_away(places, no_money, "found no room in what is left of the budget"),
    ]


def unread(roster: Roster, agents: Iterable[str]) -> list[str]:
    """Return whose findings came too late for a hand-in, a line each.

    Args:
        roster: of the run.
        agents: whose findings were not there; those that have a problem besides are
            left out.
    """
    places = map(roster.get, agents)
    return [
        f"subagent {place.id} ({place.title}): its findings came too late for the "
        "report"
        for place in places
        if place and not place.problem and not place.is_withdrawn
    ]


def stopped(roster: Roster) -> list[str]:
    """Return those of the lines of `missing` of the lead that a person wanted."""
    unmet = _unmet(roster.sent_by(LEAD))
    return [_line(place) for place in unmet if is_stopped_by_a_person(place)]


def remarks(roster: Roster) -> list[str]:
    """Return what a reader of the report should know besides, a line each."""
    lines = [
        f"Withdrawn by the lead: {place.id} ({place.title}): "
        + one_line(place.ended.reason, MAX_REASON_CHARS)
        for place in roster.sent_by(LEAD)
        if place.is_withdrawn and place.is_cancelled and place.ended
    ]
    return lines + [
        "Unsupported, the quoted evidence was not found in its source: "
        + ", ".join(f"[{agent}#{number}]" for number in numbers)
        for agent, numbers in roster.unsupported_for(LEAD).items()
    ]


def is_stopped_by_a_person(place: Place) -> bool:
    """Tell whether a person stopped this one alone."""
    # Also cancelled: one that was at work when its parent ended.
    ended = place.ended
    return place.is_cancelled and ended is not None and BY_A_PERSON in ended.reason


def _line(place: Place) -> str:
    return f"subagent {place.id} ({place.title}) {place.problem}"


def _unmet(places: Sequence[Place]) -> list[Place]:
    return [
        place
        for place in places
        if place.problem
        and not place.is_withdrawn
        and not any(makes_up_for(each, place) for each in places)
    ]


def _unanswered(places: Sequence[Place]) -> Iterator[str]:
    """Yield the further questions that got no answer, by nobody."""
    answered = {place.call for place in places if not place.problem}
    for place in places:
        for call, problem in place.unanswered:
            # A new subagent that answers it was sent by the same call.
            if call not in answered and not place.is_withdrawn:
                yield f"subagent {place.id} ({place.title}), {problem}"


def _has_lapsed(turned: TurnedAway, roster: Roster) -> bool:
    """Tell whether what was refused was told as missing, and others were sent since."""
    told = roster.told_at
    if turned.before > told:
        return False
    return any(place.number > told for place in roster.sent_by(LEAD))


def _turned_away(
    places: Sequence[Place], refused: Sequence[TurnedAway], why: str
) -> Iterator[str]:
    """Yield a line about the briefs that got no answer later either, if any are."""
    titles = _without_answer(places, refused)
    if titles:
        shown = ", ".join(f"“{title}”" for title in titles[:MAX_TITLES])
        more = len(titles) - MAX_TITLES
        shown += f" and {more} more" if more > 0 else ""
        briefs = "1 brief" if len(titles) == 1 else f"{len(titles)} briefs"
        yield f"{briefs} {why}: {shown}"


def _without_answer(
    places: Sequence[Place], refused: Sequence[TurnedAway]
) -> list[str]:
    """Return the titles that were turned away and that got no answer.

    Titles may be the same: those of one call are briefs of their own, those of another
    call the same briefs tried again.
    """
    tries: dict[str, Counter[str]] = {}
    first: dict[str, TurnedAway] = {}
    for each in refused:
        key = one_line(each.refused.title).casefold()
        first.setdefault(key, each)
        tries.setdefault(key, Counter())[each.call] += 1
    titles: list[str] = []
    for key, each in first.items():
        came = [
            place
            for place in places
            if place.number > each.before
            and place.title.casefold() == key
            and not place.problem
        ]
        wanted = max(tries[key].values())
        titles += [one_line(each.refused.title)] * (wanted - len(came))
    return titles
