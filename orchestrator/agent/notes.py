"""The port behind `update_notes`: what an agent notes becomes an event."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass

from orchestrator.events import NotesUpdated
from orchestrator.messages import clean_text
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.store.eventlog import EventLog
from orchestrator.store.notes import Notes

__all__ = ["NOTED", "NotesWriter", "was_noted"]

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


def was_noted(written: str, noted: str) -> bool:
    """Return whether a note is what came of a text.

    Args:
        written: by the model.
        noted: as the log has it, with placeholders for secrets.
    """
    parts = map(re.escape, PLACEHOLDER.split(noted))
    return re.fullmatch(r"[\s\S]*".join(parts), clean_text(written)) is not None
