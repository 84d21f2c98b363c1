"""What people did while a run was at work, or between its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orchestrator.events import Event
from orchestrator.events.phrases import one_line

__all__ = ["PersonAct", "act_of"]


@dataclass(frozen=True, slots=True)
class PersonAct:
    """One thing that a person did to a run."""

    seq: int
    """Of the event that tells of it."""
    at: str
    action: str
    """`stop`, `steer`, `pause`, `go_on`, `edit_notes`, `ask` or `allow`, `refuse`."""
    to: str = ""
    """The agent it is about; "" for the run."""
    text: str = ""
    """What was said: a steer, a question, the section that was edited, a reason."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def act_of(event: Event) -> PersonAct | None:
    """Return what a person did, if that is what an event tells."""
    data = event.data
    if event.kind == "control.received" and not data.get("by"):
        said = one_line(data.get("text")) or one_line(data.get("reason"))
        action, to = one_line(data.get("action")), one_line(data.get("to"))
        return PersonAct(event.seq, event.at, action, to, said)
    if event.kind == "notes.edited":
        section = one_line(data.get("section"))
        return PersonAct(event.seq, event.at, "edit_notes", event.agent, section)
    if event.kind == "run.reopened" and data.get("question"):
        question = one_line(data.get("question"))
        return PersonAct(event.seq, event.at, "ask", event.agent, question)
    if event.kind == "permission.answered" and data.get("by") == "person":
        action = "refuse" if data.get("answer") == "no" else "allow"
        tool = one_line(data.get("tool"))
        return PersonAct(event.seq, event.at, action, event.agent, tool)
    return None
