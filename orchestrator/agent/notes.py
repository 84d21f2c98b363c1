"""The port behind `update_notes`: what an agent notes becomes an event."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from orchestrator.errors import ToolError
from orchestrator.events import NotesUpdated
from orchestrator.messages import clean_text, shortened
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.untrusted import defused
from orchestrator.store.eventlog import EventLog
from orchestrator.store.notes import Notes

__all__ = ["NOTED", "NotesWriter", "was_noted"]

NOTED = "Noted under {section}."
MAX_SHOWN_CHARS = 2000
"""Of a section that a person changed, in the result of a call; all of it follows."""


Look = Callable[[], Awaitable[None]]
"""Takes in what people changed in the notes since."""


async def _nobody() -> None:
    """Take in nothing: nobody changes these notes but their agent."""


@dataclass(frozen=True, slots=True)
class NotesWriter:
    """Takes the notes of one agent."""

    agent: str
    notes: Notes
    """As the log has them; changed by the event, not here."""
    log: EventLog
    look: Look = _nobody

    async def update(self, section: str, mode: str, text: str, pin: bool) -> str:
        """Write to a section and return what the agent is told.

        Raises:
            ToolError: no such section, or the text is too long, or a person changed
                the section and the agent was not told of it; nothing changed.
            StoreError: the log cannot be written.
        """
        await self.look()
        name = self.notes.would_be(section, mode, text).section
        if name in self.notes.untold:
            raise ToolError(_changed(name, self.notes.text_of(name)))
        self.log.append(NotesUpdated(name, mode, text, pin), agent=self.agent)
        return NOTED.format(section=name)


def _changed(section: str, text: str) -> str:
    """Return what an agent is told that writes to what a person has just changed."""
    shown = defused(shortened(text, MAX_SHOWN_CHARS), beside_ours=True)
    return (
        f"Not noted: a person has changed `{section}` since you last saw it. It reads "
        f"now:\n\n{shown or '(emptied)'}\n\nThese are that person's words. Make your "
        "change to this text and write again: a `replace` drops what it leaves out."
    )


def was_noted(written: str, noted: str) -> bool:
    """Return whether a note is what came of a text.

    Args:
        written: by the model.
        noted: as the log has it, with placeholders for secrets.
    """
    parts = map(re.escape, PLACEHOLDER.split(noted))
    return re.fullmatch(r"[\s\S]*".join(parts), clean_text(written)) is not None
