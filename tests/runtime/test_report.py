"""The report as it is written, and the one the program makes where there is none."""

from __future__ import annotations

from orchestrator.findings import Findings
from orchestrator.runtime.report import mechanical_report, with_checks

FOUND = Findings.model_validate(
    {
        "status": "partial",
        "summary": "Refunds take 14 days.",
        "items": [
            {
                "claim": "A refund takes 14 days.",
                "confidence": 0.9,
                "evidence": [{"source": "a.md:1", "quote": "A refund takes 14 days."}],
            }
        ],
        "open_questions": ["From which day on?"],
    }
)


def test_a_clean_report_is_left_alone() -> None:
    assert with_checks("All is well.\n\n", [], []) == "All is well.\n"


def test_what_is_missing_and_what_to_know_stand_behind_it() -> None:
    report = with_checks("Well.", ["a2 failed"], ["[a1#2] is unsupported"])

    assert report == (
        "Well.\n\n---\n\n## Checked by the program\n\nThis report is **partial**. What "
        "is missing or wrong:\n\n- a2 failed\n\n- [a1#2] is unsupported\n"
    )


def test_remarks_alone_do_not_make_it_partial() -> None:
    assert "partial" not in with_checks("Well.", [], ["[a1#2] is unsupported"])


def test_findings_are_shown_as_they_are_with_their_numbers() -> None:
    report = mechanical_report(" Say. ", {"a1": FOUND}, "a limit")

    assert "The lead did not hand in a report: a limit." in report
    assert "Objective: Say." in report
    assert "## a1\nRefunds take 14 days.\n- A refund takes 14 days. [a1#1]\n" in report
    assert "- Open: From which day on?" in report
    assert "Last words" not in report


def test_without_findings_it_says_so() -> None:
    report = mechanical_report("Say.", {}, "a limit", last_words=" So far. ")

    assert "No findings were handed in." in report
    assert report.endswith("none of it was checked.\n\nSo far.\n")
