"""Checking what a report cites against what the run's agents saw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.evidence import NEAR_LINES, Citation, citations, parse_source
from orchestrator.findings import Findings
from orchestrator.ids import SKILL_PREFIX
from orchestrator.security.urls import is_url, meant_url

__all__ = ["CitationCheck", "KnownPlaces", "check_citations", "mark_wrong"]


@dataclass(frozen=True, slots=True)
class KnownPlaces:
    """What a report may cite.

    Attributes:
        findings: agent id → its accepted findings.
        unsupported: agent id → numbers of items whose evidence was not found, from 1.
        own_reads: path → number of lines, of files the lead read itself.
        lines_of: path → number of lines, of all files that were seen.
    """

    findings: Mapping[str, Findings]
    unsupported: Mapping[str, Sequence[int]] = field(default_factory=dict)
    own_reads: Mapping[str, int] = field(default_factory=dict)
    lines_of: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CitationCheck:
    """How many citations a report has, and which are wrong and why."""

    total: int
    wrong: tuple[tuple[Citation, str], ...]

    @property
    def complaints(self) -> list[str]:
        """Return one line per wrong citation, each once."""
        lines = [f"[{citation.text}]: {why}" for citation, why in self.wrong]
        return list(dict.fromkeys(lines))


def check_citations(report: str, known: KnownPlaces) -> CitationCheck:
    """Return which citations of `report` point to nothing that was found.

    A citation is wrong if there are no such lines or items, or if the lines lie
    outside the evidence of accepted findings (three lines of grace) and outside the
    files that the lead read itself.
    """
    found = citations(report)
    evidence = _evidence(known)
    wrong = []
    for citation in found:
        why = (
            _item_problem(citation, known)
            if citation.agent
            else _lines_problem(citation, known, evidence)
        )
        if why:
            wrong.append((citation, why))
    return CitationCheck(len(found), tuple(wrong))


def mark_wrong(report: str, wrong: Iterable[tuple[Citation, str]]) -> str:
    """Return `report` with a mark behind each wrong citation."""
    ends = sorted({citation.end for citation, _ in wrong}, reverse=True)
    for end in ends:
        report = f"{report[:end]} *(citation not confirmed)*{report[end:]}"
    return report


def _item_problem(citation: Citation, known: KnownPlaces) -> str:
    findings = known.findings.get(citation.agent)
    if findings is None:
        names = ", ".join(sorted(known.findings)) or "none"
        return f"no findings of `{citation.agent}`; there are: {names}"
    if citation.item > len(findings.items):
        return f"`{citation.agent}` has {len(findings.items)} items"
    if citation.item in known.unsupported.get(citation.agent, ()):
        return "the evidence of this item was not found in its source"
    return ""


def _lines_problem(
    citation: Citation,
    known: KnownPlaces,
    evidence: Mapping[str, list[tuple[int, int]]],
) -> str:
    path, first, last = _plain(citation.target), citation.first, citation.last
    if is_url(path):
        path = meant_url(path, known.lines_of)
    lines = known.lines_of.get(path)
    if lines is not None and last > lines:
        return f"`{path}` has {lines} lines"
    if path in known.own_reads:
        return ""
    places = evidence.get(path)
    if places is None and path.startswith(SKILL_PREFIX):
        return "a skill says how to work, and is no evidence"
    if places is None:
        return "no accepted finding and no file you read is about this path"
    if any(start <= first and last <= end for start, end in places):
        return ""
    shown = ", ".join(
        f"{start + NEAR_LINES}-{end - NEAR_LINES}" for start, end in places[:8]
    )
    return f"the evidence for `{path}` is at lines {shown}"


def _evidence(known: KnownPlaces) -> dict[str, list[tuple[int, int]]]:
    """Return path → ranges of evidence with grace, overlapping ones merged."""
    places: dict[str, list[tuple[int, int]]] = {}
    for agent, findings in known.findings.items():
        skipped = known.unsupported.get(agent, ())
        for number, item in enumerate(findings.items, 1):
            if number in skipped:
                continue
            for evidence in item.evidence:
                source = parse_source(evidence.source)
                if source.first is None:
                    continue
                last = source.last or source.first
                span = (source.first - NEAR_LINES, last + NEAR_LINES)
                places.setdefault(_plain(source.target), []).append(span)
    return {path: _merged(spans) for path, spans in places.items()}


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _plain(path: str) -> str:
    return path.removeprefix("./").replace("\\", "/")
