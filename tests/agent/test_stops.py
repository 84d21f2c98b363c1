"""Every way a turn can end, and what it means."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.agent.stops import (
    MAX_CUT_CALLS,
    MAX_CYCLE,
    MAX_PAUSES,
    MAX_REPEATS,
    WARN_REPEATS,
    Streaks,
    Verdict,
    forgiving,
    judge,
    refusal,
    refused_by,
    step_key,
    usable,
)
from orchestrator.messages import Block
from orchestrator.models.base import Reply, Usage

THOUGHT: Block = {"type": "thinking", "thinking": "hm", "signature": "s"}
FRESH = Streaks()


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def use(name: str = "read_file", call: str = "t1", **given: Any) -> Block:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def reply(*content: Block, stop: str | None = "end_turn", **more: Any) -> Reply:
    return Reply(list(content), stop, Usage(), **more)


RUN = Verdict(run=True)
NUDGED = Verdict(keep=False, say="nudge_empty")
ASKED = Verdict(say="nudge_finish")
AGAIN = Verdict(keep=False, more_output=True)
READ = use()


@pytest.mark.parametrize(
    ("came", "was", "verdict"),
    [
        pytest.param(reply(READ, stop="tool_use"), FRESH, RUN, id="a call is run"),
        pytest.param(reply(READ), FRESH, RUN, id="blocks decide, not end_turn"),
        pytest.param(reply(READ, stop=None), FRESH, RUN, id="nor a missing reason"),
        pytest.param(reply(READ, stop="pause_turn"), FRESH, RUN, id="nor a pause"),
        pytest.param(
            reply(READ, stop="model_context_window_exceeded"),
            FRESH,
            RUN,
            id="whole calls of a cut reply are run",
        ),
        pytest.param(
            reply(READ, use(call="t2"), stop="max_tokens", cut_calls=frozenset({"t2"})),
            FRESH,
            Verdict(run=True, more_output=True),
            id="a cut call asks for more output",
        ),
        pytest.param(
            reply(READ, stop="max_tokens", cut_calls=frozenset({"t1"})),
            Streaks(cut_calls=MAX_CUT_CALLS - 1),
            Verdict(keep=False, end="limit", reason="cut_replies", count=MAX_CUT_CALLS),
            id="cut calls in a row are bounded",
        ),
        pytest.param(
            reply(READ),
            Streaks(steps=(step_key([READ]),) * (WARN_REPEATS - 1)),
            Verdict(run=True, say="repeat_warning"),
            id="a step three times over draws a warning",
        ),
        pytest.param(
            reply(READ),
            Streaks(steps=(step_key([READ]),) * (MAX_REPEATS - 1)),
            Verdict(keep=False, end="limit", reason="repeats", count=MAX_REPEATS),
            id="five times ends the loop",
        ),
        pytest.param(
            reply(use(path="b")),
            Streaks(steps=(step_key([READ]),) * (MAX_REPEATS - 1)),
            RUN,
            id="another input is another step",
        ),
        pytest.param(
            reply(stop="tool_use"), FRESH, NUDGED, id="tool_use without a call is empty"
        ),
        pytest.param(reply(), FRESH, NUDGED, id="no block at all"),
        pytest.param(reply(THOUGHT), FRESH, NUDGED, id="only thinking"),
        pytest.param(reply(text("(empty content)")), FRESH, NUDGED, id="a placeholder"),
        pytest.param(
            reply(THOUGHT),
            Streaks(empty=1),
            Verdict(keep=False, end="failed", reason="2 empty replies in a row"),
            id="empty twice fails",
        ),
        pytest.param(reply(text("done")), FRESH, ASKED, id="text alone is asked for"),
        pytest.param(
            reply(text("done"), stop="stop_sequence"), FRESH, ASKED, id="stop_sequence"
        ),
        pytest.param(
            reply(text("done"), stop="new"), FRESH, ASKED, id="unknown reason"
        ),
        pytest.param(
            reply(text("done")), Streaks(unfinished=1), ASKED, id="and asked again"
        ),
        pytest.param(
            reply(text("done")),
            Streaks(unfinished=2),
            Verdict(end="unvalidated", reason="ended its turn without handing in"),
            id="then taken as it is",
        ),
        pytest.param(
            reply(text("half"), stop="max_tokens"), FRESH, AGAIN, id="cut text again"
        ),
        pytest.param(
            reply(THOUGHT, stop="max_tokens"), FRESH, AGAIN, id="cut while thinking"
        ),
        pytest.param(
            reply(text("half"), stop="max_tokens"),
            Streaks(cut_texts=1),
            Verdict(
                end="unvalidated",
                reason="two replies in a row were cut by the output limit",
            ),
            id="cut text twice is taken",
        ),
        pytest.param(
            reply(THOUGHT, stop="max_tokens"),
            Streaks(cut_texts=1),
            Verdict(
                keep=False,
                end="failed",
                reason="two replies in a row were cut by the output limit",
            ),
            id="nothing twice fails",
        ),
        pytest.param(
            reply(text("half"), stop="model_context_window_exceeded"),
            FRESH,
            Verdict(keep=False, end="limit", reason="window"),
            id="a full window is no end of the work",
        ),
        pytest.param(
            reply(text("hm"), stop="pause_turn"),
            FRESH,
            Verdict(say="continue"),
            id="a pause goes on",
        ),
        pytest.param(
            reply(text("hm"), stop="pause_turn"),
            Streaks(pauses=MAX_PAUSES),
            Verdict(end="failed", reason=f"paused {MAX_PAUSES} times in a row"),
            id="pauses are bounded",
        ),
        pytest.param(
            reply(text("no"), stop="refusal", stop_details={"category": "cyber"}),
            FRESH,
            Verdict(keep=False, end="failed", refused="cyber"),
            id="a refusal says its category",
        ),
        pytest.param(
            reply(READ, stop="refusal"),
            FRESH,
            Verdict(
                keep=False,
                end="failed",
                refused="no category",
            ),
            id="calls of a refusal are not run",
        ),
    ],
)
def test_a_reply_means(came: Reply, was: Streaks, verdict: Verdict) -> None:
    assert judge(came, was)[0] == verdict


def test_a_refusal_without_a_category_is_said_in_words() -> None:
    none_told = refusal(reply(READ, stop="refusal"))

    assert refused_by({"m": none_told}) == "the model refused (no category told)"
    assert refused_by({"m": "cyber"}) == "refused: cyber"


@pytest.mark.parametrize("field", ["empty", "unfinished", "cut_texts", "pauses"])
def test_a_step_ends_what_went_wrong_before(field: str) -> None:
    was: dict[str, Any] = {"hand_ins": 2, field: 1}

    _, now = judge(reply(READ), Streaks(**was))

    assert now == Streaks(steps=(step_key([READ]),), hand_ins=2)


def test_a_whole_call_ends_the_row_of_cut_ones() -> None:
    _, now = judge(reply(use(path="b")), Streaks(cut_calls=2))

    assert now.cut_calls == 0


def test_a_cut_step_is_not_taken_for_a_repeated_one() -> None:
    cut = reply(READ, stop="max_tokens", cut_calls=frozenset({"t1"}))
    was = Streaks(steps=(step_key([READ]),) * (MAX_REPEATS - 1))

    assert judge(cut, was)[0].end == ""


def test_words_end_a_row_of_empty_replies() -> None:
    _, now = judge(reply(text("well")), Streaks(empty=1))

    assert now.empty == 0


def test_ids_do_not_tell_steps_apart() -> None:
    assert step_key([use(call="t1")]) == step_key([use(call="t9")])


def test_a_reply_without_calls_has_no_step() -> None:
    assert step_key([text("hm")]) == b""


def said(steps: str) -> list[str]:
    """What is said to, or ends, each of these steps: a letter is a call."""
    told: list[str] = []
    streaks = FRESH
    for place, letter in enumerate(steps):
        calls = [use(path=letter, call=f"t{place}")]
        if letter in "w+":
            wait = use("wait_for", call=f"w{place}")
            calls = [wait] if letter == "w" else [*calls, wait]
        verdict, streaks = judge(reply(*calls), streaks)
        told.append(verdict.end or verdict.say)
    return told


@pytest.mark.parametrize(
    ("steps", "warned", "ended"),
    [
        pytest.param("aaaaa", [2, 3], 4, id="one step"),
        pytest.param("ababababab", [5, 6, 7, 8], 9, id="a pair"),
        pytest.param("abcabcabcabcabc", [8, 9, 10, 11, 12, 13], 14, id="three in turn"),
        pytest.param("aabaabaabaabaab", [8, 9, 10, 11, 12, 13], 14, id="two of one"),
        pytest.param("xyzababababab", [8, 9, 10, 11], 12, id="after other steps"),
    ],
)
def test_a_cycle_of_steps_is_warned_of_and_then_ends_the_loop(
    steps: str, warned: list[int], ended: int
) -> None:
    told = said(steps)

    assert [n for n, each in enumerate(told) if each == "repeat_warning"] == warned
    assert [n for n, each in enumerate(told) if each == "limit"] == [ended]


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param("abcdefgh" * 3, id="long cycles are work"),
        pytest.param("aabbaabb", id="pairs of each"),
        pytest.param("ababa", id="not yet three times"),
        pytest.param("abcabcabdabcabc", id="a change begins anew"),
        pytest.param("w" * 20, id="waiting alone"),
        pytest.param("+" * 20, id="waiting beside another call"),
        pytest.param("aw" * 10, id="waiting and looking"),
        pytest.param("aawaawaawaaw", id="looking twice after each wait"),
    ],
)
def test_what_is_no_cycle_goes_on_without_a_word(steps: str) -> None:
    assert set(said(steps)) == {""}


def test_no_more_steps_are_kept_than_a_repeat_is_made_of() -> None:
    streaks = FRESH
    for n in range(1000):
        _, streaks = judge(reply(use(path=str(n))), streaks)

    assert len(streaks.steps) == MAX_CYCLE * MAX_REPEATS


def test_a_step_kept_takes_a_few_bytes_however_much_it_says() -> None:
    _, now = judge(reply(use(text="x" * 100_000)), FRESH)

    assert len(now.steps[0]) == 16


def test_blank_texts_never_go_back() -> None:
    came = usable(reply(text(""), text(" \n"), READ, text("x")), set())

    assert came.content == [READ, text("x")]


def test_blocks_that_stay_are_the_very_same_in_the_same_order() -> None:
    other = {"type": "server_thing", "new": [1]}
    redacted = {"type": "redacted_thinking", "data": "zz"}
    blocks = [THOUGHT, text("a"), redacted, other, READ]

    came = usable(reply(*blocks), set())

    assert all(one is two for one, two in zip(came.content, blocks, strict=True))


def test_an_id_is_used_once_in_a_conversation_and_once_in_a_reply() -> None:
    came = usable(reply(use(), use(), use(call="t1-2")), {"t1"})

    assert [block["id"] for block in came.content] == ["t1-2", "t1-3", "t1-2-2"]


def test_of_two_calls_with_one_id_the_later_one_was_cut() -> None:
    came = usable(reply(use(), use(), cut_calls=frozenset({"t1"})), {"t0"})

    assert came.cut_calls == {"t1-2"}


def test_a_broken_call_keeps_its_text_under_its_new_id() -> None:
    came = usable(reply(use(), broken_calls={"t1": "{oh"}), {"t1"})

    assert came.broken_calls == {"t1-2": "{oh"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param("", "_", id="empty"),
        pytest.param(" read file ", "_read_file_", id="blanks"),
        pytest.param("Read_File", "Read_File", id="legal"),
        pytest.param("读文件", "___", id="of another script"),
        pytest.param("x" * 1000, "x" * 64, id="long"),
    ],
)
def test_names_that_the_service_would_refuse_do_not_go_back(
    given: str, sent: str
) -> None:
    came = usable(reply(use(given, given)), set())

    assert (came.content[0]["name"], came.content[0]["id"]) == (sent, sent)


def test_making_a_reply_usable_twice_changes_nothing() -> None:
    once = usable(reply(text(""), use(), use()), set())

    assert usable(once, set()) == once
    assert judge(once, FRESH) == judge(replace(once), FRESH)


def test_what_went_with_an_edit_may_be_asked_for_again_but_not_for_ever() -> None:
    key = step_key([READ])
    forgiven: dict[bytes, int] = {}
    streaks = Streaks(steps=(key,) * 3)

    once = forgiving(streaks, forgiven)
    twice = forgiving(streaks, forgiven)
    third = forgiving(streaks, forgiven)

    assert once.steps == twice.steps == ()
    assert third.steps == (key,) * 3
