"""The offline lead where something is missing and the work goes on."""

from __future__ import annotations

import pytest
from further_bench import (
    A2,
    A2_MISSING,
    EXIT_FOUND,
    LAST_CALL,
    USED_UP,
    accept,
    asked,
    briefs_of,
    calls_of,
    go_on,
    gone_on,
    look_around,
    question,
    report_of,
)
from lead_bench import (
    A1,
    A2_FAILED,
    QUESTIONS,
    came_back,
    refused,
    task,
    until_delegation,
    until_finish,
)
from offline_bench import Conversation

from orchestrator.evidence import citations


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
    conversation.answer([("It was stopped.", True)], LAST_CALL)
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
    conversation.answer([(result, False)], LAST_CALL)
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
    conversation.messages.append({"role": "assistant", "content": "Well."})
    conversation.messages.append({"role": "user", "content": LAST_CALL})
    await report_of(conversation)
    accept(conversation, go_on("the lead was stopped by a limit: turns is reached"))

    briefs = await briefs_of(conversation)

    assert [brief["questions"] for brief in briefs] == [[q] for q in QUESTIONS]


async def test_it_plans_anew_with_the_subagents_there_are_from_now_on() -> None:
    conversation = await asked("- Where is it?\n- Who locks it?\n- Why?", subagents=4)
    conversation.messages[-1]["content"].append({"type": "text", "text": LAST_CALL})
    await report_of(conversation)
    accept(conversation, go_on("the lead was stopped by a limit: turns is reached"))

    await look_around(conversation)
    briefs = await briefs_of(conversation)

    assert [len(brief["questions"]) for brief in briefs] == [1, 1, 1]


async def test_a_report_that_was_sent_back_before_is_written_anew() -> None:
    conversation, given = await until_finish(task(*QUESTIONS), came_back(A1, A2_FAILED))
    noted = [("Noted.", False)] * (len(conversation.messages[-1]["content"]) - 1)
    conversation.answer([*noted, ("Mend:\n- [docs/lease.md:12-13]: no", True)])
    conversation.messages.append({"role": "assistant", "content": "I give up."})
    said = go_on("no report was handed in: it stopped calling tools", A2_MISSING)
    conversation.messages.append({"role": "user", "content": said})

    again = await briefs_of(conversation)
    conversation.answer([(came_back(("a3", *A2_FAILED[1:])), False)])
    report = await report_of(conversation)

    assert len(again) == 1
    assert "docs/lease.md:12-13" in report
    assert report != given["report"]


async def test_a_refused_brief_is_not_sent_again_in_the_same_words() -> None:
    conversation, given = await until_delegation(task(*QUESTIONS))
    named = "`questions[1]` says “the deposit”: the subagent sees nothing but this"
    result = f"{refused(1, named)}\n\n{came_back(A1)}"
    conversation.answer([(result, False)], LAST_CALL)
    await report_of(conversation)
    accept(conversation, go_on("the lead was stopped by a limit: usd is reached"))

    again = await briefs_of(conversation)

    assert given["briefs"][1]["questions"] == ["Who pays the deposit?"]
    assert [brief["questions"] for brief in again] == [["Who pays ?"]]


async def test_what_was_refused_to_the_end_is_not_sent_again() -> None:
    conversation, _ = await until_delegation(task(*QUESTIONS))
    problem = "`objective` is vague (“x”): say what"
    conversation.answer([(f"{refused(1, problem)}\n\n{came_back(A1)}", False)])
    for _ in range(2):
        await briefs_of(conversation)
        conversation.answer([(refused(0, problem), True)])
    searches = await calls_of(conversation)
    conversation.answer([("No line fits.", False)] * len(searches))
    before = await report_of(conversation)
    accept(conversation, go_on("wrong citation [a9#1]: no such item"))

    assert await report_of(conversation) == before


async def test_what_still_finds_no_subagent_it_looks_up_itself() -> None:
    conversation, _ = await until_delegation(task(*QUESTIONS))
    result = f"{refused(1, USED_UP)}\n\n{came_back(A1)}"
    conversation.answer([(result, False)], LAST_CALL)
    await report_of(conversation)
    line = f"1 brief found no subagent, {USED_UP}: pays the deposit"
    accept(conversation, go_on(line, subagents=1))

    searches = await calls_of(conversation)

    assert {call["name"] for call in searches} == {"grep"}
    assert any("deposit" in call["input"]["pattern"] for call in searches)


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
    conversation.messages[-1]["content"].append({"type": "text", "text": LAST_CALL})
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
