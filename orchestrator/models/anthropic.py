"""The Messages API through Anthropic's SDK: one try, one whole reply or one error.

The SDK finds credentials, builds headers and sends; its retries are off, its parsing
into objects is not used. Importing it takes over a second: import this module late.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from datetime import datetime
from typing import Any, Final

import aiohttp
import anyio
import httpx2
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

from orchestrator.access import credential_source
from orchestrator.clock import Clock, SystemClock
from orchestrator.errors import ModelError
from orchestrator.models.base import ModelRequest, OnRetry, Reply
from orchestrator.models.classify import bounded, classify, retry_after
from orchestrator.models.connecting import at_endpoint, transport_error
from orchestrator.models.failures import failure
from orchestrator.models.reading import BEGINS_S, Reading

__all__ = ["AnthropicModel"]

CONNECT_S = 10.0
ERROR_BODY_S = 5.0
"""How long an endpoint may take to say what is wrong, once its status has come."""
MAX_ERROR_BYTES = 65_536

_NO_KEY: Final = (
    "no credentials found: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), or use "
    "`model: offline`"
)

_REDIRECTED: Final = (
    "the endpoint sends requests on to {}; they are not sent there: if that is the "
    "right address, set ANTHROPIC_BASE_URL to it, without `/v1/messages`"
)
_OF_BODY: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})

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
        self._begins_s = BEGINS_S
        is_given = client is not None or api_key is not None
        self._key_from = "" if is_given else credential_source(os.environ)
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
        reading = Reading(request, begins_s=self._begins_s)
        try:
            reply = await self._read(request, reading)
        except ModelError as error:
            reading.note(error)
            raise
        self._begins_s = min(self._begins_s, reading.least_s())
        return reply

    async def _read(self, request: ModelRequest, reading: Reading) -> Reply:
        with reading.scope:
            await self._receive(request, reading)
        if reading.scope.cancelled_caught and not reading.is_complete:
            raise reading.timeout()
        return reading.reply()

    @contextmanager
    def _failing(self, request: ModelRequest, reading: Reading) -> Iterator[None]:
        """Turn what goes wrong inside into a `ModelError`, once the reply is not whole.

        Nothing but the SDK and what it stands on may run inside: of our own code the
        same types are bugs.
        """
        try:
            yield
        except _FAILURES as error:
            failure = error
        else:
            return
        if isinstance(failure, APIStatusError):
            request.on_headers(failure.response.headers)
        if not reading.is_complete:
            raise self._told(failure, request.model) from failure

    def _told(self, error: BaseException, model: str) -> ModelError:
        """Return what `error` means, with what to look at; bugs are raised."""
        told = _classify(error, self._clock.now())
        if isinstance(error, APIStatusError):
            told.message = at_endpoint(
                told,
                error.status_code,
                url=str(error.request.url),
                model=model,
                key_from=self._key_from,
            )
        return told

    async def _receive(self, request: ModelRequest, reading: Reading) -> None:
        with self._failing(request, reading):
            stream = await self._client.post(
                self._path,
                content=request.body,
                # The key and the conversation go to nobody but whom the user named.
                options={"headers": self._headers, "follow_redirects": False},
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
        response = stream.response
        request.on_headers(response.headers)
        try:
            async with aclosing(self._chunks(response, request, reading)) as chunks:
                async for chunk in chunks:
                    reading.feed(chunk)
            reading.end()
        finally:
            if not response.is_closed:
                with anyio.CancelScope(shield=True), suppress(*_FAILURES):
                    await response.aclose()

    async def _chunks(
        self, response: httpx2.Response, request: ModelRequest, reading: Reading
    ) -> AsyncGenerator[bytes]:
        # The SDK's own iterator makes an object of every event; bytes are enough.
        with self._failing(request, reading):
            async with aclosing(response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def aclose(self) -> None:
        """Close all connections; a second call does nothing."""
        await self._client.close()


class _LeanHttp(DefaultAioHttpClient):
    """The SDK's aiohttp client, with less work for each request and bounded errors.

    Headers are not merged a second time. Of the body of an error only so much is read
    as an error can need; the SDK would read all of it, for as long as it takes.
    """

    error_body_s = ERROR_BODY_S

    async def send(
        self,
        request: httpx2.Request,
        **given: Any,  # noqa: ANN401 - as the class above
    ) -> httpx2.Response:
        """Return the response; that of an error is whole, its body cut if need be."""
        response = await super().send(request, **given)
        if response.is_success:
            return response
        return await _cut_short(response, self.error_body_s)

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


async def _cut_short(response: httpx2.Response, wait_s: float) -> httpx2.Response:
    """Return an error response with what came of its body, and close its connection."""
    said = bytearray()
    try:
        # Whatever befalls the body, the status has come.
        with suppress(*_FAILURES), anyio.move_on_after(wait_s):
            async with aclosing(response.aiter_bytes()) as chunks:
                async for chunk in chunks:
                    said += chunk[: MAX_ERROR_BYTES - len(said)]
                    if len(said) == MAX_ERROR_BYTES:
                        break
    finally:
        with anyio.CancelScope(shield=True):
            await response.aclose()
    kept = [pair for pair in response.headers.multi_items() if pair[0] not in _OF_BODY]
    return httpx2.Response(
        response.status_code,
        headers=kept,
        content=bytes(said),
        request=response.request,
    )


def _classify(error: BaseException, now: datetime) -> ModelError:
    """Return what `error` means; bugs are raised as they are.

    Args:
        error: from the SDK or from what it stands on.
        now: time of day, for a date in `retry-after`.
    """
    if isinstance(error, APIStatusError):
        return _of_status(error, now)
    if isinstance(error, APIConnectionError) and error.__cause__ is not None:
        return transport_error(error.__cause__, str(error.request.url))
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
    return transport_error(error, "")


def _of_status(error: APIStatusError, now: datetime) -> ModelError:
    if error.response.has_redirect_location:
        target = bounded(error.response.headers["location"])
        return ModelError("invalid", _REDIRECTED.format(target), detail="redirect")
    wait_s = retry_after(error.response.headers, now)
    return classify(failure(error.status_code, error.body, retry_after_s=wait_s))
