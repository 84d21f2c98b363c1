"""Fields of the task file whose feature is not there yet: refused, never ignored."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.spec.task import Task

__all__ = ["not_yet"]


def not_yet(task: Task) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield place and message of each field that asks for what is not there yet."""
    if "secrets" not in task.redact:
        yield ("redact",), "not yet: secrets are always redacted; `[secrets]` must stay"
