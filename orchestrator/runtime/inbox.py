"""What people said to the lead and it has not been told yet, as the log has it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from orchestrator.agent.hearing import Said
from orchestrator.agent.hooks import Words
from orchestrator.events import (
    ControlReceived,
    Event,
    NotesEdited,
    TextAdded,
    parse,
)
from orchestrator.events.phrases import quoted
from orchestrator.security.untrusted import defused
from orchestrator.store.control import STEER
from orchestrator.store.notes import MAX_SECTION_CHARS

__all__ = ["Inbox"]


@dataclass(slots=True)
class Inbox:
    """Follows the log: words come in by one event, and are told by a later one.

    Attributes:
        prompts: the program's words to a model, around those of the person.
    """

    prompts: Words
    _waiting: dict[int, Said] = field(default_factory=dict)
    """By the `seq` of the event that holds the words."""
    _edits: dict[str, int] = field(default_factory=dict)
    """Section of the notes → its newest change: it holds what earlier ones did."""

    @property
    def is_empty(self) -> bool:
        """Return whether the lead has been told all that was said."""
        return not self._waiting

    def restore(self, events: Iterable[Event]) -> None:
        """Take in what earlier processes left."""
        for event in events:
            self.apply(event)

    def apply(self, event: Event) -> None:
        """Take in one event."""
        data = event.data
        match event.kind:
            case ControlReceived.KIND if data["action"] == STEER:
                text = data.get("text", "")
                shown = defused(text, beside_ours=True)
                self._take_in(event, self.prompts("steer", text=shown), text)
            case NotesEdited.KIND:
                edited = parse(event, NotesEdited)
                words = edited.text or edited.section
                self._waiting.pop(self._edits.get(edited.section, 0), None)
                self._edits[edited.section] = event.seq
                self._take_in(event, self._edited(edited), words)
            case TextAdded.KIND if data["reason"] == "steer":
                self._waiting.pop(event.cause, None)

    def untold(self) -> list[str]:
        """Return what is still to be told in the person's own words, a line each."""
        return [
            f"the lead was not told any more: {quoted(each.words)}"
            for each in self.hear()
        ]

    def hear(self) -> Sequence[Said]:
        """Return what is still to be told, oldest first."""
        return [self._waiting[seq] for seq in sorted(self._waiting)]

    def _take_in(self, event: Event, text: str, words: str) -> None:
        self._waiting[event.seq] = Said(event.seq, text, words)

    def _edited(self, edited: NotesEdited) -> str:
        text, size = edited.text, len(edited.text)
        if size > MAX_SECTION_CHARS:
            start = text[:MAX_SECTION_CHARS]
            start = start[: start.rfind("\n")] if "\n" in start else start
            more = f"of {size:,} characters; `read_ref` opens all of it: {edited.whole}"
            text = f"{start}\n[… {more}]"
        # What a person writes passes for nothing else beside words of the program.
        shown = defused(text, beside_ours=True) or "(emptied)"
        return self.prompts("notes_edited", section=edited.section, text=shown)
