"""The tools that a task brings: the user's own, and those of MCP servers."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import anyio

from orchestrator.cli.output import cut, is_terminal, pad, safe, terminal_width
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.servers import servers_of
from orchestrator.security.own import own_secrets
from orchestrator.security.redaction import Redactor
from orchestrator.spec.mcp_secrets import secret_values
from orchestrator.tools.registry import tokens_of

__all__ = ["extra_lines", "extra_rows"]

_NAME_COLUMNS = 24


def extra_rows(prepared: Prepared, env: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the tools that a task brings, as plain data.

    Its MCP servers are started, asked, and ended again.

    Raises:
        SpecError: a server cannot be started.
    """
    own = [
        {
            "name": tool.name,
            "server": None,
            "effects": tool.effects,
            "tokens": tokens_of(tool),
            "description": tool.description,
        }
        for tool in prepared.tools
    ]
    given = (*own_secrets(env), *secret_values(prepared.task.mcp_servers, env))
    redactor = Redactor(secrets.token_bytes(16), given)
    found: list[dict[str, Any]] = []

    async def look() -> None:
        async with servers_of(prepared, env, redactor.redact) as servers:
            found.extend(asdict(row) for row in servers.rows)

    if prepared.servers:
        anyio.run(look)
    return [*own, *found]


def extra_lines(rows: list[dict[str, Any]], *, margin: str = "") -> Iterator[str]:
    """Yield a line for each; what it does is cut at the edge of a terminal."""
    for row in rows:
        origin = f"of {safe(row['server'])}" if row["server"] else "yours"
        head = (
            f"{margin}{pad(safe(row['name']), _NAME_COLUMNS)}{pad(origin, 16)}"
            f"{row['effects']:<12}{row['tokens']:>6}  "
        )
        told = safe(row["description"])
        room = max(terminal_width() - len(head), 40)
        yield head + (cut(told, room) if is_terminal() else told)
