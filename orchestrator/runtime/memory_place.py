"""Where the memory of a task lies, and whether it can be written there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.errors import SpecError
from orchestrator.memory.earlier_runs import EarlierRuns
from orchestrator.memory.embedding import embedder_of
from orchestrator.memory.memory import Memory
from orchestrator.memory.places import scope_folder
from orchestrator.runtime.host import Host
from orchestrator.runtime.run_memory import RunMemory
from orchestrator.settings import Settings
from orchestrator.spec.task import Task

__all__ = ["check_memory", "run_memory"]


def run_memory(
    task: Task, host: Host, run: str, redact: Callable[[str], str]
) -> RunMemory | None:
    """Return the memory of a run; None: its task asks for none. Nothing is opened yet.

    Args:
        task: as loaded.
        host: with settings, environment and the folder of runs.
        run: its id.
        redact: as everywhere in it.

    Raises:
        SpecError: the place of memory, or a setting, cannot be meant.
    """
    if not task.memory.is_on:
        return None
    embedder = embedder_of(host.settings, host.env)
    memory = None
    if task.memory.has_entries:
        memory = Memory(
            _folder(task, host.settings, host.env),
            # What an entry of the user rests on may lie in any workspace.
            workspace=task.workspace if task.memory.scope == "project" else None,
            redact=redact,
            today=lambda: host.clock.now().date().isoformat(),
            embedder=embedder,
        )
    earlier = None
    if task.memory.runs:
        earlier = EarlierRuns(
            host.runs_dir,
            workspace=task.workspace,
            current=run,
            redact=redact,
        )
    return RunMemory(run, memory, earlier, redact)


def check_memory(
    task: Task, settings: Settings, env: Mapping[str, str]
) -> tuple[str, ...]:
    """Refuse a task whose memory cannot be written, before anything is spent.

    Returns:
        What there is to tell of it, a line each.

    Raises:
        SpecError: it says why, and what is allowed.
    """
    if not task.memory.has_entries:
        return ()
    embedder_of(settings, env)
    folder = _folder(task, settings, env)
    memory = Memory(folder, workspace=None, redact=str, today=str)
    if problem := memory.problem():
        raise SpecError(
            f"{problem}; set `ORCHESTRATE_MEMORY_DIR` to a folder that can be written, "
            "or leave memory out",
            field="memory.scope",
        )
    return (f"memory: {task.memory.scope}, in {folder}",)


def _folder(task: Task, settings: Settings, env: Mapping[str, str]) -> Path:
    return scope_folder(
        "user" if task.memory.scope == "user" else "project",
        workspace=task.workspace,
        memory_dir=settings.memory_dir,
        env=env,
    )
