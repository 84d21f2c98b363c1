"""A multi-agent orchestrator with subagent context isolation.

The public names are loaded when they are first used, so that importing the package
costs nothing.

    from orchestrator import Task, run_task

    result = run_task(Task(objective="How are requests authenticated?"))
    print(result.state, result.report)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # what type checkers see; `_HOMES` is what happens
    from orchestrator.api import Orchestrator, run_batch_sync, run_task
    from orchestrator.batch.local import BatchItem
    from orchestrator.errors import (
        LimitReached,
        ModelError,
        OrchestratorError,
        RunBusy,
        SpecError,
        StoreError,
        ToolError,
        UnknownRun,
    )
    from orchestrator.events import Event
    from orchestrator.models.base import Model, ModelRequest, Reply, Usage
    from orchestrator.runtime.live import Live
    from orchestrator.runtime.result import RunResult
    from orchestrator.spec.limits import Limits
    from orchestrator.spec.loader import load_task
    from orchestrator.spec.task import Task
    from orchestrator.tools.base import Tool, ToolContext, ToolOutput
    from orchestrator.tools.own import tool

__all__ = [
    "BatchItem",
    "Event",
    "LimitReached",
    "Limits",
    "Live",
    "Model",
    "ModelError",
    "ModelRequest",
    "Orchestrator",
    "OrchestratorError",
    "Reply",
    "RunBusy",
    "RunResult",
    "SpecError",
    "StoreError",
    "Task",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolOutput",
    "UnknownRun",
    "Usage",
    "load_task",
    "run_batch_sync",
    "run_task",
    "tool",
]

_HOMES = {
    "api": ("Orchestrator", "run_batch_sync", "run_task"),
    "batch.local": ("BatchItem",),
    "errors": (
        "LimitReached",
        "ModelError",
        "OrchestratorError",
        "RunBusy",
        "SpecError",
        "StoreError",
        "ToolError",
        "UnknownRun",
    ),
    "events": ("Event",),
    "models.base": ("Model", "ModelRequest", "Reply", "Usage"),
    "runtime.live": ("Live",),
    "runtime.result": ("RunResult",),
    "spec.limits": ("Limits",),
    "spec.loader": ("load_task",),
    "spec.task": ("Task",),
    "tools.base": ("Tool", "ToolContext", "ToolOutput"),
    "tools.own": ("tool",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load a public name from the module it lives in."""
    if name not in _HOME_OF:
        raise AttributeError(f"module `orchestrator` has no attribute `{name}`")
    value = getattr(importlib.import_module(f"orchestrator.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
