"""Servers of a run as real as they are, and an agent that calls their tools."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from tool_bench import ToolBench

from orchestrator.security.redaction import Redactor
from orchestrator.security.sandbox import Sandbox
from orchestrator.security.workspace import Workspace
from orchestrator.spec.foreign import OUR_TOOLS, PLANNED_TOOLS
from orchestrator.spec.mcp_servers import mcp_servers
from orchestrator.tools.mcp import Servers, open_servers

__all__ = ["RAW", "TAKEN", "calling", "have_ended", "raw", "servers_of"]

RAW = Path(__file__).with_name("mcp_raw.py")
TAKEN = OUR_TOOLS | PLANNED_TOOLS


def raw(
    *, options: dict[str, Any] | None = None, script: Path = RAW, **spec: Any
) -> dict[str, Any]:
    """Return the entry of a server of a few lines, outside of the sandbox.

    Args:
        options: further keys of the entry.
        script: where it lies.
        spec: what it is to be, for `mcp_raw`.
    """
    args = ["-I", "-S", str(script), json.dumps(spec)]
    entry = {"command": sys.executable, "args": args, "sandbox": False, "start_s": 20}
    return {**entry, **(options or {})}


@asynccontextmanager
async def servers_of(
    folder: Path,
    entries: dict[str, dict[str, Any]],
    *,
    sandbox: Sandbox | None = None,
) -> AsyncIterator[Servers]:
    """Start the servers of a task whose workspace is `folder`/work."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    async with open_servers(
        mcp_servers(entries, {}),
        workspace=work,
        sandbox=sandbox or Sandbox(Workspace(work)),
        redact=Redactor(b"salt").redact,
        taken=TAKEN,
    ) as servers:
        yield servers


@asynccontextmanager
async def calling(
    folder: Path, sandbox: Sandbox | None = None, **entries: dict[str, Any]
) -> AsyncIterator[ToolBench]:
    """Start servers and let an agent call their tools, by their names in the run."""
    async with servers_of(folder, entries, sandbox=sandbox) as servers:
        yield ToolBench(folder, tools=servers.tools)


async def have_ended(*numbers: int) -> bool:
    """Return whether processes end within seconds, and more than a name is gone."""
    with anyio.move_on_after(3):
        while any(map(_is_running, numbers)):
            await anyio.sleep(0.01)
    return not any(map(_is_running, numbers))


def _is_running(number: int) -> bool:
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
