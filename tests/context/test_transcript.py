"""The transcript: append-only, user and assistant in turn, its bytes kept."""

from __future__ import annotations

import itertools

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.transcript import Transcript
from orchestrator.messages import Block, encode, text_block, tool_result

ASK = [text_block("go")]
CALL: Block = {"type": "tool_use", "id": "t1", "name": "grep", "input": {"p": "é世"}}


def told(*steps: tuple[str, list[Block]]) -> Transcript:
    transcript = Transcript()
    for role, content in steps:
        transcript.append(role, content, tokens=10)
    return transcript


def test_a_message_without_content_is_refused() -> None:
    with pytest.raises(ValueError, match="a message needs content"):
        Transcript().append("user", [], tokens=0)


def test_what_a_role_adds_to_its_own_last_message_joins_it() -> None:
    transcript = told(("user", ASK), ("user", [text_block("on")]))

    assert len(transcript) == 1
    assert transcript.messages[0]["content"] == [*ASK, text_block("on")]
    assert transcript.pieces == [encode(transcript.messages[0])]


def test_blocks_are_the_very_same_objects() -> None:
    transcript = told(("user", ASK), ("assistant", [CALL]))

    assert transcript.messages[1]["content"][0] is CALL


def test_only_calls_of_a_newest_assistant_message_are_open() -> None:
    transcript = told(("user", ASK), ("assistant", [text_block("hm"), CALL]))
    assert transcript.open_calls == [CALL]

    transcript.append("user", [tool_result("t1", "x")], tokens=1)

    assert transcript.open_calls == []
    assert transcript.call_ids == {"t1"}
    assert Transcript().open_calls == []


def test_what_the_service_counted_takes_the_place_of_estimates() -> None:
    transcript = told(("user", ASK), ("assistant", [CALL]))
    assert transcript.tokens == 20

    transcript.reported(500)
    transcript.append("user", [tool_result("t1", "x")], tokens=7)

    assert (transcript.known_tokens, transcript.tokens) == (500, 507)


@pytest.mark.parametrize("needle", ["art_0123456789ab", 'a "quoted" word', "é世", "t1"])
def test_it_knows_what_it_holds(needle: str) -> None:
    content = f"see {needle} there"
    transcript = told(("user", ASK), ("assistant", [CALL]))
    transcript.append("user", [tool_result("t1", content)], tokens=1)

    assert transcript.holds(needle)
    assert not transcript.holds("art_ffffffffffff")


def test_saying_a_name_does_not_make_it_known() -> None:
    said = [text_block("art_0123456789ab"), CALL]
    transcript = told(("user", ASK), ("assistant", said))

    assert not transcript.holds("art_0123456789ab")


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
def test_roles_take_turns_and_the_pieces_are_the_messages(
    steps: list[tuple[str, str]],
) -> None:
    transcript = told(*((role, [text_block(text)]) for role, text in steps))

    roles = [message["role"] for message in transcript.messages]
    assert all(one != two for one, two in itertools.pairwise(roles))
    assert [orjson.loads(piece) for piece in transcript.pieces] == transcript.messages
    said = [b["text"] for m in transcript.messages for b in m["content"]]
    assert said == [text for _, text in steps]
