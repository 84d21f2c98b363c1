"""The offline model: parts of questions, many questions, and why nothing was found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation, explore

from orchestrator.models.offline.phrases import title
from orchestrator.models.offline.reading import parts_of

FILES = {
    "net.md": (
        "# VPN\n\nThe MTU of the VPN is 1380 bytes.\n\n"
        "WireGuard listens on port 51820.\n\n# Purchases since 2026\n\n"
        "Dana signs all purchases above 500 euros. Bo keeps the list.\n"
    ),
    "ops.md": "# Plan\n\nDowntime is expected to be forty minutes.\n",
    "备份.md": "备份：每晚十一点开始备份。\n",
    "preis.md": "Die Gebühr beträgt 30 Euro.\n\nАренда велосипеда стоит 40 евро.\n",
    "src/pool.py": (
        "def run_in_worker(func):\n"
        '    """Run a blocking function in a worker thread."""\n\n\n'
        "MAX_WORKER_THREADS = 40  # threads of the pool at most\n"
    ),
}


def brief(*questions: str) -> str:
    listed = "\n".join(f"- {question}" for question in questions)
    return f"# A title\n\nFind places.\n\n# Questions\n\n{listed}"


def cited(findings: dict[str, Any]) -> list[str]:
    return [each["source"] for item in findings["items"] for each in item["evidence"]]


def whys(findings: dict[str, Any]) -> list[str]:
    return [each["why"] for each in findings["failed_attempts"]]


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "What is the MTU for the VPN, what port does it use, and who signs?",
            ["What is the MTU for the VPN", "what port does it use", "who signs?"],
        ),
        ("What are the main parts, and what does each do?", None),
        ("租期有多长，以及由谁付押金？", ["租期有多长", "由谁付押金？"]),
        ("押金多少，什么时候退？", ["押金多少", "什么时候退？"]),
        ("在一线城市出差，住宿费每晚最多可以报销多少钱？", None),
    ],
)
def test_a_question_is_cut_only_where_it_asks_again(
    question: str, parts: list[str] | None
) -> None:
    found = parts_of(question)

    assert found == (parts or [question]) or " ".join(found) == question.replace(
        ", and", ""
    )


@pytest.mark.parametrize(
    ("question", "sources"),
    [
        (
            "What is the MTU of the VPN, what port does WireGuard use, and who signs "
            "purchases?",
            ["net.md:3", "net.md:5", "net.md:9"],
        ),
        (
            "Which function runs a blocking function in a worker thread, and how many "
            "worker threads may there be?",
            ["src/pool.py:1-2", "src/pool.py:5"],
        ),
    ],
)
async def test_every_part_of_a_question_is_answered(
    tmp_path: Path, question: str, sources: list[str]
) -> None:
    findings, _ = await explore(tmp_path, brief(question), files=FILES)

    assert cited(findings) == sources
    assert findings["status"] == "complete"


async def test_the_part_that_was_not_found_is_named(tmp_path: Path) -> None:
    question = "What is the MTU of the VPN, and who owns the yacht?"

    findings, _ = await explore(tmp_path, brief(question), files=FILES)

    assert cited(findings) == ["net.md:3"]
    assert findings["status"] == "partial"
    assert findings["open_questions"] == ["who owns the yacht?"]


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("How long is the downtime expected to be?", "ops.md:3"),
        ("什么时候开始备份？", "备份.md:1"),
        ("What does `other.run_in_worker` run in a thread?", ""),
        ("What does other.run_in_worker run in a thread?", ""),
        ("Wie hoch ist die Gebühr?", "preis.md:1"),
        ("Сколько стоит аренда велосипеда?", "preis.md:3"),
    ],
)
async def test_numbers_in_words_letters_of_any_script_and_whole_names_count(
    tmp_path: Path, question: str, source: str
) -> None:
    findings, _ = await explore(tmp_path, brief(question), files=FILES)

    assert cited(findings) == ([source] if source else [])


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (
            "How long does WireGuard listen?",
            "the terms stand together in net.md:5, but no line there holds a length of "
            "time",
        ),
        ("Who owns the yacht?", "no line holds: yacht"),
    ],
)
async def test_the_reason_for_not_finding_is_the_true_one(
    tmp_path: Path, question: str, why: str
) -> None:
    findings, _ = await explore(tmp_path, brief(question), files=FILES)

    assert whys(findings) == [why]


async def test_with_one_term_nothing_is_said_of_terms_together(tmp_path: Path) -> None:
    findings, _ = await explore(
        tmp_path,
        brief("How long is the lunch?"),
        files={"a.md": "Lunch was late for all.\n"},
    )

    assert whys(findings) == [
        "the term stands in a.md:1, but no line there holds a length of time"
    ]


async def test_each_of_many_questions_is_looked_up_as_one_alone(tmp_path: Path) -> None:
    files = {
        f"part{n}/notes{n}.md": f"# Notes\n\nThe valve{n}x opens at {n}7 degrees.\n"
        for n in range(1, 18)
    }
    asked = [f"At how many degrees does the valve{n}x open?" for n in range(1, 18)]

    findings, _ = await explore(tmp_path, brief(*asked), files=files)

    assert cited(findings) == [f"part{n}/notes{n}.md:3" for n in range(1, 18)]
    assert findings["status"] == "complete"


async def test_what_was_not_tried_before_the_end_is_named() -> None:
    conversation = Conversation(
        brief("What is the deposit?", "Who owns the yacht?"),
        (*LOOKING, "submit_findings"),
    )
    reply = await conversation.turn()
    rows = ["a.md:3:the deposit", "a.md:1"]
    conversation.answer(
        [
            (rows[c["input"]["output"] == "count"], False)
            if "deposit" in c["input"]["pattern"]
            else ("No line fits.", False)
            for c in reply.content
        ],
        "The limit `turns` is reached, and this is your last answer.",
    )

    [call] = (await conversation.turn()).content

    assert call["input"]["status"] == "partial"
    assert call["input"]["open_questions"][0] == "What is the deposit?"
    assert whys(call["input"])[0].startswith("not tried: the limit was reached")


# ---- searches that fail -------------------------------------------------------------


async def failing(error: str, *, in_docs: bool) -> tuple[dict[str, Any], list[str]]:
    """Answer every search of the whole with an error; return findings and paths."""
    conversation = Conversation(
        brief("What is the deposit for a tandem?"), (*LOOKING, "submit_findings")
    )
    for _ in range(6):
        reply = await conversation.turn()
        if reply.content[0]["name"] == "submit_findings":
            break
        results: list[tuple[str, bool]] = []
        for call in reply.content:
            given = call["input"]
            if call["name"] == "list_dir":
                results.append((".: 2 folders, 0 files\nbig/\ndocs/", False))
            elif call["name"] == "read_file":
                results.append(("1\tThe deposit for a tandem is 90 euros.", False))
            elif given.get("path") == "docs" and in_docs:
                row = "docs/a.md:1"
                is_lines = given["output"] == "lines"
                results.append((f"{row}:deposit tandem" if is_lines else row, False))
            else:
                results.append((error, True))
        conversation.answer(results)
    paths = [c["input"].get("path", "") for c in conversation.calls]
    return reply.content[0]["input"], paths


async def test_a_search_that_fails_is_made_again_folder_by_folder() -> None:
    findings, paths = await failing("the search took too long", in_docs=True)

    assert cited(findings) == ["docs/a.md:1"]
    assert {"big", "docs"} <= set(paths)


async def test_a_search_that_fails_to_the_end_is_not_called_nothing_found() -> None:
    findings, _ = await failing("the search took too long", in_docs=False)

    assert findings["status"] == "failed"
    assert whys(findings) == ["could not be searched: big: the search took too long"]


# ---- questions about everything -----------------------------------------------------


async def test_a_question_about_the_whole_gets_a_sentence_of_each_part(
    tmp_path: Path,
) -> None:
    files = {"README.md": "# Shop\n\nThis is the code of the shop.\n", **FILES}

    findings, _ = await explore(
        tmp_path,
        brief("What are the main parts?", "Where does one start reading?"),
        files=files,
    )

    assert cited(findings)[0] == cited(findings)[-1] == "README.md:3"
    assert {"net.md:3", "ops.md:3"} <= set(cited(findings))


async def test_a_task_file_in_the_workspace_is_no_answer(tmp_path: Path) -> None:
    question = "What is the MTU of the VPN?"
    task = f"objective: {question} The MTU of the VPN.\n"

    findings, _ = await explore(
        tmp_path, brief(question), files={**FILES, "task.yaml": task}
    )

    assert cited(findings) == ["net.md:3"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many days of leave are there?", "days of leave are there"),
        ("What was the root cause of INC-1?", "root cause of INC-1"),
        ("Who?", "Who"),
        ("押金是多少？", "押金是多少"),
    ],
)
def test_titles_begin_with_the_words_that_tell(question: str, expected: str) -> None:
    assert title([question]) == expected
