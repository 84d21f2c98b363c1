"""The one place that uses the official SDK: sessions over pipes and over HTTP.

The SDK speaks the protocol. Pipes are ours, since its own transport ends over a byte
that is no UTF-8 and loses an answer that stands behind a banner.
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

import anyio
import httpx2
import structlog
from anyio.streams.memory import MemoryObjectSendStream
from mcp import ClientSession, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp.shared.transport_context import TransportContext
from mcp.types import (
    CONNECTION_CLOSED,
    PARSE_ERROR,
    ErrorData,
    Implementation,
    JSONRPCError,
    PaginatedRequestParams,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from orchestrator.messages import clean_text, one_line, whole_chars, with_texts
from orchestrator.tools.mcp.answers import mended
from orchestrator.tools.mcp.process import Child
from orchestrator.tools.mcp.session import Json, Lost, Refused, Session

__all__ = ["over_http", "over_pipes"]

T = TypeVar("T")

MAX_BODY_BYTES = 32 << 20
MAX_PAGES = 100
_TOLD_CHARS = 400
_STARTS = 8
_WAITING = 256
_CONNECT_S = 10.0
_SESSION_LOST = "HTTP 404"
# The SDK's own words. Its codes are no help: servers use the same ones for anything.
_CONNECTION_LOST = ("Connection closed", "SSE stream ended", "SSE stream failed")

log = structlog.get_logger(__name__)

# What the SDK logs holds texts of servers that nobody has redacted.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


class _Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Lets what a server answers be a little wrong: one bad tool is not all tools."""

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: str | int | None = None,
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(
            method, params, opts, _related_request_id=_related_request_id
        )
        return mended(method, raw)


class _Session:
    """A session of the SDK behind our port."""

    def __init__(self, client: ClientSession, told: Callable[[], str]) -> None:
        self._client, self._told = client, told

    @property
    def has_resources(self) -> bool:
        capabilities = self._client.server_capabilities
        return capabilities is not None and capabilities.resources is not None

    async def tools(self) -> list[Json]:
        capabilities = self._client.server_capabilities
        if capabilities is not None and capabilities.tools is None:
            return []
        return await self._pages(self._client.list_tools, "tools")

    async def resources(self) -> list[Json]:
        return await self._pages(self._client.list_resources, "resources")

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Json:
        return await self.asked(lambda: self._client.call_tool(name, dict(arguments)))

    async def read(self, uri: str) -> list[Json]:
        found = await self.asked(lambda: self._client.read_resource(uri))
        contents: list[Json] = found["contents"]
        return contents

    async def _pages(self, ask: Callable[..., Awaitable[Any]], key: str) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await self.asked(lambda params=params: ask(params=params))  # type: ignore[misc]  # bound at once
            found += page[key]
            cursor = page.get("nextCursor")
            if not cursor:
                return found
        raise Refused(f"it lists its {key} on over {MAX_PAGES} pages")

    async def asked(self, ask: Callable[[], Awaitable[Any]]) -> Json:
        """Return an answer of the SDK as plain JSON, its errors as ours."""
        try:
            answer = await ask()
        except MCPError as error:
            raise self._failure(error) from error
        except ValidationError as error:
            said = f"its answer is not what the protocol asks for: {_first(error)}"
            raise Refused(said) from error
        except RuntimeError as error:  # asks for input, or answers with what it may not
            raise Refused(one_line(str(error), _TOLD_CHARS)) from error
        found: Json = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
        return found

    def _failure(self, error: MCPError) -> Exception:
        code, message = error.error.code, one_line(error.error.message, _TOLD_CHARS)
        if code == CONNECTION_CLOSED and message.startswith(_CONNECTION_LOST):
            return Lost(message)
        told = self._told()
        said = f"{message}{told and f' ({told})'}"
        return Lost(said) if told.startswith(_SESSION_LOST) else Refused(said)


@asynccontextmanager
async def over_pipes(child: Child) -> AsyncIterator[Session]:
    """Open a session with a server that was started as a process.

    Raises:
        Lost: it ended meanwhile.
        Refused: it does not take part in the opening of a session.
    """
    to_session, incoming = anyio.create_memory_object_stream[
        SessionMessage | Exception
    ](0)
    # With room: who cancels a call does not wait for a server that reads no more.
    outgoing, from_session = anyio.create_memory_object_stream[SessionMessage](_WAITING)

    async def write() -> None:
        with suppress(Lost):
            async for item in from_session:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.send(text.encode())
        to_session.close()

    async with anyio.create_task_group() as group:
        group.start_soon(_read, child, to_session)
        group.start_soon(write)
        try:
            async with _opened(incoming, outgoing, lambda: "") as session:
                yield session
        finally:
            group.cancel_scope.cancel()
            for stream in (to_session, incoming, outgoing, from_session):
                stream.close()


async def _read(
    child: Child, to_session: MemoryObjectSendStream[SessionMessage | Exception]
) -> None:
    """Pass on the messages of a process; what is none is left out."""
    is_told = False
    async with to_session:
        try:
            async for line in child.lines():
                message = _message(line)
                if message is not None:
                    await to_session.send(message)
                elif line.strip() and not is_told:
                    is_told = True
                    log.warning("mcp.line_ignored", bytes=len(line))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            child.gone.set()


@asynccontextmanager
async def over_http(
    url: str, headers: Mapping[str, str], *, longest_s: float
) -> AsyncIterator[Session]:
    """Open a session with a server over streamable HTTP.

    Args:
        url: of the server.
        headers: sent with each request.
        longest_s: longest silence within one answer.

    Raises:
        Lost: it cannot be reached.
        Refused: it is no MCP server, or wants to know who asks.
    """
    told: list[str] = []

    async def look(response: httpx2.Response) -> None:
        if response.request.method == "POST":  # others carry no answer
            told[:] = []
            if response.status_code >= httpx2.codes.BAD_REQUEST:
                status = f"HTTP {response.status_code} {response.reason_phrase}"
                told.append(status.strip())
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(stream)

    timeout = httpx2.Timeout(longest_s, connect=_CONNECT_S, pool=None)
    hooks = {"response": [look]}
    client = httpx2.AsyncClient(
        headers=dict(headers), timeout=timeout, event_hooks=hooks
    )
    async with (
        client,
        streamable_http_client(
            url, http_client=client, max_sse_event_size=MAX_BODY_BYTES
        ) as (incoming, outgoing),
        _opened(incoming, outgoing, lambda: "".join(told)) as session,
    ):
        yield session


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error where it grows beyond what may be kept."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._inner:
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise httpx2.ReadError(f"a body of over {MAX_BODY_BYTES >> 20} MB")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def _opened(
    incoming: Any,  # noqa: ANN401 - streams of either transport
    outgoing: Any,  # noqa: ANN401
    told: Callable[[], str],
) -> AsyncIterator[Session]:
    told_of_changes = False

    async def heard(message: object) -> None:
        nonlocal told_of_changes
        method = getattr(message, "method", "")
        if method.endswith("list_changed") and not told_of_changes:
            told_of_changes = True
            log.info("mcp.change_ignored", method=method)

    dispatcher = _Dispatcher(incoming, outgoing)
    info = Implementation(
        name="orchestrator", version=importlib.metadata.version("orchestrator")
    )
    async with ClientSession(
        dispatcher=dispatcher, client_info=info, message_handler=heard
    ) as client:
        session = _Session(client, told)
        await session.asked(lambda: _shake_hands(client))
        yield session


async def _shake_hands(client: ClientSession) -> Any:  # noqa: ANN401 - of two kinds
    """Open the session as all servers know it; newer ones may only know the other way.

    In this order, since some older servers never answer what they do not know.
    """
    try:
        return await client.initialize()
    except MCPError as refused:
        if refused.error.message.startswith(_CONNECTION_LOST):
            raise
        try:
            return await client.discover()
        except (MCPError, ValidationError, RuntimeError):
            raise refused from None


def _message(line: bytes) -> SessionMessage | None:
    """Return the message in a line, also behind a banner; None: there is none."""
    try:
        return SessionMessage(
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        )
    except ValidationError:
        pass
    text = line.decode("utf-8", "replace")
    for start in _starts(text):
        try:
            data = json.loads(text[start:])
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            return _of(with_texts(data, whole_chars))
    return None


def _starts(text: str) -> list[int]:
    return [found.start() for found in re.finditer(r"\{", text[:100_000])][:_STARTS]


def _of(data: Json) -> SessionMessage | None:
    try:
        return SessionMessage(
            jsonrpc_message_adapter.validate_python(data, by_name=False)
        )
    except ValidationError:
        number = data.get("id")
        if "method" in data or not isinstance(number, int | str):
            return None
        # An answer that is none: whoever waits for it need not wait longer.
        wrong = ErrorData(code=PARSE_ERROR, message="its answer is not JSON-RPC")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=number, error=wrong))


def _first(error: ValidationError) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, detail["loc"]))
    return clean_text(one_line(f"`{place}`: {detail['msg']}", _TOLD_CHARS))
