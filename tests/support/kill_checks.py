"""What must hold of a run that was killed and gone on with; each check tells faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
from directed_bench import events_of
from directed_checks import faults_of_run
from fake_endpoint import FakeEndpoint
from kill_bench import Left, Scar, Struck, Whole, records_of, whole_records
from kill_policy import UNKNOWN, KillPolicy

from orchestrator.ids import sha256
from orchestrator.messages import text_of

__all__ = [
    "faults",
    "faults_of_directing",
    "faults_of_effects",
    "in_flight",
    "is_done",
]

Record = dict[str, Any]


def in_flight(log: bytes) -> dict[str, str]:
    """Agent → hash of its request that has no outcome."""
    return _requests(log)[1]


def is_done(struck: Struck) -> bool:
    """Whether the kill came when everything was written."""
    records = records_of(struck.scars[-1].log)
    return bool(records) and records[-1]["kind"] == "run.ended"


def faults(struck: Struck, whole: Whole, endpoint: FakeEndpoint) -> list[str]:
    """All that is wrong with a run that was killed, in words."""
    left = struck.left
    if "error" in left.said and not is_done(struck):
        return list(_faults_of_nothing(left))
    found = [f"refused: {each}" for each in endpoint.violations]
    found += _faults_of_the_end(left, whole, was_done=is_done(struck))
    found += _faults_of_the_log(left)
    for scar in struck.scars:
        found += _faults_since(scar, left)
    return found


def faults_of_directing(struck: Struck, endpoint: FakeEndpoint) -> list[str]:
    """All that is wrong with a run whose lead directs, in words.

    Who ends when is not the same twice, so that no two of them are alike.
    """
    left = struck.left
    if "error" in left.said and not is_done(struck):
        return list(_faults_of_nothing(left))
    found = [f"refused: {each}" for each in endpoint.violations]
    assert left.folder is not None
    found += faults_of_run(events_of(left.folder))
    seqs = [each["seq"] for each in records_of(left.log)]
    if seqs != list(range(1, len(seqs) + 1)):
        found.append(f"gaps in seq: {seqs}")
    last = records_of(left.log)[-1]
    if last["kind"] != "run.ended" or last["data"]["state"] != "done":
        found.append(f"the log ends with {last}")
    for scar in struck.scars:
        found += _faults_since(scar, left)
    return found


def _faults_of_nothing(left: Left) -> Iterator[str]:
    """A run that had not begun: told in a line, and nothing was spent."""
    if left.bodies:
        yield f"{len(left.bodies)} requests, and then: {left.said}"
    if left.said["error"] == "bug" or "\n" in left.said["text"]:
        yield f"not one line: {left.said}"
    if records_of(left.log):
        yield f"it had begun, and yet: {left.said}"


def _faults_of_the_end(left: Left, whole: Whole, *, was_done: bool) -> Iterator[str]:
    if not was_done and left.said.get("state") != "done":
        yield f"state: {left.said}"
    if left.report != whole.report:
        yield f"another report: {left.report.decode()}"
    if left.findings != whole.findings:
        yield f"other findings: {sorted(left.findings)}"


def _faults_of_the_log(left: Left) -> Iterator[str]:
    records = records_of(left.log)
    if [each["seq"] for each in records] != list(range(1, len(records) + 1)):
        yield f"gaps in seq: {[each['seq'] for each in records]}"
    kinds = Counter(each["kind"] for each in records)
    if kinds["subagent.accepted"] != kinds["subagent.ended"]:
        yield f"subagents: {kinds}"
    for key, number in Counter(_calls(records, "tool.ended")).items():
        if number != 1:
            yield f"{key} has {number} outcomes"
    if records[-1]["kind"] != "run.ended" or records[-1]["data"]["state"] != "done":
        yield f"the log ends with {records[-1]}"


def _faults_since(scar: Scar, left: Left) -> Iterator[str]:
    """What was done again, or lost, after one kill."""
    kept = whole_records(scar.log)
    if not left.log.startswith(kept):
        yield "a record that was whole is not there any more, or is changed"
    later = records_of(left.log)[len(kept.splitlines()) :]
    answered, flying = _requests(scar.log)
    hashes = [sha256(body) for body in left.bodies]
    before, after = set(hashes[: scar.arrived]), hashes[scar.arrived :]
    for each in set(after) & answered:
        yield f"a request with an answer on disk left again: {each}"
    for each in answered - before:
        yield f"an answer to what the endpoint never saw: {each}"
    for each in (set(after) & before) - set(flying.values()) - answered:
        yield f"a request that was not in flight left again: {each}"
    ended = set(_calls(records_of(scar.log), "tool.ended"))
    for kind in ("tool.started", "tool.ended"):
        for key in set(_calls(later, kind)) & ended:
            yield f"{kind} of {key}, whose outcome was on disk"
    cancelled = {
        each["agent"]
        for each in records_of(left.log)
        if each["data"].get("outcome") == "cancelled"
    }
    for agent, asked in flying.items():
        first = next(
            (
                each["data"]["sha256"]
                for each in later
                if each["kind"] == "model.requested" and each["agent"] == agent
            ),
            "none",
        )
        if agent in cancelled and first in ("none", asked):
            continue  # it may be cancelled before its request leaves
        if first != asked or asked not in after:
            yield f"the first request of {agent} is {first}, {asked} was in flight"


def faults_of_effects(struck: Struck, policy: KillPolicy) -> list[str]:
    """What is wrong with the ledger, in words."""
    left, found = struck.left, []
    if "error" in left.said and not is_done(struck):
        return [f"effects of nothing: {left.lines}"] if left.lines else []
    entered = [tuple(line.split()) for line in left.lines]
    calls = Counter((agent, call) for agent, call, _ in entered)
    found += [f"{key} entered {n} times" for key, n in calls.items() if n != 1]
    wanted = {f"{n}-{part}" for part in _parts(policy) for n in ("one", "two", "three")}
    if {key for _, _, key in entered} != wanted:
        found.append(f"entered: {sorted(key for _, _, key in entered)}")
    started = set(_calls(records_of(left.log), "tool.started"))
    found += [f"{key} without intent" for key in calls if key not in started]
    told = _told_unknown(left.bodies)
    for _, call, key in entered:
        first = call.removesuffix("_again")
        if first != call and first not in told:
            found.append(f"{key} entered again by {call}, and {first} was not told of")
    ended = set().union(*(_unknown_after(scar) for scar in struck.scars))
    found += [f"{each} is called unknown, it had not begun" for each in told - ended]
    return found


def _unknown_after(scar: Scar) -> set[str]:
    """Calls that had begun and have no outcome."""
    records = records_of(scar.log)
    ended = set(_calls(records, "tool.ended"))
    return {call for _, call in set(_calls(records, "tool.started")) - ended}


def _told_unknown(bodies: Sequence[bytes]) -> set[str]:
    """Calls of which a request says that their outcome is unknown."""
    return {
        block["tool_use_id"]
        for body in bodies
        for message in orjson.loads(body)["messages"]
        for block in message["content"]
        if block["type"] == "tool_result" and UNKNOWN in text_of([block])
    }


def _parts(policy: KillPolicy) -> range:
    return range(1, policy.parts + 1)


def _requests(log: bytes) -> tuple[set[str], dict[str, str]]:
    """Hashes of answered requests; and agent → hash of the one without an outcome."""
    answered: set[str] = set()
    flying: dict[str, str] = {}
    for each in records_of(log):
        if each["kind"] == "model.requested":
            flying[each["agent"]] = each["data"]["sha256"]
        elif each["kind"] == "model.answered":
            answered.add(flying.pop(each["agent"]))
    return answered, flying


def _calls(records: Sequence[Record], kind: str) -> Iterator[tuple[str, str]]:
    for each in records:
        if each["kind"] == kind:
            yield each["agent"], each["data"]["call"]
