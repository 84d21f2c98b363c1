"""The view: what is sent, as messages and as bytes, with its cache marks."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.context.transcript import Transcript
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
        "tokens": 9,
        **changes,
    }
    return make_head(**given)


def grown(turns: int, *, calls: int = 1) -> Transcript:
    """A conversation of `turns` whole steps, with a user message at the end."""
    transcript = Transcript()
    transcript.append("user", [text_block("go")], tokens=1)
    for turn in range(turns):
        ids = [f"t{turn}-{n}" for n in range(calls)]
        uses = [{"type": "tool_use", "id": i, "name": "grep", "input": {}} for i in ids]
        transcript.append("assistant", [THOUGHT, text_block("é"), *uses], tokens=1)
        results = [tool_result(i, f"found {i}") for i in ids]
        transcript.append("user", results, tokens=1)
    return transcript


def view_of(transcript: Transcript, previous_end: int | None = None) -> View:
    return make_view(
        head_of(), transcript, max_output_tokens=100, previous_end=previous_end
    )


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


@pytest.mark.parametrize(
    ("turns", "previous_end", "count"),
    [
        pytest.param(0, None, 2, id="first request"),
        pytest.param(1, 0, 3, id="second request"),
        pytest.param(0, 0, 2, id="the same request again"),
        pytest.param(5, 8, 4, id="ordinary turn"),
        pytest.param(5, 9, 3, id="an assistant message carries none"),
    ],
)
def test_there_are_never_more_than_four_marks(
    turns: int, previous_end: int | None, count: int
) -> None:
    body = orjson.loads(view_of(grown(turns), previous_end).body)

    assert len(marks(body)) == count


def test_no_mark_on_a_kind_of_block_that_cannot_carry_one() -> None:
    transcript = grown(1)
    strange = {"type": "search_result_of_later", "data": 1}
    transcript.append("user", [strange], tokens=1)

    body = orjson.loads(view_of(transcript).body)

    assert "cache_control" not in body["messages"][-1]["content"][-1]


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
    transcript = Transcript()
    transcript.append("user", [text_block("go")], tokens=1)
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
    assert all(block["type"] != "thinking" for block in marks(body))
