"""The shipped examples, as a user runs them: without a key, to a report with places."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest
from gold import PROJECT, GoldSet, judge, load_gold, section_of, tally

from orchestrator.cli.main import main
from orchestrator.evidence import citations, parse_source, split_lines

SETS = {gold.name: gold for gold in load_gold()}
TASKS = {
    "documents": PROJECT / "examples" / "documents" / "task.yaml",
    "quickstart": PROJECT / "examples" / "quickstart.yaml",
}


@dataclass(frozen=True)
class Shown:
    """A run of an example: what the user saw, and where its folder is."""

    gold: GoldSet
    status: int
    out: str
    folder: Path

    @property
    def evidence(self) -> list[tuple[str, int, int, str]]:
        """Path, lines and quote of all evidence that was accepted."""
        found = []
        for file in sorted(self.folder.glob("agents/*/findings.json")):
            for item in orjson.loads(file.read_bytes())["items"]:
                for each in item["evidence"]:
                    source = parse_source(each["source"])
                    first = source.first or 0
                    last = source.last or first
                    found.append((source.target, first, last, each["quote"]))
        return found


@pytest.fixture(scope="module", params=list(TASKS))
def shown(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Shown:
    name: str = request.param
    runs = tmp_path_factory.mktemp(name)
    command = ["run", str(TASKS[name]), "--model", "offline"]
    with redirect_stdout(io.StringIO()) as out:
        status = main([*command, "--runs-dir", str(runs)])
    [folder] = [path for path in runs.iterdir() if path.is_dir()]
    return Shown(SETS[name], status, out.getvalue(), folder)


def test_an_example_ends_with_its_report_on_stdout(shown: Shown) -> None:
    report = (shown.folder / "report.md").read_text(encoding="utf-8")

    assert shown.status == 0
    assert shown.out == report.rstrip() + "\n"


def test_every_citation_of_an_example_is_a_real_line_within_evidence(
    shown: Shown,
) -> None:
    cited = citations(shown.out)

    assert len(cited) >= sum(each.has_answer for each in shown.gold.questions)
    for citation in cited:
        path = shown.gold.root / citation.target
        lines = split_lines(path.read_text(encoding="utf-8"))
        assert 1 <= citation.first <= citation.last <= len(lines), citation.text
        assert any(
            target == citation.target
            and first <= citation.first <= citation.last <= last
            for target, first, last, _ in shown.evidence
        ), citation.text


def test_the_right_place_is_cited_for_the_gold_questions_and_no_wrong_one(
    shown: Shown,
) -> None:
    counts = tally(
        judge(question, section_of(shown.out, question.ask), shown.gold.root)
        for question in shown.gold.questions
    )

    assert counts["wrong"] == 0
    # Sixteen of the twenty over both examples; these two shares make it eighteen.
    assert counts["right"] >= len(shown.gold.questions) - 1


def test_where_nothing_is_found_the_report_says_so(shown: Shown) -> None:
    for question in shown.gold.questions:
        if not question.has_answer:
            assert "Nothing was found" in section_of(shown.out, question.ask)


def test_a_long_document_is_summarised_part_by_part(tmp_path: Path) -> None:
    task = PROJECT / "examples" / "long-document.yaml"
    with redirect_stdout(io.StringIO()) as out:
        status = main(
            ["run", str(task), "--model", "offline", "--runs-dir", str(tmp_path)]
        )

    assert status == 0
    [folder] = [path for path in tmp_path.iterdir() if path.is_dir()]
    notes = (folder / "agents" / "a1" / "notes.md").read_text(encoding="utf-8")
    parts = re.findall(r"^### DECISIONS\.md:(\d+)-(\d+)$", notes, re.MULTILINE)
    lines = split_lines((PROJECT / "DECISIONS.md").read_text(encoding="utf-8"))
    assert int(parts[0][0]) == 1
    assert int(parts[-1][1]) == len(lines)
    cited = citations(out.getvalue())
    assert len(cited) >= 3
    assert all(1 <= each.first <= each.last <= len(lines) for each in cited)
