"""Logs that are damaged in the middle, and what holds of them whatever was lost."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from run_bench import Ended

from orchestrator.events import Event
from orchestrator.ids import sha256
from orchestrator.inspection.figures import run_figures
from orchestrator.inspection.run import RunView
from orchestrator.messages import Message, tool_calls
from orchestrator.models.shape import shape_problem
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.reading import DAMAGED, read_events
from orchestrator.store.transcript import rebuild

__all__ = [
    "WAYS",
    "answered",
    "check",
    "check_readers",
    "damaged",
    "events_of",
    "lines_of",
]

WAYS = ("NULs", "half", "glued", "twice", "again", "swapped", "late")


def lines_of(run: Path) -> list[bytes]:
    return (run / "events.jsonl").read_bytes().splitlines(keepends=True)


def events_of(run: Path) -> list[Event]:
    return list(read_events(run / "events.jsonl", Artifacts(run / "artifacts")))


def damaged(lines: list[bytes], place: int, way: str) -> list[bytes]:
    """The lines with one of them spoilt in place, or where it should not be."""
    line, before, behind = lines[place], lines[:place], lines[place + 1 :]
    spoilt = {
        "NULs": [b"\0" * 512 + b"\n", *behind],
        "half": [line[: len(line) // 2] + b"\n", *behind],
        "glued": [line[: len(line) // 2], *behind],
        "twice": [line, line, *behind],
        "again": [line, *behind, line],
        "swapped": [*behind[:1], line, *behind[1:]],
        "late": [*behind, line],
    }[way]
    return [*before, *spoilt]


def answered(events: list[Event]) -> int:
    return sum(event.kind == "model.answered" for event in events)


def check(run: Path) -> None:
    """What holds of a log whatever was lost in it."""
    events = events_of(run)
    whole = [event for event in events if event.kind != DAMAGED]
    assert [event.seq for event in whole] == sorted({event.seq for event in whole})
    accepted = Counter(e.data["id"] for e in whole if e.kind == "subagent.accepted")
    assert set(accepted.values()) <= {1}
    calls = Counter(
        (e.agent, block["id"])
        for e in whole
        if e.kind == "model.answered"
        for block in e.data["content"]
        if block["type"] == "tool_use"
    )
    assert set(calls.values()) <= {1}
    view = RunView()
    for event in events:
        view.apply(event)
    assert run_figures(view)["log"]["damaged"] == sum(e.kind == DAMAGED for e in events)
    # One whose start is lost, and that had ended, has nothing to show.
    for agent in {event.agent for event in whole if event.kind == "agent.started"}:
        messages = rebuild(whole, agent)
        while messages and is_open(messages):
            messages = messages[:-1]
        problem = shape_problem({"messages": messages, "max_tokens": 1})
        assert not problem, (agent, problem)


def check_readers(run: Path, ended: Ended) -> None:
    """Readers are shown of each agent what its requests held."""
    events = [event for event in events_of(run) if event.kind != DAMAGED]
    agents = {
        event.data["sha256"]: event.agent
        for event in events
        if event.kind == "model.requested"
    }
    newest = {agents[sha256(each.body)]: each for each in ended.requests}
    for agent, request in newest.items():
        sent, shown = request.messages, rebuild(events, agent)
        assert shown[: len(sent)] == sent, agent


def is_open(messages: list[Message]) -> bool:
    """Whether calls of the last reply, perhaps of a killed process, still run."""
    if messages[-1]["role"] == "assistant":
        return True
    results = {block.get("tool_use_id") for block in messages[-1]["content"]}
    calls = tool_calls(messages[-2]["content"]) if messages[1:] else []
    return any(each["id"] not in results for each in calls)
