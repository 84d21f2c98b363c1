"""What the JSON of the reading commands holds, as JSON Schema, field by field.

Nothing is checked with these when it is printed: they say what is, and tests hold real
output against them. It is loaded only where a schema is asked for.
"""

from __future__ import annotations

from typing import Any, Union

from pydantic import TypeAdapter

from orchestrator.inspection.shapes.figures import Shape
from orchestrator.inspection.shapes.of_agents import ShownAgent
from orchestrator.inspection.shapes.of_events import event_schema
from orchestrator.inspection.shapes.of_memory import (
    MemoryEntries,
    MemoryEntryShown,
    MemoryForgotten,
    MemoryFound,
    MemoryImported,
    MemoryTopics,
    MemoryTopicShown,
)
from orchestrator.inspection.shapes.of_replays import Replay, TwoPolicies
from orchestrator.inspection.shapes.of_runs import Runs, ShownChanges, ShownRun
from orchestrator.inspection.shapes.of_texts import (
    Compaction,
    Contexts,
    Conversation,
    Notes,
    StepShown,
)

__all__ = ["SHAPES", "schema_of"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

SHAPES: dict[str, tuple[type[Shape], ...]] = {
    "show": (ShownRun, ShownAgent, ShownChanges),
    "runs": (Runs,),
    "transcript": (Conversation, StepShown),
    "context": (Contexts,),
    "diff": (Compaction,),
    "notes": (Notes,),
    "replay": (Replay, TwoPolicies),
    "memory": (
        MemoryTopics,
        MemoryEntries,
        MemoryEntryShown,
        MemoryTopicShown,
        MemoryFound,
        MemoryForgotten,
        MemoryImported,
    ),
}
"""Command → what it may print, by options."""


def schema_of(name: str) -> dict[str, Any]:
    """Return the schema of what a reading command prints with `--json`.

    Args:
        name: of the command; `logs` and `events` are the same: one event a line.

    Raises:
        KeyError: it has none.
    """
    title = {"title": f"orchestrate {name} --json"}
    if name in ("logs", "events"):
        return {"$schema": DIALECT, **event_schema(), **title}
    shapes = SHAPES[name]
    found: Any = shapes[0] if len(shapes) == 1 else Union[shapes]  # noqa: UP007 - of a tuple
    schema = TypeAdapter(found).json_schema(mode="serialization")
    return {"$schema": DIALECT, **schema, **title}
