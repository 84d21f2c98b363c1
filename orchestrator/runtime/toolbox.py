"""The tools of one run that need no port of an agent: which there are, and for whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.memory.places import OWN_FOLDER
from orchestrator.runtime.host import Host
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.run_memory import RunMemory
from orchestrator.security.permissions import Permission
from orchestrator.security.workspace import Workspace
from orchestrator.spec.foreign import available_tools
from orchestrator.spec.task import Task
from orchestrator.store.layout import RunFolder
from orchestrator.tools.base import Tool
from orchestrator.tools.fetch import FetchUrl
from orchestrator.tools.files import ListDir, ReadFile
from orchestrator.tools.memory import MemoryTool
from orchestrator.tools.recall import Recall
from orchestrator.tools.refs import ReadRef
from orchestrator.tools.replacing import Writer
from orchestrator.tools.search import Glob, Grep
from orchestrator.tools.shell import Bash
from orchestrator.tools.skills import Skills
from orchestrator.tools.turn import Turn
from orchestrator.tools.writing import EditFile, WriteFile

__all__ = ["Toolbox", "toolbox", "workspace_of"]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """What agents can be given.

    Attributes:
        tools: ours that read, those that the task allows, and the user's own, those of
            MCP servers included.
        extra: names of the user's own: every agent has them, unless its profile
            disallows one.
        turn: whose it is to change files; to be told of all events.
    """

    tools: tuple[Tool[Any], ...]
    turn: Turn
    extra: tuple[str, ...]


def toolbox(
    prepared: Prepared,
    host: Host,
    workspace: Workspace,
    permissions: Collection[Permission],
    servers: Sequence[Tool[Any]] = (),
    memory: RunMemory | None = None,
) -> Toolbox:
    """Return the tools of a run.

    Args:
        prepared: the task and what it names.
        host: with the caller's own tools.
        workspace: of the run.
        permissions: what agents may have at all.
        servers: tools of MCP servers.
        memory: what outlives the run; None: the task has none.

    Raises:
        SpecError: two tools have one name.
    """
    skills = Skills(prepared.skills, runs_scripts="shell" in permissions)
    turn = Turn()
    writer = Writer(turn)
    bash = Bash(
        workspace,
        turn=turn,
        writable="write" in permissions,
        network="network" in permissions,
        visible=[each.folder for each in prepared.skills],
    )
    ours: tuple[Tool[Any], ...] = (
        ReadFile(), ListDir(), Grep(), Glob(), ReadRef(skills),
        Recall(memory.search if memory else None), WriteFile(writer), EditFile(writer),
        bash, FetchUrl(), *([MemoryTool(memory.desk)] if memory else []),
    )  # fmt: skip
    there = available_tools(permissions, has_memory=prepared.task.memory.has_entries)
    own = (*host.tools, *prepared.tools, *servers)
    _refuse_same(own, there)
    return Toolbox(
        tuple(host.through([*(tool for tool in ours if tool.name in there), *own])),
        turn,
        tuple(tool.name for tool in own),
    )


def _refuse_same(own: Sequence[Tool[Any]], taken: Collection[str]) -> None:
    """Refuse tools of the user's own that have a name of ours, or one twice."""
    names = Counter(tool.name for tool in own)
    for name, count in names.items():
        if count > 1 or name in taken:
            raise SpecError(
                f"there are two tools named `{name}`; give one another name, as with "
                "`@tool(name=…)`",
                field="tools",
            )


def workspace_of(task: Task, folder: RunFolder | None) -> Workspace:
    """Return what agents may see of a task's workspace.

    Args:
        task: as loaded.
        folder: the run's; None: there is none yet.
    """
    # Also those of projects within: no memory is reached from another one.
    hidden = () if folder is None else _own_folder(task.workspace, folder)
    return Workspace(task.workspace, exclude=(f"**/{OWN_FOLDER}/", *hidden))


def _own_folder(workspace: Path, folder: RunFolder) -> tuple[str, ...]:
    """Return the folder of runs, if agents could see it: what others read lies there.

    Where runs lie directly in the workspace, only this run is left out.
    """
    run, root = folder.path.resolve(), workspace.resolve()
    if not run.is_relative_to(root):
        return ()
    hidden = run if run.parent == root else run.parent
    return (f"{hidden.relative_to(root).as_posix()}/",)
