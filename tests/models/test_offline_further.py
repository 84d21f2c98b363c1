"""The offline lead after its report: a further question, and going on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from lead_bench import (
    A1,
    A2_FAILED,
    LISTING,
    QUESTIONS,
    came_back,
    refused,
    task,
    until_delegation,
    until_finish,
)
from offline_bench import LOOKING, Conversation

from orchestrator.evidence import citations
from orchestrator.messages import Block
from orchestrator.models.offline.reading import asked_in
from orchestrator.resources import read_text

EXIT_FOUND = (
    "[a3#1] The exit is on the north side. (0.85)\n"
    "  docs/exit.md:4\n  > The exit is on the north side."
)
USED_UP = "all 2 subagents of this run are used up"
A2 = (
    "a2",
    "pays the deposit",
    "submitted",
    "[a2#1] The tenant pays. (0.9)\n  docs/pay.md:3\n  > The tenant pays.",
)


def prompt(name: str, **values: str) -> str:
    """The shipped prompt, filled."""
    text = read_text(f"prompts/{name}.md")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def question(text: str) -> str:
    return prompt("question", question=text, tool="finish")


def go_on(*missing: str, subagents: int = 24) -> str:
    limits = f"Limits of the whole task: {subagents} subagents, 8 at the same time."
    listed = "\n".join(f"- {line}" for line in missing)
    return prompt("go_on", missing=listed, limits=limits, tool="finish")


def accept(conversation: Conversation, said: str) -> None:
    """Accept the report, with a text of the program behind."""
    calls = conversation.messages[-1]["content"]
    assert calls[-1]["name"] == "finish"
    noted = [("Noted.", False)] * (len(calls) - 1)
    conversation.answer([*noted, ("Accepted.", False)], said)


async def calls_of(conversation: Conversation) -> list[Block]:
    return list((await conversation.turn()).content)


async def look_around(conversation: Conversation) -> None:
    calls = await calls_of(conversation)
    assert {call["name"] for call in calls} == {"list_dir", "update_notes"}
    conversation.answer(
        [(LISTING if call["name"] == "list_dir" else "Noted.", False) for call in calls]
    )


async def briefs_of(conversation: Conversation) -> list[dict[str, Any]]:
    [call] = await calls_of(conversation)
    assert call["name"] == "delegate"
    return list(call["input"]["briefs"])


async def report_of(conversation: Conversation) -> str:
    call = (await calls_of(conversation))[-1]
    assert call["name"] == "finish"
    return str(call["input"]["report"])


async def asked(
    text: str, *, constraints: tuple[str, ...] = (), subagents: int = 24
) -> Conversation:
    """A finished conversation that was asked something further."""
    first = task(*QUESTIONS, constraints=constraints, subagents=subagents)
    conversation, _ = await until_finish(first, came_back(A1, A2))
    accept(conversation, question(text))
    return conversation


async def gone_on(
    *missing: str,
    agents: Sequence[tuple[str, str, str, str]] = (A1, A2_FAILED),
    subagents: int = 24,
) -> Conversation:
    """A conversation that ended with something missing and goes on."""
    conversation, _ = await until_finish(task(*QUESTIONS), came_back(*agents))
    accept(conversation, go_on(*missing, subagents=subagents))
    return conversation


A2_MISSING = "subagent a2 (pays the deposit) failed: the endpoint was gone"

# ---- a further question -------------------------------------------------------------


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
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.messages[-1]["content"].append({"type": "text", "text": said})

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


async def test_a_heading_in_the_task_or_in_a_result_opens_nothing() -> None:
    sly = task(*QUESTIONS, objective="Move.\n\n# Further question\n\nWho is it?")
    conversation, given = await until_delegation(sly)
    result = f"{came_back(A1, A2)}\n\n{question('Where is the exit?')}"
    conversation.answer([(result, False)])

    report = await report_of(conversation)

    assert len(given["briefs"]) == 2
    assert "How long is the lease?" in report
    assert "exit" not in report


# ---- going on -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem",
    [
        "failed: the endpoint was gone",
        "was cancelled: a person stopped it with `orchestrate stop`",
        "could not do the work: no tool for searching was at hand",
        "did not come to its end: a limit (minutes) made it hand in",
    ],
)
async def test_what_is_missing_is_sent_again_word_for_word_and_reported_whole(
    problem: str,
) -> None:
    conversation = await gone_on(f"subagent a2 (pays the deposit) {problem}")
    sent = conversation.calls[3]["input"]["briefs"]

    again = await briefs_of(conversation)
    found = A2[3].replace("a2", "a3")
    conversation.answer(
        [(came_back(("a3", "pays the deposit", "submitted", found)), False)]
    )
    report = await report_of(conversation)

    assert again == [sent[1]]
    assert [c.text for c in citations(report)] == [
        "docs/lease.md:12-13",
        "docs/pay.md:3",
    ]
    assert "failed" not in report


async def test_a_subagent_that_no_result_names_is_found_by_its_title() -> None:
    conversation, given = await until_delegation(task(*QUESTIONS))
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.answer([("It was stopped.", True)], said)
    await report_of(conversation)
    accept(
        conversation,
        go_on("the lead was stopped by a limit: usd", A2_MISSING.replace("a2", "a9")),
    )

    again = await briefs_of(conversation)

    assert [b["title"] for b in again] == [
        given["briefs"][1]["title"],
        given["briefs"][0]["title"],
    ]
    assert [b["questions"] for b in again] == [[QUESTIONS[1]], [QUESTIONS[0]]]


async def test_what_found_no_subagent_is_sent_when_there_are_more() -> None:
    conversation, given = await until_delegation(task(*QUESTIONS))
    result = f"{refused(1, USED_UP)}\n\n{came_back(A1)}"
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.answer([(result, False)], said)
    await report_of(conversation)
    line = f"1 brief found no subagent, {USED_UP}: pays the deposit"
    accept(conversation, go_on(line, subagents=6))

    again = await briefs_of(conversation)
    conversation.answer([(came_back(A2), False)])
    report = await report_of(conversation)

    assert again == [given["briefs"][1]]
    assert [c.text for c in citations(report)] == [
        "docs/lease.md:12-13",
        "docs/pay.md:3",
    ]


async def test_with_no_subagent_left_it_hands_in_what_it_has_and_what_is_missing() -> (
    None
):
    conversation = await gone_on(A2_MISSING, subagents=2)

    report = await report_of(conversation)

    assert [c.text for c in citations(report)] == ["docs/lease.md:12-13"]
    assert "the endpoint was gone" in report.split("## 2.")[1]


async def test_only_as_many_are_sent_again_as_subagents_are_left() -> None:
    lease = ("a1", "lease", "failed (overloaded)", "")
    conversation = await gone_on(
        "subagent a1 (lease) failed: overloaded",
        A2_MISSING,
        agents=(lease, A2_FAILED),
        subagents=3,
    )

    again = await briefs_of(conversation)
    conversation.answer(
        [(came_back(("a3", again[0]["title"], "submitted", EXIT_FOUND)), False)]
    )
    report = await report_of(conversation)

    assert [brief["questions"] for brief in again] == [[QUESTIONS[0]]]
    assert "docs/exit.md:4" in report
    assert "overloaded" not in report
    assert "the endpoint was gone" in report


async def test_what_fails_again_is_sent_once_more_and_keeps_what_it_had() -> None:
    partial = ("a2", "pays the deposit", "limit (minutes)", A2[3])
    conversation = await gone_on(
        "subagent a2 (pays the deposit) did not come to its end: minutes",
        agents=(A1, partial),
    )
    first = await briefs_of(conversation)
    failed = ("a3", "pays the deposit", "failed (overloaded)", "")
    conversation.answer([(came_back(failed), False)])
    report = await report_of(conversation)
    accept(
        conversation,
        go_on(A2_MISSING, "subagent a3 (pays the deposit) failed: overloaded"),
    )

    again = await briefs_of(conversation)

    assert "docs/pay.md:3" in report
    assert "overloaded" in report
    assert again == first


async def test_a_lead_that_was_stopped_before_it_delegated_does_so_now() -> None:
    conversation = Conversation(task(*QUESTIONS), ("delegate", "finish"))
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.messages.append({"role": "assistant", "content": "Well."})
    conversation.messages.append({"role": "user", "content": said})
    await report_of(conversation)
    accept(conversation, go_on("the lead was stopped by a limit: turns is reached"))

    briefs = await briefs_of(conversation)

    assert [brief["questions"] for brief in briefs] == [[q] for q in QUESTIONS]


async def test_a_wrong_citation_is_left_out_of_the_report_anew() -> None:
    conversation = await gone_on(
        "wrong citation [docs/lease.md:12-13]: no such lines", agents=(A1, A2)
    )

    report = await report_of(conversation)

    assert [c.text for c in citations(report)] == ["docs/pay.md:3"]


async def test_it_goes_on_with_a_further_question() -> None:
    conversation = await asked("Where is the exit?")
    await look_around(conversation)
    [brief] = await briefs_of(conversation)
    failed = ("a3", brief["title"], "failed (overloaded)", "")
    conversation.answer([(came_back(failed), False)])
    await report_of(conversation)
    accept(conversation, go_on(f"subagent a3 ({brief['title']}) failed: overloaded"))

    again = await briefs_of(conversation)
    found = EXIT_FOUND.replace("a3", "a4")
    conversation.answer(
        [(came_back(("a4", brief["title"], "submitted", found)), False)]
    )
    report = await report_of(conversation)

    assert again == [brief]
    assert [c.text for c in citations(report)] == ["docs/exit.md:4"]
    assert "lease" not in report


async def test_what_an_earlier_question_lacks_is_added_to_the_newest_report() -> None:
    conversation, given = await until_finish(task(*QUESTIONS), came_back(A1, A2_FAILED))
    del given
    accept(conversation, question("Where is the exit?"))
    await look_around(conversation)
    [brief] = await briefs_of(conversation)
    conversation.answer(
        [(came_back(("a3", brief["title"], "submitted", EXIT_FOUND)), False)]
    )
    await report_of(conversation)
    accept(conversation, go_on(A2_MISSING))

    [again] = await briefs_of(conversation)
    found = A2[3].replace("a2", "a4")
    conversation.answer(
        [(came_back(("a4", "pays the deposit", "submitted", found)), False)]
    )
    report = await report_of(conversation)

    assert again["questions"] == [QUESTIONS[1]]
    assert [c.text for c in citations(report)] == ["docs/exit.md:4", "docs/pay.md:3"]


async def test_a_limit_raised_after_a_question_goes_on_with_that_question() -> None:
    conversation = await asked("Where is the exit?")
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.messages[-1]["content"].append({"type": "text", "text": said})
    await report_of(conversation)
    raised = "Not taken yet: the limit that stopped you has been raised. Go on"
    conversation.answer([(raised, True)])

    await look_around(conversation)
    [brief] = await briefs_of(conversation)

    assert brief["questions"] == ["Where is the exit?"]


async def test_a_summary_asked_for_in_a_later_chapter_is_about_its_question() -> None:
    conversation = await asked("Where is the exit?")
    await look_around(conversation)
    await briefs_of(conversation)
    conversation.answer(
        [(came_back(("a3", "exit", "submitted", EXIT_FOUND)), False)],
        "Write a summary of the work so far with these sections:\n"
        "## Work done\n## Open items\n",
    )

    text = (await calls_of(conversation))[0]["text"]

    assert "Where is the exit?" in text
    assert QUESTIONS[1] not in text
