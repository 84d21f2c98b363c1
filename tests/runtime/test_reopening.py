"""A lead that had ended goes on: asked a further question, or to do what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    item,
    last_results,
    played,
    submit,
)

from orchestrator.api import Orchestrator
from orchestrator.cli.tables import next_step
from orchestrator.errors import SpecError
from orchestrator.inspection.reading import load_run
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.store.control import STOP, Request, send
from orchestrator.store.layout import RunFolder
from orchestrator.store.lock import holder
from orchestrator.store.transcript import rebuild
from orchestrator.testing import (
    FakeClock,
    Script,
    ScriptedModel,
    Step,
    call,
    fail,
    hang,
    say,
)

FILES = {"refunds.md": "A refund takes 14 days.\nWithout a receipt it takes 30 days.\n"}
READ = call("read_file", path="refunds.md")
FIRST = finish("With a receipt: 14 days [refunds.md:1].")
SECOND = finish("Without one: 30 days [refunds.md:2].")
PAGES = ("findings.json", "findings.md")
QUESTION = "How long does it take without a receipt?"


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


async def asked(
    bench: RunBench, run: Path, script: Script, text: str = QUESTION, **options: Any
) -> Ended:
    model = ScriptedModel(script)
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        return Ended(await here.ask(run, text, **options), model)


async def resumed(
    bench: RunBench,
    run: Path,
    script: Script | ScriptedModel,
    **limits: float,
) -> Ended:
    model = script if isinstance(script, ScriptedModel) else ScriptedModel(script)
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        return Ended(await here.resume(run, limits=limits), model)


async def test_a_question_goes_behind_everything_the_lead_knows(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))

    second = await asked(bench, first.folder, [SECOND])

    [request] = second.requests
    before = first.requests[-1].messages
    assert request.messages[: len(before)] == before
    assert request.system == first.requests[0].system
    result, told = request.messages[-1]["content"]
    assert (result["type"], text_of(result["content"])) == ("tool_result", "Accepted.")
    assert f"# Further question\n\n{QUESTION}" in told["text"]


async def test_its_report_takes_the_place_of_the_one_before_which_is_kept(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))

    second = await asked(bench, first.folder, [SECOND])
    third = await asked(bench, first.folder, [FIRST], "And with one?")

    assert first.result.folder == second.result.folder == third.result.folder
    assert third.result.state == "done"
    assert third.text("report.1.md") == first.result.report
    assert third.text("report.2.md") == second.result.report
    assert third.text("report.md") == third.result.report == first.result.report
    assert third.json("run.json")["questions"] == [QUESTION, "And with one?"]
    assert f"> Asked then: {QUESTION}\n" in third.text("progress.md")
    assert third.result.totals.calls == 4


async def test_a_json_result_of_before_is_kept_too(bench: RunBench) -> None:
    given = {"format": "json", "schema": {"type": "object"}}
    text = "14 days [refunds.md:1]."
    one, two = finish(text, result={"days": 14}), finish(text, result={"days": 30})
    first = await bench.run(ScriptedModel([READ, one]), deliverable=given)

    second = await asked(bench, first.folder, [two])

    assert second.json("result.1.json") == {"days": 14}
    assert second.json("result.json") == second.result.result == {"days": 30}


async def test_the_lead_can_send_briefs_for_it(bench: RunBench) -> None:
    found = submit(item("14 days.", "refunds.md:1", "A refund takes 14 days."))
    first = await bench.play([delegate(brief("With")), FIRST], {"With": [READ, found]})
    other = submit(
        item("30 days.", "refunds.md:2", "Without a receipt it takes 30 days.")
    )
    cites = finish("Without one: 30 days [a2#1]; with one: 14 [a1#1].")

    model = played([delegate(brief("Without")), cites], {"Without": [READ, other]})
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        ended = Ended(await here.ask(first.folder, QUESTION), model)

    assert ended.result.state == "done", ended.result
    accepted = [event.data["id"] for event in ended.events("subagent.accepted")]
    assert accepted == ["a1", "a2"]


async def test_what_the_lead_is_shown_is_what_readers_are_shown(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))
    second = await asked(bench, first.folder, [READ, SECOND])

    messages = rebuild(second.events(), "lead")

    assert messages[: len(second.requests[-1].messages)] == list(
        second.requests[-1].messages
    )


async def test_a_secret_in_the_question_reaches_nobody(bench: RunBench) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))
    secret = "ghp_" + "Zx9Kq2Lm7Rt4Wv8Yb3Nc6Jd1Hf5Gs0Pa2Qe7"

    second = await asked(
        bench, first.folder, [SECOND], f"Is {secret} still needed for it?"
    )

    assert "[secret:" in last_results(second.requests[0])
    assert not [name for name, data in second.everything() if secret.encode() in data]


@pytest.mark.parametrize("cut", ["asked", "requested", "finished"])
async def test_killed_at_a_question_it_is_answered_after_a_resume(
    bench: RunBench, cut: str
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))
    second = await asked(bench, first.folder, [READ, SECOND])
    kinds = [event.kind for event in second.events()]
    start = kinds.index("run.reopened")
    length = {
        "asked": start + 1,
        "requested": kinds.index("model.requested", start) + 1,
        "finished": kinds.index("report.submitted", start) + 1,
    }[cut]
    log = first.folder / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:length]))
    # As it was before the process got to it.
    if cut == "asked":
        (first.folder / "report.1.md").replace(first.folder / "report.md")

    left = [READ, SECOND] if cut != "finished" else []
    third = await resumed(bench, first.folder, left)

    assert third.result.state == "done"
    assert third.text("report.md") == second.result.report
    assert third.text("report.1.md") == first.result.report
    assert third.json("run.json")["questions"] == [QUESTION]
    if cut != "finished":
        assert third.requests[0].body == second.requests[0].body


async def test_asking_a_run_that_has_not_finished_is_refused(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))
    log = first.folder / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:6]))

    with pytest.raises(
        SpecError, match=r"is not finished; `orchestrate resume .*` goes"
    ):
        await asked(bench, first.folder, [])
    with pytest.raises(SpecError, match="the question is empty"):
        await asked(bench, first.folder, [], "  ")


async def test_a_question_that_cannot_be_answered_costs_the_report_before_nothing(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))

    second = await asked(bench, first.folder, [fail("invalid")])

    assert second.result.state == "failed"
    assert second.text("report.1.md") == first.result.report
    assert not (first.folder / "report.md").exists()
    third = await asked(bench, first.folder, [SECOND], "Once more: " + QUESTION)
    assert third.result.state == "done"
    assert third.text("report.1.md") == first.result.report


async def test_a_question_past_the_limit_is_answered_once_it_is_raised(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, READ, FIRST]), limits={"turns": 4})

    second = await asked(bench, first.folder, [READ, SECOND], limits={"turns": 9})
    third = await asked(bench, first.folder, [READ, READ, FIRST])

    assert (second.result.state, third.result.state) == ("done", "done")
    assert third.json("run.json")["limits"]["turns"] == 9


# ---- what is missing ----------------------------------------------------------------


async def test_a_limit_that_is_not_raised_is_named_and_nothing_is_spent(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]), limits={"turns": 2})
    assert first.result.state == "partial"
    before = first.events()

    with pytest.raises(SpecError, match=r"limit `turns` of 2; .* limits\.turns=4`"):
        await resumed(bench, first.folder, [])

    assert first.events() == before


async def test_a_raised_limit_lets_the_lead_go_on_behind_what_it_said(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]), limits={"turns": 2})

    second = await resumed(bench, first.folder, [READ, SECOND], turns=9)

    assert (second.result.state, second.result.missing) == ("done", [])
    told = last_results(second.requests[0])
    assert "the lead was stopped by a limit" in told
    assert second.text("report.md") == second.result.report
    assert not (first.folder / "report.1.md").exists()


async def partial(bench: RunBench) -> Ended:
    """A run that is partial: one of its two subagents has failed."""
    found = submit(item("14 days.", "refunds.md:1", "A refund takes 14 days."))
    return await bench.play(
        [
            delegate(brief("With"), brief("Without")),
            finish("With a receipt 14 days [a1#1]; the rest is not known."),
        ],
        {"With": [READ, found], "Without": [fail("invalid")]},
    )


def mends(request: ModelRequest) -> Step:
    """Send the brief again that is named as missing."""
    told = last_results(request)
    assert "- subagent a2 (Without) failed: invalid" in told
    return delegate(brief("Without"))


WHOLE = finish("14 days [a1#1], without a receipt 30 [a3#1].")
OTHER = submit(item("30 days.", "refunds.md:2", "Without a receipt it takes 30 days."))


def script() -> ScriptedModel:
    steps: list[Step | Callable[[ModelRequest], Step]] = [mends, WHOLE]

    def lead(request: ModelRequest) -> Step:
        step = steps.pop(0)
        return step(request) if callable(step) else step

    return played(lead, {"Without": [READ, OTHER]})


async def test_a_failed_subagent_is_sent_again_and_the_run_is_done(
    bench: RunBench,
) -> None:
    first = await partial(bench)
    assert first.result.state == "partial"

    second = await resumed(bench, first.folder, script())

    assert (second.result.state, second.result.missing) == ("done", [])
    assert second.text("report.md") == second.result.report
    assert len(second.requests_of("a1")) == 0  # finished work is not done again


async def test_where_nothing_new_comes_the_report_before_stays(
    bench: RunBench,
) -> None:
    first = await partial(bench)

    second = await resumed(bench, first.folder, [fail("invalid")])

    assert second.result.state == "partial"
    assert second.text("report.md") == first.result.report
    assert second.result.missing[0].startswith("what was missing is missing still")
    third = await resumed(bench, first.folder, script())
    assert third.result.state == "done"


async def test_killed_on_the_way_it_still_does_what_is_missing(
    bench: RunBench,
) -> None:
    first = await partial(bench)
    whole = await resumed(bench, first.folder, script())
    log = (first.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
    start = next(n for n, line in enumerate(log) if b'"run.reopened"' in line)
    for lines in range(start + 1, len(log) - 1, 4):
        run = bench.runs / f"20261129-120000-bench-{lines:04}"
        shutil.copytree(first.folder, run)
        (run / "events.jsonl").write_bytes(b"".join(log[:lines]))

        ended = await resumed(bench, run, ScriptedModel(from_the_request))

        assert ended.result.state == "done", (lines, ended.result)
        assert ended.result.report == whole.result.report


def from_the_request(request: ModelRequest) -> Step:
    """Both parts, told from the request alone."""
    first, newest = text_of(request.messages[0]["content"]), last_results(request)
    if "# Objective\n" in first:
        return mends(request) if "# Missing" in newest else WHOLE
    return OTHER if "takes 30 days" in newest else READ


async def test_a_limit_raised_once_stays_raised(bench: RunBench) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]), limits={"turns": 2})
    wrong = finish("9 days [refunds.md:99].")
    second = await resumed(bench, first.folder, [wrong, wrong], turns=9)
    assert second.result.state == "partial"

    third = await resumed(bench, first.folder, [say("So:"), READ, SECOND])

    assert third.result.state == "done", third.result
    [again] = third.events("run.resumed")[1:]
    assert again.data["limits"] == {}
    assert RunFolder(first.folder).report.read_text() == third.result.report


async def test_what_a_person_stopped_is_not_sent_out_again(bench: RunBench) -> None:
    def stopped(_request: ModelRequest) -> Step:
        [run] = bench.runs.glob("2*")
        by = holder(run / "lock")
        assert by is not None
        send(run / "control", Request(STOP, by, "a1"))
        return hang()

    async with Orchestrator(
        runs_dir=bench.runs,
        model=played([delegate(brief("With")), READ, FIRST], {"With": stopped}),
    ) as here:
        first = await here.run(bench.task())
        assert first.state == "partial"

        step = next_step(load_run(RunFolder(first.folder)), "last")
        assert step == 'orchestrate ask last "TEXT"'
        with pytest.raises(SpecError, match=r"stopped by a person.*orchestrate ask"):
            await here.resume(first.id)


async def test_what_a_hasty_report_cut_off_is_sent_out_again(bench: RunBench) -> None:
    hasty: list[Step] = [delegate(brief("With"), wait="none"), READ, FIRST, FIRST]
    first = await bench.run(played(hasty, {"With": lambda _request: hang()}))
    [missing] = first.result.missing
    assert missing == "subagent a1 (With) was cancelled: lead ended before it did"
    step = next_step(load_run(RunFolder(first.folder)), "last")
    assert step == "orchestrate resume last"

    again = [delegate(brief("With")), finish("14 days [a2#1].")]
    found = submit(item("14 days.", "refunds.md:1", "A refund takes 14 days."))
    second = await resumed(bench, first.folder, played(again, {"With": [READ, found]}))

    assert (second.result.state, second.result.missing) == ("done", [])


async def test_findings_whose_files_are_gone_are_written_again(
    bench: RunBench,
) -> None:
    first = await partial(bench)
    pages = {name: first.text(f"agents/a1/{name}") for name in PAGES}
    for name in PAGES:
        (first.folder / "agents" / "a1" / name).unlink()

    second = await resumed(bench, first.folder, script())

    assert {name: second.text(f"agents/a1/{name}") for name in PAGES} == pages


async def test_a_good_result_stays_where_nothing_new_comes(bench: RunBench) -> None:
    given = {"format": "json", "schema": {"type": "object"}}
    wrong = finish("9 days [refunds.md:99].", result={"days": 9})
    first = await bench.run(ScriptedModel([READ, wrong, wrong]), deliverable=given)
    assert first.result.state == "partial"

    second = await resumed(bench, first.folder, [fail("invalid")])

    assert second.json("result.json") == second.result.result == {"days": 9}
    assert second.text("report.md") == first.result.report


async def test_a_report_in_no_known_encoding_keeps_nothing_from_going_on(
    bench: RunBench,
) -> None:
    first = await partial(bench)
    (first.folder / "report.md").write_bytes(b"a person's note: \xff\xfe")

    second = await resumed(bench, first.folder, script())

    assert second.result.state == "done"


async def test_a_question_with_half_a_character_is_asked_as_far_as_it_goes(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))

    second = await asked(bench, first.folder, [SECOND], "O\udcf9 est-ce ?")

    assert second.result.state == "done"
    assert "O\ufffd est-ce ?" in last_results(second.requests[0])


async def test_a_limit_that_stopped_the_lead_stops_questions_too(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]), limits={"turns": 2})

    with pytest.raises(
        SpecError, match=r'orchestrate ask .* "TEXT" --set limits\.turns=4'
    ):
        await asked(bench, first.folder, [])
    second = await asked(bench, first.folder, [READ, SECOND], limits={"turns": 9})

    assert second.result.state == "done", second.result


async def test_no_limit_is_lowered_below_what_is_used(bench: RunBench) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]))
    before = first.events()

    with pytest.raises(SpecError, match=r"`limits\.tokens` of 1000 is not above the"):
        await asked(bench, first.folder, [], limits={"tokens": 1000})

    assert first.events() == before


async def test_a_raised_limit_survives_a_kill_right_after_the_question(
    bench: RunBench,
) -> None:
    first = await bench.run(ScriptedModel([READ, FIRST]), limits={"turns": 2})
    await asked(bench, first.folder, [READ, SECOND], limits={"turns": 9})
    log = first.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if b'"run.reopened"' in line)
    log.write_bytes(b"".join(lines[: start + 1]))

    third = await resumed(bench, first.folder, [READ, SECOND])

    assert third.result.state == "done"
    assert third.json("run.json")["limits"]["turns"] == 9


async def test_a_raised_limit_reaches_subagents_at_work(bench: RunBench) -> None:
    found = submit(item("14 days.", "refunds.md:1", "A refund takes 14 days."))
    lead = [delegate(brief("With")), finish("14 days [a1#1].")]
    first = await bench.play(
        lead, {"With": [READ, READ, call("list_dir"), found]}, limits={"turns": 5}
    )
    log = first.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    calls = [n for n, line in enumerate(lines) if b'"model.answered"' in line]
    kept = next(n for n in calls if b'"list_dir"' in lines[n])
    log.write_bytes(b"".join(lines[:kept]))

    model = played(
        [finish("14 days [a1#1].")],
        {"With": [call("list_dir", path="."), call("glob", pattern="*"), READ, found]},
    )
    second = await resumed(bench, first.folder, model, turns=30)

    assert second.result.state == "done", second.result


async def test_the_lead_is_reminded_of_subagents_as_if_nothing_had_happened(
    bench: RunBench,
) -> None:
    reads = [call("read_file", path="refunds.md", first_line=n) for n in (1, 2)]
    steps = [*reads, *reads, *reads, FIRST]
    whole = await bench.run(ScriptedModel(steps))
    log = whole.folder / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    kept = [n for n, line in enumerate(lines) if b'"model.requested"' in line][3]
    log.write_bytes(b"".join(lines[:kept]))

    again = await resumed(bench, whole.folder, steps[3:])

    assert [each.body for each in again.requests] == [
        each.body for each in whole.requests[3:]
    ]
