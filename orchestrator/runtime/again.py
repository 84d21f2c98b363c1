"""The task of an earlier process, with what it names, as it began."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.events import RunStarted
from orchestrator.runtime.host import Host
from orchestrator.runtime.prepare import Prepared, prepare
from orchestrator.spec.context_files import ContextFile
from orchestrator.spec.loader import load_task
from orchestrator.spec.mcp_servers import McpServer, mcp_servers
from orchestrator.spec.skills import Skill, find_skills
from orchestrator.spec.task import ModelChoice, Task
from orchestrator.store.layout import RunFolder
from orchestrator.tools.loading import usable_tools

__all__ = ["prepared_again"]


def prepared_again(
    folder: RunFolder,
    host: Host,
    changed: dict[str, str],
    begun: RunStarted | None,
    *,
    inputs: Path | None = None,
    has_extras: bool = True,
) -> Prepared:
    """Return the task as it began: its models and context files are in the log.

    Args:
        folder: the run's.
        host: what the process offers.
        changed: limits that are raised, as overrides.
        begun: how the run began, if that is known.
        inputs: folder of the profiles and prompts; None: the copies that the run keeps.
        has_extras: tools, skills and servers of the task are wanted, as far as they are
            still there.

    Raises:
        SpecError: the task cannot be read, or no model be called.
    """
    is_kept = begun is not None and begun.context is not None
    # Files that are gone by now must not keep the run from going on.
    task = load_task(folder.task, {**changed, **({"context": "[]"} if is_kept else {})})
    if begun is not None:
        names = ("lead", "subagents", "summaries")
        models = ModelChoice(**{name: begun.models.get(name) for name in names})
        task = task.model_copy(update={"model": models})
    prepared = prepare(
        task.model_copy(update={"tools": (), "skills": (), "mcp_servers": {}}),
        settings=host.settings,
        env=host.env,
        price_of=host.price,
        task_folder=inputs or folder.inputs,
        cwd=inputs,
        needs_credentials=not host.brings_model,
    )
    if has_extras:
        prepared = _with_extras(prepared, task, begun, host.env)
    if begun is None or begun.context is None:
        return prepared
    files = tuple(ContextFile(each["path"], each["text"]) for each in begun.context)
    return replace(prepared, context_files=files)


def _with_extras(
    prepared: Prepared, task: Task, begun: RunStarted | None, env: Mapping[str, str]
) -> Prepared:
    """Return `prepared` with the tools, skills and servers that are still there.

    One that is gone keeps no run from going on: a call of it says so.
    """
    folders = tuple(Path(each) for each in begun.tool_folders) if begun else ()
    tools, lost = usable_tools(task.tools, folders=folders)
    skills: list[Skill] = []
    for each in task.skills:
        try:
            skills += find_skills([Path(each)])
        except SpecError as error:
            lost.append(f"a skill of the task is gone: {error.message}")
    servers: dict[str, McpServer] = {}
    for name, entry in task.mcp_servers.items():
        try:
            servers |= mcp_servers({name: entry}, env)
        except SpecError as error:
            lost.append(f"an MCP server is left out: `{error.field}`: {error.message}")
    return replace(
        prepared,
        task=task,
        tools=tools,
        tool_folders=folders,
        skills=tuple(skills),
        servers=servers,
        notices=(*prepared.notices, *lost),
    )
