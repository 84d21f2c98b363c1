"""Going on with a run: from its log alone, wherever the process died."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import anyio
import orjson
import pytest
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    item,
    last_results,
    submit,
)

from orchestrator.api import Orchestrator
from orchestrator.errors import RunBusy, SpecError, StoreError, UnknownRun
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.runtime.host import Host
from orchestrator.runtime.resume import read_past
from orchestrator.runtime.start import resume_run
from orchestrator.store.artifacts import Artifacts
from orchestrator.store.layout import RunFolder, find_run
from orchestrator.store.lock import RunLock
from orchestrator.store.reading import read_events
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, fail, reply

TITLES = ("Refunds", "Receipts")
QUOTES = {"Refunds": "A refund takes 14 days.", "Receipts": "Else it takes 30 days."}
LINES = {"Refunds": 1, "Receipts": 2}
REPORT = "14 days [a1#1], 30 without a receipt [a2#1], see [refunds.md:1]."
READ = call("read_file", path="refunds.md")


def policy(request: ModelRequest) -> Step:
    """What to say, told from the request alone."""
    first = text_of(request.messages[0]["content"])
    said = sum(message["role"] == "assistant" for message in request.messages)
    if "# Objective\n" in first:
        return lead(request, said)
    title = next(title for title in TITLES if f"# {title}\n" in first)
    return worker(title, request, said)


def lead(request: ModelRequest, said: int) -> Step:
    if said == 0:
        return call("update_notes", section="Plan", mode="append", text="Ask two.")
    if said == 1:
        return delegate(*(brief(title) for title in TITLES))
    if said == 2:
        return reply("I have it all.")  # asked to hand in
    wrong = finish("9 days [refunds.md:99].")
    return finish(REPORT) if "not accepted yet" in last_results(request) else wrong


def worker(title: str, request: ModelRequest, said: int) -> Step:
    source = f"refunds.md:{LINES[title]}"
    if said == 0:
        return [READ, call("grep", pattern="days")]
    if said == 1:
        note = call("update_notes", section="Facts", mode="append", text="14 or 30.")
        return [note, call("list_dir")]
    wrong = submit(item("It takes days.", source, "nobody ever wrote this down"))
    if "not accepted yet" in last_results(request):
        return submit(item("It takes days.", source, QUOTES[title]))
    return wrong


CALLS = 5 + 2 * 4
EVENTS = 80
OVER = "run.ended"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole run, with its workspace beside it."""
    folder = tmp_path_factory.mktemp("finished")
    bench = RunBench(
        folder, {"refunds.md": "A refund takes 14 days.\nElse it takes 30 days.\n"}
    )
    ended = anyio.run(bench.run, ScriptedModel(policy))
    assert ended.result.state == "done", ended.result
    return ended.folder


def events_of(run: Path) -> list[Event]:
    return list(read_events(run / "events.jsonl", Artifacts(run / "artifacts")))


def cut(finished: Path, to: Path, *, lines: int, torn: bytes = b"") -> Path:
    """A copy of a run whose process died after that many events."""
    run = to / "runs" / finished.name
    shutil.copytree(finished, run)
    log = run / "events.jsonl"
    kept = log.read_bytes().splitlines(keepends=True)[:lines]
    log.write_bytes(b"".join(kept) + torn)
    for derived in ("report.md", "run.json", "progress.md"):
        (run / derived).unlink()
    return run


async def resumed(
    run: Path, script: Callable[[ModelRequest], Step] | list[Step] = policy
) -> Ended:
    model = ScriptedModel(script)
    async with Orchestrator(
        runs_dir=run.parent, model=model, clock=FakeClock()
    ) as here:
        return Ended(await here.resume(run), model)


def count(events: list[Event], kind: str) -> int:
    return sum(event.kind == kind for event in events)


def test_the_run_to_cut_is_as_long_as_the_cases(finished: Path) -> None:
    events = events_of(finished)

    assert len(events) == EVENTS
    assert count(events, "model.answered") == CALLS


@pytest.mark.parametrize("lines", range(1, EVENTS))
async def test_cut_after_any_event_a_run_ends_with_the_same_report(
    finished: Path, tmp_path: Path, lines: int
) -> None:
    run = cut(finished, tmp_path, lines=lines)
    done = count(events_of(run), "model.answered")

    ended = await resumed(run)

    assert ended.result.state == "done", ended.result
    assert ended.result.report == (finished / "report.md").read_text()
    assert len(ended.requests) == CALLS - done
    events = events_of(run)
    assert count(events, "model.answered") == CALLS
    assert count(events, "subagent.accepted") == count(events, "subagent.ended") == 2
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert "- **State:** done\n" in ended.text("progress.md")
    assert "- [ ] Ask two." in ended.text("progress.md")


@pytest.mark.parametrize("lines", range(1, EVENTS, 7))
async def test_half_a_line_at_the_end_changes_nothing(
    finished: Path, tmp_path: Path, lines: int
) -> None:
    run = cut(finished, tmp_path, lines=lines, torn=b'{"v":1,"seq":9,"kind":"mod\xc3')

    ended = await resumed(run)

    assert ended.result.state == "done"
    assert all(event.kind != "log.damaged" for event in events_of(run))


async def test_tokens_are_counted_once_over_all_processes(
    finished: Path, tmp_path: Path
) -> None:
    whole = orjson.loads((finished / "run.json").read_bytes())["totals"]
    run = cut(finished, tmp_path, lines=EVENTS // 2)

    ended = await resumed(run)

    assert ended.result.totals.calls == whole["calls"] == CALLS
    assert ended.result.totals.output_tokens == whole["output_tokens"]


async def test_a_resume_that_dies_can_be_resumed(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=20)
    left = [2]

    def dies(request: ModelRequest) -> Step:
        left[0] -= 1
        return policy(request) if left[0] >= 0 else fail("quota_exhausted", "no more")

    first = await resumed(run, dies)
    assert first.result.state == "parked"
    second = await resumed(run)

    assert second.result.state in ("done", "partial")
    events = events_of(run)
    assert count(events, "run.resumed") == 2
    answered = [
        (event.agent, event.data["message_id"])
        for event in events
        if event.kind == "model.answered"
    ]
    assert len(answered) <= CALLS + 2


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([READ, finish("14 days [refunds.md:1].")], id="done"),
        pytest.param([reply(), reply()], id="failed"),
    ],
)
async def test_a_run_that_is_over_is_not_gone_on_with(
    tmp_path: Path, script: list[Step]
) -> None:
    bench = RunBench(tmp_path, {"refunds.md": "A refund takes 14 days.\n"})
    first = await bench.run(ScriptedModel(script))
    before = events_of(first.folder)

    with pytest.raises(
        SpecError, match=f"is {first.result.state}; only a run that was"
    ):
        await resumed(first.folder, [])

    assert events_of(first.folder) == before


async def test_only_limits_change_on_resume(finished: Path, tmp_path: Path) -> None:
    run = cut(finished, tmp_path, lines=20)

    with pytest.raises(SpecError, match="`objective` cannot change any more"):
        read_past(RunFolder(run), host_of(run), {"objective": "x"})


async def test_a_run_in_use_is_left_alone(finished: Path, tmp_path: Path) -> None:
    run = cut(finished, tmp_path, lines=20)
    before = (run / "events.jsonl").read_bytes()

    with RunLock(run / "lock"), pytest.raises(RunBusy, match="is in use by process"):
        await resumed(run, [])

    assert (run / "events.jsonl").read_bytes() == before


async def test_what_another_process_did_meanwhile_is_not_done_again(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=20)
    model = ScriptedModel([])
    host = host_of(run, model)
    past = read_past(RunFolder(run), host)
    await resumed(run)

    with pytest.raises(SpecError, match="is done; only a run"):
        await resume_run(past, host)

    assert model.requests == []


async def test_a_run_that_died_before_its_inputs_were_written_spent_nothing(
    tmp_path: Path,
) -> None:
    run = tmp_path / "20261129-120000-x-abcd"
    run.mkdir()
    (run / "events.jsonl").write_bytes(b"")

    with pytest.raises(
        SpecError, match=r"died before it had begun.* nothing was spent"
    ):
        read_past(RunFolder(run), host_of(run))
    with pytest.raises(UnknownRun):
        find_run(tmp_path, "nothing")


@pytest.mark.parametrize("log", [None, b"", b'{"v":1,"seq":1,"at'])
async def test_a_run_that_died_before_its_first_record_begins_in_its_folder(
    finished: Path, tmp_path: Path, log: bytes | None
) -> None:
    run = cut(finished, tmp_path, lines=0)
    (run / "events.jsonl").unlink()
    if log is not None:
        (run / "events.jsonl").write_bytes(log)

    ended = await resumed(run)

    assert ended.result.state == "done"
    assert ended.result.folder == run
    kinds = [event.kind for event in events_of(run)]
    assert kinds[0] == "run.started"
    assert "run.resumed" not in kinds
    assert len(ended.requests) == CALLS


async def test_a_run_whose_log_was_deleted_is_not_begun_again(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=9)
    (run / "run.json").write_bytes(b"{}")
    (run / "events.jsonl").unlink()

    with pytest.raises(StoreError, match=r"events\.jsonl` is gone or empty"):
        await resumed(run)


async def test_a_damaged_start_costs_that_record_only(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=40)
    log = run / "events.jsonl"
    first, rest = log.read_bytes().split(b"\n", 1)
    log.write_bytes(b"\0" * len(first) + b"\n" + rest)
    done = count(events_of(run), "model.answered")

    ended = await resumed(run)

    assert ended.result.state == "done"
    assert ended.result.report == (finished / "report.md").read_text()
    assert len(ended.requests) == CALLS - done
    assert count(events_of(run), "run.started") == 1


async def test_profiles_and_prompts_are_those_of_the_start(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=1)
    copy = run / "inputs" / "agents" / "lead.md"
    copy.write_text(copy.read_text() + "\nTold apart by this line.\n")

    ended = await resumed(run)

    assert "Told apart by this line." in text_of(ended.requests[0].system)


async def test_the_same_secret_has_the_same_placeholder_after_a_resume(
    tmp_path: Path,
) -> None:
    key = "sk-ant-api03-" + "Ab3" * 31 + "AA"
    line = f"ANTHROPIC_API_KEY={key}\n"
    bench = RunBench(tmp_path, {"env.md": line, "old.md": line})
    read, again = (call("read_file", path=f"{name}.md") for name in ("env", "old"))
    first = await bench.run(ScriptedModel([read, fail("quota_exhausted")]))

    second = await resumed(first.folder, [again, finish("Nothing.")])

    one, other = (
        re.findall(r"\[secret:.+\]", each) for each in second.results("read_file")
    )
    assert len(one) == 1
    assert one == other
    assert key not in second.text("events.jsonl")


async def test_dollars_spent_before_count(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, {"refunds.md": "A refund takes 14 days.\n"})
    first = await bench.run(
        ScriptedModel([READ, fail("quota_exhausted")]),
        model="claude-haiku-5-5",
        limits={"usd": 0.03},
    )
    spent = first.result.totals.usd
    assert spent

    def reads_on(request: ModelRequest) -> Step:
        if "this is your last answer" in last_results(request):
            return finish("14 days [refunds.md:1].")
        return call("read_file", path="refunds.md", first_line=len(request.messages))

    second = await resumed(first.folder, reads_on)

    assert second.result.state == "partial"
    assert second.result.totals.usd is not None
    assert spent < second.result.totals.usd <= 0.03


async def test_an_agent_that_is_gone_from_the_profiles_stops_the_resume(
    finished: Path, tmp_path: Path
) -> None:
    run = cut(finished, tmp_path, lines=5)
    task = run / "task.yaml"
    task.write_text(task.read_text().replace("- explorer", "- nobody-like-that"))

    with pytest.raises(SpecError, match="nobody-like-that"):
        await resumed(run, [])


def host_of(run: Path, model: ScriptedModel | None = None) -> Host:
    return Host.of_process(
        runs_dir=run.parent, model=model or ScriptedModel([]), clock=FakeClock()
    )
