"""Long logs for benchmarks: a real run's own records, over and over.

A short run is made with a scripted model, and stopped while its second fan-out is at
work. What its first fan-out wrote is then repeated, with ids and numbers of its own, as
often as it takes. So kinds, sizes and their order are those of a run, and the result is
a run that can be shown and gone on with.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import orjson
from run_bench import RunBench, brief, item, submit

from orchestrator.api import Orchestrator
from orchestrator.messages import Block, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.store.layout import RunFolder
from orchestrator.testing import ScriptedModel, Step, call, hang, say

__all__ = ["CREW", "long_run"]

CREW = 8
"""Subagents at work at a time; so many are unfinished at the end."""
FILES, LINES = 24, 60
BIG_LINES = 600
_SOURCE = "def verify_{0}(token, store):  # checks line {0} of what was handed in"


@dataclass(frozen=True)
class _Plan:
    """How much work the subagents of the short run do."""

    turns: int
    unfinished_turns: int


def long_run(folder: Path, events: int) -> RunFolder:
    """Make a run of about `events` events that was killed in its last fan-out.

    Args:
        folder: where its workspace and its runs folder are made.
        events: of the log, at least some hundred.
    """
    # Short ones for a short log, so that some are finished there too.
    turns = 24 if events > 5000 else 6
    whole = anyio.run(_short_run, folder, _Plan(turns, turns // 2))
    lines = whole.events.read_bytes().splitlines(keepends=True)
    records = [orjson.loads(line) for line in lines]
    first, last = _fan_outs(records)
    rounds = max((events - len(lines)) // (last - first) + 1, 1)
    with whole.events.open("wb") as log:
        log.writelines(_repeated(lines, records, (first, last), rounds))
    return whole


async def _short_run(folder: Path, plan: _Plan) -> RunFolder:
    bench = RunBench(folder, dict(_workspace()))
    scope = anyio.CancelScope()
    script = _Script(plan, scope)
    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(script)) as here:
        with scope:
            await here.run(
                bench.task(limits={"subagents": 300, "tokens": 10**9, "turns": 300})
            )
    [run] = bench.runs.glob("2*")
    # As a kill leaves it: what was cancelled wrote how it was stopped.
    log = run / "events.jsonl"
    kept = [line for line in log.read_bytes().splitlines(True) if _is_before(line)]
    log.write_bytes(b"".join(kept))
    for name in ("run.json", "progress.md"):
        (run / name).unlink(missing_ok=True)
    shutil.rmtree(run / "agents" / "lead", ignore_errors=True)
    return RunFolder(run)


def _is_before(line: bytes) -> bool:
    return bool(orjson.loads(line)["kind"] != "run.ended")


def _workspace() -> Iterator[tuple[str, str]]:
    for number in range(FILES):
        text = "\n".join(_SOURCE.format(f"{number}_{n}") for n in range(LINES))
        yield f"src/part_{number}.py", text + "\n"
    big = "\n".join(_SOURCE.format(f"big_{n}") for n in range(BIG_LINES))
    yield "src/big.py", big + "\n"


@dataclass
class _Script:
    """Plays lead and subagents; the last request of the second crew never ends."""

    plan: _Plan
    scope: anyio.CancelScope
    waiting: int = 0

    def __call__(self, request: ModelRequest) -> Step:
        first = text_of(request.messages[0]["content"])
        said = sum(message["role"] == "assistant" for message in request.messages)
        if "# Objective\n" in first:
            titles = [f"Part {said}.{number}" for number in range(CREW)]
            return call("delegate", briefs=[brief(title) for title in titles])
        found = re.search(r"# Part (\d)\.(\d+)\n", first)
        assert found is not None
        crew, number = int(found[1]), int(found[2])
        if crew == 1 and said >= self.plan.unfinished_turns:
            self.waiting += 1
            if self.waiting == CREW:
                self.scope.cancel()
            return hang()
        return _work(number, said, self.plan.turns)


def _work(number: int, said: int, turns: int) -> Step:
    """One step of a subagent: it mostly searches and reads, and notes what it has."""
    at = (number * 3 + said) % FILES
    path = f"src/part_{at}.py"
    if said >= turns:
        first = number * 3 % FILES
        quote, source = _SOURCE.format(f"{first}_3"), f"src/part_{first}.py:4"
        claims = [
            item(f"Tokens are checked one by one, case {n}.", source, quote)
            for n in range(4)
        ]
        return submit(*claims)
    words = say(f"Next I look at `{path}`, since the last one calls into it.")
    steps: list[list[Block]] = [
        [words, call("read_file", path=path)],
        [words, call("grep", pattern=f"verify_{at}_1\\d", path="src")],
        [words, call("read_file", path=path), call("grep", pattern="store", path=path)],
    ]
    if said % 8 == 5:
        note = f"`{path}` checks tokens one by one."
        return [words, call("update_notes", section="Facts", mode="append", text=note)]
    if said == turns - 2:
        return [words, call("read_file", path="src/big.py")]
    return steps[said % 3]


def _fan_outs(records: list[dict[str, Any]]) -> tuple[int, int]:
    """Return where the lead's first turn begins, and where its second does."""
    asked = [
        index
        for index, record in enumerate(records)
        if record["kind"] == "model.requested" and record["agent"] == "lead"
    ]
    return asked[0], asked[1]


def _repeated(
    lines: list[bytes],
    records: list[dict[str, Any]],
    span: tuple[int, int],
    rounds: int,
) -> Iterator[bytes]:
    """Yield the lines with those of `span` repeated, all numbered anew."""
    first, last = span
    lasted = _time(records[last]) - _time(records[first])
    yield from lines[:first]
    for number in range(rounds):
        shift = _Shift(number, number * (last - first), number * lasted, first)
        for index in range(first, last):
            yield shift.moved(lines[index], records[index])
    more = rounds - 1
    shift = _Shift(more, more * (last - first), more * lasted, first)
    for index in range(last, len(lines)):
        yield shift.moved(lines[index], records[index])


@dataclass(frozen=True)
class _Shift:
    """How a record of a later round differs from the one it repeats."""

    round: int
    seqs: int
    time: timedelta
    first: int

    def moved(self, line: bytes, record: dict[str, Any]) -> bytes:
        at = (_time(record) + self.time).isoformat(timespec="milliseconds")[:23]
        cause = record["cause"]
        head = orjson.dumps(
            {
                **{name: record[name] for name in ("v", "seq", "at", "run")},
                "seq": record["seq"] + self.seqs,
                "at": f"{at}Z",
                "agent": record["agent"],
                "kind": record["kind"],
                "cause": cause + (self.seqs if cause > self.first else 0),
                "worked_s": record["worked_s"] + self.time.total_seconds(),
            }
        )
        data = line[line.index(b'"data":') :]
        return _IDS.sub(self._id, head[:-1] + b"," + data)

    def _id(self, found: re.Match[bytes]) -> bytes:
        if found[1]:
            return b"a%d" % (int(found[1]) + CREW * self.round)
        return found[0] + b"%d_" % self.round


_IDS = re.compile(rb"\ba(\d{1,2})\b|\b(?:toolu|msg)_")


def _time(record: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(record["at"])
