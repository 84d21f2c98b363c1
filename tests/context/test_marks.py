"""Where cache marks stand: at most four, each of use, none that is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.context.marks import End, Marks, Sizes, choose_marks
from orchestrator.messages import Block, Message, text_block, tool_result

SIZES = Sizes(tools=2000, system=3000, first=3100, whole=9000)
SHORTEST = 1024
GO = text_block("go")


def user(*blocks: Block) -> Message:
    return {"role": "user", "content": list(blocks)}


def step(number: int, calls: int = 1) -> list[Message]:
    """An assistant message with calls, and their results."""
    ids = [f"t{number}-{each}" for each in range(calls)]
    uses = [{"type": "tool_use", "id": each, "name": "x", "input": {}} for each in ids]
    return [
        {"role": "assistant", "content": uses},
        user(*(tool_result(each, "found") for each in ids)),
    ]


def talk(steps: int, calls: int = 1) -> list[Message]:
    return [user(GO)] + [each for n in range(steps) for each in step(n, calls)]


def end(messages: Sequence[Message], message: int, tokens: int = 5000) -> End:
    return End(message, len(messages[message]["content"]), tokens)


def chosen(
    messages: Sequence[Message], previous: End | None = None, **sizes: int
) -> Marks:
    return choose_marks(
        messages, replace(SIZES, **sizes), previous=previous, shortest=SHORTEST
    )


def test_the_first_request_marks_tools_system_and_its_end() -> None:
    assert chosen(talk(0)) == Marks(tools=True, system=True, blocks={0: {0}})


def test_the_second_marks_the_same_and_its_end() -> None:
    messages = talk(1)

    marks = chosen(messages, end(messages, 0))

    assert marks == Marks(tools=True, system=True, blocks={0: {0}, 2: {0}})


def test_an_ordinary_one_marks_system_first_message_and_both_ends() -> None:
    messages = talk(3, calls=2)

    marks = chosen(messages, end(messages, 4))

    assert marks == Marks(tools=False, system=True, blocks={0: {0}, 4: {1}, 6: {1}})


def test_after_a_discarded_reply_the_end_before_is_marked_where_it_was() -> None:
    messages = talk(2)
    before = end(messages, 4)
    messages[4]["content"] += [text_block(f"more {n}") for n in range(25)]

    marks = chosen(messages, before)

    assert marks.blocks == {0: {0}, 4: {0, 25}}
    assert marks.tools != marks.system


def test_the_same_request_again_has_one_end() -> None:
    messages = talk(2)

    marks = chosen(messages, end(messages, 4))

    assert marks == Marks(tools=True, system=True, blocks={0: {0}, 4: {0}})


@pytest.mark.parametrize(
    ("sizes", "marks"),
    [
        pytest.param(
            {"tools": 500}, Marks(system=True, blocks={0: {0}}), id="short tools"
        ),
        pytest.param(
            {"tools": 500, "system": 900}, Marks(blocks={0: {0}}), id="a short head"
        ),
        pytest.param(
            {"tools": 100, "system": 200, "first": 300, "whole": 300},
            Marks(),
            id="a short request",
        ),
        pytest.param(
            {"tools": 0, "system": 3000}, Marks(system=True, blocks={0: {0}}), id="none"
        ),
    ],
)
def test_what_is_too_short_to_be_cached_gets_no_mark(
    sizes: dict[str, int], marks: Marks
) -> None:
    assert chosen(talk(0), None, **sizes) == marks


@pytest.mark.parametrize(
    ("content", "place"),
    [
        pytest.param([GO, {"type": "new_kind"}], {2: {0}}, id="a strange block"),
        pytest.param([GO, text_block(" \n")], {2: {0}}, id="an empty text"),
        pytest.param([{"type": "new_kind"}], {}, id="nothing else in it"),
        pytest.param([tool_result("t", "")], {2: {0}}, id="an empty result"),
    ],
)
def test_the_newest_block_that_can_carries_the_mark(
    content: list[Block], place: dict[int, set[int]]
) -> None:
    messages = [*talk(0), step(0)[0], user(*content)]

    assert chosen(messages).blocks == {0: {0}, **place}


blocks = st.sampled_from(
    [
        GO,
        text_block("  "),
        {"type": "new_kind"},
        tool_result("t", "x"),
        {"type": "thinking", "thinking": "hm", "signature": "s"},
    ]
)


@given(
    contents=st.lists(st.lists(blocks, min_size=1, max_size=4), min_size=1, max_size=9),
    ends=st.tuples(st.integers(0, 8), st.integers(1, 4), st.integers(0, 9000)),
    sizes=st.tuples(*[st.integers(0, 3000)] * 4),
)
def test_never_more_than_four_and_none_where_it_is_refused(
    contents: list[list[Block]], ends: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    messages: list[dict[str, Any]] = [
        {"role": "assistant" if place % 2 else "user", "content": content}
        for place, content in enumerate(contents)
    ]

    marks = choose_marks(
        messages, Sizes(*sorted(sizes)), previous=End(*ends), shortest=SHORTEST
    )

    marked = [(m, b) for m, places in marks.blocks.items() for b in places]
    assert len(marked) + marks.tools + marks.system <= 4
    for message, block in marked:
        assert messages[message]["role"] == "user"
        content = messages[message]["content"][block]
        assert content["type"] in ("text", "tool_result")
        assert content != text_block("  ")


def marked(messages: Sequence[Message], previous: End | None, **more: Any) -> Marks:
    return choose_marks(messages, SIZES, previous=previous, shortest=SHORTEST, **more)


def test_after_a_clear_the_ends_of_old_and_new_stubs_are_marked() -> None:
    messages = talk(5)
    stubs = [end(messages, 2), end(messages, 4)]

    assert marked(messages, None, stubs=stubs).blocks == {
        0: {0}, 2: {0}, 4: {0}, 10: {0},
    }  # fmt: skip


def test_later_the_end_of_the_newest_stubs_is_marked_beside_both_ends() -> None:
    messages = talk(5)
    stubs = [end(messages, 2), end(messages, 4)]

    assert marked(messages, end(messages, 8), stubs=stubs).blocks == {
        0: {0}, 4: {0}, 8: {0}, 10: {0},
    }  # fmt: skip


def test_what_the_next_request_will_not_hold_is_not_written() -> None:
    messages = talk(3)
    marks = marked(messages, end(messages, 4), newest_written=False)

    assert marks == Marks(tools=True, system=True, blocks={0: {0}, 4: {0}})
    alone = marked(messages, None, newest_written=False)
    assert alone == Marks(tools=True, system=True, blocks={0: {0}})


def test_without_a_block_that_can_carry_it_there_is_no_mark() -> None:
    messages = [user({"type": "server_thing"})]

    assert marked(messages, None).blocks == {}
