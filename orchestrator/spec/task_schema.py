"""JSON Schema of the task file, for editors: with the short forms that it accepts."""

from __future__ import annotations

from typing import Any, get_args

from orchestrator.spec.mcp_servers import FOREIGN_KEYS, TYPES, McpServer
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
    fields["mcp_servers"]["additionalProperties"] = _server()
    # The default of the class stands for a task without a file.
    fields["workspace"].pop("default", None)
    fields["name"].pop("default", None)
    return {"$schema": DIALECT, **schema, "title": "Task of orchestrate"}


def _server() -> dict[str, Any]:
    """Return the schema of one entry of `mcp_servers`.

    What a server needs (`command` or `url`) is not in it: a file may have that.
    """
    schema = McpServer.model_json_schema()
    fields = schema["properties"]
    fields["type"] |= {"enum": list(TYPES)}
    fields["file"] = {
        "type": "string",
        "description": "A JSON file with the server of this name; keys beside it win.",
    }
    # An environment holds texts, and YAML reads a port as a number.
    text = {"type": ["string", "number", "boolean"]}
    fields["args"]["items"] = text
    for name in ("env", "headers"):
        fields[name]["additionalProperties"] = text
    for name in ("start_s", "call_s"):
        fields[name] |= {"type": ["number", "string"]}  # or `${NAME}`
    return {**schema, "properties": {**fields, **dict.fromkeys(FOREIGN_KEYS, True)}}
