"""The MCP servers of one run: started before anything is spent, ended with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import structlog

from orchestrator.errors import SpecError
from orchestrator.runtime.host import Host
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.toolbox import workspace_of
from orchestrator.security.sandbox import Sandbox
from orchestrator.spec.foreign import OUR_TOOLS, PLANNED_TOOLS
from orchestrator.store.layout import RunFolder
from orchestrator.tools.base import Tool

__all__ = ["servers_of"]

logger = structlog.get_logger(__name__)


@asynccontextmanager
async def servers_of(
    prepared: Prepared,
    host: Host,
    folder: RunFolder | None,
    redact: Callable[[str], str],
    *,
    goes_on: bool = False,
) -> AsyncIterator[tuple[Tool[Any], ...]]:
    """Start the servers that a task names; when the block is left they are gone.

    Args:
        prepared: the task and what it names.
        host: with the environment.
        folder: the run's; None: there is no run, only a look.
        redact: for what servers say, in messages.
        goes_on: an earlier process had them: one that does not start is left out, and
            calls of its tools say that they are gone.

    Raises:
        SpecError: one cannot be started; `field` names it.
    """
    if not prepared.servers:  # most runs: the client is not even imported
        yield ()
        return
    from orchestrator.tools.mcp import open_servers  # noqa: PLC0415 - see above

    allowed = {name for name, how in prepared.task.permissions.items() if how == "yes"}
    workspace = workspace_of(prepared.task, folder)
    sandbox = Sandbox(
        workspace, writable="write" in allowed, network="network" in allowed
    )
    own = (*host.tools, *prepared.tools)
    servers = dict(prepared.servers)
    async with AsyncExitStack() as stack:
        while True:
            try:
                opened = await stack.enter_async_context(
                    open_servers(
                        servers,
                        workspace=workspace.real_root,
                        sandbox=sandbox,
                        redact=redact,
                        taken=OUR_TOOLS | PLANNED_TOOLS | {tool.name for tool in own},
                        env=host.env,
                    )
                )
                break
            except SpecError as error:
                name = error.field.partition(".")[2]
                if not goes_on or name not in servers:
                    raise
                logger.warning("server.left_out", server=name, error=error.message)
                del servers[name]
        yield opened.tools
