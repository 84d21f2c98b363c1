"""The sections of the lead's notes: what they say, and who wrote to them last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.ids import LEAD
from orchestrator.messages import clean_text
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.notes import Notes
from orchestrator.store.notes_back import read_back
from orchestrator.store.notes_merge import cleaned, edits_of
from orchestrator.store.notes_page import PERSON
from orchestrator.store.reading import read_events_about

__all__ = ["NotedSection", "noted_sections"]


@dataclass(frozen=True, slots=True)
class NotedSection:
    """One section.

    Attributes:
        section: its name.
        text: Markdown; "" where there is none.
        by: who wrote to it last; "": nobody did.
        at: when, RFC 3339, UTC; "": nobody did, or it is not in the log yet.
        is_logged: False: a person changed it in the file, and no process has taken that
            in yet.
    """

    section: str
    text: str
    by: Literal["", "lead", "person"] = ""
    at: str = ""
    is_logged: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def noted_sections(folder: RunFolder, text: str) -> list[NotedSection]:
    """Return the sections of a run's notes, in order.

    Args:
        folder: the run's.
        text: of `progress.md`, which may hold changes that are not in the log yet.

    Raises:
        StoreError: the log cannot be read.
    """
    notes = Notes()
    for event in read_events_about(folder.events, "notes", Artifacts(folder.artifacts)):
        if event.agent == LEAD:
            notes.apply(event)
    page = cleaned(read_back(text), clean_text)
    new = edits_of(page, notes, ours=page.owned) if text else []
    found: dict[str, NotedSection] = {}
    for name in (*notes.sections, PERSON):
        written = notes.written.get(name)
        if written is not None:
            by: Literal["lead", "person"] = "person" if written.by_person else "lead"
            found[name] = NotedSection(name, notes.text_of(name), by, written.at)
        elif name != PERSON:
            found[name] = NotedSection(name, "")
    for edit in new:
        found[edit.section] = NotedSection(
            edit.section, edit.text, "person", is_logged=False
        )
    return list(found.values())
