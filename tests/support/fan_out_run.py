"""A lead that sends many subagents at once, all of them served by one endpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator import Orchestrator, Task
from orchestrator.clock import SystemClock
from orchestrator.events import Event
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor

__all__ = ["MODEL", "fan_out"]

MODEL = "claude-haiku-5-5"


async def fan_out(
    root: Path,
    url: str,
    *,
    subagents: int,
    at_once: int,
    on_event: Callable[[Event], None] | None = None,
) -> Path:
    """Let a lead send them all, to its end, and return the folder of the run.

    Args:
        root: where the workspace `work` is and runs go.
        url: of the endpoint.
        subagents: how many.
        at_once: at the same time.
        on_event: told of each event.
    """
    task = Task(
        objective="Make a table of the limits that the files give.",
        workspace=root / "work",
        context=(),
        model=MODEL,
        limits={"subagents": subagents, "concurrency": at_once, "usd": 100},
    )
    clock = SystemClock()
    model = AnthropicModel(api_key="key", base_url=url)
    try:
        async with Orchestrator(
            runs_dir=root / "runs", model=Governor(model, clock), clock=clock
        ) as here:
            result = await here.run(task, on_event=on_event)
    finally:
        await model.aclose()
    assert result.state == "done", result
    return result.folder
