"""`delegate`: give work to subagents."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.brief import Brief
from orchestrator.tools.arguments import cleaned
from orchestrator.tools.base import Effects, ToolContext, ToolOutput

__all__ = ["Delegate", "DelegateArgs", "DispatchPort"]

# A join: the subagents have limits of their own, which end it.
_NO_LIMIT_S = float("inf")
# Each findings is bounded, and so is their sum, by the dispatch; cutting them here
# would lose claims. This is only the last line, a quarter of a common window.
_MAX_TOKENS = 50_000


class DispatchPort(Protocol):
    """Runs subagents for one agent."""

    async def delegate(self, call: str, briefs: list[Brief], wait: str) -> ToolOutput:
        """Run the briefs side by side and return the findings waited for.

        Args:
            call: id of the `tool_use` block; with a brief's place it names a subagent
                across a resume.
            briefs: in the model's order.
            wait: `all`, `first` or `none`.

        Raises:
            ToolError: the briefs are refused; nothing was spent.
        """
        ...


class DelegateArgs(BaseModel):
    """Arguments of `delegate`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    briefs: tuple[Brief, ...] = Field(min_length=1, max_length=500)
    wait: Literal["all", "first", "none"] = Field(
        default="all",
        description="Until all have ended, the first one, or not at all. The others "
        "work on; their findings come by themselves, or with `wait_for`.",
    )


class Delegate:
    """Starts subagents, and waits for them or not."""

    name: ClassVar[str] = "delegate"
    description: ClassVar[str] = (
        "Give work to subagents that run side by side, each in a fresh context that "
        "holds its brief and nothing else: not your history, not the other briefs. You "
        "get back findings with looked-up quotes, never what they read. Send all "
        "briefs that do not depend on each other in one call, split by area or "
        "question. Do single look-ups and tightly coupled edits yourself."
    )
    Args: ClassVar[type[BaseModel]] = DelegateArgs
    effects: ClassVar[Effects] = "repeatable"
    timeout_s: ClassVar[float] = _NO_LIMIT_S

    def __init__(self, dispatch: DispatchPort) -> None:
        self._dispatch = dispatch

    async def run(self, args: DelegateArgs, context: ToolContext) -> ToolOutput:
        """Return the findings that came in, in the order of the briefs.

        Raises:
            ToolError: the briefs are refused.
        """
        output = await self._dispatch.delegate(
            context.call, list(cleaned(args).briefs), args.wait
        )
        return replace(
            output, paged=True, limit_tokens=output.limit_tokens or _MAX_TOKENS
        )
