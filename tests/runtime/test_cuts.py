"""The log cut at every byte of its last records: nothing whole is lost."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import anyio
import orjson
import pytest
from explore_policy import lay_parts
from kill_bench import records_of, whole_records
from kill_policy import KillPolicy
from run_bench import Ended, RunBench

from orchestrator.api import Orchestrator
from orchestrator.events import Event, TextAdded
from orchestrator.ids import sha256
from orchestrator.runtime.host import Host
from orchestrator.runtime.resume import read_past
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.eventlog import EventLog
from orchestrator.store.layout import RunFolder
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel

PARTS = 2
POLICY = KillPolicy(parts=PARTS)
LAST = 3
RESUMED = 20
TORN = '{"v":1,"seq":9,"kind":"text.added","data":{"text":"期'.encode()[:-1]
ENDS = ("model.answered", "tool.ended", "notes.updated", "subagent.ended")
"""Kinds that the cut logs end with; notes hold Chinese characters."""


@dataclass(frozen=True)
class Finished:
    """A whole run, and its log."""

    folder: Path
    lines: list[bytes]

    @property
    def report(self) -> str:
        return (self.folder / "report.md").read_text(encoding="utf-8")

    def findings(self, run: Path) -> list[bytes]:
        names = [f"a{number}" for number in range(1, PARTS + 1)]
        return [(run / "agents" / n / "findings.json").read_bytes() for n in names]

    def place_of(self, kind: str) -> int:
        """Number of records up to the last of a kind that a subagent has."""
        records = records_of(b"".join(self.lines))
        return 1 + max(
            place
            for place, each in enumerate(records)
            if each["kind"] == kind and each["agent"] != "lead"
        )

    def cuts(self, kind: str) -> range:
        """All places in the last records of a log that ends with that kind."""
        end = self.place_of(kind)
        return range(
            sum(map(len, self.lines[: end - LAST])), sum(map(len, self.lines[:end])) + 1
        )

    def cut(self, to: Path, log: bytes) -> Path:
        """A copy of the run with another log, without what is derived from it."""
        run = to / "runs" / self.folder.name
        shutil.copytree(self.folder, run)
        (run / "events.jsonl").write_bytes(log)
        for derived in ("report.md", "run.json", "progress.md"):
            (run / derived).unlink()
        events = read_events(run / "events.jsonl")
        ended = {each.agent for each in events if each.kind == "subagent.ended"}
        for agent in (run / "agents").iterdir():
            if agent.name not in ended:
                shutil.rmtree(agent)
        return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("finished")
    bench = RunBench(folder)
    lay_parts(bench.root, PARTS)
    ended = anyio.run(bench.run, ScriptedModel(POLICY.play))
    assert ended.result.state == "done", ended.result
    log = (ended.folder / "events.jsonl").read_bytes()
    return Finished(ended.folder, log.splitlines(keepends=True))


async def resumed(run: Path) -> Ended:
    model = ScriptedModel(POLICY.play)
    async with Orchestrator(
        runs_dir=run.parent, model=model, clock=FakeClock()
    ) as here:
        return Ended(await here.resume(run), model)


def check_the_end(ended: Ended, finished: Finished, before: bytes) -> None:
    """Everything is as in the whole run, and what was there is there still."""
    run, kept = ended.folder, whole_records(before)
    log = (run / "events.jsonl").read_bytes()
    records = records_of(log)
    assert ended.result.state == "done", ended.result
    assert ended.result.report == finished.report
    assert finished.findings(run) == finished.findings(finished.folder)
    assert log.startswith(kept)
    assert [each["seq"] for each in records] == list(range(1, len(records) + 1))
    answered = [each["kind"] for each in records].count("model.answered")
    past = [each["kind"] for each in records_of(kept)].count("model.answered")
    assert len(ended.requests) == answered - past
    assert answered == b"".join(finished.lines).count(b'"kind":"model.answered"')
    outcomes = Counter(
        (each["agent"], each["data"]["call"])
        for each in records
        if each["kind"] == "tool.ended"
    )
    assert {key: n for key, n in outcomes.items() if n != 1} == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENDS)
def test_cut_at_any_byte_all_whole_records_stay_and_new_ones_are_readable(
    finished: Finished, tmp_path: Path, kind: str
) -> None:
    whole, cuts = b"".join(finished.lines), finished.cuts(kind)
    for cut in cuts:
        check_cut(finished, tmp_path, whole[:cut])

    assert len(cuts) > 500


@pytest.mark.parametrize("kind", ENDS)
def test_cut_inside_a_character_or_beside_a_line_end_only_that_record_is_lost(
    finished: Finished, tmp_path: Path, kind: str
) -> None:
    whole, cuts = b"".join(finished.lines), finished.cuts(kind)
    edges = [
        cut
        for cut in cuts
        if cut == len(whole)
        or whole[cut] & 0xC0 == 0x80
        or b"\n" in whole[cut - 1 : cut + 2]
    ]
    for cut in edges:
        check_cut(finished, tmp_path, whole[:cut])

    assert len(edges) > 4


def check_cut(finished: Finished, folder: Path, log: bytes) -> None:
    """Read, reopen, append, tear, and append once more."""
    path, artifacts = folder / "events.jsonl", Artifacts(finished.folder / "artifacts")
    path.write_bytes(log)
    kept = whole_records(log)
    if not kept.endswith(b"\n"):
        kept += b"\n"
    seqs = list(range(1, kept.count(b"\n") + 1))

    assert [event.seq for event in read_events(path, artifacts)] == seqs
    for text in ("期限", "第二次"):
        again = EventLog.reopen(path, finished.folder.name, artifacts, FakeClock())
        again.append(TextAdded("reminder", text), agent="a1")
        again._drop()
        with path.open("ab") as file:
            file.write(TORN)
    found = list(read_events(path, artifacts))

    assert path.read_bytes().startswith(kept)
    assert [event.seq for event in found] == [*seqs, len(seqs) + 1, len(seqs) + 2]
    assert [event.data["text"] for event in found[-2:]] == ["期限", "第二次"]


def test_there_are_characters_to_cut(finished: Finished) -> None:
    cuts, whole = finished.cuts("notes.updated"), b"".join(finished.lines)

    assert sum(whole[cut] & 0xC0 == 0x80 for cut in cuts) > 10


@pytest.mark.parametrize("number", range(RESUMED))
async def test_cut_at_a_byte_the_run_goes_on_to_the_same_report(
    finished: Finished, tmp_path: Path, number: int
) -> None:
    whole = b"".join(finished.lines)
    kind = ENDS[number % len(ENDS)]
    cut = random.Random(number).choice(finished.cuts(kind))
    run = finished.cut(tmp_path, whole[:cut])

    ended = await resumed(run)

    check_the_end(ended, finished, whole[:cut])


async def test_a_note_whose_call_has_no_outcome_is_not_made_again(
    finished: Finished, tmp_path: Path
) -> None:
    log = b"".join(finished.lines[: finished.place_of("notes.updated")])
    run = finished.cut(tmp_path, log)

    ended = await resumed(run)

    check_the_end(ended, finished, log)
    records = records_of((run / "events.jsonl").read_bytes())
    kinds = [each["kind"] for each in records]
    assert kinds.count("notes.updated") == 1 + PARTS


async def test_notes_of_a_finished_subagent_are_written_though_the_process_died_before(
    finished: Finished, tmp_path: Path
) -> None:
    log = b"".join(finished.lines[: finished.place_of("subagent.ended")])
    run = finished.cut(tmp_path, log)
    notes = run / "agents" / "a1" / "notes.md"
    before = notes.read_bytes()
    notes.unlink()

    await resumed(run)

    assert notes.read_bytes() == before


async def test_notes_are_written_before_the_log_says_that_the_run_is_over(
    finished: Finished, tmp_path: Path
) -> None:
    log = b"".join(finished.lines[: finished.place_of("agent.started")])
    run = finished.cut(tmp_path, log)
    there: list[bool] = []

    def look(event: Event) -> None:
        if event.kind == "run.ended":
            there.extend(
                (run / "agents" / a / "notes.md").exists() for a in ("a1", "a2")
            )

    model = ScriptedModel(POLICY.play)
    async with Orchestrator(
        runs_dir=run.parent, model=model, clock=FakeClock()
    ) as here:
        await here.resume(run, on_event=look)

    assert there == [True, True]


@pytest.mark.parametrize("tool", ["submit_findings", "finish"])
async def test_an_accepted_hand_in_has_one_outcome(
    finished: Finished, tmp_path: Path, tool: str
) -> None:
    records = records_of(b"".join(finished.lines))
    end = 1 + next(
        place
        for place, each in enumerate(records)
        if each["kind"] == "tool.ended"
        and each["data"]["name"] == tool
        and each["data"]["ends"]
    )
    log = b"".join(finished.lines[:end])
    run = finished.cut(tmp_path, log)

    ended = await resumed(run)

    check_the_end(ended, finished, log)


async def test_a_request_that_two_processes_died_in_leaves_a_third_time_as_it_was(
    finished: Finished, tmp_path: Path
) -> None:
    end = finished.place_of("model.requested")
    again = records_of(finished.lines[end - 1])[0]
    second = orjson.dumps({**again, "seq": again["seq"] + 1}) + b"\n"
    log = b"".join(finished.lines[:end]) + second
    run = finished.cut(tmp_path, log)

    ended = await resumed(run)

    sent = [sha256(request.body) for request in ended.requests]
    assert again["data"]["sha256"] in sent
    check_the_end(ended, finished, log)


async def test_a_block_of_nul_bytes_inside_costs_no_work_and_is_told(
    finished: Finished, tmp_path: Path
) -> None:
    end = finished.place_of("model.answered")
    half = b"".join(finished.lines[: end // 2])
    log = half + b"\0" * 512 + b"\n" + b"".join(finished.lines[end // 2 : end])
    run = finished.cut(tmp_path, log)
    host = Host.of_process(
        runs_dir=run.parent, model=ScriptedModel([]), clock=FakeClock()
    )

    past = read_past(RunFolder(run), host)
    ended = await resumed(run)

    assert any("512 NUL bytes" in notice for notice in past.notices)
    assert ended.result.report == finished.report
    assert len(ended.events("model.answered")) == sum(
        b'"kind":"model.answered"' in line for line in finished.lines
    )
