"""The offline model as a subagent: what it cites, and when it cites nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offline_bench import LOOKING, Conversation, explore

from orchestrator.evidence import find_quote, parse_source

TOOLS = (*LOOKING, "submit_findings")

LEAVE = """# Leave

Valid from 2026.

## Annual leave

Full-time employees receive 26 days of paid annual leave. People who work part-time
receive fewer.

## Sick leave

A doctor's note is needed from the fourth day on.
"""
OLD_LEAVE = """# Leave (2025 edition)

> **Superseded.** See `leave.md`.

## Annual leave

Full-time employees receive 24 days of paid annual leave. People who work part-time
receive fewer.
"""
REFUNDS = """# 退款规定

## 取消

租车开始前 48 小时以上取消的，全额退款。
之后取消的，收取三成费用。

## 押金

押金为 600 元，还车后五个工作日内退回。
"""
CODE = '''"""Things that are kept."""


class Store:
    """Keeps entries on disk."""

    max_entries: int = 500
    """Entries before the oldest is dropped."""

    def prune(self, keep: int) -> int:
        """Drop the oldest entries until `keep` are left."""
        return keep
'''
FILES = {
    "hr/leave.md": LEAVE,
    "hr/leave-2025.md": OLD_LEAVE,
    "客服/退款.md": REFUNDS,
    "src/store.py": CODE,
    "notes.txt": "Minutes\n\nWho brings the cake? Nobody knows.\nLunch was late.\n",
}


def brief(*questions: str) -> str:
    listed = "\n".join(f"- {question}" for question in questions)
    return (
        "# Constraints\n\n- Read nothing under secrets/.\n\n# A title\n\n"
        f"Find places.\n\n# Questions\n\n{listed}\n\n# Deliverable\n\nA claim each."
    )


def places_of(findings: dict[str, Any]) -> list[str]:
    return [each["source"] for item in findings["items"] for each in item["evidence"]]


@pytest.mark.parametrize(
    ("question", "source"),
    [
        pytest.param(
            "How many days of annual leave do full-time employees receive?",
            "hr/leave.md:7",
            id="the valid edition, not the superseded one",
        ),
        pytest.param(
            "What do I have to hand in when I am ill?", "", id="not what was asked"
        ),
        pytest.param("From which day is a doctor's note needed?", "hr/leave.md:12"),
        pytest.param("押金是多少？", "客服/退款.md:10", id="chinese"),
        pytest.param(
            "什么时候取消可以全额退款？", "客服/退款.md:5", id="chinese words cut"
        ),
        pytest.param(
            "What does `prune` drop?",
            "src/store.py:10-11",
            id="a definition with its docstring",
        ),
        pytest.param("What is `max_entries`?", "src/store.py:7", id="a field"),
        pytest.param("Who brings the cake?", "", id="a question is no answer"),
        pytest.param("How much is the dental plan?", "", id="nothing is there"),
        pytest.param("食堂午餐多少钱？", "", id="nothing is there, in chinese"),
    ],
)
async def test_the_place_that_answers_is_cited_or_none(
    tmp_path: Path, question: str, source: str
) -> None:
    findings, conversation = await explore(tmp_path, brief(question), files=FILES)

    assert places_of(findings) == ([source] if source else [])
    assert findings["status"] == ("complete" if source else "nothing_found")
    assert len(conversation.calls) <= 11


async def test_each_quote_is_word_for_word_at_its_lines(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path,
        brief("How many days of annual leave do employees receive?", "押金是多少？"),
        files=FILES,
    )

    assert len(findings["items"]) == 2
    for item in findings["items"]:
        for evidence in item["evidence"]:
            source = parse_source(evidence["source"])
            text = FILES[source.target]
            assert source.first is not None
            lines = text.split("\n")[source.first - 1 : source.last]
            assert "\n".join(lines) == evidence["quote"]
            assert find_quote(evidence["quote"], text) is not None


async def test_what_was_not_found_is_said_with_the_terms_that_were_tried(
    tmp_path: Path,
) -> None:
    findings, _ = await explore(
        tmp_path,
        brief(
            "How many days of annual leave do employees receive?", "Who owns the yacht?"
        ),
        files=FILES,
    )

    assert findings["status"] == "partial"
    assert findings["open_questions"] == ["Who owns the yacht?"]
    [attempt] = findings["failed_attempts"]
    assert "yacht" in attempt["tried"]


async def test_without_grep_the_listed_files_are_read(tmp_path: Path) -> None:
    findings, conversation = await explore(
        tmp_path,
        brief("From which day is a doctor's note needed?"),
        files=FILES,
        tools=("glob", "read_file", "submit_findings"),
    )

    assert places_of(findings) == ["hr/leave.md:12"]
    assert conversation.calls[0]["name"] == "glob"


async def test_without_read_file_lines_of_grep_are_cited(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path,
        brief("From which day is a doctor's note needed?"),
        files=FILES,
        tools=("grep", "submit_findings"),
    )

    assert places_of(findings) == ["hr/leave.md:12"]


async def test_with_no_tool_to_look_it_says_that_it_failed(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path, brief("Who?"), files=FILES, tools=("submit_findings",)
    )

    assert findings["status"] == "failed"


async def test_failing_tools_end_in_findings_and_not_in_a_loop() -> None:
    conversation = Conversation(brief("What is the deposit for a tandem?"), TOOLS)
    for _ in range(4):
        reply = await conversation.turn()
        if reply.content[0]["name"] == "submit_findings":
            break
        conversation.answer([("ripgrep is not installed", True)] * len(reply.content))

    assert reply.content[0]["input"]["status"] == "failed"
    assert "ripgrep" in reply.content[0]["input"]["failed_attempts"][0]["why"]


async def test_the_last_call_hands_in_at_once(tmp_path: Path) -> None:
    conversation = Conversation(brief("What is the deposit for a tandem?"), TOOLS)
    reply = await conversation.turn()
    said = "The limit `turns` is reached, and this is your last answer. Call it now."
    conversation.answer([("hr/a.md:3", False)] * len(reply.content), said)

    last = await conversation.turn()

    assert [block["name"] for block in last.content] == ["submit_findings"]
    assert last.content[0]["input"]["items"] == []


async def test_an_item_that_is_sent_back_is_dropped(tmp_path: Path) -> None:
    findings, conversation = await explore(
        tmp_path,
        brief("How many days of annual leave do employees receive?", "押金是多少？"),
        files=FILES,
    )
    kept = findings["items"][1]
    conversation.answer(
        [
            (
                "Not accepted:\n- item 1, evidence 1 (`x`): not in that file",
                True,
            )
        ]
    )

    again = (await conversation.turn()).content[0]["input"]
    conversation.answer([("Not accepted. Mend this:\n- something else", True)])
    last = (await conversation.turn()).content[0]["input"]

    assert again["items"] == [kept]
    assert again["status"] == "partial"
    assert last["items"] == []
    assert last["status"] == "nothing_found"


async def test_a_line_that_was_cut_is_never_quoted() -> None:
    conversation = Conversation(brief("What is the deposit for a tandem?"), TOOLS)
    reply = await conversation.turn()
    row = "a.md:1:The deposit for a tandem is 90 euros."
    counts = "a.md:1"
    conversation.answer(
        [
            (row if "lines" in str(c["input"].get("output")) else counts, False)
            for c in reply.content
        ]
    )
    reply = await conversation.turn()
    assert reply.content[0]["name"] == "read_file"
    cut = '1\tThe deposit [… 9,000 characters left out; read_ref("art_1")] 90 euros.'
    conversation.answer([(f"a.md: its only line\n{cut}", False)])

    last = (await conversation.turn()).content[0]["input"]

    assert last["items"] == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    question=st.text(max_size=60),
    results=st.lists(st.text(max_size=300), min_size=1, max_size=4),
)
async def test_any_question_and_any_result_end_in_findings(
    question: str, results: list[str]
) -> None:
    conversation = Conversation(brief(question), TOOLS)
    for turn in range(8):
        reply = await conversation.turn()
        if reply.content[0]["name"] == "submit_findings":
            return
        texts = [
            results[(turn + at) % len(results)] for at in range(len(reply.content))
        ]
        conversation.answer([(f"a.md:3:{text}\n1\t{text}", False) for text in texts])
    raise AssertionError("no findings after eight turns")


async def test_claims_are_one_line_and_name_their_heading(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path, brief("From which day is a doctor's note needed?"), files=FILES
    )

    [item] = findings["items"]
    assert re.fullmatch(r"Sick leave: A doctor's note is needed.*on\.", item["claim"])
