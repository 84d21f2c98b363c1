"""Events that do not come as they should: what is still an answer, and what is none."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
from fake_endpoint import events_of, message, text, thinking, tool_use
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.agent.stops import usable
from orchestrator.errors import ModelError
from orchestrator.models.base import Reply
from orchestrator.models.failures import failure
from orchestrator.models.shape import shape_problem
from orchestrator.models.stream import Accumulator

Event = dict[str, Any]
CALL = tool_use("t1", "read_file", path="a.py", note="né 世界")
ANSWER = [thinking("hm", "sig"), text("I read."), CALL]
EVENTS = events_of(message(*ANSWER))


def accumulated(events: list[Event]) -> Reply:
    accumulator = Accumulator()
    for event in events:
        accumulator.feed(event)
    return accumulator.reply()


def broken(events: list[Event]) -> ModelError:
    with pytest.raises(ModelError) as caught:
        accumulated(events)
    assert caught.value.is_retryable
    return caught.value


def of_block(index: int) -> list[Event]:
    return [event for event in EVENTS if event.get("index") == index]


def delta(index: int, **told: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": told}


# ---- still an answer -----------------------------------------------------------------


def test_interleaved_blocks_are_told_apart_by_their_place() -> None:
    mixed = itertools.zip_longest(*(of_block(index) for index in range(3)))
    events = [each for row in mixed for each in row if each is not None]

    assert accumulated([EVENTS[0], *events, *EVENTS[-2:]]).content == ANSWER


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_blocks_stand_at_the_places_they_were_told_to_have(
    order: tuple[int, ...],
) -> None:
    events = [event for index in order for event in of_block(index)]

    assert accumulated([EVENTS[0], *events, *EVENTS[-2:]]).content == ANSWER


@pytest.mark.parametrize("index", [0, None, "x"])
def test_blocks_of_one_place_stay_in_the_order_they_came_in(index: Any) -> None:
    events = [{**each, "index": index} if "index" in each else each for each in EVENTS]

    assert accumulated(events).content == ANSWER


@pytest.mark.parametrize("left_out", ["content_block_stop", "message_start", "ping"])
def test_an_answer_is_whole_without_what_only_frames_it(left_out: str) -> None:
    events = [event for event in EVENTS if event["type"] != left_out]

    assert accumulated(events).content == ANSWER


def test_a_head_that_comes_twice_before_anything_is_said_is_one() -> None:
    reply = accumulated([EVENTS[0], *EVENTS])

    assert reply.content == ANSWER


@pytest.mark.parametrize(
    "late",
    [
        delta(2, type="input_json_delta", partial_json=', "more": 1}'),
        delta(9, type="text_delta", text="more"),
        {"type": "content_block_start", "index": 3, "content_block": text("more")},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
        EVENTS[0],
    ],
)
def test_nothing_behind_the_end_counts(late: Event) -> None:
    accumulator = Accumulator()

    assert [accumulator.feed(event) for event in [*EVENTS, late]][-1] is False
    assert accumulator.reply().content == ANSWER
    assert accumulator.reply().stop_reason == "tool_use"


def test_only_what_says_something_is_progress() -> None:
    accumulator = Accumulator()
    said = {event["type"]: accumulator.feed(event) for event in EVENTS}

    assert said.pop("ping") is False
    assert set(said.values()) == {True}
    assert Accumulator().feed({"type": "still_there"}) is False


def test_input_in_ten_thousand_pieces_is_one_input() -> None:
    call = tool_use("t1", "write", text="é" * 9_980)
    events = events_of(message(call), piece=1)

    assert len(events) > 9_980
    assert accumulated(events).content == [call]


def test_citations_without_number_are_put_together_in_good_time() -> None:
    cited = [delta(0, type="citations_delta", citation={"n": n}) for n in range(50_000)]
    events = events_of(message(text("x")))

    [block] = accumulated([*events[:3], *cited, *events[3:]]).content

    assert len(block["citations"]) == 50_000


# ---- no answer -----------------------------------------------------------------------


def test_a_second_message_inside_the_first_is_never_glued_to_it() -> None:
    for cut in range(3, len(EVENTS) - 1):
        if any("content_block" in event for event in EVENTS[:cut]):
            broken([*EVENTS[:cut], *EVENTS])


def test_a_delta_for_a_block_that_is_over_breaks_the_try() -> None:
    late = delta(2, type="input_json_delta", partial_json=', "force": true}')

    assert broken([*EVENTS[:-2], late, *EVENTS[-2:]]).detail == "bad_event"


@pytest.mark.parametrize(
    ("index", "strange"),
    [
        (0, {"type": "text_delta", "text": "x"}),
        (0, {"type": "input_json_delta", "partial_json": "{}"}),
        (1, {"type": "thinking_delta", "thinking": "x"}),
        (1, {"type": "input_json_delta", "partial_json": "{}"}),
        (2, {"type": "text_delta", "text": "x"}),
        (2, {"type": "thinking_delta", "thinking": "x"}),
    ],
)
def test_a_delta_of_another_kind_of_block_breaks_the_try(
    index: int, strange: Event
) -> None:
    at = EVENTS.index(of_block(index)[-1])

    broken([*EVENTS[:at], delta(index, **strange), *EVENTS[at:]])


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": 5, "signature": "s"},
        {"type": "thinking", "signature": "s"},
        {"type": None},
    ],
)
def test_a_block_that_lacks_what_it_is_for_breaks_the_try(block: Event) -> None:
    start = {"type": "content_block_start", "index": 3, "content_block": block}

    broken([*EVENTS[:-2], start, *EVENTS[-2:]])


@pytest.mark.parametrize(
    ("event", "kind", "words"),
    [
        ({"error": {"type": "overloaded_error"}}, "overloaded", "overloaded_error"),
        ({"type": "error"}, "transient", "error"),
        ({"type": "error", "error": None}, "transient", "error"),
        ({"type": "error", "error": "out of memory"}, "transient", "out of memory"),
        ({"type": "error", "message": "oh"}, "transient", "oh"),
        ({"type": "", "error": {"message": "oh"}}, "transient", "oh"),
        ({"type": "error", "error": {"message": "no type"}}, "transient", "no type"),
        ({"type": "error", "error": {"type": 5}}, "transient", ""),
        ({"type": "error", "error": [1]}, "transient", "[1]"),
    ],
)
def test_an_error_inside_is_told_in_whatever_form_it_comes(
    event: Event, kind: str, words: str
) -> None:
    with pytest.raises(ModelError) as caught:
        Accumulator().feed(event)

    assert caught.value.kind == kind
    assert words in caught.value.message


def test_what_an_error_says_is_bounded_and_has_no_control_characters() -> None:
    for said in ({"error": {"message": "\x00\x1b[2J" + "x" * 10**6}}, "<" * 10**6):
        with pytest.raises(ModelError) as caught:
            Accumulator().feed({"type": "error", "error": said})
        assert len(caught.value.message) <= 4000
        assert caught.value.message.isprintable()

    assert len(failure(500, "<" * 10**6).message) < 4100


# ---- usage ---------------------------------------------------------------------------


def test_a_count_that_only_began_is_no_count() -> None:
    """The head tells of one token of output, before anything is said."""
    events = [{k: v for k, v in each.items() if k != "usage"} for each in EVENTS]

    usage = accumulated(events).usage

    assert not usage.known
    assert (usage.input_tokens, usage.output_tokens) == (100, 0)


def test_a_count_that_comes_at_the_end_alone_counts() -> None:
    told = {"input_tokens": 70, "output_tokens": 20}
    events = [{**EVENTS[0], "message": {"id": "m"}}, *EVENTS[1:-2]]

    usage = accumulated([*events, {**EVENTS[-2], "usage": told}, EVENTS[-1]]).usage

    assert usage.known
    assert (usage.input_tokens, usage.output_tokens) == (70, 20)


@pytest.mark.parametrize("told", [[], "20", 5, {"output_tokens": [20]}, {"x": {}}])
def test_usage_of_no_kind_is_not_known(told: Any) -> None:
    usage = accumulated([*EVENTS[:-2], {**EVENTS[-2], "usage": told}, EVENTS[-1]]).usage

    assert not usage.known


# ---- whatever comes ------------------------------------------------------------------

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**53) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)
_NAMES = st.sampled_from(
    ["type", "index", "delta", "content_block", "message", "usage", "error", "text",
     "partial_json", "input", "id", "name", "content", "stop_reason", "citation"]
)  # fmt: skip
_KINDS = st.sampled_from(
    [
        *{event["type"] for event in EVENTS},
        *("text", "tool_use", "thinking", "text_delta", "input_json_delta"),
    ]
)
_VALUES = _JSON | _KINDS | st.dictionaries(_NAMES, _JSON | _KINDS, max_size=4)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_whatever_is_changed_in_a_stream_it_is_a_sendable_reply_or_none(
    data: st.DataObject,
) -> None:
    events: list[Any] = orjson.loads(orjson.dumps(EVENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(events) - 1))
        how = data.draw(st.sampled_from(["drop", "twice", "move", "field", "inner"]))
        if how in ("drop", "move"):
            event = events.pop(at)
        if how == "move":
            events.insert(data.draw(st.integers(0, len(events))), event)
        elif how == "twice":
            events.insert(at, events[at])
        elif how in ("field", "inner"):
            inner = [v for v in events[at].values() if isinstance(v, dict)]
            place = inner[0] if how == "inner" and inner else events[at]
            place[data.draw(_NAMES)] = data.draw(_VALUES)
    try:
        reply = usable(accumulated(orjson.loads(orjson.dumps(events))), ())
    except ModelError:
        return

    assert shape_problem(_going_on(reply)) == ""


def _going_on(reply: Reply) -> dict[str, Any]:
    """A request in which the reply goes back, as it went over the wire."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "x"}
        for block in reply.content
        if block["type"] == "tool_use"
    ]
    sent = {
        "model": "m",
        "max_tokens": 5,
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": reply.content or "nothing"},
            {"role": "user", "content": results or "go on"},
        ],
    }
    back: dict[str, Any] = orjson.loads(orjson.dumps(sent))
    return back
