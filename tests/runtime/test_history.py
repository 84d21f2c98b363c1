"""The past of a run as a fold over its log, with and without a snapshot."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import time
import zlib
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import anyio
import orjson
import pytest
from run_bench import (
    RunBench,
    brief,
    delegate,
    finish,
    item,
    submit,
)
from sample_runs import Script, finished_run, halfway_run, open_script
from structlog.testing import capture_logs

from orchestrator.api import Orchestrator
from orchestrator.events import AgentEnded, FileSeen, SubagentEnded, ToolEnded
from orchestrator.ids import sha256
from orchestrator.messages import Block, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.history import History
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.prepare import prepare
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.run import work
from orchestrator.runtime.session import open_session, started
from orchestrator.runtime.snapshots import Snapshots, read_history
from orchestrator.runtime.start import resume_run
from orchestrator.security.redaction import Redactor
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder, create
from orchestrator.testing import FakeClock, ScriptedModel, Step, call

READ = call("read_file", path="refunds.md")
REPORT = "It takes 14 days [a1#1], [a2#1], see [refunds.md:1]."
TITLES = ("Refunds", "Receipts")
PAPER = "A refund takes 14 days.\n"
GOOD = submit(item("It takes 14 days.", "refunds.md:1", "A refund takes 14 days."))
CALLS = 3 + 2 * 3


def policy(request: ModelRequest) -> Step:
    """What to say and under which ids, told from the request alone."""
    first = text_of(request.messages[0]["content"])
    said = sum(message["role"] == "assistant" for message in request.messages)
    title = next((title for title in TITLES if f"# {title}\n" in first), "")
    blocks = worker(said) if title else lead(said)
    return [
        {**block, "id": f"toolu_{title}{said}{index}"}
        for index, block in enumerate(blocks)
    ]


def lead(said: int) -> list[Block]:
    if said == 1:
        return [delegate(*(brief(title) for title in TITLES))]
    return [READ if said == 0 else finish(REPORT)]


def worker(said: int) -> list[Block]:
    note = call("update_notes", section="Facts", mode="append", text="14 days.")
    steps = [[READ, call("grep", pattern="days")], [note, READ], [GOOD]]
    return steps[said]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run to its end."""
    bench = RunBench(tmp_path_factory.mktemp("whole"), {"refunds.md": PAPER})
    ended = anyio.run(bench.run, ScriptedModel(policy))
    assert ended.result.state == "done", ended.result
    return RunFolder(ended.folder)


def lines_of(run: RunFolder) -> list[bytes]:
    return run.events.read_bytes().splitlines(keepends=True)


def sizes_of(run: RunFolder) -> list[int]:
    """Where each line of the log ends."""
    lines = lines_of(run)
    return [sum(map(len, lines[:count])) for count in range(1, len(lines) + 1)]


def folded(run: RunFolder) -> History:
    """The fold of the whole log, whatever snapshot there is."""
    run.snapshot.unlink(missing_ok=True)
    return read_history(run)


def cut(whole: RunFolder, to: Path, *, lines: int) -> RunFolder:
    """A copy of a run whose process died after that many events."""
    run = RunFolder(to / "runs" / whole.id)
    shutil.copytree(whole.path, run.path)
    run.events.write_bytes(b"".join(lines_of(whole)[:lines]))
    for derived in (run.report, run.run_json, run.progress):
        derived.unlink()
    return run


def damaged_run(runs: Path) -> RunFolder:
    """A log with glued lines, NULs, half a character and half a line at the end."""
    run = finished_run(runs)
    lines = lines_of(run)
    lines[3] = lines[3].rstrip(b"\n")
    lines[6] = b"\0" * 40 + b"\n"
    lines[9] = lines[9][:30] + b"\xc3\n"
    lines[-1] = lines[-1][:-20]
    run.events.write_bytes(b"".join(lines))
    return run


@pytest.mark.parametrize("make", [finished_run, halfway_run, damaged_run])
def test_snapshot_and_tail_are_the_fold_of_the_whole_log_at_every_offset(
    tmp_path: Path, make: Callable[[Path], RunFolder]
) -> None:
    run = make(tmp_path)
    expected = folded(run)

    for size in sizes_of(run):
        Snapshots(run).write(size)
        stored = orjson.loads(run.snapshot.read_bytes())["offset"]
        assert 0 < stored <= size
        assert read_history(run) == expected, size


def test_at_every_offset_of_a_real_run_too(whole: RunFolder, tmp_path: Path) -> None:
    run = cut(whole, tmp_path, lines=10_000)
    expected = folded(run)

    for size in sizes_of(run):
        Snapshots(run).write(size)
        assert read_history(run) == expected, size
    assert expected.totals.calls == CALLS
    assert expected.over == {"a1", "a2"}


def test_one_that_is_continued_is_the_same_as_one_from_the_start(
    whole: RunFolder, tmp_path: Path
) -> None:
    run = cut(whole, tmp_path, lines=10_000)
    expected = folded(run)
    snapshots = Snapshots(run)

    for size in sizes_of(run):
        snapshots.write(size)

    assert orjson.loads(run.snapshot.read_bytes())["offset"] == expected.offset
    assert read_history(run) == expected


def test_a_snapshot_is_read_in_place_of_what_it_covers(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    expected = folded(run)
    Snapshots(run).write(run.events.stat().st_size)
    sealed = run.snapshot.read_bytes()

    # Told apart by a mark that no log would give.
    marked = sealed[: sealed.rindex(b',"seal2":')].replace(
        b'"damage":[]', b'"damage":["x"]'
    )
    seal(run, marked + b"}")

    assert read_history(run) == replace(expected, damage=["x"])


def seal(run: RunFolder, data: bytes) -> None:
    """Write `data` as a snapshot whose own checksum is right."""
    run.snapshot.write_bytes(data[:-1] + b',"seal2":%d}' % zlib.crc32(data))


def edited(run: RunFolder, **fields: object) -> None:
    sealed = orjson.loads(run.snapshot.read_bytes())
    del sealed["seal2"]
    seal(run, orjson.dumps({**sealed, **fields}))


def replaced(run: RunFolder, data: bytes) -> None:
    run.snapshot.write_bytes(data)


def of_another_log(run: RunFolder) -> None:
    other = finished_run(run.path.parent / "other")
    Snapshots(other).write(other.events.stat().st_size)
    shutil.copy(other.snapshot, run.snapshot)


def with_a_flipped_digit(run: RunFolder) -> None:
    data = run.snapshot.read_bytes()
    at = data.index(b'"calls":') + len(b'"calls":')
    run.snapshot.write_bytes(data[:at] + b"7" + data[at + 1 :])


def half_written(run: RunFolder) -> None:
    data = run.snapshot.read_bytes()
    run.snapshot.write_bytes(data[: len(data) // 2])


def after_a_power_cut(run: RunFolder) -> None:
    run.snapshot.write_bytes(b"\0" * run.snapshot.stat().st_size)


def of_a_changed_log(run: RunFolder) -> None:
    data = run.events.read_bytes()
    at = data.index(b"14 days")
    run.events.write_bytes(data[:at] + b"15 days" + data[at + 7 :])


def of_a_longer_log(run: RunFolder) -> None:
    run.events.write_bytes(b"".join(lines_of(run)[:-3]))


def a_folder(run: RunFolder) -> None:
    run.snapshot.unlink()
    run.snapshot.mkdir()


SPOILS: list[Callable[[RunFolder], None]] = [
    of_another_log,
    with_a_flipped_digit,
    half_written,
    after_a_power_cut,
    of_a_changed_log,
    of_a_longer_log,
    a_folder,
    lambda run: replaced(run, b""),
    lambda run: replaced(run, b"[]"),
    lambda run: edited(run, program="0.0.1"),
    lambda run: edited(run, offset=-1),
    lambda run: edited(run, offset=1 << 40),
    lambda run: edited(run, totals="many"),
    lambda run: edited(run, checksum=1),
]
IDS = [
    *(each.__name__.replace("_", " ") for each in SPOILS[:7]),
    "empty",
    "another form",
    "another version",
    "offset below 0",
    "offset beyond the log",
    "a field of another type",
    "another checksum",
]


@pytest.mark.parametrize("spoil", SPOILS, ids=IDS)
async def test_what_does_not_fit_is_as_if_it_were_not_there(
    whole: RunFolder, tmp_path: Path, spoil: Callable[[RunFolder], None]
) -> None:
    run = cut(whole, tmp_path, lines=30)
    Snapshots(run).write(run.events.stat().st_size)
    spoil(run)
    kept = copy.deepcopy(read_history(run))
    bare = cut(whole, tmp_path / "bare", lines=30)
    shutil.copy(run.events, bare.events)

    assert kept == folded(bare)
    assert kept.program == version("orchestrator")
    state, report, _ = await resumed(run)
    assert (state, report) == ("done", whole.report.read_text())


async def resumed(run: RunFolder) -> tuple[str, str, list[bytes]]:
    """Go on with a run: state, report, and the bytes of its requests, sorted."""
    model = ScriptedModel(policy)
    async with Orchestrator(
        runs_dir=run.path.parent, model=model, clock=FakeClock()
    ) as here:
        result = await here.resume(run.path)
    return result.state, result.report, sorted(each.body for each in model.requests)


@pytest.mark.parametrize("lines", range(4, 52, 6))
async def test_a_run_goes_on_from_a_snapshot_as_without_byte_for_byte(
    whole: RunFolder, tmp_path: Path, lines: int
) -> None:
    bare = cut(whole, tmp_path / "bare", lines=lines)
    run = cut(whole, tmp_path / "with", lines=lines)
    Snapshots(run).write(sizes_of(run)[len(sizes_of(run)) // 2])

    without, with_one = await resumed(bare), await resumed(run)

    assert with_one == without
    assert with_one[:2] == ("done", whole.report.read_text())
    assert with_one[2], "nothing was left to ask"


async def test_the_past_of_a_run_is_not_changed_by_what_it_does_next(
    whole: RunFolder, tmp_path: Path
) -> None:
    run = cut(whole, tmp_path, lines=30)
    host = Host.of_process(
        runs_dir=run.path.parent, model=ScriptedModel(policy), clock=FakeClock()
    )
    past = read_past(run, host)
    before = copy.deepcopy(past.history)

    result = await resume_run(past, host)

    assert result.state == "done"
    assert past.history == before


async def until(is_so: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not is_so():  # noqa: ASYNC110 - a file tells, and no event
            await anyio.sleep(0.01)


async def live_run(
    folder: Path, is_over: Callable[[RunFolder], bool]
) -> tuple[str, RunFolder]:
    """Run with a snapshot due every few events, until something is so.

    Returns:
        State and folder of the run.
    """
    bench = RunBench(folder, {"refunds.md": PAPER})
    run = create(bench.runs, "20261129-201500-live-7f3a")

    async def play(request: ModelRequest) -> Step:
        if len(request.messages) == 1:
            return READ
        await until(lambda: is_over(run))
        return finish("It takes 14 days [refunds.md:1].")

    host = Host.of_process(runs_dir=bench.runs, model=ScriptedModel(play))
    prepared = prepare(
        bench.task(),
        settings=host.settings,
        env=host.env,
        price_of=host.price,
        task_folder=bench.root,
        needs_credentials=False,
    )
    async with AsyncExitStack() as stack:
        log = EventLog.create(run.events, run.id, Artifacts(run.artifacts), host.clock)
        stack.callback(log.close)
        session = open_session(prepared, host, run, log, redactor=Redactor(b"s" * 16))
        session = replace(session, snapshots=Snapshots(run, every_bytes=500))
        log.link("lead", log.append(started(session, b"s" * 16)).seq)
        result = await work(session, Live())
    return result.state, run


@pytest.mark.slow
async def test_a_live_run_writes_one_when_it_is_due(tmp_path: Path) -> None:
    state, run = await live_run(tmp_path, lambda run: run.snapshot.exists())

    assert state == "done"
    offset = orjson.loads(run.snapshot.read_bytes())["offset"]
    assert 500 <= offset < run.events.stat().st_size
    found = read_history(run)
    assert found == folded(run)
    assert found.totals.calls == 2


@pytest.mark.slow
async def test_where_a_snapshot_cannot_be_written_it_is_told_and_the_run_goes_on(
    tmp_path: Path,
) -> None:
    with capture_logs() as told:

        def is_told(run: RunFolder) -> bool:
            run.snapshot.mkdir(exist_ok=True)
            return "snapshot.lost" in [each["event"] for each in told]

        state, run = await live_run(tmp_path, is_told)

    assert state == "done"
    assert run.snapshot.is_dir()
    assert not list(run.path.glob(".snapshot.json.*"))


def test_killed_while_it_is_written_a_run_goes_on(tmp_path: Path) -> None:
    run = finished_run(tmp_path)
    expected = folded(run)
    size = run.events.stat().st_size
    for moment in range(12):
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                while True:
                    Snapshots(run).write(size)
                    os.write(writer, b".")
            finally:
                os._exit(1)
        os.read(reader, 1)
        time.sleep(moment * 0.0007)  # the moment to kill is what is tested
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
        os.close(writer)

        assert read_history(run) == expected


def explored(runs: Path, turns: int) -> RunFolder:
    """Two subagents that have delivered after so many turns, and one at work."""
    with open_script(runs) as (run, script):
        script.start_run()
        for agent in ("a1", "a2", "a3"):
            script.start_agent(agent, agent, "Find out.")
            for turn in range(turns if agent != "a3" else 3):
                look(script, agent, turn)
        for agent in ("a1", "a2"):
            script.put(AgentEnded("submitted", "", turns), agent)
            found = {"status": "nothing_found", "summary": "It is not there."}
            ended = SubagentEnded(agent, "complete", "submitted", "", found, 0, 35)
            script.put(ended, "lead")
    return run


def look(script: Script, agent: str, turn: int) -> None:
    name = f"{agent}c{turn}"
    script.answer(agent, [call("read_file", path="src/auth.py") | {"id": name}])
    seen = FileSeen(f"src/auth_{turn % 3}.py", sha256(b"x"), "art_0123456789ab", 40)
    script.put(
        ToolEnded(name, "read_file", "x" * 900, False, 0.1, 9, 9, files=[seen]), agent
    )


def test_it_grows_with_what_is_unfinished_not_with_the_log(tmp_path: Path) -> None:
    sizes, logs = [], []
    for turns in (10, 300):
        run = explored(tmp_path / str(turns), turns)
        Snapshots(run).write(run.events.stat().st_size)
        sizes.append(run.snapshot.stat().st_size)
        logs.append(run.events.stat().st_size)

    assert logs[1] > 20 * logs[0]
    assert sizes[1] < sizes[0] * 1.05


def test_what_delivered_subagents_saw_can_still_be_cited(tmp_path: Path) -> None:
    found = folded(explored(tmp_path, 10)).sightings

    assert found.lines() == {f"src/auth_{n}.py": 40 for n in range(3)}
    assert set(found.seen) == {"a3"}
