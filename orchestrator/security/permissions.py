"""What a task allows beyond reading, and what a person is asked before it happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

__all__ = ["Answer", "Ask", "Asker", "Permission"]

Permission = Literal["write", "shell", "network", "secrets"]
Answer = Literal["once", "always", "no"]
"""`once`: this very thing, also when it comes again in this run; `always`: whatever
needs the same permissions, for the rest of the run."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call needs, and what it would do.

    Attributes:
        permissions: all of them are needed.
        effect: exactly what would happen, for a person: the command, the change, the
            address. Of the model, so that it is shown as plain text.
        in_full: makes what a person is shown in its place, where that takes a look at
            files; called in a thread, and only if a person is asked.
    """

    permissions: tuple[Permission, ...]
    effect: str
    in_full: Callable[[], str] | None = field(default=None, compare=False)


class Asker(Protocol):
    """Puts a question to the person at the terminal."""

    async def __call__(self, agent: str, tool: str, ask: Ask) -> Answer:
        """Return the answer; nobody there, or no answer in time: `no`.

        Args:
            agent: whose call it is.
            tool: its name.
            ask: only the permissions that are to be asked for.
        """
        ...
