"""Gold questions: the place that answers each, found by its text, and a judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from orchestrator.evidence import citations

__all__ = [
    "GOLD_FOLDER",
    "PROJECT",
    "GoldPlace",
    "GoldQuestion",
    "GoldSet",
    "Verdict",
    "judge",
    "load_gold",
    "section_of",
    "tally",
]

PROJECT = Path(__file__).resolve().parents[2]
GOLD_FOLDER = PROJECT / "tests" / "examples"

Verdict = Literal["right", "nothing found", "wrong"]


@dataclass(frozen=True, slots=True)
class GoldPlace:
    """A line, named by a text that occurs on it and on no other line of the file."""

    file: str
    text: str

    def line(self, root: Path) -> int:
        """Return the number of the line, from 1."""
        lines = (root / self.file).read_text(encoding="utf-8").split("\n")
        found = [number for number, line in enumerate(lines, 1) if self.text in line]
        if len(found) != 1:
            raise AssertionError(
                f"{self.text!r} is on {len(found)} lines of {self.file}"
            )
        return found[0]


@dataclass(frozen=True, slots=True)
class GoldQuestion:
    """A question and the places that answer it; none where nothing does."""

    ask: str
    language: str
    places: tuple[GoldPlace, ...]

    @property
    def has_answer(self) -> bool:
        return bool(self.places)


@dataclass(frozen=True, slots=True)
class GoldSet:
    """The questions over one workspace."""

    name: str
    root: Path
    questions: tuple[GoldQuestion, ...]


def load_gold(file: Path = GOLD_FOLDER / "gold.yaml") -> list[GoldSet]:
    """Return the gold sets of `file`, in order."""
    data: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [
        GoldSet(
            name,
            PROJECT / part["root"],
            tuple(_question(each) for each in part["questions"]),
        )
        for name, part in data.items()
    ]


def _question(raw: dict[str, Any]) -> GoldQuestion:
    places = [] if raw["places"] == "none" else raw["places"]
    return GoldQuestion(
        raw["ask"], raw["language"], tuple(GoldPlace(**place) for place in places)
    )


def section_of(report: str, question: str) -> str:
    """Return the part of a report under the heading that holds `question`."""
    lines = report.split("\n")
    starts = [
        at
        for at, line in enumerate(lines)
        if line.startswith("#") and line.rstrip().endswith(question)
    ]
    if len(starts) != 1:
        raise AssertionError(f"{len(starts)} headings for {question!r}")
    rest = lines[starts[0] + 1 :]
    end = next((at for at, line in enumerate(rest) if line.startswith("#")), len(rest))
    return "\n".join(rest[:end])


def judge(gold: GoldQuestion, section: str, root: Path) -> Verdict:
    """Return whether every place that a section cites is a gold one.

    A citation is right if a gold line lies within its lines, of which there may be ten
    at most. A question without an answer is right only where nothing is cited.
    """
    cited = citations(section)
    if not cited:
        return "nothing found" if gold.has_answer else "right"
    wanted = [(place.file, place.line(root)) for place in gold.places]
    for citation in cited:
        fits = any(
            citation.target == file and citation.first <= line <= citation.last
            for file, line in wanted
        )
        if not fits or citation.last - citation.first >= 10:
            return "wrong"
    return "right"


def tally(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how often each verdict was given."""
    counts: dict[str, int] = {"right": 0, "nothing found": 0, "wrong": 0}
    for verdict in verdicts:
        counts[verdict] += 1
    return counts
