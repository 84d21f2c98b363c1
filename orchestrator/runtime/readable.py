"""Whether a run can go on with a record of its log, down to what is inside of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from orchestrator.agent.spec import AgentSpec
from orchestrator.brief.model import Brief
from orchestrator.events import (
    AgentStarted,
    Event,
    FindingsSubmitted,
    RunStarted,
    SubagentAccepted,
    SubagentEnded,
    parse,
)
from orchestrator.events.soundness import is_sound
from orchestrator.findings import Findings
from orchestrator.store.records import REF

__all__ = ["is_readable"]


def is_readable(event: Event) -> bool:
    """Return whether `event` has all that is read of it later.

    A large field that is still stored apart is not looked at.
    """
    if not is_sound(event):
        return False
    read = _READ.get(event.kind)
    values = event.data.values()
    if read is None or any(type(each) is dict and REF in each for each in values):
        return True
    try:
        read(event)
    except (KeyError, TypeError, ValueError):  # pydantic's is one of the last
        return False
    return True


def _run_started(event: Event) -> None:
    started = parse(event, RunStarted)
    bytes.fromhex(started.salt)
    for each in started.context or ():
        _ = each["path"], each["text"]


def _agent_started(event: Event) -> None:
    AgentSpec.from_event(event.agent, parse(event, AgentStarted))


def _accepted(event: Event) -> None:
    Brief.model_validate(event.data["brief"], extra="ignore")


def _findings(event: Event) -> None:
    Findings.model_validate(event.data["findings"], extra="ignore")


def _submitted(event: Event) -> None:
    if not event.data["accepted"]:
        _findings(event)


_READ: Mapping[str, Callable[[Event], None]] = {
    RunStarted.KIND: _run_started,
    AgentStarted.KIND: _agent_started,
    SubagentAccepted.KIND: _accepted,
    SubagentEnded.KIND: _findings,
    FindingsSubmitted.KIND: _submitted,
}
