from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.brief import MAX_BRIEF_CHARS, Brief, BriefDeliverable, lint
from orchestrator.evidence import citations
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.security.workspace import Workspace
from orchestrator.subagents.places import with_places

QUOTE = "a quote that is long enough to count"


def item(*sources: str) -> Item:
    evidence = tuple(Evidence(source=each, quote=QUOTE) for each in sources)
    return Item(claim="One fact, in a sentence.", evidence=evidence)


def found(*items: Item) -> Findings:
    return Findings(status="partial", summary="What was found.", items=items)


FINDINGS = {
    "a2": found(
        item("src/a.py:12-14"),
        item("src/a.py:40", "docs/b.md:3-4"),
        item(),
        item("src/a.py:12-14", "src/a.py:20"),
        item("art_0123456789ab:7"),
        item("https://example.org/page:3"),
    ),
    "a13": found(item("src/[id]/page.ts:9"), item("odd, name.md:3"), item("中文.md:1")),
}


def written(text: str, findings: dict[str, Findings] | None = None) -> str:
    brief = Brief(title="Review", objective=text)
    return with_places(brief, FINDINGS if findings is None else findings).objective


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("So it is [a2#1].", "So it is [src/a.py:12-14]."),
        ("So it is `[a2#1]`.", "So it is `[src/a.py:12-14]`."),
        ("See `a2#1` and a2#1.", "See [src/a.py:12-14] and [src/a.py:12-14]."),
        ("[a2#1, a2#2]", "[src/a.py:12-14, src/a.py:40, docs/b.md:3-4]"),
        ("[`a2#1`; a13#3]", "[src/a.py:12-14; 中文.md:1]"),
        ("[a2#1-2]", "[src/a.py:12-14, 40, docs/b.md:3-4]"),
        ("[a2#4]", "[src/a.py:12-14, 20]"),
        ("[a2#5][a2#6]", "[art_0123456789ab:7][https://example.org/page:3]"),
        ("[see a2#1]", "[see src/a.py:12-14]"),
        ("[a13#1]", "[src/[id]/page.ts:9]"),
        ("[a13#2]", "[`odd, name.md:3`]"),
        ("[x/y.py:3, a2#1, 5]", "[x/y.py:3, src/a.py:12-14, x/y.py:5]"),
        ("[x/y.py:3, 5, a2#1]", "[x/y.py:3, 5, src/a.py:12-14]"),
        ("```\n- fact [a2#1]\n```", "```\n- fact [src/a.py:12-14]\n```"),
        ("据 [a2#1\uff0ca13#3]", "据 [src/a.py:12-14\uff0c中文.md:1]"),
    ],
)
def test_a_cited_item_becomes_its_places(text: str, expected: str) -> None:
    assert written(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[a3#1]",
        "[a2#0] [a2#7] [a2#3]",
        "`a9#1`",
        "[a2#1-3]",  # the third has no evidence
        "[a2#1-400]",
        "[a2#1, 7-9]",  # items or lines
        "https://example.org/a2#1 and docs/a2#1",
        "xa2#1 a2#1x a2 a2# #1 a02#1",
        "an array[2] and [a link](a2.md)",
        "[" * 50,
    ],
)
def test_what_names_no_item_with_evidence_stays_as_it_is(text: str) -> None:
    assert written(text) == text


def test_every_text_of_the_brief_is_written_anew_and_nothing_else() -> None:
    brief = Brief(
        title="Check [a2#1]",
        objective="Is [a2#1] right?",
        questions=("Does [a2#1] hold?", "What else?"),
        background="Draft: it is so [a2#1].",
        deliverable=BriefDeliverable(form="one item per claim, as [a2#1]"),
        tools=("grep",),
    )

    after = with_places(brief, FINDINGS)

    place = "[src/a.py:12-14]"
    assert after == Brief(
        title=f"Check {place}",
        objective=f"Is {place} right?",
        questions=(f"Does {place} hold?", "What else?"),
        background=f"Draft: it is so {place}.",
        deliverable=BriefDeliverable(form=f"one item per claim, as {place}"),
        tools=("grep",),
    )


def test_a_draft_with_citations_passes_the_linter_as_places(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\n" * 50)
    brief = Brief(
        title="Review of the draft",
        objective="Is each sentence of the draft borne out by the lines it cites?",
        background="The draft:\nTokens are checked in one place [a2#1, a2#4].",
    )

    def problems(brief: Brief) -> list[str]:
        workspace = Workspace(tmp_path)
        return lint(brief, workspace=workspace, profiles=("explorer",), others=())

    assert len(problems(brief)) == 1
    assert problems(with_places(brief, FINDINGS)) == []


def test_a_brief_that_cites_nothing_is_the_same_object() -> None:
    brief = Brief(title="Review", objective="Is `src/a.py` right?")

    assert with_places(brief, FINDINGS) is brief


def test_the_title_stays_one_that_can_be_read_back() -> None:
    findings = {"a1": found(item("src/" + "long" * 40 + ".py:1"))}
    brief = Brief(title="Check [a1#1] " + "x" * 150, objective="Is it right?")

    after = with_places(brief, findings)

    assert Brief.model_validate(after.model_dump(mode="json")) == after


def test_a_brief_does_not_grow_without_end() -> None:
    many = item(*(f"src/{'deep/' * 150}{n}.py:1" for n in range(500)))
    findings = {"a1": found(*[many] * 500)}
    text = " ".join(f"[a1#{n}]" for n in range(1, 500))

    assert len(written(text, findings)) < 4 * MAX_BRIEF_CHARS


@given(
    st.lists(
        st.sampled_from(["a2#1", "a2#2", "a2#4", "a13#1", "a13#3", "x/y.py:3", "7-9"]),
        min_size=1,
        max_size=6,
    )
)
def test_the_places_are_the_evidence_of_what_was_cited(pieces: list[str]) -> None:
    # Lines belong to a path: without one before them nobody knows what they mean.
    at = pieces.index("x/y.py:3") if "x/y.py:3" in pieces else len(pieces)
    pieces = [each for n, each in enumerate(pieces) if n > at or each != "7-9"]
    text = f"[{', '.join(pieces)}]"
    expected: list[tuple[str, int, int]] = []
    for each in citations(text):
        if each.agent:
            for evidence in FINDINGS[each.agent].items[each.item - 1].evidence:
                place = citations(f"[{evidence.source}]")[0]
                expected.append((place.target, place.first, place.last))
        else:
            expected.append((each.target, each.first, each.last))

    after = citations(written(text))

    assert [(each.target, each.first, each.last) for each in after] == expected


@given(st.text(alphabet="a2#1-3[]`, x\n", max_size=60))
def test_any_text_is_taken(text: str) -> None:
    assert "a2#1]" not in written(f"[a2#1]{text}")[:20]
