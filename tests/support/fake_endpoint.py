"""A strict local Messages endpoint: scripted answers, every fault on demand.

In a test's own event loop: `async with FakeEndpoint([...]) as endpoint`. For code with
an event loop of its own: `with FakeEndpoint([...]) as endpoint`, in a thread.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from types import TracebackType
from typing import Any, Literal, Self

import anyio
import orjson
from aiohttp import web
from anyio.from_thread import BlockingPortal, start_blocking_portal

from orchestrator.messages import text_of
from orchestrator.models.shape import shape_problem

Ending = Literal["close", "abort", "hang", "ping", "gone"]
"""`gone`: the connection is reset in place of any answer."""
Event = dict[str, Any]
Block = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """What goes over the wire for one request."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    body: bytes | None = None
    """Sent in place of events."""
    ending: Ending = "close"
    chunk_bytes: int = 0
    """Size of the pieces that leave one by one; 0: all at once."""
    pause_s: float = 0.0
    """Between the pieces."""


Script = Sequence[Answer] | Callable[[dict[str, Any]], Answer | Awaitable[Answer]]

USAGE = {
    "input_tokens": 100,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 1,
}
_messages = itertools.count(1)


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str) -> Block:
    return {"type": "thinking", "thinking": words, "signature": signature}


def tool_use(call_id: str, name: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def message(
    *content: Block, stop_reason: str | None = None, usage: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A whole message, as an answer that is not streamed holds it."""
    has_call = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{next(_messages):06d}",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": list(content),
        "stop_reason": stop_reason or ("tool_use" if has_call else "end_turn"),
        "stop_sequence": None,
        "usage": {**USAGE, "output_tokens": 20, **(usage or {})},
    }


_FIELDS = {
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
}


def events_of(whole: dict[str, Any], *, piece: int = 12) -> list[Event]:
    """The events that stream `whole`, in pieces of `piece` characters."""
    head = {**whole, "content": [], "stop_reason": None, "usage": dict(USAGE)}
    head["usage"].update(
        {k: v for k, v in whole["usage"].items() if k != "output_tokens"}
    )
    events: list[Event] = [{"type": "message_start", "message": head}, {"type": "ping"}]
    for index, block in enumerate(whole["content"]):
        events += _block_events(index, block, piece)
    events += [
        {
            "type": "message_delta",
            "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": whole["usage"]["output_tokens"]},
        },
        {"type": "message_stop"},
    ]
    return events


def _block_events(index: int, block: Block, piece: int) -> list[Event]:
    start = copy.deepcopy(block)
    deltas: list[dict[str, Any]] = []
    if block["type"] in _FIELDS:
        name, kind, key = _FIELDS[block["type"]]
        value = block[name]
        whole = value if isinstance(value, str) else orjson.dumps(value).decode()
        if whole != "{}":
            parts = [whole[at : at + piece] for at in range(0, len(whole), piece)]
            deltas = [{"type": kind, key: part} for part in parts]
        start[name] = "" if isinstance(value, str) else {}
    if block["type"] == "thinking":
        start["signature"] = ""
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *(
            {"type": "content_block_delta", "index": index, "delta": delta}
            for delta in deltas
        ),
        {"type": "content_block_stop", "index": index},
    ]


def stream(
    *content: Block,
    stop_reason: str | None = None,
    usage: dict[str, Any] | None = None,
    piece: int = 12,
    chunk_bytes: int = 0,
) -> Answer:
    """A whole reply, streamed."""
    whole = message(*content, stop_reason=stop_reason, usage=usage)
    return Answer(events=tuple(events_of(whole, piece=piece)), chunk_bytes=chunk_bytes)


def raw(*events: Event, ending: Ending = "close") -> Answer:
    """These events and no others."""
    return Answer(events=events, ending=ending)


def unstreamed(*content: Block, **options: Any) -> Answer:
    """A whole reply as one JSON body, though a stream was asked for."""
    return Answer(
        body=orjson.dumps(message(*content, **options)),
        headers={"content-type": "application/json"},
    )


def refused(
    status: int,
    kind: str,
    words: str = "told to refuse",
    *,
    code: str = "",
    headers: dict[str, str] | None = None,
) -> Answer:
    """An error with a status."""
    error: dict[str, Any] = {"type": kind, "message": words}
    if code:
        error["details"] = {"error_code": code}
    return Answer(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        body=orjson.dumps({"type": "error", "error": error, "request_id": "req_1"}),
    )


def stream_error(kind: str, words: str = "Overloaded") -> Answer:
    """Status 200, the message begins, then an error event."""
    begun = events_of(message(text("half of an answer")))[:4]
    return raw(*begun, {"type": "error", "error": {"type": kind, "message": words}})


def dropped(*content: Block, ending: Ending = "abort", keep: float = 0.6) -> Answer:
    """A reply of which only the first part arrives."""
    events = events_of(message(*content))
    return raw(*events[: max(int(len(events) * keep), 2)], ending=ending)


def body(data: bytes, content_type: str = "text/event-stream", **more: Any) -> Answer:
    """These bytes and no others."""
    return Answer(body=data, headers={"content-type": content_type}, **more)


class FakeEndpoint:
    """Answers `POST /v1/messages` by script; refuses a wrong shape with 400.

    Attributes:
        requests: decoded bodies, in order of arrival, refused ones too.
        bodies: the same as bytes.
        headers: the same requests' headers.
        violations: what was refused, in the words it was refused with.
        closed_by_client: number of answers that the client broke off.
        left: set at the first of them; only in the test's own event loop.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._answered = 0
        self._runner: web.AppRunner | None = None
        self._thread: contextlib.ExitStack | None = None
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.violations: list[str] = []
        self.closed_by_client = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        self.left = anyio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/messages", self._handle)
        self._runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=0.01, access_log=None
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            portal: BlockingPortal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self))
            self._thread = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._thread is not None
        self._thread.close()

    def plays(self, script: Script) -> None:
        """Answer by `script` from now on."""
        self._script = script
        self._answered = 0

    def requests_of(self, needle: str) -> list[dict[str, Any]]:
        """Requests of conversations whose first user text holds `needle`."""
        return [
            each
            for each in self.requests
            if needle in text_of(each["messages"][0]["content"])
        ]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        data = await request.read()
        asked = orjson.loads(data)
        self.requests.append(asked)
        self.bodies.append(data)
        self.headers.append({k.lower(): v for k, v in request.headers.items()})
        problem = shape_problem(asked)
        if problem:
            self.violations.append(problem)
            return await self._send(
                request, refused(400, "invalid_request_error", problem)
            )
        return await self._send(request, await self._next(asked))

    async def _next(self, asked: dict[str, Any]) -> Answer:
        if callable(self._script):
            answer = self._script(asked)
            return await answer if isawaitable(answer) else answer
        place = self._answered
        self._answered += 1
        if place >= len(self._script):
            return refused(400, "invalid_request_error", "the script is over")
        return self._script[place]

    async def _send(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        response = web.StreamResponse(
            status=answer.status,
            headers={"content-type": "text/event-stream", **answer.headers},
        )
        if answer.ending == "gone":
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.prepare(request)
        data = answer.body
        if data is None:
            data = b"".join(_sse(event) for event in answer.events)
        size = answer.chunk_bytes or len(data) or 1
        try:
            for at in range(0, len(data), size):
                await response.write(data[at : at + size])
                await anyio.sleep(answer.pause_s)
            await self._finish(request, response, answer.ending)
        except (ConnectionError, anyio.get_cancelled_exc_class()):
            self.closed_by_client += 1
            self.left.set()
            raise
        return response

    async def _finish(
        self, request: web.Request, response: web.StreamResponse, ending: Ending
    ) -> None:
        if ending == "abort":
            assert request.transport is not None
            # The bytes so far must be on their way before the reset.
            await anyio.sleep(0.01)
            request.transport.abort()
        while ending in ("hang", "ping"):
            await anyio.sleep(0.01)
            if ending == "ping":
                await response.write(_sse({"type": "ping"}))


def _sse(event: Event) -> bytes:
    name = str(event.get("type", "message")).encode()
    return b"event: " + name + b"\ndata: " + orjson.dumps(event) + b"\n\n"
