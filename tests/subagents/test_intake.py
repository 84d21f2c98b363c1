from __future__ import annotations

from collections.abc import Callable

import pytest

from orchestrator.errors import StoreError
from orchestrator.events import FileSeen
from orchestrator.findings import Evidence, Findings, Item
from orchestrator.subagents.intake import Checked, Settled, check, settle

TOKEN = """\
import jwt


def check(token: str) -> bool:
    claims = jwt.decode(token, KEY, algorithms=["HS256"])
    return claims["exp"] > now()
"""
OLD_TOKEN = "# an older version of this very file\n" + TOKEN
POLICY = (
    "退款政策\n\n客户可以在收到货物之后的七天之内申请全额退款\uff0c无需说明理由。\n"
)
STORED = {
    "art_000000000001": TOKEN,
    "art_000000000002": OLD_TOKEN,
    "art_000000000003": POLICY,
    "art_000000000004": "a long tool output that was stored whole\n",
}
SEEN = {
    "src/token.py": [
        FileSeen("src/token.py", "s2", "art_000000000002", 7),
        FileSeen("src/token.py", "s1", "art_000000000001", 6),
    ],
    "docs/退款.md": [FileSeen("docs/退款.md", "s3", "art_000000000003", 3)],
    "big.log": [FileSeen("big.log", "s4", "", 9)],
}
QUOTE = "claims = jwt.decode(token, KEY"
SUMMARY = "Tokens are checked in one place, with HS256."


def read_text(reference: str) -> str:
    try:
        return STORED[reference]
    except KeyError as error:
        raise StoreError(f"no {reference}") from error


def evidence(source: str, quote: str = QUOTE) -> Evidence:
    return Evidence(source=source, quote=quote)


def findings(
    *items: Item, status: str = "complete", summary: str = SUMMARY
) -> Findings:
    return Findings.model_validate(
        {"status": status, "summary": summary, "items": items}
    )


def claimed(*evidence: Evidence, claim: str = "Tokens are decoded with HS256.") -> Item:
    return Item(claim=claim, evidence=evidence, confidence=0.8)


def checked(*items: Item, status: str = "complete", summary: str = SUMMARY) -> Checked:
    return check(findings(*items, status=status, summary=summary), SEEN, read_text)


def insisted(*items: Item, status: str = "complete", summary: str = SUMMARY) -> Settled:
    return settle(checked(*items, status=status, summary=summary))


@pytest.mark.parametrize(
    ("source", "corrected"),
    [
        pytest.param("src/token.py:5", "src/token.py:5", id="right"),
        pytest.param("src/token.py:2-4", "src/token.py:5", id="close"),
        pytest.param("src/token.py:40-45", "src/token.py:5", id="far"),
        pytest.param("src/token.py", "src/token.py:5", id="no lines"),
        pytest.param("./src/token.py:5", "src/token.py:5", id="dot"),
        pytest.param("src\\token.py:5", "src/token.py:5", id="backslash"),
        pytest.param("/ws/src/token.py:5", "src/token.py:5", id="absolute"),
        pytest.param("token.py:5", "src/token.py:5", id="shortened"),
        pytest.param("src/token.py:5:9", "src/token.py:5", id="with a column"),
        pytest.param("`src/token.py:5`", "src/token.py:5", id="as code"),
        pytest.param("src/token.py#L5", "src/token.py:5", id="as on a web page"),
    ],
)
def test_a_quote_gets_the_lines_where_it_stands(source: str, corrected: str) -> None:
    result = checked(claimed(evidence(source)))

    assert result.problems == []
    assert result.findings.items[0].evidence[0].source == corrected


def test_corrected_lines_are_told() -> None:
    assert checked(claimed(evidence("src/token.py:7"))).notes == ()
    assert checked(claimed(evidence("src/token.py:70"))).notes == (
        "lines of 1 quotes were corrected",
    )


def test_every_version_that_was_seen_is_looked_at() -> None:
    old = evidence("src/token.py:1", "# an older version of this very file")

    assert checked(claimed(old)).problems == []


def test_chinese_quotes_and_names_are_looked_up() -> None:
    item = claimed(
        evidence("docs/退款.md:3", "客户可以在收到货物之后的七天之内申请全额退款"),
        claim="客户可以在七天之内退款。",
    )

    assert checked(item).findings.items[0].evidence[0].source == "docs/退款.md:3"


def test_stored_results_can_be_quoted() -> None:
    item = claimed(evidence("art_000000000004:1", "a long tool output that was stored"))

    assert checked(item).problems == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        pytest.param(
            evidence("src/token.py:5", "claims = jwt.encode(token, KEY"),
            "not in that file as you read it",
            id="not there",
        ),
        pytest.param(evidence("src/other.py:5"), "never opened", id="never opened"),
        pytest.param(evidence("x/src/token.py:5"), "never opened", id="another file"),
        pytest.param(
            evidence("https://x.org/src/token.py:5"), "not fetched", id="address"
        ),
        pytest.param(evidence("art_00000000ffff:5"), "never opened", id="no such art"),
        pytest.param(evidence("skill:forms/a.md:5"), "no evidence", id="a skill"),
        pytest.param(evidence("src/token.py:5", "e"), "1 characters", id="one letter"),
        pytest.param(evidence("src/token.py:5", "jwt.decode"), "needs", id="short"),
        pytest.param(evidence("src/token.py:5", " "), "empty", id="empty"),
        pytest.param(evidence("big.log:5"), "too big to be kept", id="too big"),
    ],
)
def test_evidence_that_shows_nothing_comes_back(bad: Evidence, words: str) -> None:
    good = evidence("src/token.py:5")

    (problem,) = checked(claimed(good), claimed(good, bad, claim=SUMMARY)).problems

    assert problem.startswith("item 2, evidence 2 (`")
    assert words in problem


def test_a_complete_item_needs_evidence() -> None:
    (problem,) = checked(claimed()).problems

    assert "item 1" in problem
    assert "no evidence" in problem


def test_a_partial_item_may_have_none() -> None:
    assert checked(claimed(), status="partial").problems == []


def test_complete_without_items_comes_back() -> None:
    (problem,) = checked().problems

    assert "complete" in problem


@pytest.mark.parametrize("status", ["nothing_found", "failed", "partial"])
def test_other_states_need_no_items(status: str) -> None:
    assert checked(status=status).problems == []


@pytest.mark.parametrize(
    "claim",
    [
        "test test",
        "bbbbbbbbb",
        "placeholder text",
        "a b c d e",
        "Finding 1",
        "测试测试测试测试",
    ],
)
def test_dummy_claims_are_refused(claim: str) -> None:
    (problem,) = checked(claimed(evidence("src/token.py:5"), claim=claim)).problems

    assert "no sentence" in problem


@pytest.mark.parametrize(
    "summary", ["test", "a", "n/a", "Summary", "TODO.", "测试", "无"]
)
def test_dummy_summaries_are_refused(summary: str) -> None:
    result = checked(claimed(evidence("src/token.py:5")), summary=summary)

    (problem,) = result.problems

    assert "`summary` says nothing" in problem


@pytest.mark.parametrize(
    "claim",
    [
        "The default is 30 s",
        "令牌的有效期是十五分钟。",
        "retries: 3",
        "`KEY` comes from the environment.",
    ],
)
def test_short_claims_pass_with_a_quote_that_was_found(claim: str) -> None:
    assert checked(claimed(evidence("src/token.py:5"), claim=claim)).problems == []


def test_claims_all_the_same_are_refused() -> None:
    item = claimed(evidence("src/token.py:5"))

    assert checked(item, item, item).problems == [
        "item 2 claims the same as item 1; drop one",
        "item 3 claims the same as item 1; drop one",
    ]


def test_unknown_references_are_dropped_and_told() -> None:
    given = findings(claimed(evidence("src/token.py:5"))).model_copy(
        update={"artifacts": ("art_000000000004", "art_00000000ffff", "notes.txt")}
    )

    result = check(given, SEEN, read_text)

    assert result.problems == []
    assert result.findings.artifacts == ("art_000000000004",)
    assert result.notes == ("unknown references were dropped: art_0000…, notes.txt",)


def test_good_findings_are_settled_as_they_are() -> None:
    settled = insisted(claimed(evidence("src/token.py:5")))

    assert settled.findings.status == "complete"
    assert settled.unsupported == ()


def test_a_quote_insisted_on_is_unsupported_and_not_complete() -> None:
    wrong = evidence("src/token.py:5", "claims = jwt.encode(token, KEY")

    settled = insisted(
        claimed(evidence("src/token.py:5")), claimed(wrong, claim=SUMMARY)
    )

    assert settled.unsupported == (2,)
    assert settled.findings.status == "partial"
    assert settled.findings.items[1].evidence == (wrong,)
    assert "1 of 2 items unsupported" in settled.notes[0]


def test_one_good_quote_supports_its_item() -> None:
    wrong = evidence("src/gone.py:5")

    settled = insisted(claimed(wrong, evidence("src/token.py:5")))

    assert settled.unsupported == ()
    assert [each.source for each in settled.findings.items[0].evidence] == [
        "src/token.py:5"
    ]


def test_a_dummy_insisted_on_is_failed_and_marked() -> None:
    """After many refusals a model may give a dummy that fits the schema."""
    settled = insisted(claimed(claim="bbbbbbbb"), summary="test")

    assert settled.findings.status == "failed"
    assert settled.unsupported == (1,)
    assert any("says nothing" in note for note in settled.notes)


@pytest.mark.parametrize("status", ["complete", "partial", "nothing_found", "failed"])
def test_one_state_only_and_it_is_never_complete_with_faults(status: str) -> None:
    settled = insisted(claimed(evidence("gone.py:1")), status=status)

    assert settled.findings.status != "complete"


def test_each_text_is_read_once() -> None:
    read: list[str] = []

    def reading(inner: Callable[[str], str]) -> Callable[[str], str]:
        def read_and_note(reference: str) -> str:
            read.append(reference)
            return inner(reference)

        return read_and_note

    items = [
        claimed(evidence("src/token.py:5"), claim=f"Claim number {n} is this.")
        for n in range(20)
    ]
    check(findings(*items), SEEN, reading(read_text))

    assert sorted(read) == ["art_000000000001", "art_000000000002"]


def test_the_versions_in_which_evidence_was_found_are_named() -> None:
    found = checked(
        claimed(evidence("src/token.py:5")),
        claimed(
            evidence("docs/退款.md:3", "客户可以在收到货物之后的七天之内申请全额退款"),
            evidence("art_000000000004", "a long tool output that was stored"),
            claim="退款不需要说明任何理由。",
        ),
    )

    assert found.sources == {"src/token.py": "s1", "docs/退款.md": "s3"}
    assert settle(found).sources == found.sources


def test_quotes_of_several_versions_name_the_oldest_of_them() -> None:
    old, new = (
        claimed(
            evidence("src/token.py", "# an older version of this very file"),
            claim="There once was a comment at the top.",
        ),
        claimed(evidence("src/token.py")),
    )

    assert checked(new).sources == {"src/token.py": "s1"}
    assert checked(old).sources == {"src/token.py": "s2"}
    assert checked(new, old, new).sources == {"src/token.py": "s2"}


def test_what_was_not_found_or_not_taken_names_no_version() -> None:
    wrong = claimed(evidence("src/token.py", "this is nowhere in that file at all"))
    dummy = claimed(evidence("docs/退款.md", POLICY.split("\n")[2]), claim="TODO TODO")
    half = claimed(
        evidence("src/token.py"),
        evidence("src/token.py", "this is nowhere in that file at all"),
        claim="Tokens are decoded and then looked at.",
    )

    assert insisted(wrong).sources == {}
    assert insisted(dummy).sources == {}
    assert insisted(dummy, half).sources == {"src/token.py": "s1"}
