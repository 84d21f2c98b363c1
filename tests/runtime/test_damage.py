"""Damage in the middle of a log costs that record only, and no request is refused."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from bound_policy import PAPER, BoundPolicy
from damage_bench import (
    WAYS,
    answered,
    check,
    check_readers,
    damaged,
    events_of,
    lines_of,
)
from run_bench import Ended, RunBench
from structlog.testing import capture_logs

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.host import Host
from orchestrator.runtime.resume import read_past
from orchestrator.store.layout import RunFolder
from orchestrator.store.transcript import LOST, rebuild
from orchestrator.testing import FakeClock, ScriptedModel, Step, fail

CALLS = 5 + 2 * 5
EVENTS = 88
STEP = 2
"""Calls that a lost reply may cost: itself, and the one that it led to."""
COSTS = {"subagent.accepted": 5}
"""Kind of a lost record → model calls that may be made again, where more."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run, with its workspace beside it."""
    bench = RunBench(tmp_path_factory.mktemp("finished"), {"refunds.md": PAPER})
    policy = BoundPolicy()
    ended = anyio.run(bench.run, ScriptedModel(policy))
    assert (ended.result.state, policy.refused) == ("done", []), ended.result
    return ended.folder


@dataclass
class Broken:
    """A copy of a finished run: one record is damaged, and its end is gone."""

    run: Path
    lost: Event
    paid: int
    """Model calls that were answered before the cut, the damaged one included."""


def broken(finished: Path, to: Path, place: int, way: str, cut: int) -> Broken:
    """Damage the record at `place`, from 0, of the first `cut` ones."""
    run = to / "runs" / finished.name
    shutil.copytree(finished, run)
    events, lines = events_of(run), lines_of(run)
    kept = damaged(lines[:cut], place, way)
    (run / "events.jsonl").write_bytes(b"".join(kept))
    for derived in ("report.md", "run.json", "progress.md"):
        (run / derived).unlink(missing_ok=True)
    # Of two that are swapped, the one that went ahead is not believed.
    lost = place + (way == "swapped" and place + 1 < cut)
    return Broken(run, events[lost], answered(events[:cut]))


async def go_on(run: Path, policy: BoundPolicy) -> Ended:
    model = ScriptedModel(policy)
    async with Orchestrator(
        runs_dir=run.parent, model=model, clock=FakeClock()
    ) as here:
        return Ended(await here.resume(run), model)


async def survives(finished: Path, to: Path, place: int, way: str, seed: int) -> None:
    """Damage one record, cut, resume; cut what came of that, and resume again."""
    dice = random.Random(seed)
    cut = dice.randrange(place + 1, EVENTS)
    case = broken(finished, to, place, way, cut)
    first = BoundPolicy()

    ended = await go_on(case.run, first)

    assert first.refused == []
    assert ended.result.state == "done", ended.result
    again = case.paid + first.answered - CALLS
    assert again <= COSTS.get(case.lost.kind, STEP), (case.lost.kind, cut, again)
    check(case.run)
    check_readers(case.run, ended)

    lines, second = lines_of(case.run), BoundPolicy()
    later = dice.randrange(min(cut, len(lines) - 2), len(lines) - 1)
    (case.run / "events.jsonl").write_bytes(b"".join(lines[:later]))
    paid = answered(events_of(case.run))

    ended = await go_on(case.run, second)

    assert second.refused == []
    assert ended.result.state == "done", ended.result
    assert paid + second.answered <= case.paid + first.answered + STEP
    check(case.run)
    check_readers(case.run, ended)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(EVENTS - 1))
async def test_wherever_it_is_cut_it_goes_on(
    finished: Path, tmp_path: Path, place: int
) -> None:
    for number, way in enumerate(WAYS):
        to = tmp_path / way
        to.mkdir()
        await survives(finished, to, place, way, seed=1000 * (number + 1) + place)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(EVENTS - 1))
async def test_one_damaged_record_costs_no_more_than_itself(
    finished: Path, tmp_path: Path, place: int
) -> None:
    assert len(lines_of(finished)) == EVENTS

    await survives(finished, tmp_path, place, WAYS[place % len(WAYS)], seed=place)


async def test_lost_findings_are_made_again_once_and_shown_to_readers(
    finished: Path, tmp_path: Path
) -> None:
    events = events_of(finished)
    [place] = (
        place
        for place, event in enumerate(events)
        if (event.kind, event.data.get("name")) == ("tool.ended", "delegate")
    )
    case = broken(finished, tmp_path, place, "NULs", place + 4)
    first = await go_on(case.run, BoundPolicy())
    lines = lines_of(case.run)
    [last] = (e for e in first.events("model.answered")[-1:])
    (case.run / "events.jsonl").write_bytes(b"".join(lines[: last.seq - 1]))

    second = await go_on(case.run, BoundPolicy())

    assert (first.result.state, second.result.state) == ("done", "done")
    [replaced] = second.events("result.replaced")
    assert replaced.data["content"] == case.lost.data["content"]
    assert LOST not in str(rebuild(events_of(case.run), "lead"))
    assert second.requests[0].body == first.requests[-1].body
    check_readers(case.run, second)


async def test_a_result_whose_text_is_gone_is_told_and_costs_the_thinking(
    tmp_path: Path,
) -> None:
    bench = RunBench(tmp_path, {"refunds.md": PAPER * 500})
    first = BoundPolicy()

    def dies(request: ModelRequest) -> Step:
        said = sum(message["role"] == "assistant" for message in request.messages)
        return fail("quota_exhausted", "no more") if said > 1 else first(request)

    begun = await bench.run(ScriptedModel(dies))
    # Its results are in two messages by then.
    second = BoundPolicy()
    for path in (begun.folder / "artifacts").glob("*.json"):
        path.unlink()

    with capture_logs() as told:
        ended = await go_on(begun.folder, second)

    assert second.refused == []
    lost = [each["lost"] for each in told if each["log_level"] == "warning"]
    assert any("`tool.ended`" in each for each in lost)
    assert all("nothing is stored as" in each for each in lost)
    assert LOST in text_of(ended.requests[0].messages[2]["content"])
    assert ended.result.state == "done"


@pytest.mark.usefixtures("bare")
def test_damage_is_told_on_resume_and_by_whoever_reads_the_run(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = broken(finished, tmp_path, 4, "NULs", EVENTS - 1)
    at = ["--runs-dir", str(case.run.parent)]

    status = main(["resume", case.run.name, *at])
    resumed = capsys.readouterr()
    for command, *more in (["show"], ["logs"], ["notes"], ["transcript", "lead"]):
        assert main([command, case.run.name, *more, *at]) == 0, command
    read = capsys.readouterr()

    assert status == 0, resumed.err
    assert "the log is damaged, line 5: 512 NUL bytes; the rest" in resumed.err
    assert "1 damaged record of the log passed over" in read.out


def test_records_that_are_gone_without_a_trace_are_told(
    finished: Path, tmp_path: Path
) -> None:
    case = broken(finished, tmp_path, 4, "NULs", 40)
    lines = lines_of(case.run)
    (case.run / "events.jsonl").write_bytes(b"".join([*lines[:4], *lines[6:]]))
    host = Host.of_process(
        runs_dir=case.run.parent, model=ScriptedModel([]), clock=FakeClock()
    )

    notices = read_past(RunFolder(case.run), host).notices

    assert notices == (
        "the log is damaged, line 5: records before it are missing; the rest of it is "
        "used",
    )
