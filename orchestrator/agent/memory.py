"""The port to what outlives a run, as an agent's loop needs it."""

from __future__ import annotations

from typing import Protocol

__all__ = ["NO_MEMORY", "Ask", "Remembers"]


class Ask(Protocol):
    """Asks the agent's model something once the work is over."""

    async def __call__(self, text: str, *, output_tokens: int) -> str:
        """Return the answer; "": there is none of use.

        Args:
            text: the question, with a mark where another model needs the
                conversation.
            output_tokens: bound of the answer.
        """
        ...


class Remembers(Protocol):
    """What an agent has of memory beside its tools."""

    async def again(self, open_work: str) -> str:
        """Return what memory holds for the open work and is not in sight, or "".

        Args:
            open_work: what is still to be done, as it stands after a compaction.
        """
        ...

    async def at_end(self, ask: Ask | None) -> None:
        """Keep what will be useful again; the agent's loop is about to end.

        Args:
            ask: the agent's model; None: it cannot be asked any more.
        """
        ...


class _NoMemory:
    """Of an agent that remembers nothing."""

    async def again(self, open_work: str) -> str:
        del open_work
        return ""

    async def at_end(self, ask: Ask | None) -> None:
        del ask


NO_MEMORY: Remembers = _NoMemory()
