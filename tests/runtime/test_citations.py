"""Citations of a report, checked against what the run's agents saw."""

from __future__ import annotations

import pytest

from orchestrator.findings import Findings
from orchestrator.runtime.citations import KnownPlaces, check_citations, mark_wrong


def found(*sources: str) -> Findings:
    items = [
        {
            "claim": "A refund takes 14 days.",
            "confidence": 0.9,
            "evidence": [{"source": source, "quote": "A refund takes 14 days."}],
        }
        for source in sources
    ]
    return Findings.model_validate(
        {"status": "complete", "summary": "Refunds take 14 days.", "items": items}
    )


KNOWN = KnownPlaces(
    findings={
        "a1": found("refunds.md:10-12", "./forms.md:40", "whole.md"),
        "a2": found("refunds.md:17", "refunds.md:90"),
    },
    unsupported={"a2": (2,)},
    own_reads={"own.md": 30},
    lines_of={"refunds.md": 100, "forms.md": 50, "own.md": 30, "other.md": 9},
)


@pytest.mark.parametrize(
    "cited",
    [
        pytest.param("[refunds.md:10-12]", id="the evidence"),
        pytest.param("[refunds.md:11]", id="a line of it"),
        pytest.param("[refunds.md:7]", id="three lines before"),
        pytest.param("[refunds.md:15]", id="three lines behind"),
        pytest.param("[refunds.md:8-20]", id="two places that touch"),
        pytest.param("[./refunds.md:17]", id="the path written otherwise"),
        pytest.param("[forms.md:40]", id="the source written otherwise"),
        pytest.param("[own.md:30]", id="what the lead read itself"),
        pytest.param("[a1#3]", id="an item"),
        pytest.param("[a1#1] and [a2#1]", id="two items"),
    ],
)
def test_a_place_that_was_seen_may_be_cited(cited: str) -> None:
    check = check_citations(f"It takes 14 days {cited}.", KNOWN)

    assert check.wrong == ()
    assert check.total == cited.count("[")


@pytest.mark.parametrize(
    ("cited", "why"),
    [
        pytest.param(
            "[refunds.md:30]", "the evidence for `refunds.md` is at lines", id="between"
        ),
        pytest.param(
            "[refunds.md:90]",
            "the evidence for `refunds.md` is at lines",
            id="evidence that was not found",
        ),
        pytest.param(
            "[refunds.md:10-99]", "the evidence for `refunds.md` is at", id="too wide"
        ),
        pytest.param("[refunds.md:101]", "`refunds.md` has 100 lines", id="no line"),
        pytest.param("[own.md:31]", "`own.md` has 30 lines", id="no line of its own"),
        pytest.param(
            "[other.md:1]", "no accepted finding and no file you read", id="unseen"
        ),
        pytest.param(
            "[whole.md:1]",
            "no accepted finding and no file you read",
            id="evidence without lines",
        ),
        pytest.param("[skill:forms/a.md:1]", "is no evidence", id="a skill"),
        pytest.param("[a1#4]", "`a1` has 3 items", id="no such item"),
        pytest.param("[a2#2]", "was not found in its source", id="unsupported item"),
        pytest.param("[a7#1]", "no findings of `a7`; there are: a1, a2", id="nobody"),
    ],
)
def test_a_place_that_nobody_saw_is_wrong(cited: str, why: str) -> None:
    check = check_citations(f"It takes 14 days {cited}.", KNOWN)

    [complaint] = check.complaints
    assert complaint.startswith(cited)
    assert why in complaint


def test_without_findings_no_item_can_be_cited() -> None:
    check = check_citations("It is so [a1#1].", KnownPlaces(findings={}))

    assert check.complaints == ["[a1#1]: no findings of `a1`; there are: none"]


def test_the_same_fault_is_told_once_and_marked_each_time() -> None:
    report = "It is so [a7#1]. Again [a7#1], and [a1#1] is right."
    check = check_citations(report, KNOWN)

    assert len(check.complaints) == 1
    assert mark_wrong(report, check.wrong) == (
        "It is so [a7#1] *(citation not confirmed)*. Again [a7#1] "
        "*(citation not confirmed)*, and [a1#1] is right."
    )


def test_a_report_without_faults_is_left_alone() -> None:
    assert mark_wrong("It is so [a1#1].", ()) == "It is so [a1#1]."
