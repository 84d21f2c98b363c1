"""The tools that a task brings: the user's own, and those of MCP servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from orchestrator.cli.output import cut, is_terminal, pad, safe, terminal_width
from orchestrator.runtime.prepare import Prepared
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
    if not prepared.servers:  # most tasks: what starts them takes long to load
        return own
    from orchestrator.runtime.looking import listed_of  # noqa: PLC0415 - see above

    return [*own, *(asdict(row) for row in listed_of(prepared, env))]


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
