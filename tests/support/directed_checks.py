"""What must hold of a run whose lead directs subagents; each check tells faults."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from orchestrator.events import Event
from orchestrator.ids import LEAD
from orchestrator.messages import Message, text_of
from orchestrator.store.transcript import rebuild

__all__ = [
    "answered_hashes",
    "deliveries",
    "faults_of_resume",
    "faults_of_run",
    "frames",
]

REUSED = "the brief is the same as before"


def faults_of_run(events: Sequence[Event], *, all_arrive: bool = True) -> list[str]:
    """All that is wrong with a run that has ended, in words.

    Args:
        events: of its whole log.
        all_arrive: the lead got what each of its subagents brought.
    """
    return [
        *_faults_of_ids(events),
        *_faults_of_ends(events),
        *_faults_of_deliveries(events, all_arrive=all_arrive),
        *_faults_of_the_cancelled(events),
        *_faults_of_outcomes(events),
    ]


def faults_of_resume(before: Sequence[Event], sent: Collection[str]) -> list[str]:
    """What a later process did again, in words.

    Args:
        before: the events that it found.
        sent: SHA-256 of its requests.
    """
    again = answered_hashes(before) & set(sent)
    return [f"a request with an answer on disk left again: {each}" for each in again]


def answered_hashes(events: Sequence[Event]) -> set[str]:
    """The requests that have an answer."""
    asked: dict[str, str] = {}
    found: set[str] = set()
    for event in events:
        if event.kind == "model.requested":
            asked[event.agent] = event.data["sha256"]
        elif event.kind == "model.answered" and event.agent in asked:
            found.add(asked[event.agent])
    return found


def deliveries(events: Sequence[Event]) -> Counter[tuple[str, str]]:
    """(Parent, delivery id) → how often the log says that it was made."""
    return Counter(
        (event.agent, each)
        for event in events
        for each in event.data.get("delivers") or ()
    )


def frames(messages: Sequence[Message]) -> Counter[tuple[str, str]]:
    """(Agent, further question) → how often its findings stand in a conversation.

    Findings that answer a second brief, and say so, are left out.
    """
    told = "\n".join(text_of(m["content"]) for m in messages if m["role"] == "user")
    found: Counter[tuple[str, str]] = Counter()
    for agent, text in re.findall(
        r'<findings agent="(a\d+)"[^\n]*>\n(.*?)\n</findings>', told, re.DOTALL
    ):
        if REUSED not in text:
            question = re.search(r"^Asked: (.+)$", text, re.MULTILINE)
            found[agent, question[1] if question else ""] += 1
    return found


def _faults_of_ids(events: Sequence[Event]) -> Iterator[str]:
    ids = Counter(e.data["id"] for e in events if e.kind == "subagent.accepted")
    yield from (f"{each} was accepted {n} times" for each, n in ids.items() if n != 1)
    places = Counter(
        (e.agent, e.data["call"], e.data["index"])
        for e in events
        if e.kind == "subagent.accepted"
    )
    yield from (f"{each} has {n} subagents" for each, n in places.items() if n != 1)


def _faults_of_ends(events: Sequence[Event]) -> Iterator[str]:
    kinds: dict[str, Counter[str]] = {}
    for event in events:
        if event.kind.startswith("subagent."):
            kinds.setdefault(event.data["id"], Counter())[event.kind] += 1
    for agent, seen in kinds.items():
        if seen["subagent.ended"] != 1 + seen["subagent.asked"]:
            yield f"{agent}: {dict(seen)}"


def _faults_of_deliveries(
    events: Sequence[Event], *, all_arrive: bool
) -> Iterator[str]:
    made = deliveries(events)
    yield from (f"{each} delivered {n} times" for each, n in made.items() if n != 1)
    parents = {e.data["id"]: e.agent for e in events if e.kind == "subagent.accepted"}
    for parent in {LEAD, *parents.values()}:
        standing = frames(rebuild(events, parent))
        shown = {_delivery_id(events, *found) for found in standing}
        for found, number in standing.items():
            if number != 1:
                yield f"the findings {found} stand {number} times before {parent}"
        mine = {delivery for who, delivery in made if who == parent}
        if shown != mine:
            yield f"{parent} was shown {sorted(shown)}, delivered: {sorted(mine)}"
        if any(parents.get(each.partition("/")[0]) != parent for each in mine):
            yield f"{parent} got what others brought: {sorted(mine)}"
    ended = Counter(
        e.agent
        for e in events
        if e.kind == "subagent.ended" and parents.get(e.data["id"]) == LEAD
    )
    for agent, number in ended.items():
        for each in (agent, *(f"{agent}/{n}" for n in range(1, number))):
            if all_arrive and made[LEAD, each] != 1:
                yield f"{each} did not reach the lead"


def _delivery_id(events: Sequence[Event], agent: str, question: str) -> str:
    asked = [
        e.data["question"]
        for e in events
        if e.kind == "subagent.asked" and e.agent == agent
    ]
    return f"{agent}/{1 + asked.index(question)}" if question else agent


def _faults_of_the_cancelled(events: Sequence[Event]) -> Iterator[str]:
    """Who was ended from outside does nothing more, and nobody below it does.

    What was on its way at that moment is kept: an answer, or a request that is not sent
    any more.
    """
    parents = {e.data["id"]: e.agent for e in events if e.kind == "subagent.accepted"}
    live: set[str] = set()
    over: set[str] = set()
    asked: Counter[str] = Counter()
    for event in events:
        who, data = event.agent, event.data
        if who in over and event.kind == "model.requested":
            asked[who] += 1
        if asked[who] > 1 or (asked[who] and event.kind == "model.answered"):
            yield f"{who} works on, at {event.seq}"
        if event.kind == "subagent.accepted":
            live.add(data["id"])
        elif event.kind == "subagent.asked":
            live.add(who)
            over.discard(who)  # a stop that came too late is none of this
        elif event.kind == "control.received" and data["to"]:
            over.add(data["to"])
        elif event.kind == "agent.ended":
            over |= {who} if data["outcome"] == "cancelled" else set()
            over |= {each for each in live if parents[each] == who}
        elif event.kind == "subagent.ended":
            live.discard(data["id"])
            over |= {data["id"]} if data["outcome"] == "cancelled" else set()


def _faults_of_outcomes(events: Sequence[Event]) -> Iterator[str]:
    outcomes = Counter(
        (e.agent, e.data["call"]) for e in events if e.kind == "tool.ended"
    )
    for call, number in outcomes.items():
        if number != 1:
            yield f"{call} has {number} outcomes"
