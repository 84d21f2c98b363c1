"""What people say to an agent while it is at work."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Hear", "Said", "nothing_said"]


@dataclass(frozen=True, slots=True)
class Said:
    """Words of a person that an agent has not been told yet.

    Attributes:
        seq: of the event that holds them: `control.received` or `notes.edited`. The
            `text.added` that tells the agent has it as its cause, so that each is told
            once, whatever dies when.
        text: one block for its next user message.
        words: the person's own, in that block.
    """

    seq: int
    text: str
    words: str = ""


Hear = Callable[[], Sequence[Said]]
"""Returns what is still to be told, oldest first; it stays so until that is logged."""


def nothing_said() -> Sequence[Said]:
    """Return nothing: nobody speaks to this agent."""
    return ()
