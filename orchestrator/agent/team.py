"""The port to the subagents of an agent, as its loop needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.messages import Block

__all__ = ["NO_TEAM", "Late", "Team"]


@dataclass(frozen=True, slots=True)
class Late:
    """Findings that came in while their parent did something else.

    Attributes:
        text: one block for its next user message.
        delivers: the deliveries in it.
    """

    text: str
    delivers: tuple[str, ...]


class Standing(Protocol):
    """What is on record of the subagents of one agent."""

    def table(self) -> str:
        """Return a line for each, or "" if there is none."""
        ...

    def facts(self) -> Sequence[str]:
        """Return what those handed in that were delivered, a line each."""
        ...

    def running(self) -> Sequence[str]:
        """Return who is at work, in words."""
        ...

    def opened(self, agent: str) -> str:
        """Return all that one delivered, as it was delivered, or ""."""
        ...


class _NoStanding:
    """Of nobody."""

    def table(self) -> str:
        return ""

    def facts(self) -> Sequence[str]:
        return ()

    def running(self) -> Sequence[str]:
        return ()

    def opened(self, agent: str) -> str:
        del agent
        return ""


class Team(Protocol):
    """The subagents of one agent: who is out, and what has come in."""

    def expects(self, calls: Sequence[Block]) -> int:
        """Return how many tokens of findings may come in while others spend.

        Args:
            calls: that are about to run; they may send subagents.
        """
        ...

    def is_out(self) -> bool:
        """Return whether a subagent is at work, or has findings not delivered yet."""
        ...

    async def wait(self) -> None:
        """Wait until no subagent is at work; their own limits bound that."""
        ...

    async def settle(self, seconds: float) -> None:
        """Wait until no subagent is at work, and end those that are after a while.

        They leave what they have.

        Args:
            seconds: how long they are waited for; 0 ends them at once.
        """
        ...

    async def late(self) -> Late | None:
        """Return what has come in and is not delivered yet, bounded; None: nothing.

        Raises:
            StoreError: the run folder cannot be written.
        """
        ...

    @property
    def standing(self) -> Standing:
        """Return where they stand and what they brought."""
        ...


class _Nobody:
    """The team of an agent that sends nobody."""

    standing: Standing = _NoStanding()

    def expects(self, calls: Sequence[Block]) -> int:
        del calls
        return 0

    def is_out(self) -> bool:
        return False

    async def wait(self) -> None:
        return

    async def settle(self, seconds: float) -> None:
        del seconds

    async def late(self) -> Late | None:
        return None


NO_TEAM: Team = _Nobody()
