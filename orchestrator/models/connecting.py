"""What is wrong on the way to an endpoint, in words for who has to mend it.

Libraries tell it in words of their own, which name neither the endpoint nor the cause.
"""

from __future__ import annotations

import errno
import os
import re
import socket
import ssl
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import httpx2
from aiohttp.http_exceptions import HttpProcessingError

from orchestrator.access import BASE_URL, bare_url
from orchestrator.errors import ModelError
from orchestrator.models.classify import bounded

__all__ = ["at_endpoint", "transport_error", "unreached"]

_WRONG_ADDRESS: Final = (
    aiohttp.InvalidURL,
    httpx2.InvalidURL,
    httpx2.UnsupportedProtocol,
)
# The request has not left.
_UNREACHED: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ConnectionTimeoutError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
)
_LOST: Final = (
    aiohttp.ClientConnectionError,
    aiohttp.ClientPayloadError,
    httpx2.TransportError,
    OSError,
)
_NO_HTTP: Final = (aiohttp.ClientResponseError, HttpProcessingError)
_NO_POST: Final = frozenset({404, 405, 501})
"""Statuses by which a server says that it has nothing at an address to send to."""
_OF_MODEL: Final = re.compile(r"\bmodel", re.IGNORECASE)


def transport_error(error: BaseException, url: str) -> ModelError:
    """Return what a failure of the connection means.

    Args:
        error: from the transport, as it was raised first or wrapped.
        url: where the request was sent; "": its answer had begun.
    """
    causes = tuple(_causes(error))
    where, host = _place(url)
    if _any(causes, _WRONG_ADDRESS):
        told = f"{f'`{bare_url(url)}`' if url else where} is no http or https address"
        return ModelError("invalid", told, detail="address")
    if _any(causes, _UNREACHED) or _any(causes, (socket.gaierror, ssl.SSLError)):
        told = _unreached(causes, where, host)
        return ModelError("transient", told, detail="unreached")
    if _any(causes, (TimeoutError, httpx2.TimeoutException)):
        return ModelError("transient", "the connection timed out", detail="timeout")
    is_of_headers = bool(url) and not _any(causes, (*_NO_HTTP, *_LOST))
    if _any(causes, (UnicodeEncodeError, *([ValueError] if is_of_headers else []))):
        told = f"the request cannot be sent: {error}; look at the key and at "
        told += "`ANTHROPIC_CUSTOM_HEADERS`"
        return ModelError("invalid", bounded(told), detail="request")
    told = _broken_off(causes, where if url else "")
    return ModelError("transient", told, detail="connection")


def _broken_off(causes: tuple[BaseException, ...], where: str) -> str:
    """Return how a connection ended.

    Args:
        causes: the error and what it came of.
        where: the endpoint, before its answer; "" in mid answer.
    """
    if where and _any(causes, _NO_HTTP):
        return f"what {where} sends is no HTTP: is this its address?"
    if not _any(causes, _LOST):
        return f"the answer cannot be read ({type(causes[0]).__name__})"
    if where:
        return "the connection was closed before an answer"
    return "the connection broke off in mid answer"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _any(causes: tuple[BaseException, ...], kinds: tuple[type, ...]) -> bool:
    return any(isinstance(each, kinds) for each in causes)


def _place(url: str) -> tuple[str, str]:
    """Return an endpoint without path and secrets, and the name of its host."""
    if not url:
        return "the endpoint", ""
    try:
        parts = urlsplit(bare_url(url))
    except ValueError:
        return bare_url(url), ""
    return f"{parts.scheme}://{parts.netloc}", parts.hostname or ""


def unreached(error: BaseException, where: str, host: str) -> str:
    """Return why there is no connection.

    Args:
        error: as it was raised first or wrapped.
        where: scheme, host and port.
        host: the name that was looked up.
    """
    return _unreached(tuple(_causes(error)), where, host)


def _unreached(causes: tuple[BaseException, ...], where: str, host: str) -> str:
    for each in causes:
        if isinstance(each, aiohttp.ClientError):
            continue  # it may be one of those below, too, but does not say why
        if isinstance(each, socket.gaierror):
            if each.errno == socket.EAI_AGAIN:
                return f"the name `{host}` cannot be looked up just now"
            return f"the name `{host}` is not known"
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"the certificate of {where} is not good: {each.verify_message}"
        if isinstance(each, ssl.SSLError):
            is_plain = each.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
            reason = (each.reason or "the handshake failed").replace("_", " ").lower()
            return f"no TLS at {where}: {'is it http?' if is_plain else reason}"
    codes = [each.errno for each in causes if isinstance(each, OSError) and each.errno]
    if errno.ECONNREFUSED in codes:
        return f"nobody answers at {where} (connection refused)"
    why = os.strerror(codes[0]).lower() if codes else "no connection"
    return f"nobody answers at {where} ({why})"


def at_endpoint(
    error: ModelError, status: int, *, url: str, model: str, key_from: str
) -> str:
    """Return the words of an error, and what to look at where that can be told.

    Args:
        error: what the status and the body mean.
        status: HTTP status.
        url: where the request was sent.
        model: that was asked for.
        key_from: where the key was found, such as a variable's name; "": nobody knows.
    """
    where, _ = _place(url)
    names_it = re.search(rf"(?<!\w){re.escape(model)}(?!\w)", error.message)
    if status == 404 and (names_it or _OF_MODEL.search(error.message)):
        return f"no model `{model}` at {where}: {error.message}"
    if status in _NO_POST:
        told = (
            f"status {status} from {bare_url(url)}: is this the address of a Messages "
        )
        told += f"API? (`{BASE_URL}`, without `/v1/messages`)"
        is_mute = error.message.startswith(f"status {status}")
        return told if is_mute else f"{told}; its words: {error.message}"
    if status == 401:
        source = f"key from `{key_from}`, " if key_from else ""
        return f"{error.message} ({source}sent to {where})"
    return error.message
