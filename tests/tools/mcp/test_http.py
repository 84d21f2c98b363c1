"""Servers over HTTP on loopback: one made with the SDK, and hostile ones."""

from __future__ import annotations

import json
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_bench import calling, free_port, over_http, servers_of
from raw_endpoint import RawEndpoint, Wire, chunked, head, whole

from orchestrator.errors import SpecError


def at(port: int, **options: Any) -> dict[str, Any]:
    return {"url": f"http://127.0.0.1:{port}/mcp", "start_s": 20, **options}


@pytest.mark.slow
async def test_a_real_server_is_listed_and_called(tmp_path: Path) -> None:
    port = free_port()
    entry = at(port, headers={"Authorization": "Bearer s3cret-t0ken"}, call_s=1)

    async with (
        over_http(port, "s3cret-t0ken"),
        calling(tmp_path, made=entry) as bench,
    ):
        assert await bench.text("add", a="2") == "3"
        order = json.loads(await bench.text("order", number="7"))
        assert order["state"] == "sent"
        assert "tool fail" in await bench.error("fail")
        assert await bench.text("wait", seconds=0.1) == "waited"
        assert "did not answer within 1 s" in await bench.error("wait", seconds=9)
        assert await bench.text("add", a=1, b=1) == "2"
        content = (await bench.call("dot_twice")).content
        assert isinstance(content, list)
        assert [block["type"] for block in content] == ["text", "image"]
        assert "memo://today" in await bench.text("mcp_resource", server="made")
        read = await bench.text("mcp_resource", server="made", uri="memo://today")
        assert read == "buy ink"


@pytest.mark.slow
async def test_a_server_that_comes_back_is_found_again_once(tmp_path: Path) -> None:
    port = free_port()

    async with AsyncExitStack() as first:
        await first.enter_async_context(over_http(port))
        async with calling(tmp_path, made=at(port)) as bench:
            with anyio.fail_after(30):
                assert "was lost in the call" in await bench.error("die")
            await first.aclose()
            async with over_http(port):
                with anyio.fail_after(30):
                    assert await bench.text("add", a=1) == "2"
                    assert "It is not started again" in await bench.error("die")
                    assert "is dead" in await bench.error("add", a=1)


@pytest.mark.slow
async def test_a_lost_session_is_opened_again(tmp_path: Path) -> None:
    port = free_port()

    async with AsyncExitStack() as first:
        await first.enter_async_context(over_http(port))
        async with calling(tmp_path, made=at(port)) as bench:
            assert await bench.text("add", a=1) == "2"
            await first.aclose()
            async with over_http(port):  # a new one, which knows of no session
                with anyio.fail_after(30):
                    assert "was lost in the call" in await bench.error("add", a=1)
                    assert await bench.text("add", a=1) == "2"


async def refused(folder: Path, url: str, **options: Any) -> str:
    entry = {"url": f"{url}/mcp", "start_s": 0.4, **options}
    began = time.monotonic()
    with pytest.raises(SpecError) as caught:
        async with servers_of(folder, {"s": entry}):
            pass
    assert time.monotonic() - began < 8
    assert caught.value.field == "mcp_servers.s"
    return caught.value.message


ENDLESS = [head(), *([chunked(b": " + b"x" * 50_000 + b"\n")] * 5000)]


@pytest.mark.parametrize(
    ("wire", "says"),
    [
        pytest.param(Wire([whole(b"who?", "401 Unauthorized")]), "HTTP 401", id="401"),
        pytest.param(Wire([whole(b"", "404 Not Found")]), "HTTP 404", id="404"),
        pytest.param(Wire([whole(b"oh", "500 Oh")]), "HTTP 500 Oh", id="500"),
        pytest.param(
            Wire([whole(b"<html>", content_type="text/html")]), "text/html", id="HTML"
        ),
        pytest.param(
            Wire([whole(b"{", content_type="application/json")]), "parse", id="bad JSON"
        ),
        pytest.param(Wire([], "hold"), "no answer within 0.4 s", id="silence"),
        pytest.param(Wire([], "close"), "", id="closed"),
        pytest.param(Wire([head()], "hold"), "no answer within", id="empty stream"),
        pytest.param(Wire(ENDLESS, "hold", pause_s=0.001), "", id="endless stream"),
    ],
)  # fmt: skip
async def test_what_is_no_server_is_told_in_time(
    tmp_path: Path, wire: Wire, says: str
) -> None:
    async with RawEndpoint([wire]) as endpoint:
        assert says in await refused(tmp_path, endpoint.url)


async def test_nobody_there_is_told(tmp_path: Path) -> None:
    said = await refused(tmp_path, f"http://127.0.0.1:{free_port()}")

    assert "ConnectError" in said


@pytest.mark.slow
async def test_a_body_without_end_is_cut(tmp_path: Path) -> None:
    start = head(content_type="application/json", transfer_encoding="chunked")
    endless = Wire([start, *([chunked(b"x" * 1_000_000)] * 60)], "hold")

    async with RawEndpoint([endless]) as endpoint:
        said = await refused(tmp_path, endpoint.url, start_s=6)

    assert "over 32 MB" in said
