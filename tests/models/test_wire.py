"""What the endpoint model makes of bytes that no decent server would send."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import anyio
import orjson
import pytest
from anthropic import AsyncAnthropic
from fake_endpoint import events_of, message, text, tool_use
from raw_endpoint import RawEndpoint, Wire, chunked, head, sse, whole

from orchestrator.errors import ModelError
from orchestrator.models.anthropic import AnthropicModel, _LeanHttp
from orchestrator.models.base import ModelRequest, Reply

CALL = tool_use("toolu_1", "write", path="a.md", text="né 世界 " * 40)
EVENTS = events_of(message(text("I write."), CALL))
DATA = sse(*EVENTS)
BEGUN = sse(*EVENTS[:12])
"""Ends inside the input of the call."""
ANSWER = [text("I write."), CALL]
NOTHING: list[dict[str, Any]] = []


def request_for(**limits: Any) -> ModelRequest:
    asked = [{"role": "user", "content": [text("go")]}]
    sent = {"model": "m", "max_tokens": 500, "messages": asked, "stream": True}
    made = ModelRequest("m", [], [], asked, 500, orjson.dumps(sent), 5, 5)
    return replace(made, **limits)


async def ask(*wires: Wire, calls: int = 1, **limits: Any) -> list[Reply]:
    async with RawEndpoint(wires) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        try:
            request = request_for(**limits)
            return [
                await model.complete(request, on_retry=lambda _retry: None)
                for _ in range(calls)
            ]
        finally:
            await model.aclose()


async def failure(*pieces: bytes, **options: Any) -> ModelError:
    limits = {k: options.pop(k) for k in ("call_s", "silence_s") if k in options}
    with pytest.raises(ModelError) as caught:
        await ask(Wire(pieces, **options), **limits)
    return caught.value


# ---- whole answers in odd clothes ----------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([whole(DATA)], id="a length"),
        pytest.param([head(), DATA], id="no length"),
        pytest.param([head().replace(b"1.1", b"1.0"), DATA], id="HTTP/1.0"),
        pytest.param(
            [head(), *(DATA[at : at + 1] for at in range(len(DATA)))], id="byte by byte"
        ),
        pytest.param([head(), DATA.replace(b"\n", b"\r\n")], id="CRLF"),
        pytest.param([head(), b"\xef\xbb\xbf" + DATA], id="a BOM"),
        pytest.param(
            [head(), b"\xef", b"\xbb\xbf", DATA.partition(b"\n")[2]],
            id="a BOM in pieces, before the data",
        ),
        pytest.param([head(), b": hi\nid: 5\nretry: 9\n\n", DATA], id="comments"),
        pytest.param([head(content_type="text/html"), DATA], id="called a web page"),
        pytest.param([head(content_type="application/json"), DATA], id="called JSON"),
        pytest.param([head(content_type=""), DATA], id="without a type"),
        pytest.param(
            [whole(orjson.dumps(message(*ANSWER)), content_type="text/plain")],
            id="no stream",
        ),
        pytest.param(
            [whole(b"\xef\xbb\xbf" + orjson.dumps(message(*ANSWER)))],
            id="no stream, with a BOM",
        ),
        pytest.param(
            [whole(gzip.compress(DATA), content_encoding="gzip")], id="packed, unasked"
        ),
        pytest.param(
            [b"HTTP/1.1 100 Continue\r\n\r\n" * 3, whole(DATA)], id="after 100 Continue"
        ),
        pytest.param([head(content_length="9999999"), DATA], id="a length too great"),
        pytest.param([head(), DATA, b"\x00\xff not an event"], id="garbage behind"),
        pytest.param([head(), DATA + b"data: {half\n\n"], id="half an event behind"),
        pytest.param([head(), DATA + DATA], id="a second message behind"),
        pytest.param(
            [head(), DATA + sse({"type": "error", "error": {"type": "api_error"}})],
            id="an error behind",
        ),
        pytest.param([head(), DATA.rstrip(b"\n")], id="no line end at the end"),
    ],
)
async def test_what_is_a_whole_answer_is_taken(pieces: list[bytes]) -> None:
    [reply] = await ask(Wire(pieces))

    assert reply.content == ANSWER
    assert reply.stop_reason == "tool_use"


async def test_a_reset_behind_the_end_changes_nothing() -> None:
    [reply] = await ask(Wire([head(), DATA], ending="reset"))

    assert reply.content == ANSWER


async def test_a_broken_chunk_is_told_from_one_behind_the_end() -> None:
    broken = [head(transfer_encoding="chunked"), chunked(BEGUN), b"zz\r\nxx"]
    behind = [head(transfer_encoding="chunked"), chunked(DATA), b"zz\r\nxx"]

    # The transport drops the connection and tells nobody, so that silence ends it.
    error = await failure(*broken, silence_s=0.1)
    [reply] = await ask(Wire(behind), silence_s=0.1)

    assert (error.kind, error.begun) == ("transient", True)
    assert reply.content == ANSWER


async def test_noise_behind_the_end_does_not_hold_the_answer_back() -> None:
    noise = itertools.chain([head(), DATA], itertools.repeat(sse({"type": "ping"})))

    [reply] = await ask(Wire(noise, pause_s=0.01), silence_s=0.1)

    assert reply.content == ANSWER


async def test_what_is_left_on_a_connection_is_not_the_next_answer() -> None:
    other = whole(sse(*events_of(message(text("not asked for")))))
    wires = [Wire([whole(DATA) + other], ending="keep"), Wire([whole(DATA)])]

    replies = await ask(*wires, calls=2)

    assert [reply.content for reply in replies] == [ANSWER, ANSWER]


# ---- what is no answer ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("pieces", "begun"),
    [
        pytest.param([], False, id="closed at once"),
        pytest.param([b"HTTP/1.1 200 OK\r\ncontent-"], False, id="half the headers"),
        pytest.param([head()], False, id="headers alone"),
        pytest.param([whole(b"")], False, id="an empty 200"),
        pytest.param([head("204 No Content")], False, id="204"),
        pytest.param([head(), sse(EVENTS[0])[:40]], False, id="half an event"),
        pytest.param([head(), BEGUN], True, id="ends inside a call"),
        pytest.param([head(), sse(*EVENTS[:-1])], True, id="no message_stop"),
        pytest.param([head(content_length="600"), DATA], True, id="a length too small"),
        pytest.param([head(content_length="9999"), BEGUN], True, id="a length too big"),
        pytest.param(
            [head(transfer_encoding="chunked"), chunked(BEGUN)[:-9]],
            True,
            id="half a chunk",
        ),
        pytest.param(
            [whole(gzip.compress(DATA)[:-40], content_encoding="gzip")],
            True,
            id="half a packed answer",
        ),
        pytest.param(
            [whole(b"not packed", content_encoding="gzip")], False, id="not packed"
        ),
        pytest.param([head(), BEGUN + b"data: {no json}\n\n"], True, id="no JSON"),
        pytest.param([head(), BEGUN + b"data: [1, 2]\n\n"], True, id="no object"),
        pytest.param([head(), BEGUN + b'data: "\xff"\n\n'], True, id="no UTF-8"),
        pytest.param([head(), BEGUN + DATA], True, id="tried again on the way"),
        pytest.param([whole(b'{"content": [{"ty')], True, id="half a JSON"),
        pytest.param([whole(b'{"choices": []}')], False, id="of another API"),
        pytest.param([whole(b"[1, 2]")], False, id="a JSON of something else"),
        pytest.param([whole(b"[" * 100_000)], False, id="a JSON nested beyond reason"),
        pytest.param([whole(b"\x00\x01\x02")], False, id="bytes of no kind"),
        pytest.param([b"SSH-2.0-OpenSSH_9.6\r\n"], False, id="another protocol"),
        pytest.param([b"\x16\x03\x01\x02\x00\x01\x00"], False, id="TLS"),
        pytest.param([b"\x00" * 500], False, id="zeros"),
        pytest.param([b"HTTP/1.1 999 Odd\r\n\r\n"], False, id="a status of no kind"),
        pytest.param([b"HTTP/9.9 200 OK\r\n\r\n"], False, id="a version of no kind"),
        pytest.param([head(content_length="-5"), DATA], False, id="a negative length"),
        pytest.param([head(content_length="5, 6"), DATA], False, id="two lengths"),
        pytest.param([head("101 Switching"), DATA], False, id="another protocol told"),
        pytest.param([head() + b"no header\r\n\r\n"], False, id="lines of no kind"),
    ],
)
async def test_what_is_no_answer_may_pass_and_is_told(
    pieces: list[bytes], begun: bool
) -> None:
    error = await failure(*pieces)

    assert error.kind == "transient"
    assert error.message
    assert error.begun == begun


@pytest.mark.parametrize(
    ("pieces", "begun"),
    [
        pytest.param([], False, id="before headers"),
        pytest.param([head()], False, id="after headers"),
        pytest.param([head(), sse(EVENTS[0])[:40]], False, id="inside an event"),
        pytest.param([head(), BEGUN], True, id="inside a call"),
    ],
)
async def test_a_reset_may_pass(pieces: list[bytes], begun: bool) -> None:
    error = await failure(*pieces, ending="reset")

    assert (error.kind, error.begun) == ("transient", begun)


async def test_one_that_hangs_up_unread_may_pass() -> None:
    assert (await failure(reads=False)).kind == "transient"


async def test_a_server_that_speaks_no_tls_may_pass_and_is_named() -> None:
    async with RawEndpoint([Wire([whole(DATA)], reads=False)]) as endpoint:
        url = endpoint.url.replace("http:", "https:")
        model = AnthropicModel(api_key="key", base_url=url)
        with pytest.raises(ModelError, match=f"no TLS at {url}: is it http") as caught:
            await model.complete(request_for(), on_retry=lambda _retry: None)
        await model.aclose()

    assert caught.value.kind == "transient"


# ---- errors in all forms -------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (400, b'{"detail": "prompt is too long"}', "too_long", "prompt is too long"),
        (422, b'{"detail": [{"loc": ["x"], "msg": "no"}]}', "invalid", '"msg":"no"'),
        (401, b'{"error": "no such key"}', "auth", "no such key"),
        (429, b'{"message": "slow down"}', "rate_limited", "slow down"),
        (500, b'{"error": {"code": 7, "message": "oh"}}', "transient", "oh"),
        (503, b"<html><title>Back soon</title>", "transient", "a web page: Back soon"),
        (502, b"<center><b>Bad</b> gateway</center>", "transient", "Bad gateway"),
        (529, b"plain words", "overloaded", "plain words"),
        (400, b'"a text"', "invalid", "a text"),
        (400, b"[1, 2]", "invalid", "[1,2]"),
        (400, b'{"type": "error"}', "invalid", "error"),
        (400, b'{"error": {}}', "invalid", "{"),
        (500, b"", "transient", "status 500 without a message"),
        (500, b"\xff\xfe\x00", "transient", ""),
        (500, b"{half", "transient", "{half"),
    ],
)
async def test_an_error_is_told_in_whatever_form_it_comes(
    status: int, body: bytes, kind: str, words: str
) -> None:
    error = await failure(whole(body, f"{status} No", content_type="text/plain"))

    assert error.kind == kind
    assert words in error.message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(itertools.repeat(b"so wrong " * 7000), id="without end"),
        pytest.param([gzip.compress(b"so wrong " * 9_000_000)], id="packed, 80 MB"),
        pytest.param(itertools.repeat(b""), id="never"),
    ],
)
async def test_of_the_body_of_an_error_no_more_is_read_than_needed(
    body: Iterable[bytes],
) -> None:
    packed = {"content_encoding": "gzip"} if isinstance(body, list) else {}
    start = head("429 No", retry_after="7", **packed)
    async with RawEndpoint([Wire(itertools.chain([start], body))]) as endpoint:
        http = _LeanHttp()
        http.error_body_s = 0.1
        client = AsyncAnthropic(
            api_key="key", base_url=endpoint.url, http_client=http, max_retries=0
        )
        model = AnthropicModel(client)
        tracemalloc.start()
        with pytest.raises(ModelError) as caught:
            await model.complete(request_for(), on_retry=lambda _retry: None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        await model.aclose()

    error = caught.value
    assert (error.kind, error.retry_after_s) == ("rate_limited", 7)
    assert peak < 8_000_000


async def test_an_error_whose_body_breaks_off_counts_by_its_status() -> None:
    error = await failure(head("529 No", content_length="500"), b"half", ending="reset")

    assert error.kind == "overloaded"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_is_sent_on_to_where_an_endpoint_points(status: int) -> None:
    async with RawEndpoint([Wire([whole(DATA)])]) as other:
        target = f"{other.url}/v1/messages"
        error = await failure(whole(b"", f"{status} There", location=target))

        assert other.heads == []
    assert error.kind == "invalid"
    assert target in error.message
    assert "ANTHROPIC_BASE_URL" in error.message


@pytest.mark.parametrize("target", ["", "http://[", "\x7f", "//"])
async def test_a_redirect_to_nowhere_is_no_crash(target: str) -> None:
    error = await failure(whole(b"", "302 There", location=target))

    assert error.kind in ("invalid", "transient")


# ---- without end ---------------------------------------------------------------------

PING = sse({"type": "ping"})
ODD = sse({"type": "still_there", "for": "now"})


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param(PING, id="pings"),
        pytest.param(ODD, id="unknown events"),
        pytest.param(b": still there\n\n", id="comments"),
        pytest.param(b"data: {", id="bytes that make no event"),
    ],
)
@pytest.mark.parametrize("begun", [b"", BEGUN], ids=["from the start", "in a call"])
async def test_what_says_nothing_is_silence(endless: bytes, begun: bytes) -> None:
    pieces = itertools.chain([head(), begun], itertools.repeat(endless))

    with pytest.raises(ModelError) as caught:
        await ask(Wire(pieces, pause_s=0.005), call_s=9, silence_s=0.1)

    assert caught.value.detail == "silence_s"


@pytest.mark.parametrize(
    "endless",
    [
        pytest.param([b"HTTP/1.1 200 OK\r\n", b"x-more: y\r\n"], id="headers"),
        pytest.param([b"HTTP/1.1 200 OK\r\nx: ", b"y" * 500], id="one header"),
        pytest.param([b"", b"HTTP/1.1 100 Continue\r\n\r\n"], id="100 Continue"),
        pytest.param([b"HTTP/1.1 ", b"2"], id="a status"),
    ],
)
async def test_a_beginning_without_end_ends(endless: list[bytes]) -> None:
    pieces = itertools.chain(endless[:1], itertools.repeat(endless[1]))

    with pytest.raises(ModelError) as caught:
        await ask(Wire(pieces, pause_s=0.001), call_s=9, silence_s=0.1)

    assert caught.value.kind == "transient"


async def test_a_trickle_of_tokens_ends_with_the_time_of_the_call() -> None:
    delta = {"type": "text_delta", "text": "a"}
    token = sse({"type": "content_block_delta", "index": 0, "delta": delta})
    pieces = itertools.chain([head(), sse(*EVENTS[:3])], itertools.repeat(token))

    with pytest.raises(ModelError) as caught:
        await ask(Wire(pieces, pause_s=0.01), call_s=0.2, silence_s=0.1)

    assert caught.value.detail == "call_s"
    assert caught.value.begun


async def test_silence_on_an_open_connection_ends() -> None:
    error = await failure(ending="hold", silence_s=0.05)

    assert error.detail == "silence_s"


def _deltas() -> Iterable[bytes]:
    delta = {"type": "text_delta", "text": "a"}
    token = sse({"type": "content_block_delta", "index": 0, "delta": delta})
    return itertools.chain([head(), sse(*EVENTS[:3])], itertools.repeat(token * 400))


def _packed() -> Iterable[bytes]:
    return [whole(gzip.compress(b"a" * 200_000_000, 1), content_encoding="gzip")]


@pytest.mark.slow
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(_deltas, id="tiny deltas"),
        pytest.param(
            lambda: itertools.chain(
                [head(), b"data: "], itertools.repeat(b"a" * 60_000)
            ),
            id="one line",
        ),
        pytest.param(
            lambda: itertools.chain([head(), BEGUN], itertools.repeat(b"\n:" * 30_000)),
            id="comments",
        ),
        pytest.param(_packed, id="a bomb"),
    ],
)
async def test_an_answer_beyond_all_reason_is_given_up_in_bounded_memory(
    pieces: Any,
) -> None:
    given = pieces()
    tracemalloc.start()
    try:
        with pytest.raises(ModelError) as caught:
            await ask(Wire(given))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert caught.value.detail == "too_big"
    assert peak < 25_000_000


# ---- halves --------------------------------------------------------------------------


async def halves(*pieces: list[bytes]) -> list[str]:
    wires = [Wire([head(), *each]) for each in pieces]
    found = []
    async with RawEndpoint(wires) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        for _ in wires:
            with pytest.raises(ModelError) as caught:
                await model.complete(request_for(), on_retry=lambda _retry: None)
            found.append(caught.value.half)
        await model.aclose()
    return found


async def test_equal_halves_are_known_by_what_was_said_whatever_their_pieces() -> None:
    said = "".join(
        each["delta"].get("partial_json", "") for each in EVENTS[:12] if "delta" in each
    )
    small = [
        {"type": "content_block_delta", "index": 1, "delta": delta}
        for delta in ({"type": "input_json_delta", "partial_json": p} for p in said)
    ]
    again = events_of(message(text("I write."), {**CALL, "id": "toolu_2"}), piece=1)
    start = next(place for place, each in enumerate(again) if each.get("index") == 1)

    first, second, other = await halves(
        [BEGUN],
        [sse(*again[: start + 1], *small)],
        [BEGUN, sse(EVENTS[12])],
    )

    assert first
    assert first == second
    assert other != first


async def test_where_nothing_was_said_there_is_no_half() -> None:
    told = sse({"type": "error", "error": {"type": "overloaded_error"}})

    assert await halves([sse(EVENTS[0])], [BEGUN, told]) == ["", ""]


async def test_cancelling_a_call_closes_its_connection() -> None:
    async with RawEndpoint([Wire([head(), BEGUN], ending="hold")]) as endpoint:
        model = AnthropicModel(api_key="key", base_url=endpoint.url)
        with anyio.move_on_after(0.05) as scope:
            await model.complete(request_for(), on_retry=lambda _retry: None)
        await model.aclose()

    assert scope.cancelled_caught
    assert len(endpoint.heads) == 1


# ---- refusals in odd words -----------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        pytest.param(
            rb'{"detail":[{"msg":"bad input","input":"\ud83d"}]}',
            "bad input",
            id="half a character",
        ),
        pytest.param(
            b'{"detail":[{"msg":"bad input","input":%d}]}' % 10**30,
            "bad input",
            id="a great number",
        ),
        pytest.param(
            b'{"detail":[{"msg":"bad input","input":%s1%s}]}'
            % (b"[" * 300, b"]" * 300),
            "bad input",
            id="deep",
        ),
        pytest.param(
            b'{"detail":[{"msg":"bad input","input":%s1%s}]}'
            % (b"[" * 985, b"]" * 985),
            "",
            id="as deep as can be",
        ),
        pytest.param(b"[" * 5000 + b"]" * 5000, "[[[", id="nothing but depth"),
    ],
)
@pytest.mark.parametrize("status", ["400 Bad", "422 Odd", "500 Broken"])
async def test_a_refusal_in_odd_words_is_a_refusal(
    status: str, body: bytes, says: str
) -> None:
    error = await failure(whole(body, status=status, content_type="application/json"))

    assert error.kind == ("transient" if status == "500 Broken" else "invalid")
    assert says in error.message
    orjson.dumps(error.message)


@pytest.mark.parametrize("deep", [90, 150, 600, 1000, 1100, 100_000])
async def test_details_nested_beyond_reason_are_left_out(deep: int) -> None:
    body = orjson.dumps({**message(text("hi")), "stop_details": "here"})
    details = b'{"a":' * deep + b"1" + b"}" * deep
    wire = Wire([whole(body.replace(b'"here"', details))])

    if deep >= 1000:
        with pytest.raises(ModelError, match="is not JSON"):
            await ask(wire)
    else:
        [reply] = await ask(wire)
        assert reply.content == [text("hi")]
        assert (reply.stop_details is None) == (deep > 100)


async def test_a_bug_of_our_own_is_not_taken_for_a_bad_connection() -> None:
    def on_progress() -> None:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        await ask(Wire([whole(DATA)]), on_progress=on_progress)
