"""One server over a run, with sessions that are made up."""

from __future__ import annotations

import asyncio  # noqa: TID251 - the error that a client of another make may raise
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from tool_bench import ToolBench

from orchestrator.errors import ToolError
from orchestrator.tools.json_args import json_args
from orchestrator.tools.mcp.link import Connection, Link
from orchestrator.tools.mcp.session import Lost, Session
from orchestrator.tools.mcp.tool import McpTool

Json = dict[str, Any]
OPEN: Json = {"type": "object", "properties": {}}


@dataclass
class MadeUp:
    """A session that fails as it is told, call by call."""

    failures: list[BaseException | None] = field(default_factory=list)
    has_resources: bool = False

    async def tools(self) -> list[Json]:
        return [{"name": "t", "inputSchema": OPEN}]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        return {"content": [{"type": "text", "text": f"{name} ran"}]}

    async def resources(self) -> list[Json]:
        return []

    async def read(self, uri: str) -> list[Json]:
        return []


def link_to(session: Session, *, stays: bool = False) -> Link:
    """Return a link to a session, which can be opened any number of times."""

    @asynccontextmanager
    async def open_(_life: Connection) -> AsyncIterator[Session]:
        try:
            yield session
        finally:
            if stays:
                await anyio.sleep_forever()

    return Link("s", start_s=5, open_=open_, redact=lambda text: text, leaving_s=0.1)


def tool_of(link: Link) -> McpTool:
    args = json_args("A", shown=OPEN, checked=OPEN)
    return McpTool(
        link,
        name="t",
        remote="t",
        description="",
        args=args,
        effects="effects",
        call_s=5,
    )


@asynccontextmanager
async def bench_of(folder: Path, link: Link) -> AsyncIterator[ToolBench]:
    async with anyio.create_task_group() as group:
        group.start_soon(link.run)
        await link.first.wait()
        yield ToolBench(folder, tools=[tool_of(link)])
        link.stop()


async def test_a_cancellation_that_nobody_asked_for_is_a_failed_call(
    tmp_path: Path,
) -> None:
    link = link_to(MadeUp([asyncio.CancelledError("timed out")]))

    async with bench_of(tmp_path, link) as bench:
        assert "CancelledError" in await bench.error("t")
        assert await bench.text("t") == "t ran"


async def test_a_server_that_does_not_let_go_is_left(tmp_path: Path) -> None:
    link = link_to(MadeUp([Lost("gone")]), stays=True)

    with anyio.fail_after(30):
        async with bench_of(tmp_path, link) as bench:
            assert "was lost in the call" in await bench.error("t")
            assert await bench.text("t") == "t ran"


async def test_a_bug_of_ours_is_no_fault_of_the_server() -> None:
    link = link_to(MadeUp([ZeroDivisionError()]))

    async with anyio.create_task_group() as group:
        group.start_soon(link.run)
        await link.first.wait()
        with pytest.raises(ZeroDivisionError):
            await link.ask(lambda session: session.call("t", {}))
        link.stop()


async def test_a_tool_that_is_gone_is_told() -> None:
    link = link_to(MadeUp())

    async with anyio.create_task_group() as group:
        group.start_soon(link.run)
        await link.first.wait()
        with pytest.raises(ToolError, match="no longer has `x`"):
            await link.ask(lambda session: session.call("x", {}), tool="x")
        link.stop()
