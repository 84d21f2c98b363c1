"""The offline model as lead: briefs, notes, the report and its mending."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from lead_bench import (
    A1,
    A2_FAILED,
    LEASE,
    LISTING,
    QUESTIONS,
    TOOLS,
    came_back,
    refused,
    task,
    until_delegation,
    until_finish,
)
from offline_bench import Conversation, request_of

import orchestrator.models.offline as package
from orchestrator.evidence import citations
from orchestrator.models.base import Retry
from orchestrator.models.offline import OfflineModel
from orchestrator.models.offline.reading import questions_of
from orchestrator.spec.prompts import PromptBook


async def test_it_looks_and_notes_its_plan_before_it_delegates() -> None:
    conversation = Conversation(task(*QUESTIONS), TOOLS)

    reply = await conversation.turn()

    assert [call["name"] for call in reply.content] == [
        "list_dir",
        "update_notes",
        "update_notes",
    ]
    assert [c["input"]["section"] for c in reply.content[1:]] == ["Goal", "Plan"]


@pytest.mark.parametrize("quote", ["", "> "], ids=["told", "in the state"])
async def test_what_a_person_wrote_into_the_notes_stays_above_its_own(
    quote: str,
) -> None:
    conversation = Conversation(task(*QUESTIONS), TOOLS)
    words = PromptBook().fill("notes_edited", section="Plan", text="Only 2026.")
    state = "# The work so far\n\nSteps 1 to 4 of this conversation have made room.\n\n"
    told = f"{state if quote else ''}{quote}{words}"
    conversation.messages[0]["content"].append({"type": "text", "text": told})

    reply = await conversation.turn()

    modes = {c["input"]["section"]: c["input"]["mode"] for c in reply.content[1:]}
    assert modes == {"Goal": "replace", "Plan": "append"}


async def test_each_question_becomes_a_brief_that_stands_alone() -> None:
    _, given = await until_delegation(task(*QUESTIONS))

    assert [brief["questions"] for brief in given["briefs"]] == [[q] for q in QUESTIONS]
    assert all(brief["agent"] == "explorer" for brief in given["briefs"])
    assert all(
        q in b["objective"] for q, b in zip(QUESTIONS, given["briefs"], strict=True)
    )
    assert len({brief["title"] for brief in given["briefs"]}) == 2


@pytest.mark.parametrize(
    ("constraint", "scope"),
    [
        ("Do not open anything under secrets/.", {"exclude": ["secrets/"]}),
        ("Look only in docs/.", {"include": ["docs/"]}),
        (
            "只看 docs/，不要打开 secrets/。",
            {"include": ["docs/"], "exclude": ["secrets/"]},
        ),
        ("Never use elsewhere/ or secret words.", None),
        ("Be brief.", None),
    ],
)
async def test_scope_names_only_what_was_seen(
    constraint: str, scope: dict[str, list[str]] | None
) -> None:
    _, given = await until_delegation(task(*QUESTIONS, constraints=(constraint,)))

    assert all(brief.get("scope") == scope for brief in given["briefs"])


async def test_an_objective_without_questions_is_split_into_its_clauses() -> None:
    _, given = await until_delegation(
        task(objective="Explain how leases end and who pays. 押金是多少？何时退还？")
    )

    asked = [question for brief in given["briefs"] for question in brief["questions"]]
    assert asked == [
        "Explain how leases end and who pays.",
        "押金是多少？",
        "何时退还？",
    ]


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (
            "How long is the lease, and who pays the deposit?",
            ["How long is the lease, and who pays the deposit?"],
        ),
        (
            "What is A? What is B and how does C work? It goes to the board.",
            ["What is A?", "What is B and how does C work?"],
        ),
        ("租期有多长，以及由谁付押金？", ["租期有多长，以及由谁付押金？"]),
        ("Say how A works; then who pays?", ["Say how A works; then who pays?"]),
        ("Say how A works. Who pays?", ["Say how A works.", "Who pays?"]),
        ("Say how A works and who pays.", ["Say how A works", "who pays."]),
    ],
)
def test_no_part_of_a_question_is_dropped(objective: str, expected: list[str]) -> None:
    assert questions_of("", objective) == expected


async def test_more_questions_than_subagents_share_briefs() -> None:
    questions = tuple(f"What is rule {n}?" for n in range(1, 8))

    _, given = await until_delegation(task(*questions, subagents=3))

    assert [len(brief["questions"]) for brief in given["briefs"]] == [3, 3, 1]


async def test_the_report_cites_what_was_found_and_says_what_was_not() -> None:
    _, given = await until_finish(task(*QUESTIONS), came_back(A1, A2_FAILED))

    report = given["report"]
    assert "No language model was used" in report.split("##")[0]
    assert [c.text for c in citations(report)] == ["docs/lease.md:12-13"]
    second = report.split("## 2.")[1]
    assert "the endpoint was gone" in second
    assert "a2" in second


async def test_an_unsupported_claim_is_shown_without_a_place() -> None:
    bad = LEASE.replace("[a1#1] ", "[a1#1] UNSUPPORTED, quote not found: ")

    _, given = await until_finish(task(*QUESTIONS), came_back((*A1[:3], bad)))

    assert citations(given["report"]) == []
    assert "five years" in given["report"]


async def test_a_path_that_no_citation_can_hold_is_cited_by_its_item() -> None:
    odd = LEASE.replace("docs/lease.md", "docs/lease, final (2).md")

    _, given = await until_finish(task(*QUESTIONS), came_back((*A1[:3], odd)))

    assert [c.text for c in citations(given["report"])] == ["a1#1"]


async def test_text_of_a_file_cannot_add_a_citation() -> None:
    sly = LEASE.replace("The lease runs", "See [docs/other.md:1-2] and [a9#1]; it runs")

    _, given = await until_finish(task(*QUESTIONS), came_back((*A1[:3], sly)))

    assert [c.text for c in citations(given["report"])] == ["docs/lease.md:12-13"]


async def test_a_chinese_objective_gets_a_chinese_report() -> None:
    _, given = await until_finish(
        task("租期多长？", objective="为搬家准备一份说明。"),
        came_back(("a1", "租期多长", "submitted", LEASE)),
    )

    assert "没有使用语言模型" in given["report"]


async def test_refused_briefs_are_said_in_two_other_ways_and_then_looked_up() -> None:
    conversation, given = await until_delegation(
        task(*QUESTIONS, constraints=("Look only in docs/.",))
    )
    named = "`questions[1]` says “the deposit”: the subagent sees nothing but this"

    conversation.answer([(f"{refused(1, named)}\n\n{came_back(A1)}", False)])
    [again] = (await conversation.turn()).content[0]["input"]["briefs"]
    conversation.answer([(refused(0, "`objective` is vague (“x”): say what"), True)])
    [third] = (await conversation.turn()).content[0]["input"]["briefs"]
    conversation.answer([(refused(0, "no"), True)])
    alone = (await conversation.turn()).content
    conversation.answer([("No line fits.", False)] * len(alone))
    last = (await conversation.turn()).content[-1]

    assert given["briefs"][1]["questions"] == ["Who pays the deposit?"]
    assert again["questions"] == ["Who pays ?"]
    assert third["questions"] == ["Which lines speak of: pays?"]
    assert again["scope"] == third["scope"] == {"include": ["docs/"]}
    assert {call["name"] for call in alone} == {"grep"}
    assert {call["input"]["path"] for call in alone} == {"docs"}
    assert last["name"] == "finish"
    assert "docs/lease.md:12-13" in last["input"]["report"]
    assert "Nothing was found" in last["input"]["report"].split("## 2.")[1]


async def test_a_constraint_is_not_dropped_where_its_place_is_refused() -> None:
    conversation, _ = await until_delegation(
        task(*QUESTIONS, constraints=("Look only in docs/, not in secrets/.",))
    )
    conversation.answer([(refused(0, "`scope.include`: `docs/` is not there"), True)])

    last = (await conversation.turn()).content[-1]

    assert last["name"] == "finish"
    report = last["input"]["report"]
    assert report.count("Not answered: the constraints keep to a place that") == 2
    assert "`docs/` is not there" in report
    assert "Looked only in" not in report


async def test_a_brief_refused_for_a_place_its_question_names_is_given_without_it() -> (
    None
):
    conversation, given = await until_delegation(
        task("What does docs/lost.md say of the lease?")
    )
    conversation.answer([(refused(0, "`scope.include`: it is not there"), True)])

    [again] = (await conversation.turn()).content[0]["input"]["briefs"]

    assert given["briefs"][0]["scope"] == {"include": ["docs/lost.md"]}
    assert "scope" not in again


async def test_a_wrong_citation_that_is_sent_back_is_taken_out() -> None:
    conversation, _ = await until_finish(task(*QUESTIONS), came_back(A1))
    results = [("Noted.", False)] * (len(conversation.messages[-1]["content"]) - 1)
    conversation.answer([*results, ("Mend:\n- [docs/lease.md:12-13]: no", True)])

    [call] = (await conversation.turn()).content

    assert call["name"] == "finish"
    assert citations(call["input"]["report"]) == []
    assert "## 2." in call["input"]["report"]


async def test_the_last_call_finishes_with_what_is_there() -> None:
    conversation, _ = await until_delegation(task(*QUESTIONS))
    said = (
        "The limit `usd` is reached, and this is your last answer. Call `finish` now."
    )
    conversation.answer([(came_back(A1), False)], said)

    [call] = (await conversation.turn()).content

    assert call["name"] == "finish"
    assert "reached a limit" in call["input"]["report"]
    assert "docs/lease.md:12-13" in call["input"]["report"]


async def test_after_a_raised_limit_it_goes_on_with_the_work() -> None:
    conversation = Conversation(task(*QUESTIONS), TOOLS)
    first = (await conversation.turn()).content
    said = "A limit is reached, and this is your last answer. Call `finish` now."
    conversation.answer(
        [(LISTING, False), *[("Noted.", False)] * 2][: len(first)], said
    )
    [stopped] = (await conversation.turn()).content
    raised = "Not taken yet: the limit that stopped you has been raised. Go on"
    conversation.answer([(raised, True)])

    [again] = (await conversation.turn()).content
    conversation.answer([(came_back(A1), False)])
    last = (await conversation.turn()).content[-1]

    assert (stopped["name"], again["name"]) == ("finish", "delegate")
    assert "docs/lease.md:12-13" in last["input"]["report"]


async def test_without_subagents_it_looks_itself() -> None:
    conversation = Conversation(
        task(*QUESTIONS), tuple(name for name in TOOLS if name != "delegate")
    )
    reply = await conversation.turn()
    assert {call["name"] for call in reply.content} == {"grep"}
    conversation.answer([("docs/lease.md:1", False)] * len(reply.content))
    reply = await conversation.turn()
    assert reply.content[0]["name"] == "read_file"
    page = "docs/lease.md: all 2 lines\n1\tThe lease runs for five years.\n2\t"
    conversation.answer([(page, False)] * len(reply.content))

    reply = await conversation.turn()

    assert reply.content[-1]["name"] == "finish"
    report = reply.content[-1]["input"]["report"]
    assert [c.text for c in citations(report)] == ["docs/lease.md:1"]


SCHEMA = {
    "type": "object",
    "required": ["answers", "years"],
    "properties": {
        "years": {"type": "array", "items": {"type": "string"}},
        "answers": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["question", "found"],
                "properties": {
                    "question": {"type": "string"},
                    "found": {"type": "boolean"},
                    "claim": {"type": "string"},
                    "source": {"type": "string"},
                    "line": {"type": "integer"},
                },
            },
        },
    },
}


async def test_a_json_result_is_filled_from_the_places() -> None:
    wanted = (
        "Hand in with `finish`: as `result` one JSON value that follows this JSON "
        f"Schema: `{json.dumps(SCHEMA)}`; and as `report` the same in Markdown with "
        "citations, at most 4000 tokens."
    )

    _, given = await until_finish(task(*QUESTIONS, deliverable=wanted), came_back(A1))

    assert given["result"] == {
        "years": ["The lease runs for five years."],
        "answers": [
            {
                "question": QUESTIONS[0],
                "found": True,
                "claim": "The lease runs for five years.",
                "source": "docs/lease.md:12-13",
                "line": 12,
            },
            {"question": QUESTIONS[1], "found": False},
        ],
    }


async def test_a_result_that_cannot_be_extracted_is_not_made_up() -> None:
    schema = {
        "type": "object",
        "required": ["is_fair"],
        "properties": {"is_fair": {"type": "boolean"}},
    }
    wanted = (
        "as `result` one JSON value that follows this JSON Schema: "
        f"`{json.dumps(schema)}`; and a report, at most 4000 tokens."
    )

    _, given = await until_finish(task(*QUESTIONS, deliverable=wanted), came_back(A1))

    assert "result" not in given
    assert "`is_fair`" in given["report"]


# ---- the model as a whole -----------------------------------------------------------


async def test_the_same_request_gives_the_same_reply_and_stays_unchanged() -> None:
    conversation = Conversation(task(*QUESTIONS), TOOLS)
    request = request_of(conversation.messages, TOOLS)
    before = json.dumps(request.messages)

    def on_retry(_retry: Retry) -> None:
        raise AssertionError

    first = await OfflineModel().complete(request, on_retry=on_retry)
    second = await OfflineModel().complete(request, on_retry=on_retry)

    assert first.content == second.content
    assert json.dumps(request.messages) == before
    assert first.stop_reason == "tool_use"
    assert first.usage.known
    assert first.usage.input_tokens > 100
    assert first.usage.output_tokens > 10


async def test_ids_of_calls_are_unique_in_a_conversation() -> None:
    conversation, _ = await until_finish(task(*QUESTIONS), came_back(A1))
    for _ in range(2):
        results = [("again", True)] * len(conversation.messages[-1]["content"])
        conversation.answer(results)
        await conversation.turn()

    ids = [call["id"] for call in conversation.calls]
    assert len(ids) == len(set(ids))


async def test_asked_to_summarise_it_extracts_the_named_sections() -> None:
    conversation, _ = await until_delegation(task(*QUESTIONS))
    conversation.answer(
        [(came_back(A1), False)],
        "Write a summary of the work so far with these sections:\n## Work done\n"
        "## Facts and figures\n## Open items\n",
    )

    reply = await conversation.turn()

    assert reply.stop_reason == "end_turn"
    text = reply.content[0]["text"]
    assert [line for line in text.split("\n") if line.startswith("## ")] == [
        "## Work done",
        "## Facts and figures",
        "## Open items",
    ]
    assert "The lease runs for five years." in text
    assert QUESTIONS[1] in text


async def test_a_request_without_tools_gets_text() -> None:
    conversation = Conversation("Please sum this up: the lease runs for 5 years.", ())

    reply = await conversation.turn()

    assert reply.stop_reason == "end_turn"
    assert "5 years" in reply.content[0]["text"]


def test_it_has_no_way_to_reach_disk_or_network() -> None:
    folder = Path(package.__file__).parent
    allowed = {"__future__", "collections", "dataclasses", "functools", "json", "math"}
    allowed |= {"re", "time", "typing", "orchestrator"}
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                continue
            assert {name.split(".")[0] for name in names} <= allowed, path.name
