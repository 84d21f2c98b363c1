"""How a run ends where the disk refuses, and that it can be gone on with."""

from __future__ import annotations

import resource
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio
import pytest
from explore_policy import lay_parts
from kill_policy import KillPolicy
from run_bench import Ended, RunBench, finish
from small_disk import SmallDisk, small_disk

from orchestrator.api import Orchestrator
from orchestrator.cli.main import main
from orchestrator.errors import RunBusy, StoreError
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import is_held
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, hang

PARTS = 3
EVENTS = 108
LAST = "run.ended"


def swept(folder: Path) -> None:
    """Delete a folder in which threads may be writing."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Tried:
    """A run that the disk ended, and what was left."""

    said: str
    requests: int
    seconds_to_end: float
    cancelled: int


@dataclass
class Bench:
    """Runs on a small disk, with a hand on what happens at each event."""

    inner: RunBench
    disk: SmallDisk
    play: Callable[[ModelRequest], Step] = KillPolicy(parts=PARTS).play

    @property
    def run(self) -> Path:
        [run] = self.inner.runs.glob("2*")
        return run

    async def until(
        self,
        at: int | str | Callable[[Event], bool],
        does: Callable[[], None],
        script: Callable[[ModelRequest], Step] | None = None,
    ) -> Tried:
        """Run, and do something as soon as the event is in the log."""
        began = [0.0]
        asked_after: list[int] = []

        def on_event(event: Event) -> None:
            is_due = at(event) if callable(at) else at in (event.seq, event.kind)
            if not began[0] and is_due:
                does()
                began[0] = time.monotonic()

        model = ScriptedModel(script or self.play)
        async with Orchestrator(
            runs_dir=self.inner.runs, model=model, clock=FakeClock()
        ) as here:
            with pytest.raises(StoreError) as caught, anyio.fail_after(60):
                await here.run(self.inner.task(), on_event=on_event)
            seconds = time.monotonic() - began[0]
            sent = len(model.requests)
            await anyio.wait_all_tasks_blocked()
            asked_after.append(len(model.requests) - sent)
        assert began[0], "it ended before that"
        assert asked_after == [0]
        return Tried(str(caught.value), sent, seconds, model.cancelled)

    async def resume(self) -> Ended:
        model = ScriptedModel(self.play)
        async with Orchestrator(
            runs_dir=self.run.parent, model=model, clock=FakeClock()
        ) as here:
            return Ended(await here.resume(self.run), model)

    def events(self) -> list[Event]:
        run = self.run
        return list(read_events(run / "events.jsonl", Artifacts(run / "artifacts")))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """The same run on a disk that has room."""
    folder = tmp_path_factory.mktemp("whole")
    lay_parts(folder / "work", PARTS)
    bench = RunBench(folder)
    ended = anyio.run(bench.run, ScriptedModel(KillPolicy(parts=PARTS).play))
    assert ended.result.state == "done", ended.result
    return ended


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with small_disk(tmp_path / "disk") as disk:
        lay_parts(tmp_path / "work", PARTS)
        inner = RunBench(tmp_path)
        inner.runs = disk.root / "runs"
        yield Bench(inner, disk)


def answered(events: list[Event]) -> int:
    return sum(event.kind == "model.answered" for event in events)


def is_one_line(said: str, bench: Bench) -> bool:
    return "\n" not in said and said.count("cannot ") == 1 and str(bench.run) in said


async def goes_on(bench: Bench, whole: Ended) -> None:
    """Assert that the run ends as if nothing had been, and pays nothing twice."""
    before = bench.events()
    assert not [event for event in before if event.kind == "log.damaged"]

    ended = await bench.resume()

    assert ended.result.state == "done", ended.result
    assert ended.text("report.md") == whole.text("report.md")
    calls = answered(whole.events())
    assert len(ended.requests) == calls - answered(before)
    after = bench.events()
    assert answered(after) == calls
    assert [event.seq for event in after] == list(range(1, len(after) + 1))
    assert not list(bench.run.rglob(".*.tmp"))
    assert ended.json("run.json")["state"] == "done"


async def ends_full(bench: Bench, at: int | str) -> Tried:
    tried = await bench.until(at, bench.disk.fill)
    assert bench.disk.full in tried.said
    assert is_one_line(tried.said, bench)
    assert (bench.run / "events.jsonl").read_bytes().endswith(b"\n")
    assert all(event.kind not in (LAST, "log.damaged") for event in bench.events())
    bench.disk.free()
    return tried


def test_the_run_is_as_long_as_the_cases(whole: Ended) -> None:
    assert len(whole.events()) == EVENTS


@pytest.mark.parametrize("at", [1, 7, 40, 77, EVENTS - 1])
async def test_on_a_full_disk_a_run_ends_and_goes_on_later(
    bench: Bench, whole: Ended, at: int
) -> None:
    await ends_full(bench, at)
    await goes_on(bench, whole)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(2, EVENTS - 1, 3))
async def test_wherever_it_fills_up(bench: Bench, whole: Ended, at: int) -> None:
    await ends_full(bench, at)
    await goes_on(bench, whole)


async def test_a_report_that_finds_no_room_is_written_later_without_a_call(
    bench: Bench, whole: Ended
) -> None:
    tried = await ends_full(bench, EVENTS - 1)

    assert "report.md" in tried.said
    assert answered(bench.events()) == answered(whole.events())
    await goes_on(bench, whole)


def reads_alone(request: ModelRequest) -> Step:
    """A lead without subagents: nobody writes to the log while its call runs."""
    if len(request.messages) > 1:
        return finish("The limit is in the files [part1/file0.md:1].")
    return call("read_file", path="part1/file0.md")


async def test_a_kept_file_that_finds_no_room_ends_the_run(
    bench: Bench, tmp_path: Path
) -> None:
    bench.play = reads_alone
    roomy = RunBench(tmp_path)
    whole = await roomy.run(ScriptedModel(reads_alone))

    tried = await ends_full(bench, "tool.started")

    assert f"{bench.run / 'artifacts'}/art_" in tried.said
    await goes_on(bench, whole)


def is_busy_alone(event: Event) -> bool:
    """Part 8 goes on for some turns, the others wait for the model."""
    is_turn = event.kind == "model.answered" and event.data["turn"] == 3
    return is_turn and event.agent == "a8"


async def test_when_it_fills_up_all_subagents_stop_at_once(
    tmp_path: Path, whole: Ended
) -> None:
    lay_parts(tmp_path / "work", 8)
    policy = KillPolicy(parts=8)

    def script(request: ModelRequest) -> Step:
        text = text_of(request.messages[0]["content"])
        is_busy = "# Part 8\n" in text or "# Part" not in text
        return policy.play(request) if is_busy or len(request.messages) < 3 else hang()

    with small_disk(tmp_path / "disk") as disk:
        inner = RunBench(tmp_path)
        inner.runs = disk.root / "runs"
        bench = Bench(inner, disk, policy.play)
        tried = await bench.until(is_busy_alone, disk.fill, script)
        disk.free()
        ended = await bench.resume()

    assert 0 < tried.cancelled <= 7
    assert tried.seconds_to_end < 2
    assert ended.result.state == "done"


async def test_a_run_ends_where_the_disk_becomes_read_only(
    bench: Bench, whole: Ended
) -> None:
    for at in (30, EVENTS - 1):
        tried = await bench.until(at, bench.disk.close)
        bench.disk.open()

        assert bench.disk.closed in tried.said
        assert is_one_line(tried.said, bench)
        await goes_on(bench, whole)
        swept(bench.run)


@pytest.mark.parametrize("at", [12, 60, EVENTS - 1])
async def test_a_limit_on_the_size_of_files_is_told_as_that(
    bench: Bench, whole: Ended, at: int
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit() -> None:
        size = (bench.run / "events.jsonl").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    try:
        tried = await bench.until(at, limit)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert "the file-size limit of this process is reached; raise it" in tried.said
    await goes_on(bench, whole)


@pytest.mark.parametrize("name", ["run.json", "progress.md", "snapshot.json"])
async def test_a_derived_file_that_cannot_be_written_ends_no_run(
    bench: Bench, name: str
) -> None:
    def in_the_way(event: Event) -> None:
        if event.seq == 6:
            path = bench.run / name
            path.unlink(missing_ok=True)
            path.mkdir()

    model = ScriptedModel(bench.play)
    async with Orchestrator(
        runs_dir=bench.inner.runs, model=model, clock=FakeClock()
    ) as here:
        result = await here.run(bench.inner.task(), on_event=in_the_way)

    assert result.state == "done"
    assert (bench.run / name).is_dir()
    assert bench.events()[-1].kind == LAST
    assert not list(bench.run.rglob(".*.tmp"))


class Fills(FakeClock):
    """A clock that is read at a known moment, at which the disk fills up."""

    def __init__(self, disk: SmallDisk, reading: str, number: int) -> None:
        super().__init__()
        self._disk, self._reading, self._left = disk, reading, number

    def now(self) -> datetime:
        self._count("now")
        return super().now()

    def monotonic(self) -> float:
        self._count("monotonic")
        return super().monotonic()

    def _count(self, reading: str) -> None:
        if reading == self._reading:
            self._left -= 1
            if self._left == 0:
                self._disk.fill()


@pytest.mark.parametrize(
    ("reading", "number", "file"),
    [
        pytest.param("now", 1, "cannot write runs to", id="before anything"),
        pytest.param("monotonic", 1, "inputs/", id="at its inputs"),
        pytest.param("now", 2, "events.jsonl", id="at its first record"),
    ],
)
async def test_before_it_has_begun_nothing_is_left_and_nothing_spent(
    bench: Bench, reading: str, number: int, file: str
) -> None:
    model = ScriptedModel([])
    async with Orchestrator(
        runs_dir=bench.inner.runs,
        model=model,
        clock=Fills(bench.disk, reading, number),
    ) as here:
        with pytest.raises(StoreError) as caught:
            await here.run(bench.inner.task())

    assert bench.disk.full in str(caught.value)
    assert file in str(caught.value)
    assert not list(bench.inner.runs.glob("2*"))
    assert not list(bench.disk.root.rglob("*.tmp"))


async def test_a_run_whose_folder_is_deleted_ends_and_does_not_come_back(
    bench: Bench,
) -> None:
    gone: list[Path] = []

    def delete() -> None:
        gone.append(bench.run)
        swept(gone[0])

    tried = await bench.until(50, delete)

    assert "is gone" in tried.said
    assert str(gone[0]) in tried.said
    assert not list(bench.inner.runs.glob("2*"))


def delete(bench: Bench) -> None:
    (bench.run / "events.jsonl").unlink()


async def test_a_run_whose_log_is_deleted_ends_and_says_that_it_is_lost(
    bench: Bench,
) -> None:
    tried = await bench.until(50, lambda: delete(bench))

    assert "events.jsonl`: the file or its folder is gone" in tried.said
    assert not (bench.run / "events.jsonl").exists()
    with pytest.raises(StoreError, match=r"events\.jsonl` is gone or empty"):
        await bench.resume()


@pytest.mark.parametrize("at", [30, 48])
async def test_a_run_whose_kept_files_are_deleted_ends_and_goes_on(
    bench: Bench, whole: Ended, at: int
) -> None:
    tried = await bench.until(at, lambda: swept(bench.run / "artifacts"))

    assert "artifacts" in tried.said
    assert is_one_line(tried.said, bench)
    ended = await bench.resume()
    # Quotes from what was lost can no longer be looked up, which the result says.
    assert (ended.result.state == "done") == (not ended.result.missing)
    for lost in ended.result.missing:
        assert "the evidence of this item was not found in its source" in lost
    assert at < 48 or ended.result.missing
    assert "- The limit is known" in ended.text("report.md")


@pytest.mark.parametrize("at", [30, EVENTS - 3])
async def test_a_run_whose_runs_are_moved_away_ends_and_goes_on_there(
    bench: Bench, whole: Ended, at: int
) -> None:
    runs, there = bench.inner.runs, bench.inner.runs.with_name("archive")

    def move() -> None:
        runs.rename(there)

    tried = await bench.until(at, move)

    assert "the file or its folder is gone" in tried.said
    assert not runs.exists()
    bench.inner.runs = there
    await goes_on(bench, whole)


async def test_a_deleted_lock_lets_nobody_else_write(
    bench: Bench, whole: Ended
) -> None:
    busy: list[bool] = []

    async def script(request: ModelRequest) -> Step:
        if len(request.messages) == 1 and not busy:
            (bench.run / "lock").unlink()
            busy.append(is_held(RunFolder(bench.run)))
            with pytest.raises(RunBusy, match="in use by another process"):
                await bench.resume()
        return bench.play(request)

    ended = await bench.inner.run(ScriptedModel(script))

    assert busy == [True]
    assert ended.result.state == "done"
    assert ended.text("report.md") == whole.text("report.md")
    assert not is_held(RunFolder(bench.run))


def test_at_the_command_line_it_is_one_line_and_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        lay_parts(tmp_path / "work", 2)
        monkeypatch.chdir(tmp_path)
        runs = disk.root / "runs"

        def logs() -> list[Path]:
            return list(runs.glob("2*/events.jsonl"))

        def fill() -> None:
            while not any(b"agent.started" in each.read_bytes() for each in logs()):
                time.sleep(0.001)
            disk.fill()

        filler = threading.Thread(target=fill)
        filler.start()
        given = ["--objective", "Which limit is given?", "--workspace", "work"]
        told = ["--model", "offline", "--runs-dir", str(runs), "--quiet"]
        status = main(["run", *given, *told])
        filler.join()
        said = capsys.readouterr()
        disk.free()
        [run] = runs.glob("2*")
        again = main(["resume", run.name, "--runs-dir", str(runs), "--quiet"])

    assert (status, said.out) == (1, "")
    assert said.err.count("error: ") == 1
    assert "Traceback" not in said.err
    assert disk.full in said.err
    assert again in (0, 3)


async def test_gone_on_with_too_early_it_ends_the_same_way(
    bench: Bench, whole: Ended
) -> None:
    await bench.until(50, bench.disk.fill)
    before = (bench.run / "events.jsonl").read_bytes()

    for _ in range(2):
        with pytest.raises(StoreError, match=bench.disk.full):
            await bench.resume()

    assert not is_held(RunFolder(bench.run))
    assert (bench.run / "events.jsonl").read_bytes().startswith(before)
    bench.disk.free()
    await goes_on(bench, whole)


@pytest.mark.parametrize("mode", ["--plain", "--quiet", "--json"])
def test_a_full_disk_behind_stderr_ends_no_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    mode: str,
) -> None:
    lay_parts(tmp_path / "work", 2)
    monkeypatch.chdir(tmp_path)
    given = ["--objective", "Which limit is given?", "--workspace", "work"]
    with suppress(OSError), Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        status = main(["run", *given, "--model", "offline", mode])
    with suppress(OSError), Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr("sys.stderr", full)
        wrong = main(["run", "no-such-file.yaml"])

    [run] = (tmp_path / "runs").glob("2*")
    assert status in (0, 3)
    assert (run / "report.md").exists()
    assert wrong == 2
    assert capsys.readouterr().out


def test_output_that_finds_no_room_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr("sys.stdout", full)
        status = main(["tools"])

    said = capsys.readouterr().err
    assert status == 1
    assert said == "error: No space left on device\n"
