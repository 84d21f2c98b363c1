"""The offline model as lead: what memory answers is cited and not looked up again."""

from __future__ import annotations

from typing import Any

import pytest
from lead_bench import LEASE, LISTING, TOOLS, came_back, task, until_finish
from offline_bench import LOOKING, Conversation

from orchestrator.evidence import citations

LONG, PAYS = "How long is the lease?", "Who pays the deposit?"
FIRM = (
    "- `docs.md` › Lease term: The lease runs for five years. / Found for: How long is "
    "the lease? (2026-11-29, confidence 0.9, `docs/lease.md:12-13` unchanged)"
)
STALE = FIRM.replace("unchanged", "STALE: changed since; read it again")
PAID = (
    "- `docs.md` › Deposit: The tenant pays the deposit. (2026-10-02, confidence 0.8, "
    "`docs/deposit.md:4` unchanged)"
)
HINT = "- `docs.md` › Deposit: The landlord pays the deposit. (by a person)"


def learned(*entries: str, asked: tuple[str, ...] = (LONG, PAYS), **fields: Any) -> str:
    return "\n\n".join(
        [
            task(*asked, **fields),
            "# What earlier runs learned",
            "True when it was written; check before use.",
            "Topics in memory:\n\n- `docs.md` (2, newest 2026-11-29): The papers.",
            "Found for this objective:\n\n" + "\n".join(entries),
        ]
    )


async def first_turn(
    first: str, tools: tuple[str, ...] = TOOLS
) -> list[tuple[str, dict[str, Any]]]:
    reply = await Conversation(first, tools).turn()
    return [(call["name"], call["input"]) for call in reply.content]


async def brought_back(first: str, **agents: str) -> tuple[list[str], str]:
    """Return the questions that were sent out, and the report."""
    items = agents.get("items", LEASE)
    conversation, given = await until_finish(
        first, came_back(("a1", "lease", "submitted", items))
    )
    [call] = [c for c in conversation.calls if c["name"] == "delegate"]
    asked = [q for brief in call["input"]["briefs"] for q in brief["questions"]]
    return asked, given["report"]


async def test_where_memory_answers_all_it_hands_in_at_once() -> None:
    steps = await first_turn(learned(FIRM, PAID))

    assert {name for name, _ in steps} == {"update_notes", "finish"}
    report = steps[-1][1]["report"]
    assert [c.text for c in citations(report)] == [
        "docs/lease.md:12-13",
        "docs/deposit.md:4",
    ]
    assert "(from memory of 2026-11-29; these lines are unchanged since)" in report
    assert "From memory, and not read again: questions 1, 2." in report
    assert "No language model was used." in report
    assert "Found for" not in report


async def test_a_second_block_of_the_first_message_is_read_alike() -> None:
    conversation = Conversation(task(LONG), TOOLS)
    memory = learned(FIRM).partition("# What earlier")
    text = "".join(memory[1:])
    conversation.messages[0]["content"].append({"type": "text", "text": text})

    reply = await conversation.turn()

    assert reply.content[-1]["name"] == "finish"


async def test_only_what_memory_does_not_answer_is_sent_out() -> None:
    asked, report = await brought_back(learned(PAID))

    assert asked == [LONG]
    assert "[docs/lease.md:12-13]" in report
    assert "[docs/deposit.md:4] (from memory of 2026-10-02" in report
    assert "question 2." in report


async def test_questions_keep_their_numbers() -> None:
    third = "When is the handover?"
    first = learned(PAID, asked=(LONG, PAYS, third), subagents=1)
    asked, report = await brought_back(first)

    assert asked == [LONG, third]
    sections = report.split("\n## ")
    assert "docs/deposit.md:4" in sections[2]
    assert "docs/deposit.md:4" not in sections[1] + sections[3]


async def test_the_plan_says_what_is_done_already() -> None:
    steps = await first_turn(learned(PAID))

    [plan] = [given["text"] for _, given in steps if given.get("section") == "Plan"]
    assert plan == f"- [ ] {LONG}\n- [x] {PAYS}"


async def test_what_is_stale_is_looked_up_and_the_report_says_what_it_was() -> None:
    asked, report = await brought_back(learned(STALE, asked=(LONG,)))

    assert asked == [LONG]
    assert "[docs/lease.md:12-13]" in report
    assert "Memory was stale here" in report
    assert "of 2026-11-29 says “The lease runs for five years.”" in report
    assert "`docs/lease.md:12-13` changed since" in report
    assert "From memory, and not read again" not in report


async def test_a_hint_is_told_and_looked_up() -> None:
    asked, report = await brought_back(learned(HINT))

    assert asked == [LONG, PAYS]
    assert "A hint from memory" in report
    assert "The landlord pays the deposit." in report


async def test_a_failed_subagent_is_told_beside_a_stale_entry() -> None:
    failed = came_back(("a1", "lease", "failed (gone)", "Tried:\n- x: y"))
    _, given = await until_finish(learned(STALE, asked=(LONG,)), failed)

    assert "a1: failed (gone)" in given["report"]
    assert "Memory was stale here" in given["report"]


@pytest.mark.parametrize(
    ("constraint", "is_answered"),
    [
        ("Look only in docs/.", True),
        ("Do not open anything under secrets/.", True),
        ("Do not open anything under docs/.", False),
        ("Look only in secrets/.", False),
        ("docs/ are mostly off topic, unless needed.", False),
    ],
)
async def test_constraints_hold_for_memory_too(
    constraint: str, is_answered: bool
) -> None:
    first = learned(FIRM, asked=(LONG,), constraints=(constraint,))
    conversation = Conversation(first, TOOLS)
    reply = await conversation.turn()
    conversation.answer(
        [
            (LISTING if call["name"] == "list_dir" else "Noted.", False)
            for call in reply.content
        ]
    )
    reply = await conversation.turn()

    given = reply.content[-1]["input"]
    assert ("from memory" in given.get("report", "")) is is_answered


async def test_alone_it_searches_only_for_what_memory_does_not_answer() -> None:
    steps = await first_turn(learned(FIRM), ("finish", *LOOKING))

    patterns = " ".join(str(given.get("pattern")) for _, given in steps)
    assert "deposit" in patterns
    assert "leas" not in patterns


async def test_a_result_in_json_is_filled_from_memory() -> None:
    schema = (
        "Hand in as `result` one JSON value; JSON Schema: "
        '`{"type": "object", "properties": {"lease_years": {"type": "integer"}}}`'
    )
    text = FIRM.replace("five years", "5 years")
    steps = await first_turn(learned(text, asked=(LONG,), deliverable=schema))

    assert steps[-1][0] == "finish"
    assert steps[-1][1]["result"] == {"lease_years": 5}


async def test_a_citation_that_is_refused_is_taken_out() -> None:
    conversation = Conversation(learned(FIRM, PAID), TOOLS)
    reply = await conversation.turn()
    answers = [("Noted.", False)] * (len(reply.content) - 1)
    wrong = "Wrong citations: [docs/lease.md:12-13]: no such lines"
    conversation.answer([*answers, (wrong, True)])

    reply = await conversation.turn()

    assert [c.text for c in citations(reply.content[-1]["input"]["report"])] == [
        "docs/deposit.md:4"
    ]


async def test_a_report_in_chinese_says_it_in_chinese() -> None:
    value = "保留期限：骑行轨迹保留 13 个月。 / 问题：骑行轨迹会保留多久？"
    entry = f"- `政策.md` › 轨迹: {value} (2026-11-29, `政策/隐私.md:17` unchanged)"
    first = learned(
        entry, asked=("骑行轨迹会保留多久？",), objective="回答新同事的问题。"
    )
    steps = await first_turn(first)

    report = steps[-1][1]["report"]
    assert "[政策/隐私.md:17]（来自 2026-11-29 的记忆" in report
    assert "没有重新阅读：问题 1" in report


async def test_a_further_question_is_looked_up_since_files_may_have_changed() -> None:
    conversation = Conversation(learned(FIRM, PAID), TOOLS)
    reply = await conversation.turn()
    said = "# Further question\n\nWho pays the deposit?"
    conversation.answer([("Noted.", False)] * len(reply.content), said)

    reply = await conversation.turn()

    assert "finish" not in [call["name"] for call in reply.content]
