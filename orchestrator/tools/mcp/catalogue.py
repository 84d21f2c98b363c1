"""Make our tools of what servers list: chosen, named, described, bounded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import SpecError
from orchestrator.messages import clean_text, one_line, shortened, with_texts
from orchestrator.spec.mcp_servers import FIELD, McpServer
from orchestrator.tools.arguments import listed
from orchestrator.tools.base import Effects, Tool
from orchestrator.tools.json_args import json_args
from orchestrator.tools.mcp.link import Link
from orchestrator.tools.mcp.names import names_for
from orchestrator.tools.mcp.schemas import written_out
from orchestrator.tools.mcp.session import Json
from orchestrator.tools.mcp.shown import Shown, known_keys, shown_schema
from orchestrator.tools.mcp.tool import McpResource, McpTool
from orchestrator.tools.registry import tokens_of

__all__ = ["Listed", "catalogue"]

MAX_TOOLS = 100
"""Of one server."""
MAX_TOKENS = 20_000
"""Of all definitions together: every request of every agent carries them."""
MAX_DESCRIPTION_CHARS = 1000


@dataclass(frozen=True, slots=True)
class Listed:
    """One tool of a server, for people."""

    server: str
    remote: str
    """Its name at the server."""
    name: str
    """Its name in a run."""
    effects: Effects
    tokens: int
    """Estimated tokens of the definition."""
    description: str


def catalogue(
    links: Mapping[str, Link],
    servers: Mapping[str, McpServer],
    *,
    taken: Collection[str],
    redact: Callable[[str], str],
) -> tuple[tuple[Tool[Any], ...], tuple[Listed, ...]]:
    """Return the tools of servers, sorted by name, and a table of them.

    Both hang on what is listed alone, not on who was first.

    Args:
        links: started servers by name.
        servers: their entries.
        taken: names of the other tools.
        redact: for what servers say of their tools.

    Raises:
        SpecError: a chosen tool is not there, or there are too many.
    """
    chosen = {
        (name, tool["name"]): tool
        for name in sorted(links)
        for tool in _chosen(name, links[name].tools, servers[name])
    }
    names = names_for(chosen, {*taken, McpResource.name})
    tools = [
        _tool(
            links[server], names[server, remote], told, servers[server], redact=redact
        )
        for (server, remote), told in chosen.items()
    ]
    tools.sort(key=lambda tool: tool.name)
    rows = tuple(_row(tool) for tool in tools)
    offering = {
        name: (link, servers[name].call_s)
        for name, link in links.items()
        if link.has_resources
    }
    every: list[Tool[Any]] = [*tools]
    _check_size(rows)
    if offering:
        reader = McpResource(offering)
        every.append(reader)
        rows = (*rows, _row_of_reader(reader, offering))
    return (
        tuple(sorted(every, key=lambda tool: tool.name)),
        tuple(sorted(rows, key=lambda row: row.name)),
    )


def _chosen(name: str, tools: Sequence[Json], server: McpServer) -> list[Json]:
    """Return the tools that the task wants, each name once: the first counts."""
    every: dict[str, Json] = {}
    for tool in tools:
        every.setdefault(tool["name"], tool)
    field = f"{FIELD}.{name}.tools"
    if server.tools is not None:
        missing = [each for each in server.tools if each not in every]
        if missing:
            raise SpecError(
                f"the server has no tool {_named(missing)}; it has {_named(every)}",
                field=field,
            )
        every = {each: every[each] for each in server.tools}
    if len(every) > MAX_TOOLS:
        raise SpecError(
            f"the server offers {len(every)} tools and {MAX_TOOLS} are allowed; choose "
            f"with `tools: […]` from {_named(every)}",
            field=field,
        )
    return list(every.values())


def _named(names: Iterable[str]) -> str:
    return listed(one_line(clean_text(each)) for each in names)


def _tool(
    link: Link,
    name: str,
    told: Json,
    server: McpServer,
    *,
    redact: Callable[[str], str],
) -> McpTool:
    remote = told["name"]
    schema = told["inputSchema"]
    shown = shown_schema(schema)
    hints = told.get("annotations") or {}

    def fit(text: str) -> str:
        return redact(clean_text(text))

    return McpTool(
        link,
        name=name,
        remote=remote,
        description=_description(link.name, name, told, shown, fit),
        args=json_args(
            "McpArgs",
            shown=with_texts(shown.schema, fit),
            checked=written_out(schema),
            known=known_keys(schema),
        ),
        effects="repeatable" if hints.get("readOnlyHint") is True else "effects",
        call_s=server.call_s,
        context_fields=server.fields_of(remote),
    )


def _description(
    server: str, name: str, told: Json, shown: Shown, fit: Callable[[str], str]
) -> str:
    """Return the server's words in our form: one paragraph, bounded, origin told.

    They are a stranger's, so what they say is told as a description of a tool and no
    more than that.
    """
    remote = told["name"]
    origin = f"[MCP server {one_line(server)}"
    if name != remote:
        origin += f", tool {one_line(remote, 200)}"
    said = one_line(fit(told.get("description") or told.get("title") or ""))
    said = shortened(said, MAX_DESCRIPTION_CHARS)
    return fit(" ".join([f"{origin}]", said, *shown.notes]).strip())


def _row(tool: McpTool) -> Listed:
    return Listed(
        tool.server,
        tool.remote,
        tool.name,
        tool.effects,
        tokens_of(tool),
        tool.description,
    )


def _row_of_reader(reader: McpResource, servers: Iterable[str]) -> Listed:
    return Listed(
        ", ".join(map(one_line, servers)),
        reader.name,
        reader.name,
        reader.effects,
        tokens_of(reader),
        reader.description,
    )


def _check_size(rows: Sequence[Listed]) -> None:
    total = sum(row.tokens for row in rows)
    if total <= MAX_TOKENS:
        return
    by_server: dict[str, int] = {}
    for row in rows:
        by_server[row.server] = by_server.get(row.server, 0) + row.tokens
    most = max(by_server, key=lambda name: by_server[name])
    raise SpecError(
        f"the definitions of {len(rows)} MCP tools take about {total:,} tokens with "
        f"every request and {MAX_TOKENS:,} are allowed; choose with `tools: […]` "
        f"(`{most}` alone: {by_server[most]:,})",
        field=f"{FIELD}.{most}.tools",
    )
