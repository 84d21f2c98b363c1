"""A small web on loopback: its names, their addresses, and what is served there."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from socket import EAI_NONAME, gaierror
from typing import Any, ClassVar, Self

import anyio.abc
import httpcore2
import trustme
from anyio.from_thread import start_blocking_portal
from pydantic import BaseModel
from raw_endpoint import RawEndpoint, Wire, whole
from tool_bench import ToolBench

from orchestrator.clock import SystemClock
from orchestrator.context.clipping import clip_text
from orchestrator.context.tokens import estimate
from orchestrator.security.permissions import Ask
from orchestrator.tools.base import Effects, ToolContext, ToolOutput
from orchestrator.tools.executor import Executor
from orchestrator.tools.fetch import FetchUrl, FetchUrlArgs
from orchestrator.tools.web.client import FetchLimits, WebClient

__all__ = ["DOCS", "PUBLIC", "Allowed", "FakeWeb", "Fetching", "html", "page"]

PUBLIC = "5.6.7.8"
"""A public address, which nothing is ever sent to."""
DOCS = "docs.example.org"

Page = Wire | bytes


def page(body: str | bytes, kind: str = "text/plain; charset=utf-8") -> bytes:
    """A good answer."""
    data = body.encode() if isinstance(body, str) else body
    return whole(data, content_type=kind)


def html(body: str, title: str = "A page") -> bytes:
    """A good answer with a page."""
    return page(f"<title>{title}</title>{body}", "text/html; charset=utf-8")


class _Pages(RawEndpoint):
    """Serves pages by host and path, or by path alone."""

    pages: Mapping[str, Page]

    async def _play(self, client: anyio.abc.ByteStream) -> str:
        await self._read(client)
        first, *rest = self.heads[-1].decode().split("\r\n")
        target = first.split(" ")[1]
        host = next(each[6:] for each in rest if each.startswith("Host: "))
        found = self.pages.get(f"{host}{target}", self.pages.get(target))
        if found is None:
            found = whole(b"nothing here", "404 Not Found", content_type="text/plain")
        return await self._send(
            client, found if isinstance(found, Wire) else Wire([found])
        )


@cache
def _authority() -> trustme.CA:
    return trustme.CA()


@cache
def _certified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _authority().issue_cert(DOCS).configure_cert(context)
    return context


@dataclass
class FakeWeb:
    """What a client is handed in place of the real network.

    Attributes:
        pages: path, or host and path → what is sent.
        names: host → its addresses, or one list of them for each look-up.
        refusing: addresses where nobody answers.
        lookups: names that were looked up.
        connections: addresses and ports that were connected to.
        streams: the connections.
        secure_port: of loopback, in place of port 443.
    """

    pages: dict[str, Page] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=lambda: {DOCS: [PUBLIC]})
    refusing: set[str] = field(default_factory=set)
    lookups: list[str] = field(default_factory=list)
    connections: list[tuple[str, int]] = field(default_factory=list)
    streams: list[httpcore2.AsyncNetworkStream] = field(default_factory=list)
    secure_port: int = 0

    def __post_init__(self) -> None:
        self.plain = _Pages(())
        self.secure = _Pages((), tls=_certified())
        self.plain.pages = self.secure.pages = self.pages

    @contextmanager
    def served(self) -> Iterator[Self]:
        """Serve from a thread of its own, so that any test can use it."""
        with start_blocking_portal() as portal, ExitStack() as stack:
            for each in (self.plain, self.secure):
                stack.enter_context(portal.wrap_async_context_manager(each))
            self.secure_port = self.secure.port
            yield self

    @property
    def heads(self) -> list[str]:
        return [head.decode() for head in (*self.plain.heads, *self.secure.heads)]

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        self.lookups.append(host)
        found = self.names.get(host)
        if found is None:
            raise gaierror(EAI_NONAME, "unknown")
        if isinstance(found, OSError):
            raise found
        if found and isinstance(found[0], list):
            return list(found.pop(0) if len(found) > 1 else found[0])
        return list(found)

    async def connect(
        self, address: str, port: int, limit_s: float
    ) -> httpcore2.AsyncNetworkStream:
        self.connections.append((address, port))
        if address in self.refusing:
            raise httpcore2.ConnectError from ConnectionRefusedError(111, "refused")
        here = self.secure_port if port == 443 else self.plain.port
        backend = httpcore2.AnyIOBackend()
        stream = await backend.connect_tcp("127.0.0.1", here, timeout=limit_s)
        self.streams.append(stream)
        return stream

    def trust(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        _authority().configure_trust(context)
        return context

    def client(self, **limits: Any) -> WebClient:
        return WebClient(self.resolve, self.connect, self.trust, FetchLimits(**limits))


class _Open:
    """Lets everything through."""

    async def refused(self, agent: str, call: str, tool: str, ask: Ask) -> str:
        return ""


class Fetching(ToolBench):
    """An agent that may fetch, on a small web of its own."""

    def __init__(
        self, folder: Path, web: FakeWeb, client: WebClient | None = None, **limits: Any
    ) -> None:
        """Make it.

        Args:
            folder: for its files.
            web: what is served.
            client: in place of one that knows nothing but `web`.
            limits: of a fetch.
        """
        super().__init__(folder, tools=[FetchUrl(client or web.client(**limits))])
        self.web = web
        self.executor = Executor(
            self.registry,
            self.log,
            partial(clip_text, count=estimate),
            SystemClock(),
            gate=_Open(),
        )

    async def fetch(self, url: str) -> str:
        return await self.text("fetch_url", url=url)

    async def refusal(self, url: str) -> str:
        return await self.error("fetch_url", url=url)


class Allowed:
    """`fetch_url` as a tool of the caller's own, which needs no permission."""

    name: ClassVar[str] = FetchUrl.name
    description: ClassVar[str] = FetchUrl.description
    Args: ClassVar[type[BaseModel]] = FetchUrlArgs
    effects: ClassVar[Effects] = FetchUrl.effects
    timeout_s: ClassVar[float] = FetchUrl.timeout_s

    def __init__(self, web: FakeWeb) -> None:
        self._tool = FetchUrl(web.client())

    async def run(self, args: FetchUrlArgs, context: ToolContext) -> ToolOutput:
        return await self._tool.run(args, context)
