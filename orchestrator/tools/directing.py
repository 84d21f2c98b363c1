"""`wait_for`, `follow_up` and `cancel`: direct the subagents that were sent."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.brief import Brief
from orchestrator.tools.arguments import cleaned
from orchestrator.tools.base import Effects, ToolContext, ToolOutput

__all__ = [
    "NO_LIMIT_S",
    "Cancel",
    "CancelArgs",
    "DirectPort",
    "FollowUp",
    "FollowUpArgs",
    "Mode",
    "WaitFor",
    "WaitForArgs",
]

Mode = Literal["any", "all"]

MAX_QUESTION_CHARS = 4000
MAX_REASON_CHARS = 500
# Joins: the subagents have limits of their own, which end them.
NO_LIMIT_S = float("inf")

Agent = Annotated[str, Field(min_length=1, max_length=40)]


class DirectPort(Protocol):
    """Sends, waits for, asks and ends the subagents of one agent."""

    async def delegate(self, call: str, briefs: list[Brief], wait: str) -> ToolOutput:
        """Run the briefs side by side and return the findings waited for.

        Args:
            call: id of the `tool_use` block; with a brief's place it names a subagent
                across a resume.
            briefs: in the model's order.
            wait: `all`, `first` or `none`.
        """
        ...

    async def wait_for(
        self, agents: tuple[str, ...], mode: Mode, timeout_s: float | None
    ) -> ToolOutput:
        """Wait for subagents and return what they brought.

        Args:
            agents: whom; none: all whose findings have not come yet.
            mode: `any` or `all` of them.
            timeout_s: the longest wait, in seconds; 0 gives the table at once; None:
                their own limits end it.

        Raises:
            ToolError: one of them is nobody's subagent.
        """
        ...

    async def follow_up(self, call: str, agent: str, question: str) -> ToolOutput:
        """Ask a subagent that has ended something more, and wait for its answer.

        Args:
            call: id of the `tool_use` block.
            agent: whom.
            question: what.

        Raises:
            ToolError: it cannot be asked.
        """
        ...

    async def cancel(self, agent: str, reason: str) -> ToolOutput:
        """End a subagent and all below it.

        Args:
            agent: whom.
            reason: why.

        Raises:
            ToolError: it is nobody's subagent.
        """
        ...


class WaitForArgs(BaseModel):
    """Arguments of `wait_for`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agents: tuple[Agent, ...] = Field(
        default=(),
        max_length=500,
        description="Ids such as `a3`. Empty: all whose findings you do not have.",
    )
    mode: Mode = Field(default="any", description="Until one of them ended, or all.")
    timeout_s: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Longest wait. 0: just where each one stands.",
    )


class WaitFor:
    """Waits for subagents that are at work."""

    name: ClassVar[str] = "wait_for"
    description: ClassVar[str] = (
        "Wait for subagents that you sent without waiting for all of them. You get "
        "the findings that came in, each once, and where the others stand."
    )
    Args: ClassVar[type[BaseModel]] = WaitForArgs
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = NO_LIMIT_S

    def __init__(self, port: DirectPort) -> None:
        self._port = port

    async def run(self, args: WaitForArgs, _context: ToolContext) -> ToolOutput:
        """Return what came in.

        Raises:
            ToolError: one of them is nobody's subagent.
        """
        return await self._port.wait_for(args.agents, args.mode, args.timeout_s)


class FollowUpArgs(BaseModel):
    """Arguments of `follow_up`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Agent = Field(description="Such as `a3`.")
    question: str = Field(
        min_length=1,
        max_length=MAX_QUESTION_CHARS,
        description="It must stand alone.",
    )


class FollowUp:
    """Asks a subagent that has ended something more."""

    name: ClassVar[str] = "follow_up"
    description: ClassVar[str] = (
        "Ask a subagent that has ended one more question about what it read: it still "
        "has that before it, so this is faster and cheaper than a new brief. Waits for "
        "the answer; its items are numbered on."
    )
    Args: ClassVar[type[BaseModel]] = FollowUpArgs
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = NO_LIMIT_S

    def __init__(self, port: DirectPort) -> None:
        self._port = port

    async def run(self, args: FollowUpArgs, context: ToolContext) -> ToolOutput:
        """Return the answer.

        Raises:
            ToolError: it cannot be asked.
        """
        args = cleaned(self.name, args, context.redact)
        return await self._port.follow_up(context.call, args.agent, args.question)


class CancelArgs(BaseModel):
    """Arguments of `cancel`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent: Agent = Field(description="Such as `a3`.")
    reason: str = Field(
        min_length=1,
        max_length=MAX_REASON_CHARS,
        description="The report names it.",
    )


class Cancel:
    """Ends a subagent that is not needed any more."""

    name: ClassVar[str] = "cancel"
    description: ClassVar[str] = (
        "End a subagent, and all that it sent, because its work is not needed any "
        "more. What it has found by then comes back."
    )
    Args: ClassVar[type[BaseModel]] = CancelArgs
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = 60

    def __init__(self, port: DirectPort) -> None:
        self._port = port

    async def run(self, args: CancelArgs, context: ToolContext) -> ToolOutput:
        """Return what it has.

        Raises:
            ToolError: it is nobody's subagent.
        """
        args = cleaned(self.name, args, context.redact)
        return await self._port.cancel(args.agent, args.reason)
