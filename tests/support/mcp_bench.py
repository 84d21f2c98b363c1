"""Servers of a run as real as they are, and an agent that calls their tools."""

from __future__ import annotations

import json
import socket
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
from orchestrator.spec.foreign import OUR_TOOLS
from orchestrator.spec.mcp_servers import mcp_servers
from orchestrator.tools.mcp import Servers, open_servers

__all__ = [
    "MADE",
    "RAW",
    "TAKEN",
    "calling",
    "free_port",
    "have_ended",
    "over_http",
    "raw",
    "servers_of",
]

RAW = Path(__file__).with_name("mcp_raw.py")
MADE = Path(__file__).with_name("mcp_made.py")
TAKEN = OUR_TOOLS


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


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@asynccontextmanager
async def over_http(port: int, token: str = "") -> AsyncIterator[None]:
    """Run the server made with the SDK at a port, in a process of its own."""
    command = [
        sys.executable,
        str(MADE),
        "http",
        str(port),
        *([token] if token else []),
    ]
    async with await anyio.open_process(command, stdout=None, stderr=None) as process:
        with anyio.fail_after(30):
            while not await _is_open(port):  # noqa: ASYNC110 - not ours
                await anyio.sleep(0.02)
        try:
            yield
        finally:
            if process.returncode is None:
                process.kill()


async def _is_open(port: int) -> bool:
    try:
        async with await anyio.connect_tcp("127.0.0.1", port):
            return True
    except OSError:
        return False


async def have_ended(*numbers: int) -> bool:
    """Return whether processes end within seconds, and more than a name is gone."""
    with anyio.move_on_after(3):
        while any(map(_is_running, numbers)):  # noqa: ASYNC110 - not ours
            await anyio.sleep(0.01)
    return not any(map(_is_running, numbers))


def _is_running(number: int) -> bool:
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
