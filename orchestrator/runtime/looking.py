"""Look at what the MCP servers of a task offer, without a run."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

import anyio

from orchestrator.runtime.prepare import Prepared
from orchestrator.runtime.servers import servers_of
from orchestrator.runtime.session import redactor_of

if TYPE_CHECKING:
    from orchestrator.tools.mcp import Listed

__all__ = ["listed_of"]


def listed_of(prepared: Prepared, env: Mapping[str, str]) -> tuple[Listed, ...]:
    """Start the servers of a task, ask them for their tools, and end them.

    Args:
        prepared: the task and what it names.
        env: the environment.

    Raises:
        SpecError: one cannot be started; `field` names it.
    """

    async def look() -> tuple[Listed, ...]:
        redactor = redactor_of(prepared, env, secrets.token_bytes(16))
        async with servers_of(prepared, env, redactor.redact) as servers:
            return servers.rows

    return anyio.run(look)
