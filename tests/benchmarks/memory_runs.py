"""How long it takes to recall from many earlier runs: at first, and from then on.

python tests/benchmarks/memory_runs.py [RUNS] [CLAIMS] [QUESTIONS]
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from past_runs import item, past_run, run_name
from stopwatch import print_table

from orchestrator.memory.earlier_runs import Bounds, EarlierRuns

RUNS = 1_000
CLAIMS = 12
QUESTIONS = 40
WORDS = 3_000


def main(runs: int = RUNS, claims: int = CLAIMS, questions: int = QUESTIONS) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "work").mkdir()
        vocabulary = _vocabulary(random.Random(1))
        for number in range(1, runs + 1):
            _write(folder, number, claims, vocabulary)
        first = _timed(_memory(folder), ["no such thing"])
        rest, size = _rest(folder)
        again = _asked(folder, vocabulary, questions)
        _write(folder, runs + 1, claims, vocabulary)
        one_new = _timed(_memory(folder), ["no such thing"])
    quantiles = statistics.quantiles(again, n=20)
    print_table(
        f"{runs} earlier runs with {claims} claims and a report each; "
        f"the index has {size / 1e6:.1f} MB",
        ("recall", "ms"),
        [
            (f"the first, {min(runs, Bounds().new)} runs read", f"{first:.0f}"),
            ("(all others read)", f"{rest:.0f}"),
            ("with one new run", f"{one_new:.1f}"),
            ("with none, half of them", f"{statistics.median(again):.1f}"),
            ("with none, 19 of 20", f"{quantiles[-1]:.1f}"),
        ],
    )


def _vocabulary(chance: random.Random) -> list[str]:
    letters = "etaoinshrdlucmfwypvbgk"
    return ["".join(chance.choices(letters, k=7)) for _ in range(WORDS)]


def _sentence(chance: random.Random, vocabulary: Sequence[str], words: int) -> str:
    # Common words come often, as they do in prose.
    drawn = (
        vocabulary[int(len(vocabulary) * chance.random() ** 3)] for _ in range(words)
    )
    return " ".join(drawn).capitalize() + "."


def _write(folder: Path, number: int, claims: int, vocabulary: Sequence[str]) -> None:
    chance = random.Random(number)
    said = [_sentence(chance, vocabulary, 16) for _ in range(claims)]
    lines = [_sentence(chance, vocabulary, 9) for _ in range(40)]
    (folder / "work" / f"{number}.md").write_text("\n".join(lines))
    items = [
        item(claim, (f"{number}.md:{at}", lines[at - 1]))
        for at, claim in enumerate(said, 1)
    ]
    sections = [
        f"## {_sentence(chance, vocabulary, 4)}\n\n"
        f"{_sentence(chance, vocabulary, 60)} [a1#{at}]\n\n"
        f"- {_sentence(chance, vocabulary, 20)}\n"
        f"- {_sentence(chance, vocabulary, 20)}\n"
        for at in range(1, claims + 1)
    ]
    past_run(
        folder / "runs",
        run_name(number),
        workspace=folder / "work",
        objective=_sentence(chance, vocabulary, 12),
        report="# Report\n\n" + "\n".join(sections),
        findings=items,
    )


def _memory(folder: Path) -> EarlierRuns:
    return EarlierRuns(
        folder / "runs", workspace=folder / "work", current="", redact=str
    )


def _timed(memory: EarlierRuns, queries: Sequence[str]) -> float:
    start = time.perf_counter()
    memory.recall(queries)
    return (time.perf_counter() - start) * 1e3


def _rest(folder: Path) -> tuple[float, int]:
    """Return how long the runs that wait take, and the bytes of the index."""
    start = time.perf_counter()
    _memory(folder).refresh()
    taken = (time.perf_counter() - start) * 1e3
    files = (folder / "runs" / ".memory").iterdir()
    return taken, sum(file.stat().st_size for file in files)


def _asked(folder: Path, vocabulary: Sequence[str], questions: int) -> list[float]:
    memory, chance = _memory(folder), random.Random(0)
    return [
        _timed(memory, [_sentence(chance, vocabulary, 5)]) for _ in range(questions)
    ]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
