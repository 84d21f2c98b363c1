"""A tool bench whose agent may run commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tool_bench import ToolBench

from orchestrator.events import FileChange
from orchestrator.security.permissions import Ask, Permission
from orchestrator.security.sandbox import Limits
from orchestrator.security.workspace import Workspace
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
        restore: Callable[[str], str] = lambda text: text,
        writable: bool = False,
        network: bool = False,
        limits: Limits | None = None,
    ) -> None:
        workspace = Workspace(folder / "work", exclude=exclude)
        self.bash = Bash(workspace, writable=writable, network=network, limits=limits)
        self.asked = _Open()
        may: set[Permission] = {"shell"}
        if writable:
            may.add("write")
        if network:
            may.add("network")
        super().__init__(
            folder,
            [self.bash],
            exclude=exclude,
            gate=self.asked,
            restore=restore,
            may=frozenset(may),
        )

    def changes(self) -> dict[str, FileChange]:
        """Return what the newest call changed, by path."""
        ended = [event for event in self.events if event.kind == "tool.ended"]
        found = [FileChange.stored(each) for each in ended[-1].data.get("changes", ())]
        return {change.path: change for change in found}
