"""What a person did while a run was at work, done again."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.events import ControlReceived, Event, parse
from orchestrator.store.control import Request, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder

__all__ = ["Person"]


@dataclass(frozen=True, slots=True)
class Person:
    """Does what events tell, by the ways that a person has.

    Attributes:
        folder: of the run that is played.
    """

    folder: RunFolder

    def say(self, event: Event) -> None:
        """Do it again."""
        if event.kind == ControlReceived.KIND:
            self._ask(parse(event, ControlReceived))

    def _ask(self, asked: ControlReceived) -> None:
        by = holder(self.folder.lock)
        if by is not None:
            send(self.folder.control, Request(asked.action, by, asked.to, asked.text))
