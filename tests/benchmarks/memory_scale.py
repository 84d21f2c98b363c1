"""What the index of a memory costs when it is large.

    python tests/benchmarks/memory_scale.py [TOPICS] [ENTRIES] [VECTORS] [QUERIES]

TOPICS files of ENTRIES entries are indexed, searched by rare and by very common words,
and one entry is changed again and again; the same of a whole scope, whose writes lock,
read, judge, replace and sync a file. Then as many entries as VECTORS get vectors of
the local encoder; the encoder's own time for a question is a row of its own. Memory is
that of a process that opens the index and searches it, beyond one that only imports it.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from stopwatch import print_table

from orchestrator.extras import is_installed
from orchestrator.memory.entries import Entry, Topic, topic_text
from orchestrator.memory.keeping import Author, Put
from orchestrator.memory.local_embedder import LocalEmbedder
from orchestrator.memory.memory import Memory
from orchestrator.memory.search.index import Index

TOPICS, ENTRIES, VECTORS, QUERIES = 2_000, 50, 10_000, 200
WRITES: Final = 50
_COMMON: Final = (
    "service", "server", "order", "customer", "data", "time", "error", "value",
    "request", "system", "file", "user", "table", "team", "report", "build",
)  # fmt: skip
_WIDE: Final = (
    "系统",
    "数据",
    "用户",
    "订单",
    "服务",
    "接口",
    "错误",
    "时间",
    "部署",
    "缓存",
)
_MEMORY: Final = """
import resource, sys
from pathlib import Path
from orchestrator.memory.search.index import Index
def rss():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
before = rss()
index = Index(Path(sys.argv[1]))
for query in sys.argv[2:]:
    index.find([query])
print(rss() - before, rss())
"""


def main(
    topics: int = TOPICS,
    entries: int = ENTRIES,
    vectors: int = VECTORS,
    queries: int = QUERIES,
) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        made = [topic(number, entries) for number in range(topics)]
        rows = [
            *by_words(Path(folder) / "words.sqlite", made, queries),
            *by_scope(Path(folder) / "scope", made, queries),
        ]
        if is_installed("semantic"):
            part = made[: max(vectors // entries, 1)]
            rows += by_vectors(Path(folder) / "vectors.sqlite", part, queries)
        else:
            rows.append(("vectors: the extra `semantic` is not installed", "", "", ""))
    print_table(
        f"An index of {topics:,} topic files with {entries} entries each",
        ("", "median", "95 %", "unit"),
        rows,
    )


def by_words(path: Path, made: Sequence[Topic], queries: int) -> list[tuple[str, ...]]:
    """Return the rows of an index without vectors."""
    index = Index(path)
    built_s = filled(index, made)
    rng = random.Random(2)
    count = sum(len(each.entries) for each in made)
    rare = [f"what is id{rng.randrange(count)} about" for _ in range(queries)]
    some = [
        f"{rng.choice(_COMMON)} {word(rng)} {rng.choice(_WIDE)}" for _ in range(queries)
    ]
    common = [" ".join(rng.sample(_COMMON, 8)) for _ in range(queries)]
    wide = ["".join(rng.sample(_WIDE, 6)) for _ in range(queries)]
    rows = [
        ("filling, an entry", *two([built_s / count]), "ms"),
        *(
            (f"find: {name}", *two(timed(index, asked)), "ms")
            for name, asked in (
                ("an id", rare),
                ("common and rare words", some),
                ("eight very common words", common),
                ("six very common Chinese words", wide),
            )
        ),
        ("replace: one entry of a file changed", *two(written(index, made)), "ms"),
    ]
    beyond, whole = memory(path, [*rare[:20], *common[:20], *wide[:20]])
    size = path.stat().st_size / 1e6 / count * 1000
    return [
        *rows,
        ("memory of a search", f"{beyond:.0f}", f"{whole:.0f}", "MB (of all: right)"),
        ("file, 1,000 entries", f"{size:.2f}", "", "MB"),
    ]


def by_scope(
    folder: Path, made: Sequence[Topic], queries: int
) -> list[tuple[str, ...]]:
    """Return the rows of a scope of files, its index included."""
    folder.mkdir()
    for each in made:
        (folder / each.path).write_text(topic_text(each), encoding="utf-8")
    scope = Memory(folder, workspace=None, redact=str, today=lambda: "2026-11-30")
    author = Author("20261130-120000-bench-0000", "lead")
    rng = random.Random(4)

    def keep(number: int, *, turn: int) -> None:
        value = f"The {word(rng)} of {word(rng)} takes {turn} of {word(rng)}."
        put = Put(made[number % len(made)].path, f"new key {number}", value)
        scope.keep([put], author)

    scope.recall(["anything"])  # makes the index
    new = [spent(partial(keep, number, turn=1)) for number in range(WRITES)]
    known = [spent(partial(keep, number, turn=2)) for number in range(WRITES)]
    asked = [f"{rng.choice(_COMMON)} {word(rng)} {word(rng)}" for _ in range(queries)]
    recalled = [spent(partial(scope.recall, [each])) for each in asked]
    return [
        ("scope: keep of a known key, synced", *two(known), "ms"),
        ("scope: keep of a new key, synced", *two(new), "ms"),
        ("scope: recall, files looked at", *two(recalled), "ms"),
    ]


def by_vectors(
    path: Path, made: Sequence[Topic], queries: int
) -> list[tuple[str, ...]]:
    """Return the rows of an index with vectors."""
    embedder = LocalEmbedder()
    index = Index(path, embedder)
    count = sum(len(each.entries) for each in made)
    built_s = filled(index, made)
    while index.find(["nothing"], most=1) and index.notice:
        continue
    rng = random.Random(3)
    asked = [f"{rng.choice(_COMMON)} {word(rng)}" for _ in range(queries)]
    index.find(asked[:1])
    taken = timed(index, asked)
    alone = [spent(partial(embedder.embed, [each])) for each in asked]
    without = [whole - own for whole, own in zip(taken, alone, strict=True)]
    return [
        (
            f"filling with vectors, {count:,} entries: each",
            *two([built_s / count]),
            "ms",
        ),
        ("find, vectors too, encoder apart", *two(without), "ms"),
        ("the encoder, a question", *two(alone), "ms"),
    ]


def topic(number: int, entries: int) -> Topic:
    """Return a topic file of made-up facts, the same for the same number."""
    rng = random.Random(number)
    return Topic(
        f"topic-{number:05}.md",
        f"Topic {number}",
        "",
        tuple(entry(rng, number * entries + at) for at in range(entries)),
    )


def entry(rng: random.Random, number: int) -> Entry:
    """Return an entry of some thirty words, one in five of them Chinese."""
    words = [rng.choice(_COMMON) for _ in range(8)] + [word(rng) for _ in range(14)]
    rng.shuffle(words)
    value = " ".join(words)
    if number % 5 == 0:
        value += "。" + "".join(rng.choice(_WIDE) for _ in range(8))
    return Entry(f"{rng.choice(_COMMON)} id{number}", value, "2026-11-29")


def word(rng: random.Random) -> str:
    """Return a made-up word; a few thousand in all."""
    return "".join(
        rng.choice(part) for part in ("bdgklmnrst", "aeiou", "lmnrst", "aeiou", "kmnrt")
    )


def filled(index: Index, made: Sequence[Topic]) -> float:
    """Return the seconds that it takes to index all files."""

    def work() -> None:
        for number, each in enumerate(made):
            index.replace(each, (number, 0, 0))

    return spent(work)


def timed(index: Index, queries: Sequence[str]) -> list[float]:
    """Return the seconds of each query."""
    return [spent(partial(index.find, [each])) for each in queries]


def written(index: Index, made: Sequence[Topic]) -> list[float]:
    """Return the seconds of each change of one entry."""
    taken = []
    for number in range(WRITES):
        whole = made[number % len(made)]
        new = replace(whole.entries[0], value=f"changed for the time {number}")
        changed = replace(whole, entries=(new, *whole.entries[1:]))
        taken.append(spent(partial(index.replace, changed, (number, 1, 1))))
    return taken


def memory(path: Path, queries: Sequence[str]) -> tuple[float, float]:
    """Return the MB that searches take, and all that their process takes."""
    said = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(path), *queries],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    return float(said[0]), float(said[1])


def spent(work: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def two(taken: Sequence[float]) -> tuple[str, str]:
    """Return the median and what 95 % are below, in milliseconds."""
    if len(taken) < 2:
        return f"{taken[0] * 1e3:.2f}", ""
    cuts = statistics.quantiles(taken, n=20)
    return f"{statistics.median(taken) * 1e3:.2f}", f"{cuts[-1] * 1e3:.2f}"


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
