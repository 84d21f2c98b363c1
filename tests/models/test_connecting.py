"""What is said where an endpoint cannot be reached, or is none."""

from __future__ import annotations

import errno
import itertools
import os
import socket
import ssl
from collections.abc import Sequence

import aiohttp
import httpx2
import pytest
from fake_endpoint import Answer, FakeEndpoint

from orchestrator.errors import ModelError
from orchestrator.messages import encode
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.base import ModelRequest
from orchestrator.models.connecting import at_endpoint, transport_error

URL = "http://me:secret@h.example:81/proxy/v1/messages?key=secret"
KEY = aiohttp.client_reqrep.ConnectionKey("h", 81, False, True, None, None, None)


def caused(*errors: BaseException) -> BaseException:
    """The first of them, each caused by the next one."""
    for outer, inner in itertools.pairwise(errors):
        outer.__cause__ = inner
    return errors[0]


def refused(code: int) -> Sequence[BaseException]:
    cause = OSError(code, "Connect call failed")
    connector = aiohttp.ClientConnectorError(KEY, cause)
    return httpx2.ConnectError(str(connector)), connector, cause


def no_tls(reason: str) -> Sequence[BaseException]:
    cause = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    cause.reason = reason
    connector = aiohttp.ClientConnectorSSLError(KEY, cause)
    return httpx2.ConnectError(str(connector)), connector, cause


@pytest.mark.parametrize(
    ("errors", "words", "detail"),
    [
        pytest.param(
            refused(errno.ECONNREFUSED),
            "nobody answers at http://h.example:81 (connection refused)",
            "unreached",
            id="refused",
        ),
        pytest.param(
            refused(errno.EHOSTUNREACH),
            f"at http://h.example:81 ({os.strerror(errno.EHOSTUNREACH).lower()})",
            "unreached",
            id="no route",
        ),
        pytest.param(
            [httpx2.ConnectError("x"), socket.gaierror(socket.EAI_NONAME, "unknown")],
            "the name `h.example` is not known",
            "unreached",
            id="no such name",
        ),
        pytest.param(
            [httpx2.ConnectError("x"), socket.gaierror(socket.EAI_AGAIN, "later")],
            "the name `h.example` cannot be looked up just now",
            "unreached",
            id="no name server",
        ),
        pytest.param(
            no_tls("WRONG_VERSION_NUMBER"),
            "no TLS at http://h.example:81: is it http?",
            "unreached",
            id="plain http",
        ),
        pytest.param(
            no_tls("TLSV1_ALERT_PROTOCOL_VERSION"),
            "no TLS at http://h.example:81: tlsv1 alert protocol version",
            "unreached",
            id="another TLS",
        ),
        pytest.param(
            [httpx2.ConnectError("x"), aiohttp.ServerDisconnectedError()],
            "the connection was closed before an answer",
            "connection",
            id="hangs up",
        ),
        pytest.param(
            [httpx2.ReadError("x"), ConnectionResetError(104, "reset")],
            "the connection was closed before an answer",
            "connection",
            id="resets",
        ),
        pytest.param(
            [httpx2.ReadTimeout("x")], "the connection timed out", "timeout", id="slow"
        ),
        pytest.param(
            [aiohttp.http_exceptions.BadStatusLine("SSH-2.0")],
            "what http://h.example:81 sends is no HTTP",
            "connection",
            id="another protocol",
        ),
    ],
)
def test_what_keeps_a_request_from_an_answer_is_one_clear_line(
    errors: Sequence[BaseException], words: str, detail: str
) -> None:
    told = transport_error(caused(*errors), URL)

    assert (told.kind, told.detail) == ("transient", detail)
    assert words in told.message
    assert "secret" not in told.message
    assert "ssl:default" not in told.message


def test_an_answer_that_breaks_off_is_told_apart() -> None:
    error = caused(httpx2.ReadError("x"), aiohttp.ClientPayloadError("<length 9>"))
    told = transport_error(error, "")

    assert told.message == "the connection broke off in mid answer"


@pytest.mark.parametrize(
    ("error", "url"),
    [
        (ValueError("Forbidden control character detected in headers."), URL),
        (UnicodeEncodeError("ascii", "\xe9", 0, 1, "ordinal not in range"), ""),
    ],
    ids=["in a header", "before it is sent"],
)
def test_a_request_that_cannot_be_made_is_not_tried_again(
    error: Exception, url: str
) -> None:
    told = transport_error(error, url)

    assert (told.kind, told.is_retryable) == ("invalid", False)
    assert "look at the key" in told.message


def request_for(model: str) -> ModelRequest:
    body = encode(
        {
            "model": model,
            "max_tokens": 9,
            "stream": True,
            "messages": [{"role": "user", "content": "go"}],
        }
    )
    return ModelRequest(model, [], [], [], max_output_tokens=9, body=body)


async def failure(answer: Answer) -> tuple[ModelError, str]:
    """What one request to an endpoint that answers so ends with, and its address."""
    async with FakeEndpoint([answer]) as endpoint:
        model = AnthropicModel(base_url=endpoint.url)
        with pytest.raises(ModelError) as caught:
            await model.complete(request_for("my-model"), on_retry=lambda _retry: None)
        await model.aclose()
    return caught.value, endpoint.url


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "token")


PAGE = b"<html><title>Error response</title></html>"


@pytest.mark.parametrize("status", [404, 405, 501])
async def test_a_web_server_is_not_asked_again_and_its_address_is_told(
    status: int,
) -> None:
    error, url = await failure(Answer(status, body=PAGE))

    assert error.kind == "invalid"
    assert f"status {status} from {url}/v1/messages: is this the address" in (
        error.message
    )
    assert "Error response" in error.message


@pytest.mark.parametrize("status", [502, 503, 504])
async def test_the_page_of_a_gateway_may_pass(status: int) -> None:
    error, _ = await failure(Answer(status, body=PAGE))

    assert error.kind == "transient"


async def test_a_model_that_is_not_there_is_named() -> None:
    body = b'{"error": {"type": "not_found_error", "message": "model: my-model"}}'
    error, url = await failure(Answer(404, body=body))

    assert error.kind == "invalid"
    assert error.message == f"no model `my-model` at {url}: model: my-model"


async def test_a_key_that_is_refused_is_traced_to_its_variable() -> None:
    body = b'{"error": {"type": "authentication_error", "message": "bad key"}}'
    error, url = await failure(Answer(401, body=body))

    assert error.kind == "auth"
    assert error.message == (
        f"bad key (key from `ANTHROPIC_AUTH_TOKEN`, sent to {url})"
    )


def test_other_errors_keep_their_words() -> None:
    error = ModelError("invalid", "max_tokens is too large")
    told = at_endpoint(error, 400, url=URL, model="m", key_from="")

    assert told == "max_tokens is too large"
