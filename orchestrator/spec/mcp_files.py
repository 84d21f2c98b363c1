"""What a task takes from a file of MCP servers, such as `.mcp.json`.

A file in a foreign folder must never start anything by itself: only a server that the
task names is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.spec.complaints import describe, meant
from orchestrator.spec.document import read_source
from orchestrator.spec.mcp_servers import FIELD, Raw

__all__ = ["with_files"]

FILE_KEYS = ("mcpServers", "servers")
"""Under one of these a JSON file holds its servers."""


def with_files(raw: Raw, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the servers with what they take from a file written in.

    `github: {file: .mcp.json}` takes the server `github` of that file; keys beside
    `file` win over those in it. A file never adds a server that the task does not name.

    Args:
        raw: of the task; not changed.
        folder: of the task file; paths count from it.

    Raises:
        SpecError: a file cannot be read, is not JSON, or lacks the server.
    """
    return {name: _with_file(name, entry, folder) for name, entry in raw.items()}


def _with_file(name: str, entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    if "file" not in entry:
        return dict(entry)
    field = f"{FIELD}.{name}.file"
    written = entry["file"]
    if not isinstance(written, str) or not written.strip():
        raise SpecError(
            f"must be the path of a JSON file, found {describe(written)}", field=field
        )
    path = folder / Path(written).expanduser()
    try:
        servers = _servers_in(path)
    except SpecError as error:
        raise SpecError(f"{error}", field=field) from error
    if name not in servers:
        names = ", ".join(f"`{each}`" for each in list(servers)[:20]) or "none"
        raise SpecError(
            f"`{written}` has no server `{name}`; {meant(name, servers)}"
            f"it has: {names}",
            field=field,
        )
    found = servers[name]
    if not isinstance(found, dict):
        raise SpecError(
            f"`{name}` in `{written}` must be an object, found {describe(found)}",
            field=field,
        )
    own = {key: value for key, value in entry.items() if key != "file"}
    return {**found, **own}


def _servers_in(path: Path) -> dict[str, Any]:
    """Return the servers of a JSON file by name.

    Raises:
        SpecError: it cannot be read, or holds no servers.
    """
    text = read_source(path, what="file of MCP servers")
    try:
        data = json.loads(text)
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise SpecError(f"is not JSON: {error}", file=str(path), line=line) from error
    except RecursionError as error:
        raise SpecError("is nested beyond all bounds", file=str(path)) from error
    for key in FILE_KEYS:
        if isinstance(data, dict) and isinstance(data.get(key), dict):
            servers: dict[str, Any] = data[key]
            return servers
    raise SpecError(
        f"must hold an object `mcpServers`, found {describe(data)}", file=str(path)
    )
