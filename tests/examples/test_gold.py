"""The examples' questions: the right place is cited, or nothing is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from gold import PROJECT, GoldQuestion, GoldSet, Verdict, judge, load_gold, tally
from offline_bench import explore

SETS = {gold.name: gold for gold in load_gold()}
TASKS = {
    "documents": PROJECT / "examples" / "documents" / "task.yaml",
    "quickstart": PROJECT / "examples" / "quickstart.yaml",
}
CASES = [
    pytest.param(gold, question, id=f"{gold.name}-{number}")
    for gold in SETS.values()
    for number, question in enumerate(gold.questions, 1)
]


async def verdict_on(folder: Path, gold: GoldSet, question: GoldQuestion) -> Verdict:
    """Ask one subagent and judge what it cites."""
    # The tests hold these very questions, so the program's code is asked alone.
    root = gold.root / "orchestrator" if gold.name == "quickstart" else gold.root
    brief = f"# One question\n\nFind it.\n\n# Questions\n\n- {question.ask}"
    findings, _ = await explore(folder, brief, workspace=root)
    prefix = "orchestrator/" if root != gold.root else ""
    cited = [
        f"[{prefix}{evidence['source']}]"
        for item in findings["items"]
        for evidence in item["evidence"]
    ]
    return judge(question, " ".join(cited), gold.root)


@pytest.mark.parametrize(("gold", "question"), CASES)
async def test_the_offline_model_cites_the_gold_place_or_nothing(
    tmp_path: Path, gold: GoldSet, question: GoldQuestion
) -> None:
    assert await verdict_on(tmp_path, gold, question) == "right"


@pytest.mark.parametrize("file", ["gold.yaml", "held_out.yaml"])
def test_every_gold_line_is_named_by_a_text_that_occurs_once(file: str) -> None:
    for gold in load_gold(Path(__file__).parent / file):
        for question in gold.questions:
            for place in question.places:
                assert place.line(gold.root) > 0


def test_there_are_twenty_gold_questions_and_four_have_no_answer() -> None:
    questions = [question for gold in SETS.values() for question in gold.questions]

    assert len(questions) == 20
    assert sum(not question.has_answer for question in questions) == 4
    assert {question.language for question in questions} == {"en", "zh"}


@pytest.mark.parametrize("name", TASKS)
def test_the_gold_questions_are_those_of_the_example(name: str) -> None:
    task = yaml.safe_load(TASKS[name].read_text(encoding="utf-8"))

    assert task["questions"] == [question.ask for question in SETS[name].questions]


def test_the_corpus_is_as_large_and_as_mixed_as_promised() -> None:
    files = [path for path in SETS["documents"].root.rglob("*") if path.is_file()]
    chinese = [
        path
        for path in files
        if sum("\u4e00" <= char <= "\u9fff" for char in path.read_text("utf-8")) > 100
    ]

    assert len(files) >= 30
    assert 0.3 <= len(chinese) / len(files) <= 0.6
    assert {path.suffix for path in files} == {".md", ".txt", ".html"}


@pytest.mark.slow
async def test_held_out_questions_are_mostly_answered_and_hardly_ever_wrongly(
    tmp_path: Path,
) -> None:
    # What they gave when they were new is said in the file.
    verdicts = []
    for gold in load_gold(Path(__file__).parent / "held_out.yaml"):
        for number, question in enumerate(gold.questions):
            folder = tmp_path / f"{gold.name}-{number}"
            folder.mkdir()
            verdicts.append(await verdict_on(folder, gold, question))

    counts = tally(verdicts)
    assert counts["right"] >= 16
    assert counts["wrong"] <= 1
