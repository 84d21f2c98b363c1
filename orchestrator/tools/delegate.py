"""`delegate`: give work to subagents."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.brief import Brief
from orchestrator.tools.arguments import cleaned
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.directing import NO_LIMIT_S, DirectPort

__all__ = ["Delegate", "DelegateArgs"]


class DelegateArgs(BaseModel):
    """Arguments of `delegate`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    briefs: tuple[Brief, ...] = Field(min_length=1, max_length=500)
    wait: Literal["all", "first", "none"] = Field(
        default="all",
        description="Until all have ended, the first, or not at all. Findings of the "
        "others come by themselves, or with `wait_for`.",
    )


class Delegate:
    """Starts subagents, and waits for them or not."""

    name: ClassVar[str] = "delegate"
    description: ClassVar[str] = (
        "Give work to subagents side by side, each in a fresh context that holds its "
        "brief and nothing else. You get back findings with looked-up quotes, never "
        "what they read. Send all briefs that do not depend on each other in one call, "
        "split by area or question. Do single look-ups and tightly coupled edits "
        "yourself."
    )
    Args: ClassVar[type[BaseModel]] = DelegateArgs
    effects: ClassVar[Effects] = "repeatable"
    own_marks: ClassVar[bool] = True
    timeout_s: ClassVar[float] = NO_LIMIT_S

    def __init__(self, port: DirectPort) -> None:
        self._port = port

    async def run(self, args: DelegateArgs, context: ToolContext) -> ToolOutput:
        """Return the findings that came in, in the order of the briefs.

        Raises:
            ToolError: the briefs are refused.
        """
        briefs = list(cleaned(self.name, args, context.redact).briefs)
        return await self._port.delegate(context.call, briefs, args.wait)
