"""What the memory finds of its retrieval set: floors below what was measured.

`tests/benchmarks/memory_retrieval.py` prints the figures, beside those of others.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_bench import Figures, measured, questions, topics

from orchestrator.memory.embedding import Embedder
from orchestrator.memory.local_embedder import LocalEmbedder
from orchestrator.memory.search.index import Index

PARTS = ("dev", "test", "fresh")
IDS = ("identifiers", "numbers")


def figures(folder: Path, embedder: Embedder | None = None) -> dict[str, Figures]:
    index = Index(folder / "search.sqlite", embedder)
    for number, topic in enumerate(topics()):
        index.replace(topic, (number,))
    return {
        part: measured(
            lambda text: [each.key for each in index.find([text])], questions(part)
        )
        for part in PARTS
    }


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Figures]:
    return figures(tmp_path_factory.mktemp("words"))


@pytest.mark.parametrize("part", PARTS)
def test_by_words(by_words: dict[str, Figures], part: str) -> None:
    found = by_words[part]

    assert found.at_5 >= 0.66
    assert found.at_1 >= 0.66
    assert found.alarms <= 0.16
    assert found.kinds["english"] >= 0.9


@pytest.mark.parametrize("part", PARTS)
def test_ids_are_found_and_none_is_taken_for_another(
    by_words: dict[str, Figures], part: str
) -> None:
    assert by_words[part].confused == 0
    assert [by_words[part].kinds[kind] for kind in IDS] == [1, 1]


@pytest.mark.slow
def test_with_vectors(tmp_path: Path, by_words: dict[str, Figures]) -> None:
    for part, found in figures(tmp_path, LocalEmbedder()).items():
        assert found.at_5 >= 0.77
        assert found.at_1 >= 0.75
        assert found.at_5 > by_words[part].at_5
        assert found.alarms <= 0.16
        assert found.confused == 0
        assert [found.kinds[kind] for kind in IDS] == [1, 1]
        assert found.kinds["paraphrase"] >= 0.08


def test_the_set_is_as_large_as_it_says() -> None:
    entries = [entry for topic in topics() for entry in topic.entries]
    asked = [each for part in PARTS for each in questions(part)]

    assert len({entry.key for entry in entries}) == len(entries) == 341
    assert len({each.text for each in asked}) == len(asked) == 357
    assert sum(not each.answers for each in asked) == 80
