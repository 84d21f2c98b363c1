"""The offline model's report and JSON result: nothing invented, nothing altered."""

from __future__ import annotations

import json
from typing import Any

import pytest
from offline_bench import LOOKING, Conversation

from orchestrator.evidence import citations
from orchestrator.models.offline.answers import Place
from orchestrator.models.offline.report import without_citations
from orchestrator.models.offline.result import fill
from orchestrator.models.offline.scope import scope_of

LISTING = ["docs/", "home/", "中文/", "README.md"]
QUESTION = "What is the MTU, what port does WireGuard use, and who signs purchases?"
PLACES = [
    Place(
        "VPN: The MTU is 1380 bytes.", "a1", 1, "n.md", 3, 3, "The MTU is 1380 bytes."
    ),
    Place(
        "Plan 2026: WireGuard listens on UDP port 51820, since 2024.",
        "a1",
        2,
        "n.md",
        5,
        5,
        "WireGuard listens on UDP port 51820, since 2024.",
    ),
    Place(
        "Purchases since 2026: Dana signs all purchases above 500 euros.",
        "a1",
        3,
        "n.md",
        9,
        9,
        "Dana signs all purchases above 500 euros.",
    ),
]
ANSWERS = [(QUESTION, PLACES)]
INTEGER = {"type": "integer"}


def filled(properties: dict[str, Any], answers: Any = ANSWERS) -> tuple[Any, list[str]]:
    schema = {
        "type": "object",
        "required": list(properties),
        "properties": properties,
    }
    return fill(schema, "objective", answers)


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        pytest.param("mtu", INTEGER, 1380, id="close to its name"),
        pytest.param("wireguard_port", INTEGER, 51820, id="a name of two words"),
        pytest.param("wireguardPort", INTEGER, 51820, id="a name with a hump"),
        pytest.param("purchases", INTEGER, 500, id="never a year of a heading"),
        pytest.param(
            "limit",
            {**INTEGER, "description": "Purchases above this are signed"},
            None,
            id="its name is not there",
        ),
        pytest.param(
            "who",
            {"enum": ["Bo", "Dana"], "description": "signs purchases"},
            "Dana",
            id="a choice by its description",
        ),
        pytest.param(
            "who", {"enum": ["Bo", "Dana"]}, None, id="a name that says nothing"
        ),
        pytest.param("mtu", {**INTEGER, "maximum": 576}, None, id="out of bounds"),
        pytest.param("latency", INTEGER, None, id="no such thing"),
        pytest.param("mtu", {"type": "boolean"}, None, id="a judgement"),
        pytest.param(
            "mtu", {"type": "string"}, "VPN: The MTU is 1380 bytes.", id="text"
        ),
        pytest.param(
            "gateway", {"type": "string"}, None, id="no text of something else"
        ),
    ],
)
def test_a_value_is_taken_only_from_a_place_that_holds_its_terms(
    name: str, schema: dict[str, Any], value: object
) -> None:
    result, lacking = filled({name: schema})

    assert (result or {}).get(name) == value
    assert lacking == ([] if value is not None else [name])


def test_what_was_not_found_is_left_out_and_the_rest_is_kept() -> None:
    result, lacking = filled({"mtu": INTEGER, "who": {"enum": ["Bo", "Dana"]}})

    assert result == {"mtu": 1380}
    assert lacking == ["who"]


@pytest.mark.parametrize("kinds", [["integer", "null"], ["null", "string"]])
def test_null_is_said_where_it_may_be(kinds: list[str]) -> None:
    assert filled({"latency": {"type": kinds}}) == ({"latency": None}, [])


def test_two_choices_in_one_place_are_no_choice() -> None:
    place = Place("Purchases: Bo and Dana sign purchases.", "a1", 1, "n.md", 1, 1)
    schema = {"enum": ["Bo", "Dana"], "description": "signs purchases"}

    assert filled({"who": schema}, [("Who?", [place])]) == (None, ["who"])


@pytest.mark.parametrize(
    ("constraint", "include", "exclude"),
    [
        ("Stay out of the home folder.", (), ("home/",)),
        ("Do not open anything in docs.", (), ("docs/",)),
        ("Only use files in 中文.", ("中文/",), ()),
        ("不要打开 home 文件夹。", (), ("home/",)),
        ("只使用“docs”里的文件。", ("docs/",), ()),
        ("Keep to README.md.", ("README.md",), ()),
    ],
)
def test_constraints_that_name_what_is_there_are_applied(
    constraint: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> None:
    scope = scope_of([constraint], (), LISTING)

    assert (scope.include, scope.exclude) == (include, exclude)
    assert scope.unapplied == ()


@pytest.mark.parametrize(
    ("constraint", "include", "exclude"),
    [
        ("Leave out everything except docs/", ("docs/",), ()),
        ("Leave out everything but docs/.", ("docs/",), ()),
        ("Use nothing outside docs/", ("docs/",), ()),
        ("除了 docs/ 以外都不要看", ("docs/",), ()),
        ("别打开 home", (), ("home/",)),
        ("Look in docs/ only.", ("docs/",), ()),
        ("Exclude home/ from the search.", (), ("home/",)),
        ("For the first question, look only in docs/.", (), ()),
        ("Never open or change home/.", (), ("home/",)),
        ("Leave home/ unopened.", (), ("home/",)),
        ("Do not change docs/ and leave out home/.", (), ("home/",)),
        ("Look only in docs/, not in home/.", ("docs/",), ("home/",)),
        ("Leave out `home/`.", (), ("home/",)),
        ("Only docs/ is off limits", (), ()),
        ("Do not leave out home/", (), ()),
        ("Don't skip docs/", (), ()),
        ("Never skip docs", (), ()),
        ("Nothing from home/ may appear in the report", (), ()),
        ("Use docs/ but not docs/lease.pdf", (), ()),
        ("Look only in docs/ unless it is empty.", (), ()),
        ("Leave out home/. Unless it helps.", (), ()),
        ("Leave out home/*.pdf", (), ()),
        ("不要跳过 docs/", (), ()),
        ("别只看 docs/", (), ()),
        ("除了 docs/ 都要看", (), ()),
    ],
)
def test_a_constraint_is_never_turned_into_its_opposite(
    constraint: str, include: tuple[str, ...], exclude: tuple[str, ...]
) -> None:
    scope = scope_of([constraint], (), LISTING)

    assert (scope.include, scope.exclude) == (include, exclude)
    assert bool(scope.unclear) == (not include and not exclude)
    assert scope.unapplied == ()


def test_two_constraints_that_keep_to_different_places_are_unclear() -> None:
    both = ["Look only in docs/.", "Look only in home/."]

    assert scope_of(both, (), LISTING).unclear == ((both[1], "home/"),)


@pytest.mark.parametrize("tools", [("delegate", "finish"), ("finish",)])
async def test_nothing_is_searched_under_a_constraint_that_is_unclear(
    tools: tuple[str, ...],
) -> None:
    first = TASK.replace("Stay out of the home folder.", "Do not leave out home/.")
    conversation = Conversation(first, (*tools, *LOOKING))
    [look] = (await conversation.turn()).content
    conversation.answer([(".: 2 folders, 0 files\nhome/\ndocs/", False)])

    [call] = (await conversation.turn()).content

    assert (look["name"], call["name"]) == ("list_dir", "finish")
    said = (
        "Not answered: the constraint “Do not leave out home/.” names `home/`, and the "
        "offline model cannot tell what it asks; reword it as “Leave out `home/`.” or"
    )
    assert call["input"]["report"].count(said) == 2


@pytest.mark.parametrize(
    ("constraint", "is_held"),
    [
        ("Answer in German.", False),
        ("Stay out of the cellar folder.", False),
        ("Make yourself at home; do not hurry.", False),
        ("Do not change any file in docs.", True),
        ("Do not edit anything outside docs/.", True),
        ("不要修改任何文件。", True),
    ],
)
def test_other_constraints_hold_by_themselves_or_are_named(
    constraint: str, is_held: bool
) -> None:
    scope = scope_of([constraint], (), LISTING)

    assert scope.fields() == {}
    assert scope.unapplied == (() if is_held else (constraint,))


# ---- the report of a conversation ---------------------------------------------------

TASK = (
    "# Constraints\n\nThese hold for all.\n\n- Stay out of the home folder.\n"
    "- Answer in German.\n\n# Objective\n\nPrepare it.\n\n# Questions\n\n"
    "- How long is the lease?\n- Who owns the yacht?\n\n# Setting\n\n"
    "Limits of the whole task: 3 subagents, 3 at the same time."
)
HEAD = "agent | title | status | items | unsupported | ended"


async def report_of(items: str, tried: str = "") -> str:
    conversation = Conversation(TASK, ("delegate", "finish", *LOOKING))
    await conversation.turn()
    conversation.answer([(".: 2 folders, 0 files\nhome/\ndocs/", False)])
    [call] = (await conversation.turn()).content
    briefs = call["input"]["briefs"]
    assert all(brief["scope"] == {"exclude": ["home/"]} for brief in briefs)
    titles = [brief["title"] for brief in briefs]
    assert titles == ["lease", "owns the yacht"]
    rows = [
        f"a{n} | {title} | partial | 1 | 0 | submitted"
        for n, title in enumerate(titles, 1)
    ]
    found = [
        f'<findings agent="a{n}" title="{title}" status="partial">\n{text}\n</findings>'
        for n, (title, text) in enumerate(zip(titles, (items, tried), strict=True), 1)
    ]
    conversation.answer([("\n".join([HEAD, *rows, *found]), False)])
    [finish] = (await conversation.turn()).content
    return str(finish["input"]["report"])


ITEM = "[a1#1] {} (0.8)\n  docs/a.py:2\n  > x"


async def test_the_opening_note_says_what_became_of_the_constraints() -> None:
    head = (await report_of(ITEM.format("Five years."))).split("## 1.")[0]

    assert "Left out, as a constraint asks: `home/`." in head
    assert "could not be applied: “Answer in German.”." in head
    assert "These hold for all" not in head


async def test_files_that_were_not_searched_are_named_and_told_where_it_matters() -> (
    None
):
    gap = "2 PDF/DOCX files were not searched: it is encrypted: `a.pdf`, `b.pdf`"
    searched = Conversation(
        "# Objective\n\nWho owns the yacht?", ("submit_findings", *LOOKING)
    )
    calls = (await searched.turn()).content
    searched.answer([(f"No match.\n[{gap}]", False)] * len(calls))
    [hand_in] = (await searched.turn()).content
    first, missed = hand_in["input"]["failed_attempts"]
    tried = "\n".join(f"- {each['tried']}: {each['why']}" for each in (first, missed))

    report = await report_of(ITEM.format("Five years."), tried)

    assert first["why"] == gap
    head, found, missing = report.split("\n## ")
    assert "> Not searched: 2 PDF/DOCX files: it is encrypted: `a.pdf`" in head
    assert head.count("Not searched") == 1
    assert "Not searched" not in found
    assert missing.rstrip().endswith("Not searched: 2 PDF/DOCX files.")


async def test_a_damaged_file_that_was_read_is_told() -> None:
    page = "b.pdf: all 1 lines (text of a PDF, which is damaged and may lack parts (x))"
    searched = Conversation(
        "# Objective\n\nHow long is the lease?", ("submit_findings", *LOOKING)
    )
    calls = (await searched.turn()).content
    searched.answer([("b.pdf:1", False)] * len(calls))
    await searched.turn()
    searched.answer([(f"{page}\n1\tThe lease runs for five years.", False)])

    [hand_in] = (await searched.turn()).content

    [gap] = hand_in["input"]["failed_attempts"]
    assert gap["why"] == "`b.pdf` is damaged and may lack parts"
    assert hand_in["input"]["status"] == "complete"


@pytest.mark.parametrize(
    "text",
    ["return header_line[:100]", "rows[1:3] + names[0]", "see [the docs](a/b.md)"],
)
async def test_a_quote_with_brackets_stays_as_it_is(text: str) -> None:
    report = await report_of(ITEM.format(text))

    assert text in report
    assert [each.text for each in citations(report)] == ["docs/a.py:2"]


@pytest.mark.parametrize(
    "text",
    [
        "See [docs/other.md:1-2] for it",
        "See [a9#1, docs/b.md:3; c/d.md:4] for it",
        "See [[docs/b.md:3]] for it",
        "See [docs/b.md:3，c/d.md:4] for it",
    ],
)
async def test_a_quote_that_looks_like_a_citation_keeps_its_words(text: str) -> None:
    report = await report_of(ITEM.format(text))

    assert [each.text for each in citations(report)] == ["docs/a.py:2"]
    assert "docs/b.md:3" in report or "docs/other.md:1-2" in report


@pytest.mark.parametrize(
    ("why", "said"),
    [
        (
            "no line holds: yacht",
            "Nothing was found. Searched for: yacht: no line holds",
        ),
        (
            "could not be searched: took too long",
            "Could not be searched: took too long.",
        ),
        ("not tried: the limit was reached", "Not tried: the limit was reached."),
    ],
)
async def test_the_report_says_why_there_is_no_place(why: str, said: str) -> None:
    tried = f"- “Who owns the yacht?” – searched for ‘yacht’: {why}"

    report = await report_of(ITEM.format("Five years."), tried)

    assert said in report.split("## 2.")[1]


def test_a_line_with_a_refused_citation_is_taken_out() -> None:
    report = "# Report\n\n- One [a/b.md:1]\n- Two [a/b.md:2]\n"

    kept = without_citations(report, "- [a/b.md:2]: no", drop_all=False)

    assert [each.text for each in citations(kept)] == ["a/b.md:1"]


def test_a_citation_that_begins_like_a_refused_one_is_kept() -> None:
    report = "- One [a1#1]\n- Two [a1#12]\n- Three [a/b.md:1]\n- Four [a/b.md:12]\n"

    refusal = "- [a1#12]: no\n- [a/b.md:12]: no"
    kept = without_citations(report, refusal, drop_all=False)

    assert [each.text for each in citations(kept)] == ["a1#1", "a/b.md:1"]


async def test_a_result_with_a_gap_is_handed_in_with_the_gap() -> None:
    schema = {
        "type": "object",
        "required": ["lease", "who"],
        "properties": {"lease": {"type": "string"}, "who": {"type": "string"}},
    }
    first = (
        "# Objective\n\nHow long is the lease?\n\n# Setting\n\nNo subagents.\n\n"
        "# Deliverable\n\nas `result` one JSON value that follows this JSON Schema: "
        f"`{json.dumps(schema)}`; and a report, at most 4000 tokens."
    )
    conversation = Conversation(first, ("finish", *LOOKING))
    for _ in range(3):
        reply = await conversation.turn()
        name = reply.content[0]["name"]
        if name == "finish":
            break
        text = "1\tThe lease runs for five years." if name == "read_file" else "a.md:1"
        conversation.answer([(text, False)] * len(reply.content))

    given = reply.content[0]["input"]
    assert given["result"] == {"lease": "The lease runs for five years."}
    assert "`who`" in given["report"]
