"""The tools of servers behind our own port, and one tool for their resources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, TypeVar

import anyio
from pydantic import BaseModel, Field

from orchestrator.errors import ToolError
from orchestrator.messages import one_line, with_texts
from orchestrator.security.permissions import Ask
from orchestrator.tools.arguments import listed, shown
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.json_args import JsonArgs
from orchestrator.tools.mcp.link import Link
from orchestrator.tools.mcp.results import of_call, of_resource
from orchestrator.tools.mcp.session import Session
from orchestrator.tools.permits import with_secrets

__all__ = ["McpResource", "McpTool"]

T = TypeVar("T")

_MARGIN_S = 15.0
"""Beyond the limits that a call keeps itself: to be cancelled, and to say so."""
_LISTED = 100
_TOLD_CHARS = 120


class McpTool:
    """One tool of one server.

    Attributes:
        remote: its name at the server.
    """

    def __init__(  # noqa: PLR0913 - what a definition consists of
        self,
        link: Link,
        *,
        name: str,
        remote: str,
        description: str,
        args: type[JsonArgs],
        effects: Effects,
        call_s: float,
        context_fields: tuple[str, ...] = (),
    ) -> None:
        self.name, self.remote, self.description = name, remote, description
        self.Args, self.effects = args, effects
        self.context_fields = context_fields
        self.timeout_s = call_s + link.start_s + _MARGIN_S
        self.server = link.name
        self._link, self._call_s = link, call_s

    def asks(self, args: JsonArgs, context: ToolContext) -> Ask:  # noqa: ARG002 - the port's
        """Return what a call needs: `secrets`, if the server would be given one."""
        given = args.model_extra or {}
        return Ask(with_secrets((), given), f"{self.server}, {self.remote}: {given}")

    async def run(self, args: JsonArgs, context: ToolContext) -> ToolOutput:
        """Return what the server gives back.

        Raises:
            ToolError: it took too long, died, or answered with an error.
        """
        given = with_texts(args.model_extra or {}, context.restore)

        async def call(session: Session) -> Mapping[str, Any]:
            return await _within(
                self._call_s, session.call(self.remote, given), self.server
            )

        result = await self._link.ask(call, tool=self.remote)
        return of_call(result, fields=self.context_fields)


class McpResourceArgs(BaseModel):
    """Arguments of `mcp_resource`."""

    server: str = Field(description="One of: see above.")
    uri: str | None = Field(default=None, description="What to read; left out: list.")


class McpResource:
    """Lists and reads what servers offer to be read."""

    name = "mcp_resource"
    Args: ClassVar[type[BaseModel]] = McpResourceArgs
    effects: ClassVar[Effects] = "repeatable"

    def __init__(self, links: Mapping[str, tuple[Link, float]]) -> None:
        """Take the servers that offer resources.

        Args:
            links: by name, each with the time of one call, in seconds.
        """
        self._links = dict(sorted(links.items()))
        self.description = (
            "Reads a resource of an MCP server by its `uri`, or lists what the server "
            f"has, so that you know what there is. Servers: {listed(self._links)}."
        )
        self.timeout_s = max(
            call_s + link.start_s + _MARGIN_S for link, call_s in self._links.values()
        )

    async def run(self, args: McpResourceArgs, context: ToolContext) -> ToolOutput:  # noqa: ARG002 - the port's
        """Return a table of resources, or the contents of one.

        Raises:
            ToolError: there is no such server or resource, or it did not answer.
        """
        known = self._links.get(args.server)
        if known is None:
            raise ToolError(
                f"no MCP server {shown(args.server)} offers resources; those that do: "
                f"{listed(self._links)}"
            )
        link, call_s = known
        uri = args.uri
        if uri is None:
            return _table(await self._ask(link, call_s, lambda s: s.resources()))
        contents = await self._ask(link, call_s, lambda s: s.read(uri))
        return of_resource(contents)

    async def _ask(
        self, link: Link, call_s: float, ask: Callable[[Session], Awaitable[T]]
    ) -> T:
        async def limited(session: Session) -> T:
            return await _within(call_s, ask(session), link.name)

        return await link.ask(limited)


async def _within(seconds: float, work: Awaitable[T], server: str) -> T:
    """Return what `work` returns; cancelling it tells the server.

    Raises:
        ToolError: it takes longer.
    """
    with anyio.move_on_after(seconds):
        return await work
    raise ToolError(
        f"MCP server `{server}` did not answer within {seconds:g} s; it was told that "
        "the call is cancelled. It can be asked again; ask for less."
    )


def _table(resources: list[dict[str, Any]]) -> ToolOutput:
    rows = [
        " · ".join(
            one_line(str(each[key]), _TOLD_CHARS)
            for key in ("uri", "name", "mimeType", "description")
            if each.get(key)
        )
        for each in sorted(resources, key=lambda each: str(each.get("uri")))[:_LISTED]
    ]
    more = len(resources) - len(rows)
    return ToolOutput("\n".join([*rows, *([f"and {more} more"] if more > 0 else [])]))
