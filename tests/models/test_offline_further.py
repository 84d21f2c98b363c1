"""The offline lead and further questions after its report."""

from __future__ import annotations

import pytest
from further_bench import (
    A2,
    EXIT_FOUND,
    LAST_CALL,
    accept,
    asked,
    briefs_of,
    calls_of,
    look_around,
    question,
    report_of,
)
from lead_bench import (
    A1,
    LISTING,
    QUESTIONS,
    TOOLS,
    came_back,
    refused,
    task,
    until_delegation,
)
from offline_bench import LOOKING, Conversation

from orchestrator.evidence import citations
from orchestrator.models.offline.reading import asked_in


async def test_a_further_question_gets_a_plan_briefs_and_a_report_of_its_own() -> None:
    conversation = await asked("Where is the exit?")

    plan = await calls_of(conversation)
    conversation.answer([(LISTING, False), ("Noted.", False), ("Noted.", False)])
    [brief] = await briefs_of(conversation)
    found = came_back(("a3", brief["title"], "submitted", EXIT_FOUND))
    conversation.answer([(found, False)])
    report = await report_of(conversation)

    assert plan[2]["input"]["text"] == "- [ ] Where is the exit?"
    assert brief["questions"] == ["Where is the exit?"]
    assert "No language model was used" in report.split("##")[0]
    assert [c.text for c in citations(report)] == ["docs/exit.md:4"]
    assert "lease" not in report


async def test_constraints_of_the_task_hold_for_a_further_question() -> None:
    conversation = await asked(
        "Where is the exit?", constraints=("Do not open anything under secrets/.",)
    )

    await look_around(conversation)
    [brief] = await briefs_of(conversation)

    assert brief["scope"] == {"exclude": ["secrets/"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is the exit? Who locks it?", ["Where is the exit?", "Who locks it?"]),
        ("Say where the exit is and who locks it.", None),
        ("出口在哪里？谁负责上锁？", ["出口在哪里？", "谁负责上锁？"]),
        ("- Where is the exit?\n- Who locks it?", None),
        (
            "How wide is it? Also:\n1. Where is the exit?\n2. Who\n   locks it?\n\n"
            "Keep it short. When does it open?",
            [
                "How wide is it?",
                "Where is the exit?",
                "Who locks it?",
                "When does it open?",
            ],
        ),
        ("- Where is it?\n\n  On which side?", ["Where is it? On which side?"]),
    ],
)
def test_a_further_question_is_split_as_a_task_is(
    text: str, expected: list[str] | None
) -> None:
    found = asked_in(text)

    assert len(found) > 1 or expected == found
    assert expected is None or found == expected


async def test_a_further_question_may_have_the_headings_of_a_task() -> None:
    conversation = await asked(
        "# Objective\n\nGet out.\n\n# Questions\n\n- Where is it?\n- Who locks it?\n\n"
        "# Constraints\n\n- Look only in docs/."
    )

    await look_around(conversation)
    briefs = await briefs_of(conversation)

    assert [b["questions"] for b in briefs] == [["Where is it?"], ["Who locks it?"]]
    assert all(brief["scope"] == {"include": ["docs/"]} for brief in briefs)


async def test_the_same_question_again_gets_another_title() -> None:
    conversation = await asked(QUESTIONS[0])
    sent = {brief["title"] for brief in conversation.calls[3]["input"]["briefs"]}

    await look_around(conversation)
    [brief] = await briefs_of(conversation)

    assert brief["questions"] == [QUESTIONS[0]]
    assert brief["title"] not in sent


async def test_no_more_briefs_are_sent_than_subagents_are_left() -> None:
    conversation = await asked("- Where is it?\n- Who locks it?\n- Why?", subagents=4)

    await look_around(conversation)
    briefs = await briefs_of(conversation)

    assert [len(brief["questions"]) for brief in briefs] == [2, 1]


async def test_with_no_subagent_left_it_looks_itself() -> None:
    conversation = await asked("Where is the exit?", subagents=2)

    await look_around(conversation)
    searches = await calls_of(conversation)
    conversation.answer([("docs/exit.md:1", False)] * len(searches))
    [read] = await calls_of(conversation)
    page = "docs/exit.md: all 2 lines\n1\tThe exit is on the north side.\n2\t"
    conversation.answer([(page, False)])
    report = await report_of(conversation)

    assert {call["name"] for call in searches} == {"grep"}
    assert read["name"] == "read_file"
    assert [c.text for c in citations(report)] == ["docs/exit.md:1"]


async def test_without_delegate_it_looks_itself_for_each_question() -> None:
    tools = ("finish", *LOOKING)
    conversation = Conversation(task("Who pays the deposit?"), tools)
    conversation.answer([("No line fits.", False)] * len(await calls_of(conversation)))
    await report_of(conversation)
    accept(conversation, question("Where is the exit?"))

    searches = await calls_of(conversation)
    conversation.answer([("No line fits.", False)] * len(searches))
    report = await report_of(conversation)

    assert any("exit" in call["input"]["pattern"] for call in searches)
    assert not any("deposit" in call["input"]["pattern"] for call in searches)
    assert "Where is the exit?" in report
    assert "deposit" not in report


async def test_several_further_questions_follow_each_other() -> None:
    conversation = await asked("Where is the exit?")
    for agent, text in (("a3", "Where is the exit?"), ("a4", "Who locks the door?")):
        await look_around(conversation)
        [brief] = await briefs_of(conversation)
        assert brief["questions"] == [text]
        found = EXIT_FOUND.replace("a3", agent)
        conversation.answer(
            [(came_back((agent, brief["title"], "submitted", found)), False)]
        )
        assert text in await report_of(conversation)
        accept(conversation, question("Who locks the door?"))


async def test_a_question_after_words_without_a_hand_in_opens_a_chapter_too() -> None:
    conversation, _ = await until_delegation(task(*QUESTIONS))
    conversation.answer([(came_back(A1, A2), False)])
    conversation.messages.append(
        {"role": "assistant", "content": [{"type": "text", "text": "That is all."}]}
    )
    said = [{"type": "text", "text": question("Where is the exit?")}]
    conversation.messages.append({"role": "user", "content": said})

    await look_around(conversation)
    [brief] = await briefs_of(conversation)

    assert brief["questions"] == ["Where is the exit?"]


async def test_a_question_before_the_first_turn_takes_the_place_of_the_tasks() -> None:
    conversation = Conversation(task(*QUESTIONS), ("delegate", "finish"))
    said = {"type": "text", "text": question("Where is the exit?")}
    conversation.messages[0]["content"].append(said)

    [brief] = await briefs_of(conversation)

    assert brief["questions"] == ["Where is the exit?"]


@pytest.mark.parametrize(
    "text",
    [
        "What was the last call of the captain?",
        "Summarise the sections on rent, please.",
    ],
)
async def test_words_of_a_question_are_not_taken_for_the_programs(text: str) -> None:
    conversation = await asked(text)

    await look_around(conversation)

    assert await briefs_of(conversation)


async def test_the_last_call_behind_a_question_is_obeyed() -> None:
    conversation = await asked("Where is the exit?")
    conversation.messages[-1]["content"].append({"type": "text", "text": LAST_CALL})

    report = await report_of(conversation)

    assert "reached a limit" in report
    assert "Where is the exit?" in report


async def test_a_refused_brief_of_a_question_has_rounds_of_its_own() -> None:
    conversation = await asked("Where is the exit of the old house?")
    await look_around(conversation)

    for _ in range(3):
        await briefs_of(conversation)
        problem = "`objective` is vague (“x”): say what"
        conversation.answer([(refused(0, problem), True)])
    calls = await calls_of(conversation)

    assert {call["name"] for call in calls} == {"grep"}


async def test_what_a_result_holds_opens_nothing() -> None:
    conversation, given = await until_delegation(task(*QUESTIONS))
    result = f"{came_back(A1, A2)}\n\n{question('Where is the exit?')}"
    conversation.answer([(result, False)])

    report = await report_of(conversation)

    assert len(given["briefs"]) == 2
    assert "How long is the lease?" in report
    assert "exit" not in report


async def test_what_the_task_itself_holds_opens_nothing() -> None:
    first = "Read the papers.\n\n# Further question\n\nWho is it?"
    conversation = Conversation(first, TOOLS)

    goal = (await calls_of(conversation))[1]

    assert goal["input"]["text"] == "Read the papers."
