"""An endpoint that sends any bytes whatever, in pieces, and ends as it is told.

For what no HTTP server would send. It reads each request whole and checks nothing.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import anyio
import anyio.abc
import orjson
from anyio.streams.tls import TLSListener
from fake_endpoint import Event

__all__ = ["RawEndpoint", "Wire", "chunked", "head", "sse", "whole"]


@dataclass(frozen=True)
class Wire:
    """What goes over one connection, once a request has come.

    Attributes:
        pieces: sent one by one; may be without end.
        ending: what becomes of the connection then; `keep` waits for the next request.
        pause_s: between the pieces.
        reads: the request is waited for.
    """

    pieces: Iterable[bytes] = ()
    ending: Literal["close", "reset", "hold", "keep"] = "close"
    pause_s: float = 0.0
    reads: bool = True


def head(status: str = "200 OK", **headers: str) -> bytes:
    """A status line and headers, `_` for `-`; a stream of events by default."""
    named = {"content_type": "text/event-stream", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()


def whole(body: bytes, status: str = "200 OK", **headers: str) -> bytes:
    """A response whose length is told, and right."""
    return head(status, content_length=str(len(body)), **headers) + body


def chunked(data: bytes) -> bytes:
    """One chunk of a body that is sent in chunks."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def sse(*events: Event) -> bytes:
    """Events as they go over the wire."""
    named = ((str(event.get("type", "")).encode(), event) for event in events)
    return b"".join(
        b"event: " + name + b"\ndata: " + orjson.dumps(event) + b"\n\n"
        for name, event in named
    )


@dataclass
class RawEndpoint:
    """Plays one `Wire` for each request, the last one again and again.

    Attributes:
        heads: the request heads that came, in order.
        tls: it speaks TLS with these settings.
        port: of loopback, where it listens.
    """

    wires: Sequence[Wire]
    heads: list[bytes] = field(default_factory=list)
    url: str = ""
    tls: ssl.SSLContext | None = None
    port: int = 0

    def __post_init__(self) -> None:
        self._played = 0
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._serving())
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
        self.url = f"http://127.0.0.1:{self.port}"
        served: anyio.abc.Listener[Any] = listener
        if self.tls is not None:
            served = TLSListener(listener, self.tls, standard_compatible=False)
        async with anyio.create_task_group() as group:
            group.start_soon(served.serve, self._connected)
            yield
            group.cancel_scope.cancel()
        await listener.aclose()

    async def _connected(self, client: anyio.abc.ByteStream) -> None:
        async with client:
            try:
                while await self._play(client) == "keep":
                    pass
            except (anyio.BrokenResourceError, anyio.EndOfStream):
                pass  # the client has had enough

    async def _play(self, client: anyio.abc.ByteStream) -> str:
        wire = self.wires[min(self._played, len(self.wires) - 1)]
        if wire.reads:
            await self._read(client)
        self._played += 1
        return await self._send(client, wire)

    async def _send(self, client: anyio.abc.ByteStream, wire: Wire) -> str:
        for piece in wire.pieces:
            await client.send(piece)
            await anyio.sleep(wire.pause_s)
        if wire.ending == "hold":
            await anyio.sleep_forever()
        if wire.ending == "reset":
            # What was sent must be on its way, or the reset overtakes it.
            await anyio.sleep(0.01)
            raw: socket.socket = client.extra(anyio.abc.SocketAttribute.raw_socket)
            linger = struct.pack("ii", 1, 0)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        return wire.ending

    async def _read(self, client: anyio.abc.ByteStream) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await client.receive()
        start, _, body = data.partition(b"\r\n\r\n")
        self.heads.append(start)
        told = re.search(rb"content-length: *(\d+)", start, re.IGNORECASE)
        left = (int(told[1]) if told else 0) - len(body)
        while left > 0:
            left -= len(await client.receive())
