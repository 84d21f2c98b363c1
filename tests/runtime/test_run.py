"""Whole runs: how they end, what they leave, and what they never pass."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
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
from orchestrator.errors import ModelError, SpecError, StoreError
from orchestrator.events import Event
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Reply, Usage
from orchestrator.runtime.host import Host
from orchestrator.runtime.live import Live
from orchestrator.runtime.prepare import prepare
from orchestrator.runtime.progress import MIN_INTERVAL_S
from orchestrator.runtime.start import start
from orchestrator.testing import (
    FakeClock,
    ScriptedModel,
    Step,
    call,
    fail,
    hang,
    reply,
)

READ = call("read_file", path="refunds.md")
GOOD = finish("A refund takes 14 days [refunds.md:1].")
FOUND = submit(
    item("A refund takes 14 days.", "refunds.md:1", "A refund takes 14 days.")
)


def outcome(ended: Ended) -> tuple[str, int]:
    return ended.result.state, ended.result.exit_code


async def test_a_clean_run_is_done(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([READ, GOOD]))

    assert outcome(ended) == ("done", 0)
    assert (ended.result.reason, ended.result.missing) == ("", [])
    assert ended.result.report == "A refund takes 14 days [refunds.md:1].\n"
    assert ended.text("report.md") == ended.result.report
    [over] = ended.events("run.ended")
    assert over.data["state"] == "done"
    assert over.data["exit_code"] == 0


async def test_a_wrong_citation_that_stays_makes_it_partial(bench: RunBench) -> None:
    wrong = finish("A refund takes 9 days [refunds.md:90].")

    ended = await bench.run(ScriptedModel([READ, wrong, wrong]))

    assert outcome(ended) == ("partial", 3)
    assert "`refunds.md` has 2 lines" in ended.result.reason
    assert "*(citation not confirmed)*" in ended.text("report.md")
    assert "This report is **partial**" in ended.text("report.md")


async def test_a_report_that_was_only_said_is_kept_and_marked(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel(["one", "two", "It takes 14 days."]))

    assert outcome(ended) == ("partial", 3)
    assert ended.text("report.md").startswith("It takes 14 days.")
    assert "unvalidated" in ended.result.reason


async def test_hand_ins_that_no_tool_takes_are_kept_as_the_report(
    bench: RunBench,
) -> None:
    def wrong(request: ModelRequest) -> Step:
        return call("finish", report="It takes 14 days.", n=len(request.messages))

    ended = await bench.run(ScriptedModel(wrong))

    assert outcome(ended) == ("partial", 3)
    assert ended.text("report.md").startswith("It takes 14 days.\n")


async def test_a_model_that_says_nothing_fails_the_run(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([reply(), reply()]))

    assert outcome(ended) == ("failed", 1)
    assert ended.result.reason == "2 empty replies in a row"
    assert not (ended.folder / "report.md").exists()


async def test_a_refusal_fails_with_its_category(bench: RunBench) -> None:
    refusal = reply("no", stop_reason="refusal", stop_details={"category": "cyber"})

    ended = await bench.run(ScriptedModel([READ, refusal]))

    assert outcome(ended) == ("failed", 1)
    assert ended.result.reason == "refused: cyber"


async def test_findings_are_kept_though_the_lead_fails(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("Refunds")), fail("invalid", "no such model")],
        {"Refunds": [READ, FOUND]},
    )

    assert outcome(ended) == ("partial", 3)
    assert "no such model" in ended.result.reason
    report = ended.text("report.md")
    assert report.startswith("# Findings without a report")
    assert "- A refund takes 14 days. [a1#1]" in report


async def test_a_bug_fails_the_run_with_its_traceback_in_the_log(
    bench: RunBench,
) -> None:
    def broken(_request: ModelRequest) -> Step:
        raise KeyError("ours, with sk-ant-api03-" + "x" * 90)

    ended = await bench.run(ScriptedModel(broken))

    assert outcome(ended) == ("failed", 70)
    assert ended.result.reason.startswith("a fault of the program: KeyError")
    [over] = ended.events("run.ended")
    assert "Traceback (most recent call last)" in over.data["traceback"]
    assert "x" * 90 not in ended.text("events.jsonl")
    assert ended.json("run.json")["exit_code"] == 70


async def test_a_group_of_one_bug_is_named_by_the_bug(bench: RunBench) -> None:
    async def broken(_request: ModelRequest) -> Step:
        async with anyio.create_task_group():
            raise KeyError("ours")
        return GOOD

    ended = await bench.run(ScriptedModel(broken))

    assert ended.result.reason == "a fault of the program: KeyError: 'ours'"


async def test_a_model_that_cannot_be_opened_fails_the_run(
    bench: RunBench,
) -> None:
    class Refuses:
        async def complete(self, request: ModelRequest, *, on_retry: Any) -> Reply:
            raise ModelError("auth", "the key is not valid")

        async def aclose(self) -> None: ...

    ended = await bench.run(Refuses())

    assert outcome(ended) == ("failed", 1)
    assert ended.result.reason == "auth: the key is not valid"


async def test_stopping_records_it_and_resume_completes_it(bench: RunBench) -> None:
    live = Live()

    def stops(_request: ModelRequest) -> Step:
        live.scope.cancel()
        return hang()

    host = host_of(bench, ScriptedModel(stops))
    result = await start(prepared(bench, host), host, live)

    assert (result.state, result.exit_code) == ("interrupted", 130)
    [over] = Ended(result, ScriptedModel([])).events("run.ended")
    assert over.data["state"] == "interrupted"
    ended = await bench.resume(result.folder, [READ, GOOD], {})
    assert outcome(ended) == ("done", 0)


async def test_a_cancelled_caller_leaves_a_resumable_run_and_nothing_runs_on(
    bench: RunBench,
) -> None:
    written: list[Event] = []
    scope = anyio.CancelScope()

    def give_up(_request: ModelRequest) -> Step:
        scope.cancel()
        return hang()

    model = ScriptedModel(give_up)

    async with Orchestrator(runs_dir=bench.runs, model=model) as here:
        with scope:
            await here.run(bench.task(), on_event=written.append)

    assert scope.cancelled_caught
    assert model.cancelled == 1
    assert written[-1].kind == "run.ended"
    assert written[-1].data["state"] == "interrupted"
    ended = await bench.resume(next(bench.runs.glob("2*")), [READ, GOOD], {})
    assert outcome(ended) == ("done", 0)


async def test_no_request_leaves_after_the_stop(bench: RunBench) -> None:
    live = Live()
    asked: list[str] = []

    async def work(request: ModelRequest) -> Step:
        asked.append(text_of(request.messages[0]["content"])[:20])
        if len(asked) == 4:
            live.scope.cancel()
        return (
            delegate(*(brief(f"P{n}") for n in range(3))) if len(asked) == 1 else hang()
        )

    model = ScriptedModel(work)
    host = host_of(bench, model)
    await start(prepared(bench, host), host, live)

    assert len(model.requests) == 4
    assert model.cancelled == 3


def host_of(bench: RunBench, model: ScriptedModel) -> Host:
    return Host.of_process(runs_dir=bench.runs, model=model, clock=FakeClock())


def prepared(bench: RunBench, host: Host, **fields: Any) -> Any:
    return prepare(
        bench.task(**fields),
        settings=host.settings,
        env=host.env,
        price_of=host.price,
        needs_credentials=False,
    )


LIMITS: list[Any] = [
    pytest.param({"turns": 3}, "turns", id="turns"),
    pytest.param({"minutes": 3}, "minutes", id="minutes"),
    pytest.param({"tokens": 30_000}, "tokens", id="tokens"),
    pytest.param({"usd": 0.05}, "usd", id="dollars"),
]


@pytest.mark.parametrize(("limits", "name"), LIMITS)
async def test_a_limit_leaves_one_call_to_hand_in_and_the_run_is_partial(
    bench: RunBench, limits: dict[str, Any], name: str
) -> None:
    clock = FakeClock()

    async def works_on(request: ModelRequest) -> Step:
        await clock.advance(30 if name == "minutes" else 0)
        if "this is your last answer" in last_results(request):
            return [call("read_file", path="README.md"), GOOD]
        return call("read_file", path="refunds.md", first_line=len(request.messages))

    model = ScriptedModel(works_on)
    ended = await bench.run(model, clock=clock, model="claude-haiku-5-5", limits=limits)

    assert outcome(ended) == ("partial", 3)
    assert f"`{name}` reached" in ended.result.reason
    assert ended.text("report.md").startswith("A refund takes 14 days [refunds.md:1].")
    told = ["this is your last answer" in last_results(r) for r in model.requests]
    assert told.count(True) == 1
    assert told[-1]
    assert "Only `finish` is answered now" in ended.results("read_file")[-1]
    used = ended.json("run.json")["totals"]
    assert len(model.requests) <= limits.get("turns", 1000)
    assert used["usd"] <= limits.get("usd", 1000)
    assert used["input_tokens"] + used["output_tokens"] <= limits.get("tokens", 10**9)
    assert ended.result.seconds <= limits.get("minutes", 1000) * 60


async def test_a_last_report_with_a_wrong_citation_is_taken_and_marked(
    bench: RunBench,
) -> None:
    wrong = finish("A refund takes 9 days [refunds.md:90].")

    ended = await bench.run(ScriptedModel([wrong]), limits={"turns": 1})

    assert outcome(ended) == ("partial", 3)
    assert ended.text("report.md").startswith("A refund takes 9 days [refunds.md:90]")
    assert len(ended.result.missing) == 2


async def test_the_last_words_of_a_lead_that_hands_in_nothing_are_kept(
    bench: RunBench,
) -> None:
    ended = await bench.run(ScriptedModel(["It takes 14 days."]), limits={"turns": 1})

    assert outcome(ended) == ("partial", 3)
    report = ended.text("report.md")
    assert "## Last words of the lead\n\nUnvalidated: none of it was checked." in report
    assert "It takes 14 days." in report


async def test_what_subagents_spend_leaves_the_lead_its_last_call(
    bench: RunBench,
) -> None:
    def burns(request: ModelRequest) -> Step:
        if "this is your last answer" in last_results(request):
            return submit(status="nothing_found", summary="There was no time for it.")
        return call("read_file", path="refunds.md", first_line=len(request.messages))

    ended = await bench.play(
        [delegate(*(brief(f"Part {n}") for n in range(4))), GOOD, GOOD],
        {f"Part {n}": burns for n in range(4)},
        limits={"tokens": 150_000},
    )

    assert ended.result.totals.limited_tokens <= 150_000
    assert ended.text("report.md").startswith("A refund takes 14 days")
    asked = ended.requests_of("lead")
    assert len(asked) >= 2


async def test_dollars_for_a_model_of_unknown_price_are_refused(
    bench: RunBench,
) -> None:
    model = ScriptedModel([])

    with pytest.raises(SpecError, match="the price of `somebodys-own` is unknown"):
        await bench.run(model, model="somebodys-own", limits={"usd": 1.0})

    assert model.requests == []
    assert not bench.runs.exists()


async def test_the_default_in_dollars_is_dropped_with_a_notice(bench: RunBench) -> None:
    host = host_of(bench, ScriptedModel([READ, GOOD]))
    ready = prepared(bench, host, model="somebodys-own")
    assert "the default limit in dollars is dropped" in " ".join(ready.notices)

    ended = Ended(await start(ready, host), ScriptedModel([]))

    assert outcome(ended) == ("done", 0)
    assert ended.events("run.started")[0].data["limits"]["usd"] is None
    assert ended.json("run.json")["totals"]["usd"] is None
    assert "dollars unknown" in ended.text("progress.md")


SCHEMA = {
    "type": "object",
    "properties": {"days": {"type": "integer"}},
    "required": ["days"],
}
JSON: dict[str, Any] = {"format": "json", "schema": SCHEMA}


def with_result(**fields: Any) -> Any:
    return finish("A refund takes 14 days [refunds.md:1].", **fields)


async def test_a_result_is_exactly_what_was_handed_in(bench: RunBench) -> None:
    result = {"days": 14, "why": "é世", "nested": [{"a": None, "b": 0.5}]}

    ended = await bench.run(
        ScriptedModel([READ, with_result(result=result)]), deliverable=JSON
    )

    assert outcome(ended) == ("done", 0)
    assert ended.json("result.json") == ended.result.result == result


async def test_a_result_that_does_not_fit_comes_back_and_can_be_mended(
    bench: RunBench,
) -> None:
    wrong, right = with_result(result={"days": "14"}), with_result(result={"days": 14})

    ended = await bench.run(ScriptedModel([READ, wrong, right]), deliverable=JSON)

    assert outcome(ended) == ("done", 0)
    assert "`result` at $.days: '14' is not of type" in ended.results("finish")[0]
    assert ended.json("result.json") == {"days": 14}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"result": {"days": "x"}}, "`result` at $.days", id="wrong"),
        pytest.param({}, "`result` is missing; the task asks for JSON", id="missing"),
    ],
)
async def test_a_result_wrong_twice_is_left_out_and_told(
    bench: RunBench, fields: dict[str, Any], why: str
) -> None:
    bad = with_result(**fields)

    ended = await bench.run(ScriptedModel([READ, bad, bad]), deliverable=JSON)

    assert outcome(ended) == ("partial", 3)
    assert why in ended.result.reason
    assert why in ended.text("report.md")
    assert not (ended.folder / "result.json").exists()


async def test_a_right_result_is_kept_though_the_report_is_blank(
    bench: RunBench,
) -> None:
    blank = finish(" ", result={"days": 14})

    ended = await bench.run(ScriptedModel([blank, blank]), deliverable=JSON)

    assert outcome(ended) == ("partial", 3)
    assert ended.json("result.json") == {"days": 14}


async def test_a_result_nobody_asked_for_is_no_file(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([READ, with_result(result={"days": 1})]))

    assert outcome(ended) == ("done", 0)
    assert ended.result.result is None
    assert not (ended.folder / "result.json").exists()


async def test_the_run_folder_is_as_the_contract_says(bench: RunBench) -> None:
    ended = await bench.play(
        [delegate(brief("Refunds")), finish("14 days [a1#1].", result=1)],
        {
            "Refunds": [
                READ,
                call("update_notes", section="Facts", mode="replace", text="x"),
                FOUND,
            ]
        },
        deliverable={"format": "json"},
    )

    assert outcome(ended) == ("done", 0)
    top = {path.name for path in ended.folder.iterdir()}
    assert top == {
        "task.yaml",
        "inputs",
        "run.json",
        "events.jsonl",
        "progress.md",
        "report.md",
        "result.json",
        "agents",
        "artifacts",
        "control",
        "lock",
    }
    assert {p.name for p in (ended.folder / "agents").iterdir()} == {"lead", "a1"}
    assert {p.name for p in (ended.folder / "agents/a1").iterdir()} == {
        "brief.md",
        "findings.json",
        "findings.md",
        "notes.md",
        "transcript.jsonl",
    }
    assert not list(ended.folder.rglob("*.tmp"))
    date, time, *name, mark = ended.result.id.split("-")
    assert (date, time, name) == ("20261129", "120000", ["bench"])
    assert len(mark) == 4


async def test_inputs_are_copied_with_their_hashes(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([READ, GOOD]))

    hashes = ended.json("inputs/hashes.json")
    copies = {
        path.relative_to(ended.folder / "inputs").as_posix(): path.read_bytes()
        for path in (ended.folder / "inputs").rglob("*.md")
    }
    assert "agents/lead.md" in copies
    assert "prompts/last_call.md" in copies
    assert hashes == {n: hashlib.sha256(d).hexdigest() for n, d in copies.items()}


async def test_the_task_is_kept_as_resolved(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([READ, GOOD]), limits={"turns": 7})

    kept = yaml.safe_load(ended.text("task.yaml"))
    assert kept["limits"]["turns"] == 7
    assert kept["workspace"] == str(bench.root)
    assert kept["objective"] == bench.task().objective


async def test_run_json_tells_how_it_ended_and_what_it_cost(bench: RunBench) -> None:
    usages = [
        Usage(input_tokens=5, cache_read_tokens=read, output_tokens=2)
        for read in (100, 300, 200)
    ]
    model = ScriptedModel(
        [
            reply(READ, usage=usages[0]),
            reply(call("list_dir"), usage=usages[1]),
            reply(GOOD, usage=usages[2]),
        ]
    )

    ended = await bench.run(model)

    record = ended.json("run.json")
    assert record["state"] == "done"
    assert record["agents"] == 1
    assert record["totals"] == {
        "calls": 3,
        "input_tokens": 15,
        "cache_write_tokens": 0,
        "cache_read_tokens": 600,
        "output_tokens": 6,
        "usd": 0.0,
    }
    assert record["ended"] == ended.events("run.ended")[0].at
    assert set(record["versions"]) == {"python", "orchestrator", "anthropic"}


async def test_progress_is_true_at_the_end(bench: RunBench) -> None:
    note = call("update_notes", section="Facts", mode="replace", text="It is 14 days.")

    ended = await bench.play(
        [note, delegate(brief("Refunds")), finish("14 days [a1#1].")],
        {"Refunds": [READ, FOUND]},
    )

    progress = ended.text("progress.md")
    assert "- **State:** done\n" in progress
    assert "It is 14 days." in progress
    tokens = sum(
        Usage(**event.data["usage"]).limited_tokens
        for event in ended.events("model.answered", "a1")
    )
    [over] = ended.events("subagent.ended")
    explored, returned = over.data["explored_tokens"], over.data["returned_tokens"]
    assert (
        f"| a1 | Refunds | complete | handed in 1 item | 2 | {explored} | {returned} "
        f"| {tokens:,} | 0 | [agents/a1/findings.md](agents/a1/findings.md) |"
        in progress
    )
    total = ended.result.totals.limited_tokens
    assert f"{total:,} of 3,000,000 tokens" in progress


async def test_progress_of_a_stopped_run_says_that_nobody_works_on(
    bench: RunBench,
) -> None:
    live = Live()

    def stops(request: ModelRequest) -> Step:
        if len(request.messages) == 1 and "# Objective\n" in last_results(request):
            return delegate(brief("Refunds"), brief("Receipts"))
        live.scope.cancel()
        return hang()

    host = host_of(bench, ScriptedModel(stops))
    ready = prepared(bench, host, limits={"concurrency": 1})
    ended = Ended(await start(ready, host, live), ScriptedModel([]))

    progress = ended.text("progress.md")
    assert "- **State:** interrupted" in progress
    assert "| a1 | Refunds | not finished | cut off |" in progress
    assert "| a2 | Receipts | not finished | never ran |" in progress


async def test_progress_is_true_while_a_long_call_runs(bench: RunBench) -> None:
    seen: list[str] = []

    async def looks(request: ModelRequest) -> Step:
        if "# Objective\n" in text_of(request.messages[0]["content"]):
            if len(request.messages) == 1:
                return delegate(brief("Refunds"))
            [run] = bench.runs.glob("2*")
            await anyio.sleep(MIN_INTERVAL_S * 1.5)  # the real clock's, on purpose
            seen.append((run / "progress.md").read_text())
            return finish("14 days [a1#1].")
        return FOUND if len(request.messages) > 1 else READ

    async with Orchestrator(runs_dir=bench.runs, model=ScriptedModel(looks)) as here:
        result = await here.run(bench.task())

    assert result.state == "done"
    assert "- **State:** running" in seen[0]
    assert "| a1 | Refunds | complete |" in seen[0]


async def test_agents_do_not_see_the_folder_of_runs(tmp_path: Path) -> None:
    bench = RunBench(tmp_path, {"a.md": "A line of text to read.\n"})
    bench.runs = bench.root / "runs"
    probe: list[Step] = [
        call("list_dir"),
        call("glob", pattern="**/*.jsonl"),
        call("grep", pattern="run.started"),
        call("read_file", path="runs"),
        finish("Nothing."),
    ]

    ended = await bench.run(ScriptedModel(probe))

    assert outcome(ended) == ("done", 0)
    listed, globbed, grepped, read = (
        ended.results(name)[0] for name in ("list_dir", "glob", "grep", "read_file")
    )
    assert "a.md" in listed
    assert "runs" not in listed
    assert "events.jsonl" not in globbed + grepped
    assert "exclude" in read or "outside" in read
    facts = text_of(ended.events("agent.started")[0].data["system"])
    assert "runs" not in facts.split("Top level:")[1].splitlines()[0]


async def test_runs_of_one_second_have_folders_of_their_own(bench: RunBench) -> None:
    for _ in range(3):
        await bench.run(ScriptedModel([READ, GOOD]))

    assert len(list(bench.runs.glob("2*"))) == 3


async def test_a_run_that_cannot_begin_leaves_nothing(bench: RunBench) -> None:
    bench.runs.mkdir()
    host = host_of(bench, ScriptedModel([READ, GOOD]))
    ready = prepared(bench, host)
    gone = ready.found.files["lead"]
    ready.found.files["lead"] = Path("/nowhere/lead.md")

    with pytest.raises(StoreError, match="cannot read the input `/nowhere/lead"):
        await start(ready, host)

    assert gone != Path("/nowhere/lead.md")
    assert list(bench.runs.glob("2*")) == []


async def test_a_lost_log_is_a_clear_end(bench: RunBench) -> None:
    def deletes(_request: ModelRequest) -> Step:
        [run] = bench.runs.glob("2*")
        (run / "events.jsonl").unlink()
        return READ

    with pytest.raises(StoreError, match=r"events\.jsonl"):
        await bench.run(ScriptedModel(deletes))


async def test_reads_of_ones_own_are_met_with_a_hint_once(bench: RunBench) -> None:
    reads = [call("read_file", path="refunds.md", first_line=n) for n in (1, 2)]

    ended = await bench.run(
        ScriptedModel(
            [[*reads, call("list_dir")], reads, [call("glob", pattern="*")], GOOD]
        )
    )

    hints = [e for e in ended.events("text.added") if e.data["reason"] == "reminder"]
    assert len(hints) == 1
    assert "`delegate`" in hints[0].data["text"]


async def test_a_task_without_subagents_has_no_delegate(bench: RunBench) -> None:
    ended = await bench.run(ScriptedModel([READ, GOOD]), limits={"subagents": 0})

    assert "delegate" not in ended.events("agent.started")[0].data["allowed"]
    assert "delegate" not in [tool["name"] for tool in ended.requests[0].tools]
