"""The view: what is sent, as messages and as bytes, with its cache marks."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.marks import End
from orchestrator.context.shown import Shown
from orchestrator.context.view import View, make_head, make_view
from orchestrator.messages import Block, encode, text_block, tool_result
from orchestrator.models.shape import shape_problem

TOOLS = [
    {"name": "grep", "description": "d", "input_schema": {"type": "object"}},
    {"name": "echo", "description": "d", "input_schema": {"type": "object"}},
]
SYSTEM = [text_block("You are a test."), text_block("Workspace facts.")]
THOUGHT: Block = {"type": "thinking", "thinking": "hm", "signature": "s=="}
MARK = {"type": "ephemeral"}


def head_of(**changes: Any) -> Any:
    given: dict[str, Any] = {
        "model": "m",
        "system": SYSTEM,
        "tools": TOOLS,
        "settings": {"thinking": {"type": "adaptive"}},
        "tokens": 3000,
        "tools_tokens": 2000,
        **changes,
    }
    return make_head(**given)


def grown(turns: int, *, calls: int = 1) -> Shown:
    """A conversation of `turns` whole steps, with a user message at the end."""
    transcript = Shown()
    transcript.append("user", [text_block("go")], tokens=3100)
    for turn in range(turns):
        ids = [f"t{turn}-{n}" for n in range(calls)]
        uses = [{"type": "tool_use", "id": i, "name": "grep", "input": {}} for i in ids]
        transcript.append("assistant", [THOUGHT, text_block("é"), *uses], tokens=1)
        results = [tool_result(i, f"found {i}") for i in ids]
        transcript.append("user", results, tokens=1)
    return transcript


def view_of(transcript: Shown, previous_end: int | None = None) -> View:
    """What is sent where the request before ended with that message."""
    end = None
    if previous_end is not None:
        blocks = len(transcript.messages[previous_end]["content"])
        end = End(previous_end, blocks, transcript.tokens)
    return make_view(head_of(), transcript, max_output_tokens=100, previous_end=end)


def marks(value: Any) -> list[Block]:
    """Every block of a body that carries a mark."""
    if isinstance(value, dict):
        here = [value] if "cache_control" in value else []
        return here + [mark for each in value.values() for mark in marks(each)]
    if isinstance(value, list):
        return [mark for each in value for mark in marks(each)]
    return []


def unmarked(body: bytes) -> bytes:
    return body.replace(b',"cache_control":{"type":"ephemeral"}', b"")


def test_the_bytes_are_those_of_the_whole_request() -> None:
    transcript = grown(3)

    view = view_of(transcript, previous_end=4)

    whole = {
        "model": "m",
        "stream": True,
        "thinking": {"type": "adaptive"},
        "tools": TOOLS,
        "system": SYSTEM,
        "messages": transcript.messages,
        "max_tokens": 100,
    }
    assert unmarked(view.body) == encode(whole)
    assert view.messages == transcript.messages
    assert view.messages is not transcript.messages


def test_marks_are_on_the_prefix_the_task_and_both_ends() -> None:
    body = orjson.loads(view_of(grown(3), previous_end=4).body)

    assert body["system"][-1]["cache_control"] == MARK
    marked = [
        index
        for index, message in enumerate(body["messages"])
        if "cache_control" in message["content"][-1]
    ]
    assert marked == [0, 4, 6]
    assert len(marks(body)) == 4


def test_a_long_system_many_tools_and_a_long_history_have_four_marks() -> None:
    system = [text_block("You are."), text_block("Facts."), text_block("Do.")]
    head = head_of(
        system=system, tools=[{**TOOLS[0], "name": f"tool{n}"} for n in range(20)]
    )
    transcript = grown(40, calls=30)
    end = End(78, 30, transcript.tokens)

    view = make_view(head, transcript, max_output_tokens=5, previous_end=end)

    body = orjson.loads(view.body)
    assert len(marks(body)) == 4
    assert "cache_control" in body["system"][2]
    assert shape_problem(body) == ""


def test_no_mark_on_an_empty_text_of_the_system() -> None:
    head = head_of(system=[text_block("You are."), text_block(" \n")])

    view = make_view(head, grown(0), max_output_tokens=5, previous_end=None)

    assert marks(orjson.loads(view.body)["system"]) == [
        {**text_block("You are."), "cache_control": MARK}
    ]


def test_what_is_kept_stays_without_marks() -> None:
    transcript = grown(2)

    view_of(transcript, previous_end=2)

    assert marks(transcript.messages) == []
    assert marks(SYSTEM) == []


@pytest.mark.parametrize("missing", ["system", "tools"])
def test_without_system_or_tools_there_is_no_such_field(missing: str) -> None:
    head = head_of(**{missing: []})

    view = make_view(head, grown(0), max_output_tokens=5, previous_end=None)

    assert missing not in orjson.loads(view.body)


def test_each_request_begins_with_the_bytes_of_the_one_before() -> None:
    bodies = []
    previous_end = None
    for turns in range(6):
        transcript = grown(turns, calls=3)
        bodies.append(unmarked(view_of(transcript, previous_end).body))
        previous_end = len(transcript) - 1

    tail = b'],"max_tokens":100}'
    for earlier, later in itertools.pairwise(bodies):
        assert later.startswith(earlier.removesuffix(tail))


def test_with_diagnostics_each_request_names_the_answer_before_it() -> None:
    head = head_of(settings={"diagnostics": {"previous_message_id": None}})

    first, later = (
        orjson.loads(
            make_view(
                head,
                grown(1),
                max_output_tokens=5,
                previous_end=None,
                previous_message=message,
            ).body
        )
        for message in ("", "msg_1")
    )

    assert first["diagnostics"] == {"previous_message_id": None}
    assert later["diagnostics"] == {"previous_message_id": "msg_1"}


def test_an_endpoint_that_refuses_marks_gets_none() -> None:
    head = head_of(marks=False)

    view = make_view(head, grown(3), max_output_tokens=5, previous_end=None)

    assert marks(orjson.loads(view.body)) == []
    assert unmarked(view_of(grown(3)).body) == view.body.replace(b":5}", b":100}")


def test_what_alike_requests_share_is_the_same_whatever_is_marked() -> None:
    assert head_of().data == head_of(marks=False).data
    assert b"cache_control" not in head_of().data


words = st.text(min_size=1).filter(str.strip).map(text_block)
steps = st.lists(
    st.tuples(
        st.lists(st.one_of(words, st.just(THOUGHT)), max_size=3),
        st.integers(0, 4),  # calls
        st.lists(words, max_size=2),
    ),
    max_size=6,
)


@settings(max_examples=60, deadline=None)
@given(steps=steps, end=st.integers(-1, 12))
def test_no_view_of_a_lawful_conversation_is_refused(
    steps: list[tuple[list[Block], int, list[Block]]], end: int
) -> None:
    transcript = Shown()
    transcript.append("user", [text_block("go")], tokens=3100)
    for number, (said, calls, added) in enumerate(steps):
        ids = [f"t{number}-{n}" for n in range(calls)]
        uses = [{"type": "tool_use", "id": i, "name": "grep", "input": {}} for i in ids]
        if [*said, *uses]:
            transcript.append("assistant", [*said, *uses], tokens=1)
        results = [tool_result(i, "x") for i in ids]
        transcript.append("user", [*results, *added, text_block("on")], tokens=1)

    view = view_of(transcript, end if 0 <= end < len(transcript) else None)

    body = orjson.loads(view.body)
    assert shape_problem(body) == ""
    assert len(marks(body)) <= 4
    assert all(block.get("type") != "thinking" for block in marks(body))


def test_what_is_said_beside_the_conversation_joins_its_last_message() -> None:
    shown = grown(3)
    question = {"role": "user", "content": [text_block("sum it up")]}
    answer = {"role": "assistant", "content": [text_block("no")]}
    again = {"role": "user", "content": [text_block("again")]}

    view = make_view(
        head_of(),
        shown,
        max_output_tokens=100,
        previous_end=End(4, 1, 4000),
        newest_written=False,
        aside=[question, answer, again],
    )

    body = orjson.loads(view.body)
    assert shape_problem(body) == ""
    assert len(body["messages"]) == len(shown) + 2
    last = shown.messages[-1]["content"]
    assert view.messages[len(shown) - 1]["content"] == [*last, *question["content"]]
    assert body["messages"][-1]["content"] == again["content"]
    assert shown.messages[-1]["content"] == last
    assert len(marks(body)) <= 4
