"""Runs that a person pauses: what comes in, what waits, and how they go on."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import orjson
import pytest
from live_process import wait_until
from run_bench import (
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    last_results,
    played,
    submit,
)
from structlog.testing import capture_logs

from orchestrator.agent.parking import Parking
from orchestrator.api import Orchestrator
from orchestrator.errors import ModelError, StoreError
from orchestrator.events import Event
from orchestrator.inspection.reading import load_run
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.live import Live
from orchestrator.runtime.replaying.replay import replay
from orchestrator.runtime.result import RunResult
from orchestrator.store.control import GO_ON, PAUSE, STEER, STOP, Request, pending, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder, is_held
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, fail

LINE = "A refund takes 14 days from the day the goods arrive."
READ = call("read_file", path="refunds.md")
FOUND = submit(item("It takes 14 days.", "refunds.md:1", LINE))
REPORT = finish("It takes 14 days [refunds.md:1].")
PATIENCE_S = 20


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})


@dataclass
class Paused:
    """A run that is asked to pause amid a request, and waits."""

    bench: RunBench
    model: ScriptedModel
    clock: FakeClock = field(default_factory=FakeClock)
    live: Live = field(default_factory=Live)
    results: list[RunResult] = field(default_factory=list)

    @property
    def run(self) -> RunFolder:
        [path] = self.bench.runs.glob("2*")
        return RunFolder(path)

    @property
    def result(self) -> RunResult:
        return self.results[0]

    @property
    def events(self) -> list[Event]:
        return list(read_events(self.run.events))

    def states(self) -> list[str]:
        ended = [each for each in self.events if each.kind == "run.ended"]
        return [each.data["state"] for each in ended]

    def kinds(self, kind: str) -> int:
        return sum(event.kind == kind for event in self.events)

    def ask(self, action: str, **fields: Any) -> None:
        by = None if action == STEER else holder(self.run.lock)
        send(self.run.control, Request(action, by, **fields))

    async def until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_S):
            await anyio.to_thread.run_sync(wait_until, is_so)

    async def until_paused(self) -> None:
        await self.until(lambda: self.states()[-1:] == ["paused"])

    async def until_at_rest(self) -> None:
        """Until its log is closed: then what is said is heard."""
        await self.until_paused()
        self.ask(STEER, text="Tests first.")
        await self.until(lambda: pending(self.run.control) == [])


@asynccontextmanager
async def at_work(paused: Paused, **fields: Any) -> AsyncIterator[Paused]:
    """Let it run in a task of its own; leaving waits for its end."""

    async def works() -> None:
        async with Orchestrator(
            runs_dir=paused.bench.runs, model=paused.model, clock=paused.clock
        ) as here:
            task = paused.bench.task(**fields)
            paused.results.append(await here.run(task, live=paused.live))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as group:
            group.start_soon(works)
            yield paused


class Pauses:
    """Asks for a pause amid a request, and answers it once that is heard."""

    def __init__(self, step: Step) -> None:
        self.step = step
        self.of: list[Paused] = []

    def __call__(self, _request: ModelRequest) -> Awaitable[Step]:
        return self._answer()

    async def _answer(self) -> Step:
        [paused] = self.of
        paused.live.pause()
        await paused.until(lambda: not paused.live.asked)
        return self.step


def one(bench: RunBench, *later: Any) -> Paused:
    """A lead that is paused at its second request."""
    pauses = Pauses(READ)
    script = in_turn(READ, pauses, *later)
    paused = Paused(bench, ScriptedModel(script))
    pauses.of.append(paused)
    return paused


async def test_what_is_under_way_comes_in_and_then_nothing_is_sent(
    bench: RunBench,
) -> None:
    async with at_work(one(bench, REPORT)) as paused:
        await paused.until_paused()

        assert len(paused.model.requests) == 2
        assert paused.kinds("model.answered") == paused.kinds("tool.ended") == 2
        assert is_held(paused.run)
        assert not paused.run.report.exists()
        view = load_run(paused.run)
        assert (view.state, view.is_resumable) == ("paused", True)
        assert view.label(view.agents["lead"]) == "paused"
        told = orjson.loads(paused.run.run_json.read_bytes())
        assert told["state"] == "paused"
        assert "paused" in paused.run.progress.read_text()
        paused.live.go_on()

    assert (paused.result.state, paused.result.exit_code) == ("done", 0)
    assert paused.states() == ["paused", "done"]
    assert len(paused.model.requests) == 3
    assert len({each.body for each in paused.model.requests}) == 3
    assert not is_held(paused.run)


@pytest.mark.slow
async def test_subagents_in_line_stay_in_line(bench: RunBench) -> None:
    pauses = Pauses(READ)
    model = played(
        in_turn(delegate(brief("North"), brief("South")), REPORT),
        {"North": in_turn(pauses, FOUND), "South": in_turn(READ, FOUND)},
    )
    paused = Paused(bench, model)
    pauses.of.append(paused)
    async with at_work(paused, limits={"concurrency": 1}):
        await paused.until_paused()

        view = load_run(paused.run)
        assert [view.label(each) for each in view.subagents] == ["paused", "waiting"]
        assert "| a2 | South | waiting |" in paused.run.progress.read_text()
        paused.live.go_on()

    assert paused.result.state == "done"
    assert paused.kinds("subagent.ended") == 2
    assert len(model.requests) == 6


@pytest.mark.slow
async def test_the_time_of_a_pause_counts_against_no_limit(bench: RunBench) -> None:
    async with at_work(one(bench, REPORT), limits={"minutes": 10}) as paused:
        await paused.until_paused()
        worked = load_run(paused.run).seconds()
        await paused.clock.advance(3600)
        paused.ask(STEER, text="Only Q3.")
        await paused.until(lambda: paused.kinds("control.received") == 2)
        assert load_run(paused.run).seconds() == pytest.approx(worked, abs=1)
        paused.live.go_on()

    assert paused.result.state == "done"
    assert paused.result.seconds < 60


@pytest.mark.slow
async def test_words_said_meanwhile_are_in_the_very_next_request(
    bench: RunBench,
) -> None:
    async with at_work(one(bench, REPORT)) as paused:
        await paused.until_paused()
        paused.ask(STEER, text="Only Q3.")
        await paused.until(lambda: not pending(paused.run.control))
        assert paused.states() == ["paused"]
        paused.ask(GO_ON)

    assert paused.result.state == "done"
    assert "says:\n\nOnly Q3.\n\n" in last_results(paused.model.requests[2])
    everything = "\n".join(
        text_of(each["content"]) for each in paused.model.requests[2].messages
    )
    assert everything.count("Only Q3.") == 1


async def test_stop_while_paused_interrupts_and_resume_completes(
    bench: RunBench,
) -> None:
    async with at_work(one(bench)) as paused:
        await paused.until_paused()
        paused.ask(STOP)

    assert (paused.result.state, paused.result.exit_code) == ("interrupted", 130)
    assert paused.states() == ["paused", "interrupted"]
    told = orjson.loads(paused.run.run_json.read_bytes())
    assert (told["state"], told["exit_code"]) == ("interrupted", 130)
    assert pending(paused.run.control) == []
    again = await bench.resume(paused.run.path, [REPORT], {})
    assert again.result.state == "done"
    assert len(again.requests) == 1


@pytest.mark.slow
async def test_a_paused_run_whose_folder_is_removed_is_let_go_of(
    bench: RunBench,
) -> None:
    paused = one(bench)
    with pytest.RaisesGroup(pytest.RaisesExc(StoreError, match="the run .* is gone")):
        async with at_work(paused):
            await paused.until_at_rest()
            shutil.rmtree(paused.run.path)
            with anyio.fail_after(PATIENCE_S / 4):
                await anyio.sleep_forever()


@pytest.mark.slow
async def test_a_disk_in_trouble_keeps_nobody_from_stopping_a_paused_run(
    bench: RunBench,
) -> None:
    paused = one(bench)
    with pytest.RaisesGroup(pytest.RaisesExc(StoreError, match="reopen the log")):
        async with at_work(paused):
            await paused.until_at_rest()
            log = paused.run.events
            aside = log.rename(log.with_suffix(".aside"))
            log.mkdir()  # the log can be neither read nor written
            paused.ask(STOP)
            with anyio.fail_after(PATIENCE_S / 4):
                await anyio.sleep_forever()

    log.rmdir()
    aside.rename(log)
    assert load_run(paused.run).state == "paused"
    again = await bench.resume(paused.run.path, [REPORT], {})
    assert again.result.state == "done"


@pytest.mark.slow
async def test_what_a_person_writes_into_the_notes_meanwhile_is_kept(
    bench: RunBench,
) -> None:
    async with at_work(one(bench)) as paused:
        await paused.until_paused()
        notes = paused.run.progress
        empty, own = "_Nothing yet._", "Only the third quarter."
        notes.write_text(notes.read_text().replace(empty, own, 1))
        paused.ask(STOP)

    kinds = [event.kind for event in paused.events]
    assert kinds[-2:] == ["notes.edited", "run.ended"]
    assert own in notes.read_text()
    assert "interrupted" in notes.read_text()
    again = await bench.resume(paused.run.path, in_turn(READ, REPORT), {})
    assert again.result.state == "done"
    assert own in last_results(again.requests[0])


@pytest.mark.slow
async def test_a_program_stops_a_paused_run_by_its_handle(
    bench: RunBench,
) -> None:
    async with at_work(one(bench)) as paused:
        await paused.until_paused()
        paused.live.stop()

    assert paused.result.state == "interrupted"


@pytest.mark.slow
async def test_a_cancelled_caller_leaves_a_paused_run_to_go_on_with(
    bench: RunBench,
) -> None:
    paused, scope = one(bench), anyio.CancelScope()
    with scope:
        async with at_work(paused):
            await paused.until_paused()
            scope.cancel()
    assert paused.states() == ["paused", "interrupted"]
    assert paused.results == []


@pytest.mark.slow
async def test_limits_change_as_it_goes_on(bench: RunBench) -> None:
    async with at_work(one(bench, READ, REPORT), limits={"turns": 4}) as paused:
        await paused.until_paused()
        with capture_logs() as logs:
            paused.live.go_on({"tokens": 1})
            await paused.until(lambda: not paused.live.asked)
        assert [each["event"] for each in logs] == ["control.refused"]
        assert paused.states() == ["paused"]
        paused.live.go_on({"turns": 40})

    assert paused.result.state == "done"
    [resumed] = [each for each in paused.events if each.kind == "run.resumed"]
    assert resumed.data["limits"]["turns"] == 40


@pytest.mark.slow
async def test_a_second_pause_is_one_more(bench: RunBench) -> None:
    again = Pauses(READ)
    paused = one(bench, again, REPORT)
    again.of.append(paused)
    async with at_work(paused):
        await paused.until_paused()
        paused.ask(PAUSE)  # it is paused already
        await paused.until(lambda: not pending(paused.run.control))
        paused.ask(GO_ON)
        await paused.until(lambda: paused.states() == ["paused", "paused"])
        paused.ask(GO_ON)

    assert paused.result.state == "done"
    assert paused.kinds("run.resumed") == 2


@pytest.mark.slow
async def test_a_subagent_that_is_stopped_meanwhile_ends_as_the_run_goes_on(
    bench: RunBench,
) -> None:
    pauses = Pauses(READ)
    model = played(
        in_turn(delegate(brief("North"), brief("South")), REPORT),
        {"North": in_turn(pauses), "South": in_turn(READ, FOUND)},
    )
    paused = Paused(bench, model)
    pauses.of.append(paused)
    async with at_work(paused):
        await paused.until_paused()
        with capture_logs() as logs:
            paused.ask(STOP, to="a9")
            await paused.until(lambda: not pending(paused.run.control))
        assert [each["event"] for each in logs] == ["control.no_such_agent"]
        paused.ask(STOP, to="a1")
        await paused.until(lambda: not pending(paused.run.control))
        paused.ask(GO_ON)

    assert paused.result.state == "partial"
    assert "subagent a1 (North) was cancelled" in paused.result.missing[0]


async def test_a_run_that_ends_before_it_rests_has_ended(bench: RunBench) -> None:
    pauses = Pauses(REPORT)
    paused = Paused(bench, ScriptedModel(in_turn(READ, pauses)))
    pauses.of.append(paused)
    async with at_work(paused):
        pass

    assert paused.result.state == "done"
    assert paused.states() == ["done"]


@pytest.mark.slow
async def test_what_parks_a_run_that_is_being_paused_is_met_when_it_goes_on(
    bench: RunBench,
) -> None:
    no_credit = fail("quota_exhausted", "Your credit balance is too low.")
    pauses = Pauses(no_credit)
    paused = Paused(bench, ScriptedModel(in_turn(READ, pauses, no_credit)))
    pauses.of.append(paused)
    async with at_work(paused):
        await paused.until_paused()
        paused.ask(GO_ON)

    assert paused.result.state == "parked"
    assert paused.states() == ["paused", "parked"]


@pytest.mark.slow
async def test_a_run_that_was_paused_and_steered_is_replayed_as_it_was(
    bench: RunBench,
) -> None:
    async with at_work(one(bench, READ, REPORT)) as paused:
        await paused.until_paused()
        paused.ask(STEER, text="Only Q3.")
        await paused.until(lambda: not pending(paused.run.control))
        paused.ask(GO_ON)

    again = await anyio.to_thread.run_sync(replay, paused.run)

    assert paused.result.state == "done"
    assert (again.is_same, again.missing, again.extra) == (True, (), ())
    assert (again.events, again.parts) == (len(paused.events), 2)


async def test_a_run_that_is_parked_is_not_paused() -> None:
    parking = Parking()
    assert parking.takes(ModelError("quota_exhausted", "no credit"))

    parking.pause()

    assert not parking.is_paused
    assert await parking.closed() is not None
