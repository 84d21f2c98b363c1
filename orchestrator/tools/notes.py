"""`update_notes`: what an agent wants to keep, whatever happens to its context."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from orchestrator.store.notes import SECTIONS, Section
from orchestrator.tools.arguments import cleaned
from orchestrator.tools.base import Effects, ToolContext

__all__ = ["NotesPort", "UpdateNotes", "UpdateNotesArgs"]

_NAMES = {name.lower(): name for name in SECTIONS}


def _named(section: object) -> object:
    """Return a section's true name for `failed_attempts` and its like."""
    if not isinstance(section, str):
        return section
    return _NAMES.get(section.strip(" #").replace("_", " ").lower(), section)


class NotesPort(Protocol):
    """The notes of one run, or of one subagent."""

    async def update(self, section: str, mode: str, text: str, pin: bool) -> str:
        """Change one section and return what the model is told. It is soon done.

        Args:
            section: one of the names of `Section`.
            mode: `replace` or `append`.
            text: Markdown.
            pin: it must never be summarised away.

        Raises:
            ToolError: the section cannot be changed now.
        """
        ...


class UpdateNotesArgs(BaseModel):
    """Arguments of `update_notes`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    section: Annotated[Section, BeforeValidator(_named)]
    mode: Literal["replace", "append"]
    text: str = Field(
        max_length=20_000, description="Markdown; Plan as `- [ ]` and `- [x]` items."
    )
    pin: bool = Field(default=False, description="Must stay word for word.")


class UpdateNotes:
    """Writes to the agent's own notes."""

    name: ClassVar[str] = "update_notes"
    description: ClassVar[str] = (
        "Write to your notes, which outlive your context. Keep them current: the plan, "
        "decisions with reasons, confirmed facts with places, what failed and why."
    )
    Args: ClassVar[type[BaseModel]] = UpdateNotesArgs
    effects: ClassVar[Effects] = "repeatable"
    timeout_s: ClassVar[float] = 30

    def __init__(self, notes: NotesPort) -> None:
        self._notes = notes

    async def run(self, args: UpdateNotesArgs, context: ToolContext) -> str:
        """Return what the notes say to the change.

        Raises:
            ToolError: the section cannot be changed now.
        """
        args = cleaned(self.name, args, context.redact)
        return await self._notes.update(args.section, args.mode, args.text, args.pin)
