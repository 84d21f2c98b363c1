"""The port behind `update_notes`: what an agent notes becomes an event."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from orchestrator.events import NotesUpdated
from orchestrator.store.eventlog import EventLog
from orchestrator.store.notes import Notes

__all__ = ["NOTED", "NotesWriter"]

NOTED = "Noted under {section}."


@dataclass(frozen=True, slots=True)
class NotesWriter:
    """Takes the notes of one agent."""

    agent: str
    notes: Notes
    """As the log has them; changed by the event, not here."""
    log: EventLog

    def update(self, section: str, mode: str, text: str, pin: bool) -> str:
        """Write to a section and return what the agent is told.

        Raises:
            ToolError: no such section, or the text is too long; nothing changed.
        """
        name = copy.deepcopy(self.notes).update(section, mode, text, pin)
        self.log.append(NotesUpdated(name, mode, text, pin), agent=self.agent)
        return NOTED.format(section=name)
