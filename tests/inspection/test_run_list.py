"""The list of runs: from `run.json` where the log bears it out, else from the log."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from real_runs import offline_run
from sample_runs import finished_run, halfway_run

from orchestrator.inspection.reading import RunSummary, summarize
from orchestrator.inspection.run_list import Wanted, listed, quick_summary
from orchestrator.store.layout import RunFolder, list_runs
from orchestrator.store.lock import RunLock


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return offline_run(tmp_path_factory.mktemp("made"))


@pytest.fixture
def run(made: RunFolder, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(made.path, tmp_path / made.path.name)))


def edited(run: RunFolder, **fields: Any) -> None:
    record = orjson.loads(run.run_json.read_bytes()) | fields
    run.run_json.write_bytes(orjson.dumps(record))


def same(left: RunSummary, right: RunSummary) -> bool:
    """Whether they differ in nothing but the clocks that they took seconds from."""
    told, others = left.to_dict(), right.to_dict()
    assert told.pop("seconds") == pytest.approx(others.pop("seconds"), abs=0.1)
    return told == others


def test_run_json_tells_what_the_log_does(run: RunFolder) -> None:
    edited(run, task="from run.json")

    assert quick_summary(run).task == "from run.json"
    edited(run, task=summarize(run).task)
    assert same(quick_summary(run), summarize(run))


def drop_the_end(run: RunFolder) -> None:
    lines = run.events.read_bytes().splitlines(keepends=True)
    run.events.write_bytes(b"".join(lines[:-1]))


def go_on(run: RunFolder) -> None:
    line = run.events.read_bytes().splitlines()[-1]
    record = orjson.loads(line)
    record |= {"seq": record["seq"] + 1, "kind": "run.resumed"}
    record["data"] = {"versions": {}, "after": 1}
    with run.events.open("ab") as log:
        log.write(orjson.dumps(record) + b"\n")


def tear(run: RunFolder) -> None:
    with run.events.open("ab") as log:
        log.write(b'{"v":1,"seq":')


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(drop_the_end, id="the log has no end"),
        pytest.param(go_on, id="a process went on and died at once"),
        pytest.param(tear, id="a process died as it went on"),
        pytest.param(lambda run: edited(run, state="running"), id="not written last"),
        pytest.param(lambda run: edited(run, ended="2020"), id="of another end"),
        pytest.param(lambda run: edited(run, totals={}), id="of another version"),
        pytest.param(lambda run: run.run_json.write_text("{"), id="damaged"),
        pytest.param(lambda run: run.run_json.unlink(), id="not there"),
    ],
)
def test_where_the_log_does_not_bear_it_out_the_log_counts(
    run: RunFolder, change: Callable[[RunFolder], object]
) -> None:
    edited(run, task="from run.json")
    change(run)

    found = quick_summary(run)

    assert found.task == "offline"
    assert same(found, summarize(run))


def test_a_run_without_an_end_is_at_work_or_crashed(run: RunFolder) -> None:
    drop_the_end(run)

    assert quick_summary(run).state == "crashed"
    with RunLock(run.lock):
        assert quick_summary(run).state == "running"


def test_a_folder_without_a_log_is_a_line(tmp_path: Path) -> None:
    folder = tmp_path / "20261129-201500-x-0000"
    folder.mkdir()

    assert quick_summary(RunFolder(folder)).state == "unreadable"


@pytest.fixture
def several(tmp_path: Path) -> list[RunFolder]:
    finished_run(tmp_path, "20261129-201500-a-0001")
    halfway_run(tmp_path, "20261129-201501-b-0002")
    finished_run(tmp_path, "20261129-201502-c-0003")
    return list_runs(tmp_path)


def ids(runs: list[RunSummary]) -> list[str]:
    return [run.id[-4:] for run in runs]


def test_runs_are_chosen_and_the_others_counted(several: list[RunFolder]) -> None:
    partial = listed(several, Wanted(frozenset({"partial"})), most=1)
    crashed = listed(several, Wanted(frozenset({"crashed", "done"})), most=None)
    named = listed(several, Wanted(task="AUTH"), most=2)
    early = listed(several, Wanted(since=datetime(2030, 1, 1, tzinfo=UTC)), most=9)

    assert (ids(partial.runs), partial.more) == (["0003"], 1)
    assert (ids(crashed.runs), crashed.more) == (["0002"], 0)
    assert (ids(named.runs), named.more) == (["0003", "0002"], 1)
    assert (early.runs, early.more) == ([], 0)


@pytest.mark.parametrize("order", ["cost", "tokens", "time"])
def test_in_order_all_are_looked_at(several: list[RunFolder], order: str) -> None:
    found = listed(several, Wanted(), most=2, order=order)

    assert sorted(ids(found.runs)) == ["0001", "0003"]
    assert found.more == 1


def test_sums_are_those_of_what_is_shown(several: list[RunFolder]) -> None:
    found = listed(several, Wanted(), most=None)

    assert found.totals["runs"] == 3
    assert found.totals["by_state"] == {"partial": 2, "crashed": 1}
    assert found.totals["tokens"] == sum(run.tokens for run in found.runs)
    assert found.totals["usd"] == pytest.approx(sum(r.usd or 0 for r in found.runs))
    assert found.totals["usd_is_whole"]
