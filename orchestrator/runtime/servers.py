"""The MCP servers of one run: started before anything is spent, ended with it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import structlog

from orchestrator.errors import SpecError
from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.toolbox import workspace_of
from orchestrator.security.sandbox import Sandbox, available
from orchestrator.spec.foreign import OUR_TOOLS
from orchestrator.store.layout import RunFolder
from orchestrator.tools.base import Tool

if TYPE_CHECKING:
    from orchestrator.tools.mcp import Listed

__all__ = ["Started", "servers_of"]

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Started:
    """The servers of a run, which are at work.

    Attributes:
        tools: of all of them.
        rows: what each offers, for people.
    """

    tools: tuple[Tool[Any], ...] = ()
    rows: tuple[Listed, ...] = ()


@asynccontextmanager
async def servers_of(
    prepared: Prepared,
    env: Mapping[str, str],
    redact: Callable[[str], str],
    *,
    folder: RunFolder | None = None,
    callers: Sequence[Tool[Any]] = (),
    goes_on: bool = False,
) -> AsyncIterator[Started]:
    """Start the servers that a task names; when the block is left they are gone.

    Args:
        prepared: the task and what it names.
        env: the environment.
        redact: for what servers say, in messages.
        folder: the run's; None: there is no run, only a look.
        callers: the caller's own tools, whose names are taken.
        goes_on: an earlier process had them: one that does not start is left out, and
            calls of its tools say that they are gone.

    Raises:
        SpecError: one cannot be started; `field` names it.
    """
    if not prepared.servers:  # most runs: the client is not even imported
        yield Started()
        return
    from orchestrator.tools.mcp import open_servers  # noqa: PLC0415 - see above

    programs = (each for each in prepared.servers.values() if each.type == "stdio")
    is_boxed = any(each.sandbox for each in programs)
    if is_boxed and (why := await anyio.to_thread.run_sync(available)):
        raise SpecError(f"servers cannot be run: {why}", field="mcp_servers")
    allowed = {name for name, how in prepared.task.permissions.items() if how == "yes"}
    workspace = workspace_of(prepared.task, folder)
    sandbox = Sandbox(
        workspace, writable="write" in allowed, network="network" in allowed
    )
    own = (*callers, *prepared.tools)
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
                        taken=OUR_TOOLS | {tool.name for tool in own},
                        env=env,
                    )
                )
                break
            except SpecError as error:
                name = error.field.partition(".")[2]
                if not goes_on or name not in servers:
                    raise
                logger.warning("server.left_out", server=name, error=error.message)
                del servers[name]
        yield Started(opened.tools, opened.rows)
