from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest
from search_bench import Broken, Known, index_of, keys, topic

from orchestrator.errors import EmbedderError
from orchestrator.memory.search import matrix
from orchestrator.memory.search.calibration import PAIRS
from orchestrator.memory.search.index import Index

QUESTION = "When do we ship"
FACTS = (
    ("release train", "Every second Thursday."),
    ("travel", "Trains under six hours."),
    ("order 4472", "Waits for an address."),
)
TOLD = "release train: Every second Thursday."


@pytest.fixture(params=[True, False], ids=["numpy", "plain"])
def _numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param:
        pytest.importorskip("numpy")
    monkeypatch.setattr(matrix, "has_numpy", lambda: request.param)


def known() -> Known:
    return Known(
        (QUESTION, TOLD), ("orders 4471?", "order 4472: Waits for an address.")
    )


def filled(folder: Path, embedder: object, **more: object) -> Index:
    index = Index(folder / "search.sqlite", embedder, **more)  # type: ignore[arg-type]
    index.replace(topic(*FACTS), (1,))
    return index


def waiting(folder: Path) -> int:
    with contextlib.closing(sqlite3.connect(folder / "search.sqlite")) as connection:
        count = connection.execute("SELECT count(*) FROM pending").fetchone()[0]
    return int(count)


@pytest.mark.usefixtures("_numbers")
class TestFinding:
    def test_what_has_no_common_word_is_found(self, tmp_path: Path) -> None:
        index = filled(tmp_path, known())

        (found,) = index.find([f"{QUESTION}?"])

        assert (found.key, found.by) == ("release train", ("vectors",))
        assert index.notice == ""

    def test_words_and_vectors_are_merged(self, tmp_path: Path) -> None:
        index = filled(tmp_path, Known(("release on thursday", TOLD)))

        (found,) = index.find(["release on thursday"])

        assert found.by == ("words", "vectors")

    def test_a_likeness_does_not_make_one_number_another(self, tmp_path: Path) -> None:
        index = filled(tmp_path, known())

        assert keys(index, "orders 4471?") == []

    def test_what_is_far_from_all_finds_nothing(self, tmp_path: Path) -> None:
        assert keys(filled(tmp_path, known()), "how to bake a cake") == []

    def test_what_is_gone_is_not_found(self, tmp_path: Path) -> None:
        index = filled(tmp_path, known())
        assert keys(index, QUESTION) == ["release train"]

        index.replace(topic(*FACTS[1:]), (2,))
        assert keys(index, QUESTION) == []

        index.replace(topic(*FACTS), (3,))
        assert keys(index, QUESTION) == ["release train"]
        index.remove(["notes.md"])
        assert keys(index, QUESTION) == []

    def test_what_others_write_is_found(self, tmp_path: Path) -> None:
        index, other = filled(tmp_path, known()), Index(tmp_path / "search.sqlite")
        assert keys(index, QUESTION) == ["release train"]

        other.replace(topic(*FACTS[1:]), (2,))
        assert keys(index, QUESTION) == []
        other.replace(topic(*FACTS), (3,))
        assert keys(index, QUESTION) == ["release train"]


class TestEmbedding:
    def test_only_what_changed_is_embedded_again(self, tmp_path: Path) -> None:
        embedder = known()
        index = filled(tmp_path, embedder)
        embedder.asked.clear()

        index.replace(topic(*FACTS[:2], ("order 4472", "Was sent.")), (2,))

        assert embedder.asked == ["order 4472: Was sent."]

    def test_calibration_is_measured_once(self, tmp_path: Path) -> None:
        filled(tmp_path, known())
        again = known()

        filled(tmp_path, again).find([QUESTION])

        assert again.asked == [QUESTION]

    def test_another_embedder_makes_all_vectors_anew(self, tmp_path: Path) -> None:
        filled(tmp_path, known())
        other = Known((QUESTION, TOLD), name="other")
        index = Index(tmp_path / "search.sqlite", other)

        assert keys(index, QUESTION) == ["release train"]
        assert TOLD in other.asked
        assert PAIRS[0][0] in other.asked

    def test_what_was_written_without_an_embedder_is_embedded_later(
        self, tmp_path: Path
    ) -> None:
        many = [(f"fact {at}", f"number {at}") for at in range(150)]
        index = Index(tmp_path / "search.sqlite")
        index.replace(topic(*FACTS, *many), (1,))
        assert waiting(tmp_path) == 153

        assert keys(Index(tmp_path / "search.sqlite", known()), QUESTION) == [
            "release train"
        ]
        assert waiting(tmp_path) == 0

    def test_an_embedder_that_cannot_tell_is_not_used(self, tmp_path: Path) -> None:
        index = filled(tmp_path, Broken([1.0, 0.0]))

        assert keys(index, "release train") == ["release train"]
        assert keys(index, QUESTION) == []
        assert "does not tell what belongs together" in index.notice


class TestFailing:
    @pytest.mark.parametrize(
        "vector",
        [None, [], [0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]],
        ids=["error", "empty", "zero", "nan", "infinite"],
    )
    def test_words_go_on_alone(
        self, tmp_path: Path, vector: Sequence[float] | None
    ) -> None:
        index = filled(tmp_path, Broken(vector))

        assert keys(index, "release train") == ["release train"]
        assert index.notice.startswith("memory is searched by words alone: ")
        assert waiting(tmp_path) == len(FACTS)

    def test_it_is_left_alone_for_a_while_and_tried_again(self, tmp_path: Path) -> None:
        now = [0.0]
        embedder = Faltering()
        index = filled(tmp_path, embedder, monotonic=lambda: now[0])
        for _ in range(5):
            index.find(["train"])
        assert embedder.calls == 1

        embedder.is_up = True
        assert keys(index, QUESTION) == []
        now[0] = 61.0

        assert keys(index, QUESTION) == ["release train"]
        assert index.notice == ""
        assert waiting(tmp_path) == 0

    def test_a_slow_one_is_not_waited_for_without_end(self, tmp_path: Path) -> None:
        now = [0.0]

        class Slow(Known):
            def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
                now[0] += 2.0
                return super().embed(texts)

        many = [(f"fact {at}", f"number {at}") for at in range(500)]
        index = Index(tmp_path / "search.sqlite", Slow(), monotonic=lambda: now[0])

        index.replace(topic(*many), (1,))

        assert now[0] <= 6
        assert waiting(tmp_path) == 500 - 64
        assert keys(index, "fact 77") == ["fact 77"]

    def test_another_size_than_before_is_refused(self, tmp_path: Path) -> None:
        filled(tmp_path, known())

        class Shorter(Known):
            def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
                return [vector[:8] for vector in super().embed(texts)]

        index = Index(tmp_path / "search.sqlite", Shorter((QUESTION, TOLD)))
        index.replace(topic(*FACTS, ("new", "fact")), (2,))

        assert keys(index, "new fact") == ["new"]
        assert keys(index, QUESTION) == []
        assert "another size" in index.notice

    def test_without_numpy_there_is_a_bound(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("orchestrator.memory.search.meaning.MOST_PLAIN", 2)
        monkeypatch.setattr(
            "orchestrator.memory.search.meaning.has_numpy", lambda: False
        )
        index = filled(tmp_path, known())

        assert keys(index, "release train") == ["release train"]
        assert "need numpy" in index.notice


class Faltering(Known):
    """Fails until it is up."""

    def __init__(self) -> None:
        super().__init__((QUESTION, TOLD))
        self.is_up, self.calls = False, 0

    def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        self.calls += 1
        if not self.is_up:
            raise EmbedderError("down")
        return super().embed(texts)


def test_duplicates_are_seen_by_words_and_by_likeness(tmp_path: Path) -> None:
    index = index_of(tmp_path, *FACTS)

    assert index.near("train of releases", "Release every second Thursday.")[0].key == (
        "release train"
    )
    assert index.near("order 4471", "Waits for an address.") == []
    assert index.near("release train", "Every second Thursday.") == []
