"""The transcript: all that was said, append-only, user and assistant in turn."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.transcript import Transcript
from orchestrator.messages import Block, text_block, tool_result

ASK = [text_block("go")]
CALL: Block = {"type": "tool_use", "id": "t1", "name": "grep", "input": {"p": "é世"}}
REF = "art_0123456789ab"


def told(*steps: tuple[str, list[Block]]) -> Transcript:
    transcript = Transcript()
    for role, content in steps:
        transcript.append(role, content)
    return transcript


def test_a_message_without_content_is_refused() -> None:
    with pytest.raises(ValueError, match="a message needs content"):
        Transcript().append("user", [])


def test_what_a_role_adds_to_its_own_last_message_joins_it() -> None:
    transcript = told(("user", ASK), ("user", [text_block("on")]))

    assert len(transcript) == 1
    assert transcript.messages[0]["content"] == [*ASK, text_block("on")]


def test_blocks_are_the_very_same_objects() -> None:
    transcript = told(("user", ASK), ("assistant", [CALL]))

    assert transcript.messages[1]["content"][0] is CALL


def test_only_calls_of_a_newest_assistant_message_are_open() -> None:
    transcript = told(("user", ASK), ("assistant", [text_block("hm"), CALL]))
    assert transcript.open_calls == [CALL]

    transcript.append("user", [tool_result("t1", "x")])

    assert transcript.open_calls == []
    assert set(transcript.call_ids) == {"t1"}
    assert Transcript().open_calls == []


def test_a_call_is_named_after_its_step_and_its_place_there() -> None:
    second, third = {**CALL, "id": "t2"}, {**CALL, "id": "t3"}
    transcript = told(
        ("user", ASK),
        ("assistant", [CALL]),
        ("user", [tool_result("t1", "x")]),
        ("assistant", [second]),
        ("assistant", [third]),
    )

    names = {call: made.reference for call, made in transcript.calls.items()}
    assert names == {"t1": "h1", "t2": "h2.1", "t3": "h2.2"}
    assert transcript.steps == [1, 3]


def test_an_artifact_is_known_once_it_was_named_to_the_agent() -> None:
    transcript = told(("user", ASK), ("assistant", [CALL]))
    transcript.append("user", [tool_result("t1", f"see {REF} there")])

    assert transcript.knows(REF)
    assert not transcript.knows("art_ffffffffffff")


def test_saying_a_name_does_not_make_it_known() -> None:
    transcript = told(("user", ASK), ("assistant", [text_block(REF), CALL]))

    assert not transcript.knows(REF)


def test_texts_come_newest_first_and_by_role() -> None:
    transcript = told(
        ("user", ASK),
        ("assistant", [text_block("one"), CALL, text_block("two")]),
        ("user", [tool_result("t1", "not a text")]),
        ("assistant", [text_block("three")]),
    )

    assert list(transcript.texts("assistant")) == ["three", "two", "one"]
    assert list(transcript.texts("user")) == ["go"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["user", "assistant"]), st.text(min_size=1)),
        min_size=1,
    )
)
def test_roles_take_turns_and_nothing_is_lost(steps: list[tuple[str, str]]) -> None:
    transcript = told(*((role, [text_block(text)]) for role, text in steps))

    roles = [message["role"] for message in transcript.messages]
    assert all(one != two for one, two in itertools.pairwise(roles))
    said = [b["text"] for m in transcript.messages for b in m["content"]]
    assert said == [text for _, text in steps]
