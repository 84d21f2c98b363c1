"""Fields of the task file whose feature is not there yet: refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.spec.task import Task

__all__ = ["not_yet"]

WHOLE_FIELDS = ("mcp_servers",)


def not_yet(task: Task) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield place and message of each field that asks for what is not there yet."""
    for name in WHOLE_FIELDS:
        if getattr(task, name) != Task.model_fields[name].get_default(
            call_default_factory=True
        ):
            yield (name,), "not yet: leave it out"
    if task.memory.scope != "none":
        yield ("memory", "scope"), "not yet: only `none`"
    if task.memory.runs:
        yield ("memory", "runs"), "not yet: only `false`"
    if "secrets" not in task.redact:
        yield ("redact",), "not yet: secrets are always redacted; `[secrets]` must stay"
