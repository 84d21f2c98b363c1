"""What people said to a run while it was at work, and whether it was passed on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from orchestrator.events import (
    ControlReceived,
    Event,
    NotesEdited,
    RunEnded,
    RunReopened,
    RunResumed,
    TextAdded,
)
from orchestrator.events.phrases import one_line

__all__ = ["Said", "SaidToRun"]

STEER = "steer"


@dataclass(slots=True)
class Said:
    """Words of a person.

    Attributes:
        seq: of the event that holds them.
        at: when they came, RFC 3339.
        text: the words; of an edit, the section as the person left it.
        section: of the notes, if it is an edit of them; else "".
        told_at: when the lead was told, RFC 3339; "": not yet.
    """

    seq: int
    at: str
    text: str
    section: str = ""
    told_at: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it for machines."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class SaidToRun:
    """All that people said, folded from events.

    Attributes:
        words: of steers and edits of notes, oldest first.
        asked: `pause` or `stop`, where a person asked for it and it has not come
            about yet; else "".
    """

    words: list[Said] = field(default_factory=list)
    asked: Literal["", "pause", "stop"] = ""
    _untold: dict[int, Said] = field(default_factory=dict)

    KINDS: ClassVar[frozenset[str]] = frozenset(
        each.KIND
        for each in (
            *(ControlReceived, NotesEdited, TextAdded),
            *(RunEnded, RunReopened, RunResumed),
        )
    )

    @property
    def untold(self) -> list[Said]:
        """Return what the lead has not been told yet, oldest first.

        Of the changes of a section the newest holds what the others did.
        """
        newest = {said.section or said.seq: said for said in self._untold.values()}
        return sorted(newest.values(), key=lambda said: said.seq)

    def apply(self, event: Event) -> None:
        """Take over one event; kinds other than `KINDS` say nothing."""
        data = event.data
        match event.kind:
            case ControlReceived.KIND if not data.get("by"):
                self._control(event)
            case NotesEdited.KIND:
                text, section = (str(data.get(n, "")) for n in ("text", "section"))
                self._hear(Said(event.seq, event.at, text, section))
            case TextAdded.KIND if data.get("reason") == STEER:
                self._tell(event)
            case RunEnded.KIND | RunResumed.KIND | RunReopened.KIND:
                self.asked = ""

    def _control(self, event: Event) -> None:
        match one_line(event.data.get("action")):
            case "steer":
                text = str(event.data.get("text", ""))
                self._hear(Said(event.seq, event.at, text))
            case "pause":
                self.asked = "pause"
            case "stop" if not event.data.get("to"):
                self.asked = "stop"
            case "go_on":
                self.asked = ""

    def _tell(self, event: Event) -> None:
        told = self._untold.get(event.cause)
        for said in list(self._untold.values()):
            is_before = told and said.seq < told.seq and said.section == told.section
            if told is said or (is_before and said.section):
                said.told_at = event.at
                del self._untold[said.seq]

    def _hear(self, said: Said) -> None:
        self.words.append(said)
        self._untold[said.seq] = said
