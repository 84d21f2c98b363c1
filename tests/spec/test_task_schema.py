from __future__ import annotations

from typing import Any

import jsonschema
import pytest
import yaml

from orchestrator.cli.starter import STARTER
from orchestrator.spec.mcp_servers import FOREIGN_KEYS, McpServer
from orchestrator.spec.task_schema import task_schema


@pytest.mark.parametrize(
    "task",
    [
        pytest.param({"objective": "x"}, id="shortest"),
        pytest.param(
            {"objective": "x", "model": "a", "effort": "low"}, id="short forms"
        ),
        pytest.param(
            {"objective": "x", "model": {"lead": "a"}, "effort": {"lead": "max"}},
            id="roles",
        ),
        pytest.param({"objective": "x", "limits": {"usd": 1}}, id="limits"),
        pytest.param(
            {"objective": "x", "deliverable": {"format": "json", "schema": {}}},
            id="schema",
        ),
        pytest.param(
            {"objective": "x", "allow": ["write", {"shell": "ask"}]}, id="allow"
        ),
        pytest.param(
            {
                "objective": "x",
                "mcp_servers": {
                    "git": {"command": "a", "env": {"PORT": 8080}, "autoApprove": []},
                    "far": {"url": "https://a.example", "type": "streamable-http"},
                    "ours": {"file": ".mcp.json", "call_s": 300},
                },
            },
            id="servers",
        ),
        pytest.param(
            {
                "objective": "x",
                "model": {"summaries": "a"},
                "effort": {"summaries": "low"},
                "context_policy": {"preset": "short", "shares": {"recent": 0.2}},
            },
            id="context",
        ),
        pytest.param(
            {
                "objective": "x",
                "mcp_servers": {
                    "a": {
                        "command": "serve",
                        "args": ["--port", 8080],
                        "env": {"PORT": 8080, "DEBUG": True},
                        "context_fields": {"list": ["items.id"]},
                        "call_s": "${SECONDS}",
                        "autoApprove": ["list"],
                    },
                    "b": {"type": "streamable-http", "url": "https://x.example/mcp"},
                    "c": {"file": ".mcp.json", "tools": ["one"], "start_s": 5},
                },
            },
            id="servers",
        ),
        pytest.param(yaml.safe_load(STARTER), id="starter"),
    ],
)
def test_the_schema_accepts_what_the_loader_accepts(task: dict[str, Any]) -> None:
    jsonschema.validate(task, task_schema())


@pytest.mark.parametrize(
    "task",
    [
        {},
        {"objective": "x", "limit": {}},
        {"objective": "x", "model": 5},
        {"objective": "x", "effort": "hgh"},
        {"objective": "x", "limits": {"usd": 0}},
        {"objective": "x", "context_policy": {"window_tokens": 5}},
        {"objective": "x", "context_policy": {"preset": "tiny"}},
        {"objective": "x", "context_policy": {"shares": {"recnt": 0.2}}},
        {"objective": "x", "mcp_servers": {"a": {"comand": "serve"}}},
        {"objective": "x", "mcp_servers": {"a": {"type": "sse", "url": "https://x"}}},
        {"objective": "x", "mcp_servers": {"a": {"command": "serve", "call_s": 0}}},
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(task: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(task, task_schema())


def test_the_schema_is_itself_valid_and_explains_the_fields() -> None:
    schema = task_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "what is wanted" in schema["properties"]["objective"]["description"].lower()


@pytest.mark.parametrize("name", ["ContextPolicy", "Shares"])
def test_every_number_of_the_context_is_explained(name: str) -> None:
    fields = task_schema()["$defs"][name]["properties"]

    assert [each for each, field in fields.items() if "description" not in field] == []


def test_every_key_of_a_server_is_explained() -> None:
    servers = task_schema()["properties"]["mcp_servers"]
    fields = servers["additionalProperties"]["properties"]

    ours = {*McpServer.model_fields, "file"}
    assert [each for each in ours if "description" not in fields[each]] == []
    assert set(fields) == {*ours, *FOREIGN_KEYS}
