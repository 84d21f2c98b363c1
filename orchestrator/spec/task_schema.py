"""JSON Schema of the task file, for editors: with the short forms that it accepts."""

from __future__ import annotations

from typing import Any, get_args

from orchestrator.spec.mcp_servers import TYPES, McpServer
from orchestrator.spec.task import Effort, Task

__all__ = ["task_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def task_schema() -> dict[str, Any]:
    """Return the schema of what may be written in a task file."""
    schema = Task.model_json_schema(by_alias=True)
    fields = schema["properties"]
    for name, text in (
        ("model", {"type": "string"}),
        ("effort", {"enum": list(get_args(Effort))}),
    ):
        part = {key: fields[name][key] for key in ("$ref",) if key in fields[name]}
        fields[name] = {
            "description": f"One {name} for lead and subagents, or one per role.",
            "anyOf": [text, part, {"type": "null"}],
        }
    fields["mcp_servers"]["additionalProperties"] = _server_schema()
    # The default of the class stands for a task without a file.
    fields["workspace"].pop("default", None)
    fields["name"].pop("default", None)
    return {"$schema": DIALECT, **schema, "title": "Task of orchestrate"}


def _server_schema() -> dict[str, Any]:
    """Return the schema of one entry of `mcp_servers`; keys of others are legal."""
    schema = McpServer.model_json_schema()
    fields = schema["properties"]
    fields["type"]["enum"] = sorted(TYPES)
    fields["file"] = {
        "description": "Takes the server of this name from a JSON file.",
        "type": "string",
    }
    for name in ("env", "headers"):
        fields[name]["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    return {**schema, "additionalProperties": True}
