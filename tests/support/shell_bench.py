"""A tool bench whose agent may run commands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tool_bench import ToolBench

from orchestrator.clock import SystemClock
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.events import FileChange
from orchestrator.security.permissions import Ask
from orchestrator.security.sandbox import Limits
from orchestrator.security.workspace import Workspace
from orchestrator.tools.base import ToolContext
from orchestrator.tools.executor import Executor
from orchestrator.tools.shell import Bash

__all__ = ["ShellBench"]


class _Open:
    """Lets every call through, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Ask] = []

    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:
        self.asked.append(ask)
        return ""


class ShellBench(ToolBench):
    """Runs commands as an agent's step would."""

    def __init__(
        self,
        folder: Path,
        *,
        exclude: tuple[str, ...] = (),
        restore: Callable[[str], str] | None = None,
        writable: bool = False,
        network: bool = False,
        limits: Limits | None = None,
    ) -> None:
        workspace = Workspace(folder / "work", exclude=exclude)
        self.bash = Bash(workspace, writable=writable, network=network, limits=limits)
        self.gate = _Open()
        self.restore = restore
        super().__init__(folder, [self.bash], exclude=exclude)
        self.executor = Executor(
            self.registry,
            self.log,
            partial(clip_text, count=estimate),
            SystemClock(),
            gate=self.gate,
        )

    def context(self, call: str = "t1") -> ToolContext:
        context = super().context(call)
        return replace(context, restore=self.restore) if self.restore else context

    def changes(self) -> dict[str, FileChange]:
        """Return what the newest call changed, by path."""
        ended = [event for event in self.events if event.kind == "tool.ended"]
        found = [FileChange.stored(each) for each in ended[-1].data.get("changes", ())]
        return {change.path: change for change in found}
