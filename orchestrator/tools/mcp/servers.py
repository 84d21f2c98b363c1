"""The MCP servers of a run: started together, one list of tools, ended together."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import structlog

from orchestrator.errors import SpecError
from orchestrator.extras import how_to_install, is_installed
from orchestrator.messages import one_line
from orchestrator.security.sandbox import Sandbox
from orchestrator.spec.mcp_servers import FIELD, McpServer
from orchestrator.tools.base import Tool
from orchestrator.tools.cleaning import clean
from orchestrator.tools.mcp.catalogue import Listed, catalogue
from orchestrator.tools.mcp.command import command_of, hint_for
from orchestrator.tools.mcp.link import Connection, Link, Opener
from orchestrator.tools.mcp.process import Child, open_child
from orchestrator.tools.mcp.session import Session

__all__ = ["Servers", "open_servers"]

_SAID_CHARS = 600
_STOP_S = 6.0
"""Longest wait for servers to end when a run is over; then they are killed."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Servers:
    """Running servers.

    Attributes:
        tools: of all of them, sorted by name; the same ones as long as they run.
        rows: what each server offers, for people.
    """

    tools: tuple[Tool[Any], ...]
    rows: tuple[Listed, ...]


@asynccontextmanager
async def open_servers(
    servers: Mapping[str, McpServer],
    *,
    workspace: Path,
    sandbox: Sandbox | None,
    redact: Callable[[str], str],
    taken: Collection[str],
    env: Mapping[str, str] | None = None,
) -> AsyncIterator[Servers]:
    """Start servers side by side; when the block is left they are gone.

    To be entered and left in one task. What happens in the block is raised as it is.

    Args:
        servers: by name, checked, with their variables filled in.
        workspace: folder that relative paths count from.
        sandbox: of the run: with what its task allows; None: there is none.
        redact: for what servers say, in messages and in descriptions.
        taken: names of the other tools.
        env: our environment.

    Raises:
        SpecError: a server cannot be started or says nothing in time, there are too
            many tools, or the extra is not installed. All that was started has ended.
    """
    if not servers:
        yield Servers((), ())
        return
    _require_sdk()
    place = _Place(workspace, sandbox, dict(os.environ if env is None else env), redact)
    links = {
        name: Link(
            name,
            start_s=server.start_s,
            open_=place.opener(name, server),
            redact=redact,
        )
        for name, server in sorted(servers.items())
    }
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        for link in links.values():
            group.start_soon(link.run)
        try:
            for link in links.values():
                await link.first.wait()
            _check_started(links, servers, sandbox)
            tools, rows = catalogue(links, servers, taken=taken, redact=redact)
            yield Servers(tools, rows)
        except Exception as error:  # noqa: BLE001 - raised again, out of the group
            failure = error
        finally:
            for link in links.values():
                link.stop()
            group.cancel_scope.deadline = anyio.current_time() + _STOP_S
    if failure is not None:
        raise failure


def _check_started(
    links: Mapping[str, Link],
    servers: Mapping[str, McpServer],
    sandbox: Sandbox | None,
) -> None:
    failed = [link for link in links.values() if link.failure]
    if not failed:
        return
    if failed[0].fault is not None:
        raise failed[0].fault
    more = ", ".join(f"`{link.name}`" for link in failed[1:])
    raise SpecError(
        f"the server did not start: {failed[0].failure}"
        f"{more and f' (neither did {more})'}"
        f"{hint_for(servers[failed[0].name], sandbox)}",
        field=f"{FIELD}.{failed[0].name}",
    )


def _require_sdk() -> None:
    if not is_installed("mcp"):
        raise SpecError(
            "MCP servers need a package that is not installed; install it "
            + how_to_install("mcp"),
            field=FIELD,
        )


@dataclass(frozen=True, slots=True)
class _Place:
    """Where servers are started."""

    workspace: Path
    sandbox: Sandbox | None
    env: Mapping[str, str]
    redact: Callable[[str], str]

    def opener(self, name: str, server: McpServer) -> Opener:
        """Return what opens a session with a server."""

        def open_(life: Connection) -> AbstractAsyncContextManager[Session]:
            if server.type == "http":
                return self._over_http(server)
            return self._over_pipes(name, server, life)

        return open_

    @asynccontextmanager
    async def _over_http(self, server: McpServer) -> AsyncIterator[Session]:
        from orchestrator.tools.mcp import sdk  # noqa: PLC0415 - an extra, half a second

        longest_s = max(server.call_s, server.start_s) + 1
        async with sdk.over_http(
            server.url, server.headers, longest_s=longest_s
        ) as session:
            yield session

    @asynccontextmanager
    async def _over_pipes(
        self, name: str, server: McpServer, life: Connection
    ) -> AsyncIterator[Session]:
        from orchestrator.tools.mcp import sdk  # noqa: PLC0415 - an extra, half a second

        command = await anyio.to_thread.run_sync(
            lambda: command_of(
                name,
                server,
                workspace=self.workspace,
                sandbox=self.sandbox,
                env=self.env,
            )
        )
        async with open_child(command) as child:
            child.gone = life.gone
            life.story = lambda: _story(child, self.redact)
            async with sdk.over_pipes(child) as session:
                yield session


def _story(child: Child, redact: Callable[[str], str]) -> str:
    said = one_line(redact(clean(child.said)))[-_SAID_CHARS:]
    parts = [child.fate, f"it said: {said}" if said else ""]
    return "; ".join(part for part in parts if part)
