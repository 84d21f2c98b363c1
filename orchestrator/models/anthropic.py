"""The Messages API through Anthropic's SDK: one try, one whole reply or one error.

The SDK finds credentials, builds headers and sends; its retries are off, its parsing
into objects is not used. Importing it takes over a second: import this module late.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

import aiohttp
import anyio
import httpx2
import orjson
from anthropic import (
    AnthropicError,
    APIConnectionError,
    APIResponseValidationError,
    APIStatusError,
    APITimeoutError,
    AsyncAnthropic,
    AsyncStream,
    DefaultAioHttpClient,
)

from orchestrator.clock import Clock, SystemClock
from orchestrator.errors import ModelError
from orchestrator.models.base import ModelRequest, OnRetry, Reply, Usage
from orchestrator.models.classify import Failure, bounded, classify, retry_after
from orchestrator.models.sse import EventSplitter
from orchestrator.models.stream import Accumulator, whole_reply

__all__ = ["AnthropicModel"]

CONNECT_S = 10.0
CLOSE_S = 2.0
"""How long an endpoint may keep the connection after the end of a reply."""
BYTES_PER_TOKEN = 3
"""Cautious, for endpoints that do not count."""

_NO_KEY: Final = (
    "no credentials found: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), or use "
    "`model: offline`"
)

# What may come out of the SDK and the transports below it, besides bugs.
_FAILURES: Final = (
    AnthropicError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    aiohttp.ClientError,
    OSError,
    AssertionError,
    ValueError,
    TypeError,
)
_WRONG_ADDRESS: Final = (httpx2.InvalidURL, httpx2.UnsupportedProtocol)


class AnthropicModel:
    """Sends each request's bytes as they are and puts the streamed reply together.

    One instance is enough for a process, whatever models it asks: it owns the pool of
    connections. It never retries.
    """

    caches_prompts: Final = True

    def __init__(
        self,
        client: AsyncAnthropic | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare the client; nothing is sent.

        Args:
            client: used and closed as it is; by default one is made.
            api_key: instead of what the SDK finds in environment and profiles.
            base_url: instead of `ANTHROPIC_BASE_URL`.
            headers: sent with every request.
            clock: reads dates in `retry-after`.

        Raises:
            ModelError: the credentials that the SDK found cannot be used.
        """
        self._clock = clock or SystemClock()
        self._path = "/v1/messages"
        if client is None:
            client = self._made(api_key, base_url)
            # Absolute, so that the SDK need not put the address together each time.
            self._path = str(client.base_url).rstrip("/") + self._path
        self._client = client
        # Unpacking costs time, and event streams are hardly ever packed.
        self._headers = {"accept-encoding": "identity", **(headers or {})}

    def _made(self, api_key: str | None, base_url: str | None) -> AsyncAnthropic:
        try:
            return AsyncAnthropic(
                api_key=api_key,
                base_url=base_url,
                max_retries=0,
                timeout=httpx2.Timeout(None, connect=CONNECT_S),
                http_client=_LeanHttp(),
                open_telemetry=False,
            )
        except AnthropicError as error:
            raise _classify(error, self._clock.now()) from error

    async def complete(self, request: ModelRequest, *, on_retry: OnRetry) -> Reply:  # noqa: ARG002 - the port's
        """Return the reply to `request`, from one try.

        Raises:
            ModelError: no usable reply; whatever came of it is dropped.
        """
        reading = _Reading(request)
        try:
            return await self._read(request.body, reading)
        except ModelError as error:
            error.begun = reading.may_be_billed
            raise

    async def _read(self, body: bytes, reading: _Reading) -> Reply:
        with reading.scope:
            try:
                await self._receive(body, reading)
            except _FAILURES as error:
                if not reading.is_complete:
                    raise _classify(error, self._clock.now()) from error
        if reading.scope.cancelled_caught and not reading.is_complete:
            raise reading.timeout()
        return reading.reply()

    async def _receive(self, body: bytes, reading: _Reading) -> None:
        stream = await self._client.post(
            self._path,
            content=body,
            options={"headers": self._headers},
            cast_to=object,
            stream=True,
            stream_cls=AsyncStream[object],
        )
        response = stream.response
        try:
            # The SDK's own iterator makes an object of every event; bytes are enough.
            async with aclosing(response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    reading.feed(chunk)
            reading.end()
        finally:
            if not response.is_closed:
                with anyio.CancelScope(shield=True):
                    await response.aclose()

    async def aclose(self) -> None:
        """Close all connections; a second call does nothing."""
        await self._client.close()


class _LeanHttp(DefaultAioHttpClient):
    """The SDK's aiohttp client, without a second round of merging headers."""

    def build_request(
        self,
        method: str,
        url: httpx2.URL | str,
        **given: Any,  # noqa: ANN401 - as the class above
    ) -> httpx2.Request:
        """Return the request as the SDK made it; it has set every header itself."""
        timeout = given.get("timeout")
        if given.get("params") or given.get("files") or given.get("extensions"):
            return super().build_request(method, url, **given)
        if not isinstance(timeout, httpx2.Timeout):
            timeout = httpx2.Timeout(timeout)
        return httpx2.Request(
            method,
            url,
            headers=given.get("headers"),
            content=given.get("content"),
            extensions={"timeout": timeout.as_dict()},
        )


class _Reading:
    """One try: what has arrived, and how long it may take."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._began = time.perf_counter()
        self._until = anyio.current_time() + request.call_s
        self.scope = anyio.CancelScope()
        self._first_token_s: float | None = None
        self._splitter = EventSplitter()
        self._accumulator = Accumulator()
        self._heard()

    @property
    def is_complete(self) -> bool:
        return self._accumulator.is_complete

    @property
    def may_be_billed(self) -> bool:
        return self._accumulator.has_anything or self.scope.cancelled_caught

    def feed(self, chunk: bytes) -> None:
        self._take(self._splitter.feed(chunk))

    def end(self) -> None:
        self._take(self._splitter.end())

    def _take(self, events: list[dict[str, Any]]) -> None:
        says_anything = False
        for event in events:
            if event["type"] != "ping":
                self._accumulator.feed(event)
                says_anything = True
        if not says_anything:
            return
        if self._first_token_s is None and self._accumulator.has_begun:
            self._first_token_s = time.perf_counter() - self._began
        self._heard()
        self._request.on_progress()

    def _heard(self) -> None:
        wait_s = self._request.silence_s
        if self.is_complete:
            wait_s = min(wait_s, CLOSE_S)
        self.scope.deadline = min(self._until, anyio.current_time() + wait_s)

    def timeout(self) -> ModelError:
        if anyio.current_time() >= self._until:
            told = f"no whole reply within {self._request.call_s:g} s"
            return ModelError("transient", told, detail="call_s")
        told = f"the endpoint was silent for {self._request.silence_s:g} s"
        return ModelError("transient", told, detail="silence_s")

    def reply(self) -> Reply:
        head = self._splitter.head
        reply = whole_reply(head) if head.strip() else self._streamed()
        usage = reply.usage
        if not usage.known:
            usage = self._estimated(reply)
        return replace(
            reply,
            usage=usage,
            seconds=time.perf_counter() - self._began,
            first_token_s=self._first_token_s,
        )

    def _streamed(self) -> Reply:
        if not self._accumulator.has_anything:
            return whole_reply(b"")
        return self._accumulator.reply()

    def _estimated(self, reply: Reply) -> Usage:
        output = len(orjson.dumps(reply.content)) // BYTES_PER_TOKEN + 1
        return Usage(
            input_tokens=len(self._request.body) // BYTES_PER_TOKEN + 1,
            output_tokens=reply.usage.output_tokens or output,
            known=False,
        )


def _classify(error: BaseException, now: datetime) -> ModelError:
    """Return what `error` means; bugs are raised as they are.

    Args:
        error: from the SDK or from what it stands on.
        now: time of day, for a date in `retry-after`.
    """
    if isinstance(error, APIStatusError):
        return classify(
            Failure(
                error.status_code,
                type=str(error.type or ""),
                code=error.error_code or "",
                message=str(error.api_message or error.message),
                retry_after_s=retry_after(error.response.headers, now),
            )
        )
    if isinstance(error, APIConnectionError) and error.__cause__ is not None:
        return _of_transport(error.__cause__, str(error.request.url))
    if isinstance(error, TypeError) and "authentication" in str(error):
        return ModelError("auth", _NO_KEY, detail="no_credentials")
    if isinstance(error, APITimeoutError | APIConnectionError):
        return ModelError("transient", bounded(str(error)), detail="connection")
    if isinstance(error, AnthropicError) and not isinstance(
        error, APIResponseValidationError
    ):
        return ModelError("auth", bounded(str(error)), detail="credentials")
    if isinstance(error, TypeError):
        raise error
    return _of_transport(error, "")


def _of_transport(error: BaseException, url: str) -> ModelError:
    told = bounded(f"{type(error).__name__}: {error}")
    if url:
        told = f"cannot reach {url}: {told}"
    if isinstance(error, _WRONG_ADDRESS):
        return ModelError("invalid", told, detail="address")
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        return ModelError("transient", told, detail="timeout")
    return ModelError("transient", told, detail="connection")
