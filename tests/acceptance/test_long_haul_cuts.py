"""Contexts are cleared and compacted, and the process dies: the same bytes leave."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_endpoint import Answer, refused
from haul_policy import PRICE_FILE, HaulPolicy, lay_haul
from kill_bench import records_of
from run_bench import RunBench
from serving import serving

from orchestrator.messages import encode

READS = 24
WINDOW = 8192
RARE = ("context.compacted", "text.added")
OFTEN = ("model.requested", "context.cleared")
"""What was decided is in the log once these are; one in four is enough."""


@dataclass
class Recorded:
    """Answers what another run was answered, and nothing else.

    Attributes:
        answers: request → answer.
        strange: how many requests no other run has made.
    """

    answers: dict[bytes, Answer] = field(default_factory=dict)
    strange: int = 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        found = self.answers.get(encode(asked))
        if found is None:
            self.strange += 1
            return refused(400, "invalid_request_error", "nobody asked this before")
        return found


@dataclass(frozen=True)
class Whole:
    """A run that nobody disturbed."""

    folder: Path
    lines: list[bytes]
    answers: dict[bytes, Answer]

    def kinds(self) -> list[str]:
        return [each["kind"] for each in records_of(b"".join(self.lines))]

    def cut(self, to: Path, records: int) -> Path:
        run = to / "runs" / self.folder.name
        shutil.copytree(self.folder, run)
        (run / "events.jsonl").write_bytes(b"".join(self.lines[:records]))
        for derived in ("report.md", "run.json", "progress.md"):
            (run / derived).unlink()
        return run


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path = tmp_path_factory.mktemp("prices") / "prices.yaml"
    path.write_text(PRICE_FILE)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ORCHESTRATE_PRICES", str(path))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, prices: None) -> Whole:
    folder = tmp_path_factory.mktemp("whole")
    policy = HaulPolicy(READS, window=WINDOW, thinks=True)
    answers: dict[bytes, Answer] = {}

    def play(asked: dict[str, Any]) -> Answer:
        return answers.setdefault(encode(asked), policy(asked))

    async def run() -> Path:
        bench = RunBench(folder)
        lay_haul(bench.root, READS)
        async with serving(bench.runs, play) as (_endpoint, here):
            task = bench.task(
                model="claude-sonnet-4-9",
                context_policy={"window_tokens": WINDOW},
                limits={"usd": 100, "tokens": 60_000_000, "turns": 1000},
            )
            result = await here.run(task)
        assert result.state == "done"
        return result.folder

    place = anyio.run(run)
    log = (place / "events.jsonl").read_bytes()
    return Whole(place, log.splitlines(keepends=True), answers)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
async def test_cut_where_something_was_decided_the_same_requests_are_made(
    tmp_path: Path, whole: Whole, part: int
) -> None:
    kinds = whole.kinds()
    assert {"context.cleared", "context.compacted"} <= set(kinds)
    rare = [at for at, kind in enumerate(kinds, 1) if kind in RARE]
    often = [at for at, kind in enumerate(kinds, 1) if kind in OFTEN]
    for at in [*rare, *often[::4]][part::2]:
        run = whole.cut(tmp_path / str(at), at)
        policy = Recorded(whole.answers)

        async with serving(run.parent, policy) as (endpoint, here):
            result = await here.resume(run)

        assert (result.state, policy.strange, endpoint.violations) == ("done", 0, [])
        assert result.report == (whole.folder / "report.md").read_text()
        answered = kinds[:at].count("model.answered")
        assert len(endpoint.requests) == kinds.count("model.answered") - answered
