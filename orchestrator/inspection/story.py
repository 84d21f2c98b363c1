"""Events of a run that one goes back to: ends, limits, refusals, what people did."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from orchestrator.events import (
    AgentEnded,
    BriefRefused,
    ControlReceived,
    Event,
    LimitReachedEvent,
    ModelFailed,
    NotesEdited,
    PermissionAnswered,
    ReportSubmitted,
    RunEnded,
    RunParked,
    RunReopened,
    RunResumed,
    SubagentEnded,
)
from orchestrator.events.phrases import one_line

__all__ = ["PersonAct", "Reason", "Story"]

_AGENT = re.compile(r"(?:subagent )?(a\d+)\b")
"""An agent that a line about what is missing begins with."""
_MOST_SEQS = 3


@dataclass(frozen=True, slots=True)
class PersonAct:
    """One thing that a person did to a run.

    Attributes:
        seq: of the event that tells of it.
        at: when, RFC 3339.
        action: `stop`, `steer`, `pause`, `go_on`, `edit_notes`, `ask`, `allow` or
            `refuse`.
        to: the agent it is about; "" for the run.
        text: what was said, or the section, or the tool; "" where there is none.
    """

    seq: int
    at: str
    action: str
    to: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a run is not done, and the events that tell of it."""

    text: str
    seqs: tuple[int, ...] = ()
    """The newest last; empty where no event is known."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        return {"text": self.text, "events": list(self.seqs)}


@dataclass(slots=True)
class Story:
    """Numbers of events, folded from a log.

    Attributes:
        acts: what people did, oldest first.
        ends: agent → the end of its newest piece of work.
        limits: agent ("" for the run) and limit → where it was reached last.
        failures: agent → its newest request without an answer.
        refusals: briefs that were refused.
        report: the newest report that was handed in; 0: none.
        end: where the run ended or was parked; 0: it has not.
    """

    acts: list[PersonAct] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    limits: dict[tuple[str, str], int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)
    refusals: list[int] = field(default_factory=list)
    report: int = 0
    end: int = 0

    KINDS: ClassVar[frozenset[str]] = frozenset(
        each.KIND
        for each in (
            *(AgentEnded, BriefRefused, ControlReceived, LimitReachedEvent),
            *(ModelFailed, NotesEdited, PermissionAnswered, ReportSubmitted),
            *(RunEnded, RunParked, RunReopened, RunResumed, SubagentEnded),
        )
    )

    def apply(self, event: Event) -> None:
        """Take in one event; kinds other than `KINDS` say nothing."""
        seq, data = event.seq, event.data
        match event.kind:
            case SubagentEnded.KIND:
                self.ends[one_line(data.get("id")) or event.agent] = seq
            case AgentEnded.KIND:
                self.ends[event.agent] = seq
            case LimitReachedEvent.KIND:
                self.limits[event.agent, one_line(data.get("limit"))] = seq
            case ModelFailed.KIND:
                self.failures[event.agent] = seq
            case BriefRefused.KIND:
                self.refusals.append(seq)
            case ReportSubmitted.KIND:
                self.report = seq
            case RunEnded.KIND | RunParked.KIND:
                self.end = seq
            case RunResumed.KIND:
                self.end = 0
            case _:
                act = _act(event)
                self.acts += [act] if act else []
        if event.kind == RunReopened.KIND:
            self.end = self.report = 0

    def reasons(self, missing: Sequence[str], reason: str) -> list[Reason]:
        """Return why a run is not done, a line each, with the events that tell of it.

        Args:
            missing: as the end of the run has it.
            reason: why it ended; told where nothing is missing.
        """
        if missing or not reason:
            return [Reason(text, self._seqs(text)) for text in missing]
        return [Reason(reason, (self.end,) if self.end else ())]

    def _seqs(self, text: str) -> tuple[int, ...]:
        found: set[int] = set()
        words = text.casefold()
        if match := _AGENT.match(text):
            agent = match[1]
            found |= {self.ends.get(agent, 0), self.failures.get(agent, 0)}
            found |= {at for (who, _), at in self.limits.items() if who == agent}
        elif "citation" in words or words.startswith("`result`"):
            found.add(self.report)
        elif "brief" in words:
            found |= set(self.refusals)
        elif "limit" in words or "report" in words or "lead" in words:
            found |= {at for (who, _), at in self.limits.items() if who in ("", "lead")}
            found |= {self.failures.get("lead", 0), self.ends.get("lead", 0)}
        found.discard(0)
        return tuple(sorted(found))[-_MOST_SEQS:]


def _act(event: Event) -> PersonAct | None:
    """Return what a person did, if that is what an event tells."""
    data = event.data
    match event.kind:
        case ControlReceived.KIND if not data.get("by"):
            said = one_line(data.get("text")) or one_line(data.get("reason"))
            action, to = one_line(data.get("action")), one_line(data.get("to"))
        case NotesEdited.KIND:
            action, to = "edit_notes", event.agent
            text = one_line(data.get("text")) or "(emptied)"
            said = f"{one_line(data.get('section'))}: {text}"
        case RunReopened.KIND if data.get("question"):
            action, to = "ask", event.agent
            said = one_line(data.get("question"))
        case PermissionAnswered.KIND if data.get("by") == "person":
            action = "refuse" if data.get("answer") == "no" else "allow"
            to, said = event.agent, one_line(data.get("tool"))
        case _:
            return None
    return PersonAct(event.seq, event.at, action, to, said)
