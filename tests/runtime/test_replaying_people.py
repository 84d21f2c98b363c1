"""Replays of what people did: whatever it took until the program came upon it."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import anyio
import orjson
import pytest
from refund_runs import FILES, READ
from run_bench import RunBench, finish

from orchestrator.api import Orchestrator
from orchestrator.events import Event
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.live import Live
from orchestrator.runtime.replaying.replay import Replayed, replay
from orchestrator.runtime.result import RunResult
from orchestrator.store.layout import RunFolder
from orchestrator.testing import FakeClock, ScriptedModel, Step

REPORT = finish("A refund takes 14 days [refunds.md:1].")
STEERS = 12


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


def assert_same(folder: Path) -> None:
    found: Replayed = replay(RunFolder(folder))
    assert found.first is None
    assert (found.extra, found.missing) == ((), ())
    assert found.is_same
    assert found.events == found.total


def delay(folder: Path, behind: str, seconds: float) -> None:
    """Let more time have gone by behind the last event of a kind: a busy machine."""
    path = folder / "events.jsonl"
    events = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    last = max(place for place, each in enumerate(events) if each["kind"] == behind)
    for each in events[last + 1 :]:
        each["worked_s"] += seconds
    path.write_bytes(b"".join(orjson.dumps(each) + b"\n" for each in events))


async def resumed(bench: RunBench, folder: Path, live: Live | None = None) -> RunResult:
    async with Orchestrator(
        runs_dir=bench.runs, model=ScriptedModel([REPORT]), clock=FakeClock()
    ) as here:
        return await here.resume(folder, live=live)


async def paused(bench: RunBench) -> Path:
    """A run that was paused after its first turn, and whose process ended then."""
    live, heard = Live(keeps_paused=False), anyio.Event()

    async def answer(_request: ModelRequest) -> Step:
        live.pause()
        await heard.wait()
        return READ

    def listen(event: Event) -> None:
        if event.kind == "control.received":
            heard.set()

    live.on_event = listen

    async with Orchestrator(
        runs_dir=bench.runs, model=ScriptedModel(answer), clock=FakeClock()
    ) as here:
        ended = await here.run(bench.task(), live=live)
    assert ended.state == "paused"
    return ended.folder


async def test_notes_that_were_changed_in_a_pause_come_before_the_next_request(
    bench: RunBench,
) -> None:
    folder = await paused(bench)
    notes = folder / "progress.md"
    notes.write_text(notes.read_text() + "\nOnly 2026 counts.\n")
    assert (await resumed(bench, folder)).state == "done"
    assert b'"kind":"notes.edited"' in (folder / "events.jsonl").read_bytes()
    assert_same(folder)

    delay(folder, "run.resumed", 0.2)

    assert_same(folder)


async def test_a_pause_before_the_lead_asked_again_holds_it_back(
    bench: RunBench,
) -> None:
    folder = await paused(bench)
    live = Live(keeps_paused=False)

    def pause_at_once(event: Event) -> None:
        if event.kind == "run.resumed":
            live.pause()

    live.on_event = pause_at_once
    assert (await resumed(bench, folder, live)).state == "paused"
    delay(folder, "run.resumed", 0.2)

    assert_same(folder)


async def test_words_that_came_together_take_no_time_one_by_one(
    bench: RunBench,
) -> None:
    live, heard = Live(), anyio.Event()
    left, said = iter([READ, REPORT]), count(1)

    async def answer(_request: ModelRequest) -> Step:
        await heard.wait()
        return next(left)

    def speak(event: Event) -> None:
        if event.kind == "agent.started":
            for number in range(STEERS):
                live.steer(f"Rule {number} counts.")
        elif event.kind == "control.received" and next(said) == STEERS:
            heard.set()

    live.on_event = speak
    async with Orchestrator(
        runs_dir=bench.runs, model=ScriptedModel(answer), clock=FakeClock()
    ) as here:
        # One that is over long before so many looks have been made one by one.
        ended = await here.run(bench.task(limits={"minutes": 0.05}), live=live)
    assert ended.state == "done"
    log = (ended.folder / "events.jsonl").read_bytes()
    assert log.count(b'"kind":"control.received"') == STEERS

    assert_same(ended.folder)
