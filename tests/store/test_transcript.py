"""The conversation that runtime and readers rebuild from a log."""

from __future__ import annotations

from typing import Any

import orjson

from orchestrator.events import Event
from orchestrator.store.transcript import LOST, as_jsonl, edits_of, rebuild

GO = {"type": "text", "text": "go"}
SAID = {"type": "text", "text": "I look."}
C1 = {"type": "tool_use", "id": "c1", "name": "grep", "input": {"pattern": "x"}}
C2 = {"type": "tool_use", "id": "c2", "name": "grep", "input": {"pattern": "y"}}


def event(kind: str, agent: str = "a1", **data: Any) -> Event:
    return Event(1, "2026-11-29T20:15:00.000Z", "run", agent, kind, 0, data)


def started() -> Event:
    return event("agent.started", first=[GO])


def answered(*content: dict[str, Any], kept: bool = True) -> Event:
    return event("model.answered", content=list(content), kept=kept)


def ended(call: str, content: str = "found", *, is_error: bool = False) -> Event:
    return event("tool.ended", call=call, content=content, is_error=is_error)


def added(text: str) -> Event:
    return event("text.added", text=text, reason="reminder")


def result(call: str, content: str = "found") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_results_stand_in_call_order_whatever_ended_first() -> None:
    events = [started(), answered(SAID, C1, C2), ended("c2", "two"), ended("c1", "one")]

    assert rebuild(events, "a1") == [
        user(GO),
        assistant(SAID, C1, C2),
        user(result("c1", "one"), result("c2", "two")),
    ]


def test_added_texts_follow_the_results_in_one_message() -> None:
    events = [
        started(),
        answered(C1),
        added("early"),
        ended("c1"),
        added("late"),
        answered(SAID),
    ]

    assert rebuild(events, "a1")[2] == user(result("c1"), text("early"), text("late"))


def test_texts_without_results_form_a_message_of_their_own() -> None:
    events = [started(), answered(SAID), added("please finish")]

    assert rebuild(events, "a1")[-1] == user(text("please finish"))


def test_an_answer_that_was_not_kept_leaves_no_trace() -> None:
    events = [started(), answered(C1, kept=False), answered(SAID)]

    assert rebuild(events, "a1") == [user(GO), assistant(SAID)]


def test_a_text_after_a_dropped_answer_joins_the_open_user_message() -> None:
    events = [started(), answered(kept=False), added("say something")]

    assert rebuild(events, "a1") == [user(GO, text("say something"))]


def test_the_first_outcome_of_a_call_counts() -> None:
    events = [started(), answered(C1), ended("c1", "one"), ended("c1", "again")]

    assert rebuild(events, "a1")[-1] == user(result("c1", "one"))


def replaced(call: str, content: str) -> Event:
    return event("result.replaced", call=call, content=content, is_error=False)


def test_a_lost_result_is_told_until_something_stands_in_for_it() -> None:
    events = [started(), answered(C1, C2), ended("c2"), answered(SAID), added("more")]

    lost = rebuild(events, "a1")
    whole = rebuild([*events, replaced("c1", "made again")], "a1")

    gone = {**result("c1", LOST), "is_error": True}
    assert lost[2] == user(gone, result("c2"))
    assert whole[2] == user(result("c1", "made again"), result("c2"))
    assert [*whole[:2], *whole[3:]] == [*lost[:2], *lost[3:]]


def test_what_stands_in_for_a_result_is_shown_before_a_later_reply_too() -> None:
    events = [started(), answered(C1), added("more"), replaced("c1", "made again")]

    assert rebuild(events, "a1")[2] == user(result("c1", "made again"), text("more"))


def test_of_the_whole_conversation_nothing_goes() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    said = answered(thought, C1, C2)
    events = [started(), said, ended("c1", "one"), ended("c2", "two")]
    dropped = event("thinking.dropped", why="refused", blocks=1)
    left_out = replaced("c1", "left out")

    for later in ([left_out, dropped], [added("x"), answered(SAID), left_out, dropped]):
        sent = rebuild([*events, *later], "a1")
        whole = rebuild([*events, *later], "a1", as_sent=False)

        assert sent[1] == assistant(C1, C2)
        assert sent[2]["content"][0] == result("c1", "left out")
        assert whole[1] == assistant(thought, C1, C2)
        assert whole[2]["content"][:2] == [result("c1", "one"), result("c2", "two")]


def test_what_stands_in_for_a_lost_result_is_in_the_whole_conversation() -> None:
    events = [started(), answered(C1), answered(SAID), replaced("c1", "made again")]

    assert rebuild(events, "a1", as_sent=False)[2] == user(result("c1", "made again"))


def test_errors_are_marked() -> None:
    events = [started(), answered(C1), ended("c1", "no file", is_error=True)]

    assert rebuild(events, "a1")[-1]["content"][0]["is_error"] is True


def test_other_agents_do_not_mix_in() -> None:
    events = [started(), event("text.added", "a2", text="not mine"), answered(SAID)]

    assert rebuild(events, "a1") == [user(GO), assistant(SAID)]


def test_an_agent_that_has_not_started_has_no_messages() -> None:
    assert rebuild([started()], "a7") == []


def test_rebuilding_does_not_change_the_events() -> None:
    first = started()

    rebuild([first, added("more")], "a1")

    assert first.data == {"first": [GO]}


def test_jsonl_has_one_message_a_line() -> None:
    messages = rebuild([started(), answered(SAID)], "a1")

    lines = as_jsonl(messages).splitlines()

    assert [orjson.loads(line) for line in lines] == messages


def test_a_further_question_follows_the_hand_in_that_it_comes_after() -> None:
    asked = event("subagent.asked", id="a1", question="And then?", text="Go on.")
    events = [started(), answered(C1), ended("c1", "Accepted."), asked, answered(SAID)]

    assert rebuild(events, "a1")[2:] == [
        user(result("c1", "Accepted."), text("Go on.")),
        assistant(SAID),
    ]


CLEARED = event("context.cleared", turn=2, stubs={"c1": "[cleared]"}, thinking=0)
COMPACTED = event(
    "context.compacted", turn=3, kept_messages=2, text="so far: x", thinking=1
)


def test_what_was_cleared_and_compacted_is_sent_no_more_and_stays_on_record() -> None:
    begun = [started(), answered(SAID, C1), ended("c1", "a long text"), CLEARED]
    events = [*begun, answered(SAID, C2), ended("c2"), COMPACTED, added("note well")]

    assert rebuild(begun, "a1")[-1] == user(result("c1", "[cleared]"))
    assert rebuild(events, "a1") == [
        user(GO, text("so far: x")),
        assistant(SAID, C2),
        user(result("c2"), text("note well")),
    ]
    assert rebuild(events, "a1", as_sent=False) == [
        user(GO),
        assistant(SAID, C1),
        user(result("c1", "a long text")),
        assistant(SAID, C2),
        user(result("c2"), text("note well")),
    ]


def test_edits_tell_where_in_the_conversation_they_came() -> None:
    events = [started(), answered(SAID, C1), ended("c1"), CLEARED, answered(SAID, C2)]

    places = edits_of([*events, ended("c2"), COMPACTED], "a1")

    assert [(each.messages, each.event) for each in places] == [
        (3, CLEARED),
        (5, COMPACTED),
    ]


def test_a_second_compaction_takes_the_place_of_the_first() -> None:
    second = event("context.compacted", kept_messages=2, text="by now: y")
    events = [started(), answered(SAID), added("a"), answered(SAID, C1), ended("c1")]
    events += [COMPACTED, answered(SAID, C2), ended("c2"), second]

    assert rebuild(events, "a1") == [
        user(GO, text("by now: y")),
        assistant(SAID, C2),
        user(result("c2")),
    ]


def test_what_had_joined_the_first_message_goes_with_a_compaction() -> None:
    events = [started(), added("early"), answered(SAID), added("a"), answered(SAID, C1)]
    events += [ended("c1"), event("context.compacted", kept_messages=3, text="so far")]

    assert rebuild(events[:2], "a1") == [user(GO, text("early"))]
    assert rebuild([*events, answered(SAID), added("b"), COMPACTED], "a1") == [
        user(GO, text("so far: x")),
        assistant(SAID),
        user(text("b")),
    ]


def test_an_answer_to_what_the_program_asked_for_is_no_part_of_it() -> None:
    summary = event("model.answered", content=[SAID], purpose="summary")

    assert rebuild([started(), summary], "a1") == [user(GO)]


def test_an_edit_of_a_conversation_whose_start_is_lost_leaves_it_legal() -> None:
    messages = rebuild([answered(SAID, C1), ended("c1"), COMPACTED], "a1")

    assert [each["role"] for each in messages] == ["user", "assistant", "user"]
