"""One page of the web: resolved once, judged, connected to, and read within limits.

A connection is made to an address that was judged, never to a name, so that an answer
of the resolver that changes later makes no difference. Proxies of the environment are
not used, since they resolve names themselves; no cookies are kept, and nothing is sent
that tells who asks but the name of this program.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Final, Protocol

import anyio
import anyio.to_thread
import httpcore2
from httpcore2 import AsyncNetworkStream, Request, Response

from orchestrator.errors import ToolError
from orchestrator.security.addresses import address_problem
from orchestrator.security.urls import WebAddress, joined
from orchestrator.tools.threads import in_thread
from orchestrator.tools.web.inflating import ACCEPTED, inflater
from orchestrator.tools.web.reply import Reply
from orchestrator.tools.web.troubles import told

__all__ = [
    "Connector",
    "FetchLimits",
    "Resolver",
    "WebClient",
    "connect",
    "resolve",
]

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_ACCEPT: Final = (
    "text/html, application/xhtml+xml, text/plain, text/*;q=0.9, "
    "application/json;q=0.9, application/xml;q=0.9, application/pdf;q=0.8, */*;q=0.5"
)


class Resolver(Protocol):
    """Looks up a name."""

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Return the IP addresses of `host`, the best first.

        Raises:
            OSError: it is not known, or cannot be looked up.
        """
        ...


class Connector(Protocol):
    """Opens connections."""

    async def __call__(
        self, address: str, port: int, limit_s: float
    ) -> AsyncNetworkStream:
        """Return a connection, without TLS, to an IP address.

        Raises:
            httpcore2.ConnectError, httpcore2.ConnectTimeout: nobody answers.
        """
        ...


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return what the system's resolver says of `host`."""
    # In a thread that nobody waits for: a look-up cannot be stopped.
    found = await in_thread(
        lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def connect(address: str, port: int, limit_s: float) -> AsyncNetworkStream:
    """Return a connection to an IP address."""
    return await httpcore2.AnyIOBackend().connect_tcp(address, port, timeout=limit_s)


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may take.

    Attributes:
        total_s: from the first look-up to the last byte, redirects included.
        connect_s: for each address of a host, TLS included.
        silence_s: without a byte.
        body_bytes: of the body, once it is decompressed; the rest is not read.
        redirects: followed at most.
        addresses: of one host that are tried at most.
    """

    total_s: float = 60
    connect_s: float = 10
    silence_s: float = 20
    body_bytes: int = 10_000_000
    redirects: int = 5
    addresses: int = 4


@dataclass(slots=True)
class WebClient:
    """Fetches pages; keeps nothing between two of them.

    Attributes:
        resolve: looks up names.
        connect: opens connections to the addresses that were judged.
        trust: makes the TLS settings, host names checked; None: those of the system.
        limits: of one fetch.
    """

    resolve: Resolver = resolve
    connect: Connector = connect
    trust: Callable[[], ssl.SSLContext] | None = None
    limits: FetchLimits = field(default_factory=FetchLimits)
    _tls: ssl.SSLContext | None = field(default=None, init=False, repr=False)

    async def get(self, address: WebAddress) -> Reply:
        """Return what is at `address`, redirects followed.

        Cancelling closes the connection.

        Raises:
            ToolError: nobody answers, what is answered is no HTTP, a limit is reached,
                or it leads to where nothing may be fetched.
        """
        limits = self.limits
        try:
            with anyio.fail_after(limits.total_s):
                for _ in range(limits.redirects + 1):
                    reply = await self._one(address)
                    if not _leads_on(reply.status, reply.headers):
                        return reply
                    address = _next(address, reply.headers["location"])
        except TimeoutError as error:
            raise ToolError(
                f"`{address.authority}` did not send the whole page within "
                f"{limits.total_s:g} s; it was given up"
            ) from error
        raise ToolError(
            f"more than {limits.redirects} redirects, the last one to "
            f"`{address.authority}`; they may lead in a circle"
        )

    async def _one(self, address: WebAddress) -> Reply:
        found = await self._judged(address)
        limits = self.limits
        with _told(address, limits):
            stream = await self._connected(found, address.port)
            origin = httpcore2.Origin(
                address.scheme.encode(), address.host.encode(), address.port
            )
            try:
                if address.scheme == "https":
                    stream = await stream.start_tls(
                        await self._settings(), address.host, limits.connect_s
                    )
                connection = httpcore2.AsyncHTTP11Connection(origin, stream)
                request = _request(address, limits)
                response = await connection.handle_async_request(request)
                return await self._read(address, response)
            finally:
                await stream.aclose()

    async def _judged(self, address: WebAddress) -> Sequence[str]:
        """Return the addresses of a host; one bad one spoils them all."""
        with _told(address, self.limits):
            found = await self.resolve(address.host, address.port)
        for each in found:
            why = address_problem(each)
            if why:
                raise ToolError(
                    f"`{address.authority}` is not fetched: it leads to a {why} "
                    "address; only public ones can be reached"
                )
        if not found:
            raise ToolError(f"the name `{address.host}` has no address")
        return found[: self.limits.addresses]

    async def _connected(
        self, addresses: Sequence[str], port: int
    ) -> AsyncNetworkStream:
        *others, last = addresses
        for each in others:
            try:
                return await self.connect(each, port, self.limits.connect_s)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self.connect(last, port, self.limits.connect_s)

    async def _settings(self) -> ssl.SSLContext:
        if self._tls is None:
            make = self.trust or httpcore2.default_ssl_context
            self._tls = await anyio.to_thread.run_sync(make)
        return self._tls

    async def _read(self, address: WebAddress, response: Response) -> Reply:
        headers: dict[str, str] = {}
        for name, value in response.headers:
            key = name.decode("latin-1").lower()
            headers.setdefault(key, value.decode("utf-8", "replace"))
        reason = response.extensions.get("reason_phrase", b"")
        body = bytearray()
        is_cut = False
        if not _leads_on(response.status, headers):
            unpacked = inflater(headers.get("content-encoding", ""))
            most = self.limits.body_bytes
            async with aclosing(response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    # One byte more tells whether there is more.
                    body += unpacked.feed(chunk, most + 1 - len(body))
                    is_cut = len(body) > most
                    if is_cut:
                        del body[most:]
                        break
        return Reply(
            address,
            response.status,
            reason.decode("latin-1"),
            headers,
            bytes(body),
            is_cut,
        )


def _told(address: WebAddress, limits: FetchLimits) -> AbstractContextManager[None]:
    return told(address, connect_s=limits.connect_s, silence_s=limits.silence_s)


def _leads_on(status: int, headers: Mapping[str, str]) -> bool:
    return status in _REDIRECTS and bool(headers.get("location"))


def _request(address: WebAddress, limits: FetchLimits) -> Request:
    return httpcore2.Request(
        "GET",
        httpcore2.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=address.port,
            target=address.target.encode(),
        ),
        headers=[
            ("Host", address.authority),
            ("User-Agent", f"orchestrator/{version('orchestrator')}"),
            ("Accept", _ACCEPT),
            ("Accept-Encoding", ACCEPTED),
            ("Connection", "close"),
        ],
        extensions={"timeout": {"read": limits.silence_s, "write": limits.silence_s}},
    )


def _next(address: WebAddress, location: str) -> WebAddress:
    """Return where a redirect leads.

    Raises:
        ToolError: where nothing may be fetched, or from https to http.
    """
    try:
        led = joined(address, location)
    except ToolError as error:
        raise ToolError(f"`{address.authority}` redirects: {error}") from error
    if (address.scheme, led.scheme) == ("https", "http"):
        raise ToolError(
            f"`{address.authority}` redirects from https to http at "
            f"`{led.authority}`, where anybody on the way could change the page; it is "
            "not followed"
        )
    return led
