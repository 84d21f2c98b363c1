"""The endpoint model against a local endpoint with every kind of fault."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import anyio
import anyio.lowlevel
import httpx2
import orjson
import pytest
from anthropic import Anthropic, CredentialsError
from fake_endpoint import (
    Answer,
    FakeEndpoint,
    body,
    dropped,
    events_of,
    message,
    raw,
    refused,
    stream,
    stream_error,
    text,
    thinking,
    tool_use,
    unstreamed,
)

from orchestrator.access import has_credentials
from orchestrator.errors import ModelError
from orchestrator.models.anthropic import AnthropicModel, _classify
from orchestrator.models.base import ModelRequest, Reply, Retry, Usage
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
READ = tool_use("toolu_1", "read_file", path="src/a.py", note="né 世界")


def request_for(
    *messages: dict[str, Any], call_s: float = 5, silence_s: float = 5
) -> ModelRequest:
    asked = list(messages) or [{"role": "user", "content": [text("go")]}]
    sent = {
        "model": "claude-haiku-5-5",
        "max_tokens": 500,
        "messages": asked,
        "stream": True,
    }
    return ModelRequest(
        model="claude-haiku-5-5",
        system=[],
        tools=[],
        messages=asked,
        max_output_tokens=500,
        body=orjson.dumps(sent),
        call_s=call_s,
        silence_s=silence_s,
    )


@asynccontextmanager
async def served(
    *answers: Answer,
) -> AsyncIterator[tuple[AnthropicModel, FakeEndpoint]]:
    async with FakeEndpoint(answers) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        try:
            yield model, endpoint
        finally:
            await model.aclose()


async def ask(model: AnthropicModel | Governor, **limits: float) -> Reply:
    request = request_for(**limits)
    return await model.complete(request, on_retry=lambda _retry: None)


async def failure(answer: Answer, **limits: float) -> ModelError:
    async with served(answer) as (model, _):
        with pytest.raises(ModelError) as caught:
            await ask(model, **limits)
        return caught.value


# ---- whole replies ------------------------------------------------------------------


async def test_a_streamed_reply_arrives_whole() -> None:
    content = (thinking("hm", "sig"), text("I will read."), READ)
    usage = {"input_tokens": 100, "cache_read_input_tokens": 50}
    async with served(stream(*content, usage=usage, chunk_bytes=7)) as (model, _):
        reply = await ask(model)

    assert reply.content == list(content)
    assert reply.stop_reason == "tool_use"
    assert reply.usage == Usage(
        input_tokens=100, cache_read_tokens=50, output_tokens=20
    )
    assert reply.model == "claude-haiku-5-5"
    assert reply.message_id.startswith("msg_")
    assert reply.first_token_s is not None
    assert 0 < reply.first_token_s <= reply.seconds


async def test_the_body_leaves_unchanged_and_with_the_key() -> None:
    async with served(stream(text("x"))) as (model, endpoint):
        request = request_for()
        await model.complete(request, on_retry=lambda _retry: None)

    assert endpoint.bodies == [request.body]
    (headers,) = endpoint.headers
    assert headers["authorization"] == "Bearer key"
    assert headers["content-type"] == "application/json"
    assert headers["anthropic-version"] == "2026-10-21"


async def test_a_path_in_the_address_is_kept() -> None:
    async with FakeEndpoint([]) as endpoint:
        model = AnthropicModel(api_key="k", base_url=endpoint.url + "/proxy/")
        with pytest.raises(ModelError) as caught:
            await ask(model)
        await model.aclose()

    assert caught.value.detail == "http_404"
    assert endpoint.requests == []


async def test_a_server_that_does_not_stream_is_understood() -> None:
    async with served(unstreamed(text("whole"), READ)) as (model, _):
        reply = await ask(model)

    assert reply.content == [text("whole"), READ]
    assert reply.usage.known


async def test_tokens_are_estimated_where_the_server_does_not_count() -> None:
    whole = message(text("x" * 300))
    del whole["usage"]
    async with served(body(orjson.dumps(whole), "application/json")) as (model, _):
        reply = await ask(model)

    assert not reply.usage.known
    assert reply.usage.input_tokens > 30
    assert reply.usage.output_tokens > 90


async def test_a_refusal_is_a_reply_with_its_category() -> None:
    events = events_of(message(text("I cannot"), stop_reason="refusal"))
    events[-2]["delta"]["stop_details"] = {"category": "cyber", "explanation": "no"}
    async with served(raw(*events)) as (model, _):
        reply = await ask(model)

    assert reply.stop_reason == "refusal"
    assert reply.stop_details == {"category": "cyber", "explanation": "no"}


async def test_replies_of_many_tasks_do_not_mix() -> None:
    async def answer(asked: dict[str, Any]) -> Answer:
        await anyio.lowlevel.checkpoint()
        return stream(text("to " + asked["messages"][0]["content"][0]["text"]))

    found: dict[int, str] = {}
    async with FakeEndpoint(answer) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)

        async def one(number: int) -> None:
            request = request_for({"role": "user", "content": [text(f"n{number}")]})
            reply = await model.complete(request, on_retry=lambda _retry: None)
            found[number] = reply.content[0]["text"]

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(one, number)
        await model.aclose()

    assert found == {number: f"to n{number}" for number in range(20)}


# ---- faults -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refused(400, "invalid_request_error", "wrong"), "invalid"),
        (refused(400, "invalid_request_error", "prompt is too long"), "too_long"),
        (refused(400, "invalid_request_error", "usage limits"), "quota_exhausted"),
        (refused(401, "authentication_error"), "auth"),
        (refused(402, "billing_error"), "quota_exhausted"),
        (refused(404, "not_found_error"), "invalid"),
        (refused(413, "request_too_large"), "too_long"),
        (refused(429, "rate_limit_error"), "rate_limited"),
        (
            refused(429, "rate_limit_error", code="enforced_spend_limit_reached"),
            "quota_exhausted",
        ),
        (refused(500, "api_error"), "transient"),
        (refused(504, "timeout_error"), "transient"),
        (refused(529, "overloaded_error"), "overloaded"),
        (body(b"<h1>Bad gateway</h1>", "text/html", status=502), "transient"),
        (body(b"<h1>Not here</h1>", "text/html", status=404), "invalid"),
        (body(b"", status=529), "overloaded"),
    ],
)
async def test_a_refused_request_is_classed(answer: Answer, kind: str) -> None:
    error = await failure(answer)

    assert error.kind == kind
    assert error.message


async def test_nothing_is_tried_twice_behind_the_callers_back() -> None:
    async with served(refused(529, "overloaded_error")) as (model, endpoint):
        with pytest.raises(ModelError):
            await ask(model)

    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("told", "seconds"),
    [("3", 3.0), ("-5", 0.0), ("abc", None), ("Sun, 29 Nov 2026 12:00:03 GMT", 3.0)],
)
async def test_the_told_wait_reaches_the_error(
    told: str, seconds: float | None
) -> None:
    answer = refused(429, "rate_limit_error", headers={"retry-after": told})
    async with FakeEndpoint([answer]) as endpoint:
        model = AnthropicModel(api_key="k", base_url=endpoint.url, clock=FakeClock(NOW))
        with pytest.raises(ModelError) as caught:
            await ask(model)
        await model.aclose()

    assert caught.value.retry_after_s == seconds


async def test_an_overload_told_inside_the_stream_is_an_overload() -> None:
    error = await failure(stream_error("overloaded_error"))

    assert error.kind == "overloaded"
    assert error.is_retryable


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(dropped(READ, ending="abort"), id="reset in the input of a call"),
        pytest.param(dropped(READ, ending="close"), id="end without message_stop"),
        pytest.param(body(b""), id="empty 200"),
        pytest.param(body(b"", "application/json"), id="empty json"),
        pytest.param(body(b": only a comment\n\n"), id="comments only"),
        pytest.param(raw({"type": "ping"}), id="pings only"),
        pytest.param(raw({"type": "message_stop"}), id="an end without a beginning"),
        pytest.param(body(b'{"half": ', "application/json"), id="half a json"),
        pytest.param(body(b"data: {half\n\n"), id="half an event"),
        pytest.param(body(b"<html>hello</html>", "text/html"), id="web page at 200"),
    ],
)
async def test_a_broken_answer_is_no_answer_and_may_pass(answer: Answer) -> None:
    error = await failure(answer)

    assert error.kind == "transient"
    assert error.message


async def test_only_the_second_try_counts_after_a_drop_inside_a_call() -> None:
    async with served(dropped(READ), stream(READ)) as (model, endpoint):
        retries: list[Retry] = []
        governor = Governor(model, FakeClock())
        reply = await governor.complete(request_for(), on_retry=retries.append)

    assert reply.content == [READ]
    assert not reply.broken_calls
    assert len(retries) == 1
    assert endpoint.bodies[0] == endpoint.bodies[1]


async def test_text_of_a_broken_try_is_never_joined_with_the_next() -> None:
    async with served(dropped(text("first half"), READ), stream(text("all of it"))) as (
        model,
        _,
    ):
        reply = await ask(Governor(model, FakeClock()))

    assert reply.content == [text("all of it")]


# ---- time ---------------------------------------------------------------------------


async def test_pings_for_ever_do_not_hold_a_call_beyond_its_limit() -> None:
    begun = events_of(message(text("x")))[:2]
    error = await failure(raw(*begun, ending="ping"), call_s=0.15, silence_s=9)

    assert error.detail == "call_s"
    assert "(`limits.call_s`)" in error.message
    assert error.is_retryable


async def test_pings_do_not_break_a_silence() -> None:
    begun = events_of(message(text("x")))[:2]
    error = await failure(raw(*begun, ending="ping"), call_s=9, silence_s=0.1)

    assert error.detail == "silence_s"
    assert "(`limits.silence_s`)" in error.message


async def test_progress_is_told_for_what_says_something_and_not_for_pings() -> None:
    told: list[None] = []
    begun = events_of(message(text("x")))[:2]
    request = replace(
        request_for(call_s=0.15, silence_s=9), on_progress=lambda: told.append(None)
    )

    async with served(raw(*begun, ending="ping"), raw(ending="ping")) as (model, _):
        for _ in range(2):
            with pytest.raises(ModelError):
                await model.complete(request, on_retry=lambda _retry: None)

    # Both events may come in one piece; of the second answer nothing comes.
    assert 1 <= len(told) <= 2


@pytest.mark.parametrize(
    "answer",
    [raw(ending="hang"), dropped(READ, ending="hang")],
    ids=["before the first byte", "in the middle"],
)
async def test_silence_ends_a_call(answer: Answer) -> None:
    error = await failure(answer, call_s=9, silence_s=0.1)

    assert error.detail == "silence_s"
    assert error.is_retryable


async def test_a_whole_reply_counts_though_the_connection_stays_open() -> None:
    events = events_of(message(text("done")))
    async with served(raw(*events, ending="hang")) as (model, _):
        reply = await ask(model, silence_s=0.1)

    assert reply.content == [text("done")]


@pytest.mark.parametrize("answer", [raw(ending="hang"), dropped(READ, ending="hang")])
async def test_cancelling_closes_the_connection(answer: Answer) -> None:
    async with served(answer) as (model, endpoint):
        with anyio.move_on_after(0.08) as scope:
            await ask(model)
        assert scope.cancelled_caught
        with anyio.fail_after(2):
            await endpoint.left.wait()


async def test_a_closed_model_can_be_closed_again() -> None:
    async with served(stream(text("x"))) as (model, _):
        await ask(model)
        await model.aclose()
        await model.aclose()


# ---- addresses and credentials ------------------------------------------------------


async def test_nobody_at_the_address_may_pass_and_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    model = AnthropicModel(api_key="k", base_url=f"http://127.0.0.1:{port}")
    with pytest.raises(ModelError, match=f"nobody answers at .*:{port} ") as caught:
        await ask(model)
    await model.aclose()

    assert caught.value.kind == "transient"


async def test_an_address_that_is_none_will_not_pass() -> None:
    model = AnthropicModel(api_key="k", base_url="localhost:8000")
    with pytest.raises(ModelError) as caught:
        await ask(model)
    await model.aclose()

    assert caught.value.kind == "invalid"


@pytest.fixture
def no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_PROFILE",
        "ANTHROPIC_CONFIG_DIR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("no_credentials")
async def test_without_a_key_the_way_out_is_told() -> None:
    async with FakeEndpoint([]) as endpoint:
        model = AnthropicModel(base_url=endpoint.url)
        with pytest.raises(ModelError, match=r"ANTHROPIC_API_KEY.*offline") as caught:
            await ask(model)
        await model.aclose()

    assert caught.value.kind == "auth"
    assert endpoint.requests == []


@pytest.mark.usefixtures("no_credentials")
@pytest.mark.parametrize("name", ["", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_settings_find_credentials_where_the_sdk_finds_them(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name:
        monkeypatch.setenv(name, "key-for-tests")

    with Anthropic() as client:
        found = (client.api_key, client.auth_token, client.credentials)

    assert has_credentials(os.environ) == any(each is not None for each in found)
    assert has_credentials(os.environ) == bool(name)


@pytest.mark.usefixtures("no_credentials")
def test_a_profile_that_cannot_be_read_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "no-such-profile")

    with pytest.raises(ModelError) as caught:
        AnthropicModel()
    assert caught.value.kind == "auth"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (httpx2.ReadError("reset"), "transient"),
        (httpx2.ReadTimeout("slow"), "transient"),
        (httpx2.RemoteProtocolError("half"), "transient"),
        (aiohttp.ClientPayloadError("half"), "transient"),
        (ConnectionResetError("reset"), "transient"),
        (TimeoutError("slow"), "transient"),
        (AssertionError("no message"), "transient"),
        (ValueError("not JSON"), "transient"),
        (httpx2.UnsupportedProtocol("no scheme"), "invalid"),
        (CredentialsError("no file"), "auth"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_comes_out_of_the_transport_is_classed(
    error: Exception, kind: str
) -> None:
    assert _classify(error, NOW).kind == kind


def test_a_bug_is_not_taken_for_a_failed_call() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        _classify(TypeError("got an unexpected keyword argument"), NOW)


def test_nothing_but_this_module_loads_the_sdk() -> None:
    code = (
        "import sys, orchestrator.models.choose, orchestrator.models.stream, "
        "orchestrator.models.retry, orchestrator.testing; "
        "sys.exit(any(n in sys.modules for n in ('anthropic', 'aiohttp', 'httpx2')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
