"""What the memory finds, beside plain BM25 and a vector store.

    python tests/benchmarks/memory_retrieval.py [PEERS]

A few hundred entries of engineering memory in English and Chinese, and questions in
three parts: `dev` was used to choose every parameter and threshold, `test` was looked
at while faults were mended, `fresh` was written after that and changed nothing. The
peers get the threshold that is best for them on `dev` (recall less false alarms), and
see the same vectors. With PEERS = 0 nothing is installed for them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from memory_bench import Figures, Question, Search, measured, questions, topics
from memory_peers import PACKAGES, Ranked, bm25, installed, vector_store
from stopwatch import print_table

from orchestrator.extras import is_installed
from orchestrator.memory.embedding import Embedder
from orchestrator.memory.local_embedder import LocalEmbedder
from orchestrator.memory.search.index import Index

PEERS = 1
LEVEL = 0.7
"""Recall at which false alarms are compared; each threshold as high as can be."""
PARTS = ("dev", "test", "fresh")


def main(peers: int = PEERS) -> None:
    """Print a table for each part of the questions."""
    with tempfile.TemporaryDirectory() as folder:
        embedder = LocalEmbedder() if is_installed("semantic") else None
        parts = {part: questions(part) for part in PARTS}
        rows = {part: list[tuple[str, ...]]() for part in PARTS}
        for name, ranked, at_once in ours(Path(folder), embedder):
            for part, asked in parts.items():
                rows[part].append(row(name, measured(at_once, asked), ranked, asked))
        if peers:
            theirs, trouble = of_peers(Path(folder) / "peers", embedder)
            for name, ranked in theirs.items():
                least = best_threshold(ranked, parts["dev"])
                for part, asked in parts.items():
                    figures = measured(above(ranked, least), asked)
                    rows[part].append(row(name, figures, ranked, asked))
            if trouble:
                for part in PARTS:
                    told = (f"{', '.join(PACKAGES)}: {trouble}", *[""] * 7)
                    rows[part].append(told)
        for part, asked in parts.items():
            none = sum(not each.answers for each in asked)
            print_table(
                f"Part `{part}`: {len(asked)} questions, {none} without an answer, "
                "shares in %",
                (
                    "",
                    "@5, no threshold",
                    "@5",
                    "@1",
                    "false alarms",
                    "numbers confused",
                    f"alarms at {LEVEL:.0%}",
                    "by kind @5",
                ),
                rows[part],
            )


def ours(
    folder: Path, embedder: Embedder | None
) -> Iterator[tuple[str, Ranked, Search]]:
    """Yield each way of ours: its name, all that it ranks, and what it answers."""
    for name, used in (("ours, by words", None), ("ours, merged", embedder)):
        if name == "ours, merged" and used is None:
            continue
        index = Index(folder / f"{name}.sqlite", used)
        for number, topic in enumerate(topics()):
            index.replace(topic, (number,))

        def ranked(query: str, index: Index = index) -> Sequence[tuple[str, float]]:
            return [(each.key, each.score) for each in index.find([query], share=0)]

        def answered(query: str, index: Index = index) -> Sequence[str]:
            return [each.key for each in index.find([query])]

        yield name, ranked, answered


def of_peers(
    folder: Path, embedder: Embedder | None
) -> tuple[Mapping[str, Ranked], str]:
    """Return the other ways, and why there are none."""
    trouble = installed(folder)
    if trouble:
        return {}, trouble
    found = {
        "bm25s": bm25(topics(), is_cut=False),
        "bm25s, characters cut": bm25(topics(), is_cut=True),
    }
    if embedder is not None:
        found["usearch, same vectors"] = vector_store(topics(), embedder)
    return found, ""


def above(ranked: Ranked, least: float) -> Search:
    """Return a search that gives what has a score of `least` or more."""
    return lambda query: [key for key, score in ranked(query) if score >= least]


def best_threshold(ranked: Ranked, asked: Sequence[Question]) -> float:
    """Return the score at which recall at five less false alarms is greatest."""
    known = {each.text: ranked(each.text) for each in asked}
    scores = sorted({round(s, 2) for found in known.values() for _, s in found})

    def gain(least: float) -> float:
        figures = measured(above(known.__getitem__, least), asked)
        return figures.at_5 - figures.alarms

    return max(scores, key=gain)


def row(
    name: str, figures: Figures, ranked: Ranked, asked: Sequence[Question]
) -> tuple[str, ...]:
    """Return a row of the table."""
    whole = measured(above(ranked, float("-inf")), asked)
    kinds = ", ".join(
        f"{kind} {100 * share:.0f}" for kind, share in figures.kinds.items()
    )
    return (
        name,
        *(
            f"{100 * share:.1f}"
            for share in (
                whole.at_5,
                figures.at_5,
                figures.at_1,
                figures.alarms,
                figures.confused,
            )
        ),
        alarms_at(ranked, asked),
        kinds,
    )


def alarms_at(ranked: Ranked, asked: Sequence[Question]) -> str:
    """Return the false alarms of the highest threshold that reaches the level."""
    known = {each.text: ranked(each.text) for each in asked}
    scores = {round(score, 2) for found in known.values() for _, score in found}
    for least in sorted(scores, reverse=True):
        figures = measured(above(known.__getitem__, least), asked)
        if figures.at_5 >= LEVEL:
            return f"{100 * figures.alarms:.1f}"
    return "never"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
