"""The report as it is written: the lead's text, and what the program knows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.findings import Findings

__all__ = ["mechanical_report", "with_checks"]


def with_checks(report: str, missing: Sequence[str], notes: Sequence[str]) -> str:
    """Return `report` with a section of the program behind it, if there is need.

    Args:
        report: the lead's own text, never edited beyond marks.
        missing: what was asked for and is not there.
        notes: what a reader should know besides (unsupported findings).
    """
    parts = [report.rstrip()]
    if missing or notes:
        parts.append("---\n\n## Checked by the program")
    if missing:
        lines = "\n".join(f"- {line}" for line in missing)
        parts.append(
            f"This report is **partial**. What is missing or wrong:\n\n{lines}"
        )
    if notes:
        parts.append("\n".join(f"- {line}" for line in notes))
    return "\n\n".join(parts) + "\n"


def mechanical_report(
    objective: str,
    findings: Mapping[str, Findings],
    reason: str,
    *,
    last_words: str = "",
) -> str:
    """Return a report made from accepted findings, where the lead made none.

    Args:
        objective: of the task.
        findings: agent id → its accepted findings.
        reason: why there is no report.
        last_words: what the lead wrote at the end without handing it in.
    """
    parts = [
        f"# Findings without a report\n\nThe lead did not hand in a report: {reason}. "
        "What follows is taken from the findings of its subagents as they are.",
        f"Objective: {objective.strip()}",
    ]
    for agent, each in findings.items():
        lines = [f"## {agent}", each.summary]
        lines += [
            f"- {item.claim} [{agent}#{number}]"
            for number, item in enumerate(each.items, 1)
        ]
        lines += [f"- Open: {question}" for question in each.open_questions]
        parts.append("\n".join(lines))
    if not findings:
        parts.append("No findings were handed in.")
    if last_words.strip():
        parts.append(
            f"## Last words of the lead\n\nUnvalidated: none of it was checked.\n\n"
            f"{last_words.strip()}"
        )
    return "\n\n".join(parts) + "\n"
