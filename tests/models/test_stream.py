"""Putting a reply together from its events, without any network."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
from fake_endpoint import events_of, message, text, thinking, tool_use
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.errors import ModelError
from orchestrator.models.base import CacheMiss, Reply, Usage
from orchestrator.models.sse import EventSplitter
from orchestrator.models.stream import Accumulator, whole_reply


def accumulated(events: list[dict[str, Any]]) -> Reply:
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.reply()


def wire(events: list[dict[str, Any]], line_end: bytes = b"\n") -> bytes:
    return b"".join(
        b"event: "
        + event["type"].encode()
        + line_end
        + b"data: "
        + orjson.dumps(event)
        + 2 * line_end
        for event in events
    )


def calls_in(raw_json: str, *, stop_reason: str = "tool_use") -> Reply:
    events = events_of(message(tool_use("t1", "write_file"), stop_reason=stop_reason))
    stop = next(n for n, e in enumerate(events) if e["type"] == "content_block_stop")
    delta = {"type": "input_json_delta", "partial_json": raw_json}
    events.insert(stop, {"type": "content_block_delta", "index": 0, "delta": delta})
    return accumulated(events)


# ---- order and bytes of blocks ------------------------------------------------------

INTERLEAVED = (
    thinking("first I look", "sig-A" * 40),
    text("I will read it."),
    thinking("then I think", "sig-B" * 40),
    tool_use("t1", "read_file", path="a.py"),
)


def test_interleaved_thinking_comes_back_byte_for_byte() -> None:
    reply = accumulated(events_of(message(*INTERLEAVED)))

    assert orjson.dumps(reply.content) == orjson.dumps(list(INTERLEAVED))


def test_unknown_blocks_and_deltas_survive() -> None:
    odd = {"type": "brand_new_block", "payload": {"deep": [1, None]}, "data": "x"}
    events = events_of(message(odd, text("and text")))
    events.insert(
        3,
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "brand_new_delta", "extra": "kept"},
        },
    )

    reply = accumulated([{"type": "brand_new_event"}, *events])

    assert reply.content == [{**odd, "extra": "kept"}, text("and text")]


def test_citations_are_collected_in_order() -> None:
    events = events_of(message({**text("said"), "citations": None}))
    for number in (2, 1):
        delta = {"type": "citations_delta", "citation": {"start": number}}
        events.insert(-3, {"type": "content_block_delta", "index": 0, "delta": delta})

    assert accumulated(events).content[0]["citations"] == [{"start": 2}, {"start": 1}]


def test_redacted_thinking_has_no_deltas_and_stays() -> None:
    block = {"type": "redacted_thinking", "data": "b64=="}

    assert accumulated(events_of(message(block, text("x")))).content[0] == block


@pytest.mark.parametrize("blank", ["", " ", "\n\n"])
def test_an_empty_text_block_never_enters_a_reply(blank: str) -> None:
    whole = message(text(blank), tool_use("t1", "grep", pattern="x"))

    for reply in (accumulated(events_of(whole)), whole_reply(orjson.dumps(whole))):
        assert [block["type"] for block in reply.content] == ["tool_use"]


def test_blocks_decide_where_end_turn_comes_with_a_call() -> None:
    whole = message(
        text(""), tool_use("t1", "grep", pattern="x"), stop_reason="end_turn"
    )
    reply = accumulated(events_of(whole))

    assert [block["id"] for block in reply.content] == ["t1"]
    assert reply.stop_reason == "end_turn"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param((), id="nothing at all"),
        pytest.param((thinking("hm", "s"),), id="thinking alone"),
        pytest.param((text("(empty content)"),), id="placeholder text"),
    ],
)
def test_an_answer_without_substance_is_a_reply_as_it_is(content: Any) -> None:
    reply = accumulated(events_of(message(*content, stop_reason="tool_use")))

    assert reply.content == list(content)
    assert reply.stop_reason == "tool_use"


@settings(max_examples=40, deadline=None)
@given(piece=st.integers(1, 30))
def test_the_size_of_the_pieces_does_not_matter(piece: int) -> None:
    whole = message(
        *INTERLEAVED, text("né 世界 👩‍🚒"), tool_use("t2", "x", a={"b": [1]})
    )

    assert accumulated(events_of(whole, piece=piece)).content == whole["content"]


# ---- input of calls -----------------------------------------------------------------


def test_a_call_without_input_pieces_has_an_empty_input() -> None:
    reply = accumulated(events_of(message(tool_use("t1", "list_dir"))))

    assert reply.content[0]["input"] == {}
    assert not reply.broken_calls


def test_input_that_comes_with_the_start_of_the_block_is_kept() -> None:
    events = events_of(message(tool_use("t1", "read_file")))
    events[2]["content_block"]["input"] = {"path": "a.py"}

    assert accumulated(events).content[0]["input"] == {"path": "a.py"}


@pytest.mark.parametrize(
    "raw_json", ['{"path": "a', "[1]", "null", '"text"', "{'a': 1}", '{"a": NaN}']
)
def test_input_that_is_no_object_is_told_and_never_guessed(raw_json: str) -> None:
    reply = calls_in(raw_json)

    assert reply.broken_calls == {"t1": raw_json}
    assert reply.content[0]["input"] == {}
    assert not reply.cut_calls


def test_the_text_of_a_broken_input_is_bounded() -> None:
    assert len(calls_in('{"a": "' + "x" * 100_000).broken_calls["t1"]) <= 2000


@pytest.mark.parametrize("deep", [150, 254, 300, 900, 1100, 100_000])
def test_input_nested_beyond_reason_is_broken_not_a_crash(deep: int) -> None:
    reply = calls_in('{"a":' * deep + "1" + "}" * deep)

    assert reply.broken_calls["t1"].startswith('{"a":')
    assert reply.content[0]["input"] == {}


def test_input_nested_within_reason_is_kept() -> None:
    reply = calls_in('{"a":' * 90 + "1" + "}" * 90)

    assert not reply.broken_calls


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_call_at_the_output_limit_is_cut_though_its_input_looks_whole(
    reason: str,
) -> None:
    reply = calls_in('{"path": "a.txt"}', stop_reason=reason)

    assert reply.cut_calls == {"t1"}
    assert not reply.broken_calls


def test_half_an_input_at_the_output_limit_is_cut_not_broken() -> None:
    reply = calls_in('{"path": "a', stop_reason="max_tokens")

    assert reply.cut_calls == {"t1"}
    assert reply.content[0]["input"] == {}
    assert not reply.broken_calls


def test_only_the_last_call_is_cut() -> None:
    first, second = tool_use("t1", "a", x=1), tool_use("t2", "b", y=2)
    whole = message(first, second, text(" "), stop_reason="max_tokens")

    assert accumulated(events_of(whole)).cut_calls == {"t2"}


def test_whole_calls_before_a_cut_text_stay_whole() -> None:
    whole = message(tool_use("t1", "a", x=1), text("and the"), stop_reason="max_tokens")

    assert not accumulated(events_of(whole)).cut_calls


def test_halves_of_a_character_in_two_deltas_are_put_together() -> None:
    whole = wire(events_of(message(text("ABC")), piece=1))
    for letter, escape in ((b"A", b"\\ud83d"), (b"B", b"\\ude00"), (b"C", b"\\ud83d")):
        whole = whole.replace(b'"' + letter + b'"', b'"' + escape + b'"')

    (block,) = accumulated(EventSplitter().feed(whole)).content

    assert block["text"] == "😀\ufffd"


def test_a_lone_surrogate_in_an_input_is_replaced() -> None:
    reply = calls_in('{"name": "\\ud83d!"}')

    assert reply.content[0]["input"] == {"name": "\ufffd!"}
    orjson.dumps(reply.content)


# ---- usage --------------------------------------------------------------------------


def test_usage_of_the_end_replaces_only_what_it_names() -> None:
    whole = message(
        text("x"), usage={"input_tokens": 100, "cache_read_input_tokens": 50}
    )

    assert accumulated(events_of(whole)).usage == Usage(
        input_tokens=100, cache_read_tokens=50, output_tokens=20
    )


@pytest.mark.parametrize(
    ("told", "miss"),
    [
        pytest.param(None, None, id="nothing was missed"),
        pytest.param({"cache_miss_reason": None}, None, id="not known yet"),
        pytest.param(
            {
                "cache_miss_reason": {
                    "type": "messages_changed",
                    "cache_missed_input_tokens": 4096,
                }
            },
            CacheMiss("messages_changed", 4096),
            id="a change",
        ),
        pytest.param(
            {"cache_miss_reason": {"type": "unavailable"}},
            CacheMiss("unavailable"),
            id="no diagnosis",
        ),
        pytest.param({"cache_miss_reason": {"type": 7}}, None, id="nonsense"),
        pytest.param(["what"], None, id="more nonsense"),
    ],
)
def test_why_the_cache_was_missed_is_taken_from_the_head_of_the_message(
    told: Any, miss: CacheMiss | None
) -> None:
    whole = {**message(text("x")), "diagnostics": told}

    assert accumulated(events_of(whole)).cache_miss == miss
    assert whole_reply(orjson.dumps(whole)).cache_miss == miss


def test_each_class_of_token_is_told_once() -> None:
    told = {
        "input_tokens": 7,
        "cache_creation_input_tokens": 30,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 10,
            "ephemeral_1h_input_tokens": 20,
        },
        "cache_read_input_tokens": 300,
        "output_tokens": 40,
        "output_tokens_details": {"thinking_tokens": 25},
    }
    usage = whole_reply(orjson.dumps(message(text("x"), usage=told))).usage

    assert usage == Usage(7, 10, 20, 300, 40, 25)
    assert usage.context_tokens == 337
    assert usage.limited_tokens == 77


def test_writes_without_parts_are_of_five_minutes() -> None:
    told = {"cache_creation_input_tokens": 30}
    usage = whole_reply(orjson.dumps(message(text("x"), usage=told))).usage

    assert (usage.cache_write_5m_tokens, usage.cache_write_1h_tokens) == (30, 0)


def test_cache_reads_of_several_replies_add_up() -> None:
    reads = [
        accumulated(
            events_of(message(text("x"), usage={"cache_read_input_tokens": read}))
        ).usage.cache_read_tokens
        for read in (100, 300, 200)
    ]

    assert sum(reads) == 600


def test_a_service_that_does_not_count_is_told_apart_from_zero() -> None:
    whole = message(text("x"))
    del whole["usage"]

    assert not whole_reply(orjson.dumps(whole)).usage.known


# ---- broken streams -----------------------------------------------------------------


def test_a_stream_without_its_end_is_no_reply() -> None:
    events = events_of(message(text("half"), tool_use("t1", "x", a=1)))
    accumulator = Accumulator()
    for event in events[:-1]:
        accumulator.feed(event)

    with pytest.raises(ModelError, match="ended before") as caught:
        accumulator.reply()
    assert caught.value.is_retryable


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limited"),
        ("api_error", "transient"),
        ("timeout_error", "transient"),
        ("invalid_request_error", "invalid"),
        ("authentication_error", "auth"),
        ("never_heard_of", "transient"),
    ],
)
def test_an_error_inside_the_stream_is_classed_by_its_type(
    kind: str, expected: str
) -> None:
    event = {"type": "error", "error": {"type": kind, "message": "no"}}

    with pytest.raises(ModelError) as caught:
        Accumulator().feed(event)
    assert caught.value.kind == expected


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(
            {"type": "content_block_delta", "index": 3, "delta": {}}, id="no such block"
        ),
        pytest.param({"type": "content_block_start", "index": 0}, id="no block"),
        pytest.param({"type": "message_start"}, id="no message"),
        pytest.param(
            {"type": "content_block_start", "index": [0], "content_block": text("x")},
            id="a place that is a list",
        ),
        pytest.param(
            {"type": "message_start", "message": {"content": 5}},
            id="content that is a number",
        ),
    ],
)
def test_events_that_make_no_sense_break_the_try(event: dict[str, Any]) -> None:
    with pytest.raises(ModelError) as caught:
        Accumulator().feed(event)
    assert caught.value.is_retryable


DEEP: dict[str, Any] = {}
for _ in range(120):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    "block",
    [
        pytest.param({"type": "text", "text": 5}, id="text is a number"),
        pytest.param({"type": "text", "text": ["x"]}, id="text is a list"),
        pytest.param({"type": 5}, id="type is a number"),
        pytest.param({"text": "x"}, id="no type"),
        pytest.param(
            {"type": "tool_result", "tool_use_id": "t1", "content": "x"},
            id="a result of its own",
        ),
        pytest.param({"type": "brand_new", "x": DEEP}, id="nested beyond reason"),
    ],
)
def test_a_block_that_cannot_go_back_breaks_the_try(block: dict[str, Any]) -> None:
    whole = message(text("x"))
    whole["content"].append(block)

    with pytest.raises(ModelError) as caught:
        whole_reply(orjson.dumps(whole))
    assert caught.value.is_retryable


@pytest.mark.parametrize("name", [None, "", 5])
def test_a_call_without_a_name_is_still_a_call(name: Any) -> None:
    block = {"type": "tool_use", "id": "t1", "name": name, "input": {}}

    [call] = whole_reply(orjson.dumps(message(block))).content

    assert call["name"] == str(name or "")


def test_a_cache_mark_in_a_reply_is_not_sent_back() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    whole = message({**text("x"), **mark}, {**tool_use("t1", "x"), **mark})

    reply = whole_reply(orjson.dumps(whole))

    assert reply.content == [text("x"), tool_use("t1", "x")]


@pytest.mark.parametrize("told", ["1e999", "1e300", "-5", "true", '"12"', "null"])
def test_a_count_of_tokens_that_makes_no_sense_does_not_count(told: str) -> None:
    body = orjson.dumps(message(text("x"), usage={"output_tokens": 777}))

    usage = whole_reply(body.replace(b"777", told.encode())).usage

    assert usage.output_tokens <= 1
    assert usage.input_tokens == 100


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("stop", "end_turn"),
        ("tool_calls", "tool_use"),
        ("length", "max_tokens"),
        ("content_filter", "refusal"),
        ("end_turn", "end_turn"),
        ("something_new", "something_new"),
    ],
)
def test_stop_reasons_of_other_servers_are_understood(told: str, meant: str) -> None:
    reply = accumulated(events_of(message(text("x"), stop_reason=told)))

    assert reply.stop_reason == meant


def test_a_whole_reply_need_not_say_why_it_stopped() -> None:
    events = events_of(message(text("x"), tool_use("t1", "grep", pattern="x")))
    events[-2]["delta"]["stop_reason"] = None

    reply = accumulated(events)

    assert reply.stop_reason is None
    assert [block["type"] for block in reply.content] == ["text", "tool_use"]


@pytest.mark.parametrize("content", [[], [text("x")]])
def test_one_that_says_nothing_or_nonsense_of_it_is_broken(
    content: list[dict[str, Any]],
) -> None:
    events = events_of(message(*content))
    events[-2]["delta"]["stop_reason"] = 7 if content else None

    with pytest.raises(ModelError, match="why it stopped"):
        accumulated(events)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b"<!doctype html><h1>Gateway</h1>", "web page"),
        (b"[]", "no message"),
        (b'{"type": "message"}', "no message"),
        (b'{"type": "message", "content": ["x"]}', "no message"),
        (b"{half", "not JSON"),
    ],
)
def test_a_body_that_is_no_message_is_told_apart(data: bytes, expected: str) -> None:
    with pytest.raises(ModelError, match=expected) as caught:
        whole_reply(data)
    assert caught.value.kind == "transient"


def test_an_error_body_is_an_error_not_a_message() -> None:
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}

    with pytest.raises(ModelError) as caught:
        whole_reply(orjson.dumps(told))
    assert (caught.value.kind, caught.value.message) == ("overloaded", "later")


# ---- splitting ----------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 1400), max_size=12),
    line_end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_events_are_the_same_wherever_the_bytes_are_cut(
    cuts: list[int], line_end: bytes
) -> None:
    events = events_of(message(text("né 世界"), tool_use("t", "x", a="\r\n")))
    data = b": a comment" + 2 * line_end + wire(events, line_end)
    places = sorted({0, len(data), *(cut % len(data) for cut in cuts)})
    splitter = EventSplitter()

    found = []
    for first, last in itertools.pairwise(places):
        found += splitter.feed(data[first:last])

    assert found + splitter.end() == events


def test_data_over_several_lines_is_one_event() -> None:
    assert EventSplitter().feed(b'data: {"type":\ndata: "ping"}\n\n') == [
        {"type": "ping"}
    ]


def test_the_name_line_stands_in_for_a_missing_type() -> None:
    assert EventSplitter().feed(b"event: ping\ndata: {}\n\n") == [{"type": "ping"}]


def test_the_end_mark_of_other_apis_is_no_event() -> None:
    assert EventSplitter().feed(b"data: [DONE]\n\ndata:\n\n") == []


def test_a_last_event_without_its_empty_line_counts_if_it_is_whole() -> None:
    splitter = EventSplitter()
    splitter.feed(b'data: {"type": "message_stop"}')

    assert splitter.end() == [{"type": "message_stop"}]


def test_half_an_event_at_the_end_is_no_event() -> None:
    splitter = EventSplitter()
    splitter.feed(b'data: {"type": "message_st')

    assert splitter.end() == []


@pytest.mark.parametrize("data", [b"{no json}", b"[1]"])
def test_an_event_that_is_no_object_breaks_the_try(data: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        EventSplitter().feed(b"data: " + data + b"\n\n")
    assert caught.value.is_retryable


def test_what_came_instead_of_events_is_kept() -> None:
    splitter = EventSplitter()
    splitter.feed(b'{"type":\n')
    splitter.feed(b' "message"}')

    assert splitter.head == b'{"type":\n "message"}'


def test_zeros_at_the_end_take_nothing_back() -> None:
    counted = {
        "input_tokens": 900,
        "cache_creation_input_tokens": 3000,
        "cache_read_input_tokens": 5000,
        "cache_creation": {
            "ephemeral_5m_input_tokens": 1000,
            "ephemeral_1h_input_tokens": 2000,
        },
    }
    events = events_of(message(text("hi"), usage={**counted, "output_tokens": 1}))
    [end] = [each for each in events if each["type"] == "message_delta"]
    none = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    zeros = {**dict.fromkeys(counted, 0), "cache_creation": none}
    end["usage"] = {**zeros, "output_tokens": 20}

    usage = accumulated(events).usage

    assert usage.context_tokens == 8900
    assert (usage.cache_read_tokens, usage.output_tokens) == (5000, 20)
    assert usage.known
