from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import SystemClock
from orchestrator.events import Event, PermissionAnswered, PermissionAsked
from orchestrator.runtime.allowed import in_force, permission_notices
from orchestrator.runtime.permissions import MAX_EFFECT_CHARS, Permissions
from orchestrator.security.permissions import Answer, Ask
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog

RUN = Ask(("shell", "write"), "make test")
OTHER = Ask(("shell", "write"), "make clean")
LIST = Ask(("shell",), "ls")


class Person:
    """Answers what a test says, and remembers what it was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.asked: list[Ask] = []

    async def __call__(self, agent: str, tool: str, ask: Ask) -> Answer:
        self.asked.append(ask)
        return self.answers.pop(0)


Gate = Callable[..., Permissions]


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def gate(tmp_path: Path, events: list[Event]) -> Gate:
    (tmp_path / "artifacts").mkdir()
    artifacts = Artifacts(tmp_path / "artifacts")
    log = EventLog.create(tmp_path / "e.jsonl", "r", artifacts, SystemClock())
    log.subscribe(events.append)

    def make(allowed: Any, person: Person | None = None, **kept: Any) -> Permissions:
        return Permissions(allowed, log, person, **kept)

    return make


async def refused(gate: Permissions, ask: Ask, tool: str = "bash") -> str:
    return await gate.refused("lead", "t1", tool, ask)


async def test_what_the_task_allows_is_not_asked(gate: Gate) -> None:
    person = Person()
    allowed = gate({"shell": "yes", "write": "yes"}, person)

    assert await refused(allowed, RUN) == ""
    assert person.asked == []


async def test_what_is_not_in_the_task_is_refused_whatever_a_person_would_say(
    gate: Gate,
) -> None:
    person = Person("always")

    why = await refused(gate({"shell": "ask"}, person), RUN)

    assert "does not allow `write`" in why
    assert person.asked == []


async def test_only_what_is_to_be_asked_for_is_asked(
    gate: Gate, events: list[Event]
) -> None:
    person = Person("once")

    assert await refused(gate({"shell": "ask", "write": "yes"}, person), RUN) == ""
    assert person.asked == [Ask(("shell",), "make test")]
    asked, answered = events
    assert (asked.kind, answered.kind) == (
        PermissionAsked.KIND,
        PermissionAnswered.KIND,
    )
    assert asked.data["effect"] == "make test"
    assert answered.cause == asked.seq
    assert (answered.data["answer"], answered.data["by"]) == ("once", "person")


async def test_an_answer_holds_for_the_very_same_thing(gate: Gate) -> None:
    person = Person("once", "no")
    asks = gate({"shell": "ask", "write": "ask"}, person)

    assert await refused(asks, RUN) == ""
    assert await refused(asks, RUN) == ""
    assert "said no" in await refused(asks, OTHER)
    assert "said no" in await refused(asks, OTHER)
    assert len(person.asked) == 2


async def test_always_covers_whatever_needs_no_more(gate: Gate) -> None:
    person = Person("always", "no")
    asks = gate({"shell": "ask", "write": "ask", "network": "ask"}, person)

    assert await refused(asks, Ask(("shell",), "ls")) == ""
    assert await refused(asks, Ask(("shell",), "rm x")) == ""
    assert await refused(asks, Ask(("shell", "network"), "curl x")) != ""
    assert person.asked[1] == Ask(("network",), "curl x")


async def test_nobody_there_means_no_and_is_on_record(
    gate: Gate, events: list[Event]
) -> None:
    why = await refused(gate({"shell": "ask", "write": "yes"}), RUN)

    assert "nobody is there" in why
    assert events[1].data["by"] == "nobody"


async def test_answers_of_earlier_processes_hold_but_not_that_nobody_was_there(
    gate: Gate, events: list[Event]
) -> None:
    allowed = {"shell": "ask", "write": "yes"}
    await refused(gate(allowed), RUN)
    await refused(gate(allowed, Person("once")), OTHER)

    person = Person("once")
    later = gate(allowed, person, past=list(events))

    assert await refused(later, OTHER) == ""
    assert person.asked == []
    assert await refused(later, RUN) == ""
    assert [each.effect for each in person.asked] == ["make test"]


@pytest.mark.parametrize("said", [None, False, True, "yes", ""])
async def test_what_is_no_answer_is_a_no(
    gate: Gate, events: list[Event], said: Any
) -> None:
    assert "said no" in await refused(gate({"shell": "ask"}, Person(said)), LIST)
    assert events[1].data["answer"] == "no"


async def test_what_nobody_could_read_is_not_asked(gate: Gate) -> None:
    person = Person()
    long = Ask(("shell",), "x" * (MAX_EFFECT_CHARS + 1))

    assert "too long" in await refused(gate({"shell": "ask"}, person), long)


def test_ask_counts_only_where_somebody_is_there() -> None:
    assert in_force({"write": "yes", "shell": "ask"}, can_ask=False) == {"write"}
    assert in_force({"write": "yes", "shell": "ask"}, can_ask=True) == {
        "write",
        "shell",
    }
    [notice] = permission_notices({"shell": "ask"}, can_ask=False)
    assert "shell" in notice
    assert list(permission_notices({"shell": "ask"}, can_ask=True)) == []
