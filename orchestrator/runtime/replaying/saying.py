"""What a person did while a run was at work, done again."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.events import ControlReceived, Event, NotesEdited, parse
from orchestrator.ids import LEAD
from orchestrator.store.control import Request, send
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder

__all__ = ["Person"]


@dataclass(slots=True)
class Person:
    """Does what events tell, by the ways that a person has.

    A change of the notes is written into the log alone, as it was found: how it came
    to be found is a matter of files and editors.

    Attributes:
        folder: of the run that is played.
        log: of it, once it is open.
    """

    folder: RunFolder
    log: EventLog | None = None

    def hears(self, log: EventLog) -> None:
        """Take note of the log."""
        self.log = log

    def say(self, event: Event) -> None:
        """Do it again."""
        if event.kind == ControlReceived.KIND:
            self._ask(parse(event, ControlReceived))
        elif event.kind == NotesEdited.KIND and self.log is not None:
            newest = self.log.newest(LEAD)
            self.log.append(parse(event, NotesEdited), agent=LEAD, cause=newest)

    def _ask(self, asked: ControlReceived) -> None:
        by = holder(self.folder.lock)
        if by is not None:
            send(self.folder.control, Request(asked.action, by, asked.to, asked.text))
