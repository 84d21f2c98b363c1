"""What stays true however often a conversation is compacted."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from long_work import LongWork, careful, compacted, lay_parts, seen_in, summary
from refund_runs import LINE, MORE, OTHER, QUOTE, READ, WORK, Gate, sent, settled
from run_bench import OBJECTIVE, Ended, RunBench, finish, submit

from orchestrator.api import Orchestrator
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import FakeClock, ScriptedModel, Step, call, fail

CONSTRAINTS = (
    "Never write below vendor/.",
    "Do NOT push; only the owner pushes.",
    "不要打开 secrets 目录。",
)
TABLE = re.compile(r"^(a\d) \| (\w+) \| (.*)$", re.MULTILINE)
OFTEN = {"every_turns": 3}


async def worked(
    bench: RunBench, lead: LongWork, **fields: Any
) -> tuple[Ended, ScriptedModel]:
    model = ScriptedModel(lead)
    given = {"constraints": CONSTRAINTS, "context_policy": OFTEN, **fields}
    ended = await bench.run(model, **given)
    assert ended.result.state == "done", ended.result
    return ended, model


def after_compaction(model: ScriptedModel) -> list[ModelRequest]:
    """The requests in which a text stands in the place of earlier steps."""
    return [
        each
        for each in model.requests
        if "# The work so far" in text_of(each.messages[0]["content"])
    ]


def careless(request: ModelRequest, _number: int) -> Step:
    """A summary that leaves out all but how far the work is."""
    return summary(work="- Some parts are read.", open="- Read on.")


@pytest.mark.parametrize(
    "how", ["model", pytest.param("mechanical", marks=pytest.mark.slow)]
)
async def test_after_ten_compactions_objective_and_constraints_are_there_word_for_word(
    tmp_path: Path, how: str
) -> None:
    bench, lead = lay_parts(tmp_path), LongWork(36)
    if how == "mechanical":
        lead.summaries = lambda _request, _number: fail("overloaded")

    ended, model = await worked(bench, lead)

    edits = compacted(ended.events())
    assert len(edits) >= 10
    assert {each["how"] for each in edits} == {how}
    for request in model.requests:
        said = str(request.messages[0]["content"][0]["text"])
        assert OBJECTIVE in said
        assert all(each in said for each in CONSTRAINTS)


async def test_ten_summaries_are_one_that_stays_bounded_and_true(
    tmp_path: Path,
) -> None:
    ended, model = await worked(lay_parts(tmp_path), LongWork(36))

    edits = compacted(ended.events())
    sizes = [each["tokens_after"] for each in edits]
    assert max(sizes) <= 1.1 * sizes[1]
    for each in edits:
        assert each["text"].count("## Work done") == 1
        assert each["added"] == []
        assert [check["found"] for check in each["checks"]] == [0] * 8
    last = seen_in(model.requests[-1])
    assert all(
        f"Part {n} has the code K-{n * 37 + 1000}." in last for n in range(30, 36)
    )


@pytest.mark.slow
async def test_what_careless_summaries_leave_out_does_not_pile_up(
    tmp_path: Path,
) -> None:
    rules = {
        n: f"We must not change table T-{n}00 before day {n + 10}."
        for n in range(2, 36)
    }
    lead = LongWork(36, careless, says=rules)

    ended, model = await worked(lay_parts(tmp_path), lead)

    edits = compacted(ended.events())
    assert len(edits) >= 10
    assert all(each["added"] for each in edits)
    assert all(rules[n] in seen_in(model.requests[-1]) for n in range(8, 36))
    sizes = [each["parts"]["state"] for each in edits]
    assert max(sizes) <= 2500


@pytest.mark.parametrize(
    "told",
    [
        "",
        pytest.param(
            "- At first we were told to leave db/prod.ini alone.",
            marks=pytest.mark.slow,
        ),
        pytest.param("- db/prod.ini may be changed now.", marks=pytest.mark.slow),
    ],
    ids=["dropped", "told as past", "turned round"],
)
async def test_a_must_not_still_binds_where_a_summary_weakens_it(
    tmp_path: Path, told: str
) -> None:
    rule = "The owner says that we must not change db/prod.ini."

    def weak(request: ModelRequest, number: int) -> Step:
        return summary(work="- Some parts are read.", facts=told, open="- Read on.")

    ended, model = await worked(lay_parts(tmp_path), LongWork(36, weak, says={2: rule}))

    assert len(compacted(ended.events())) >= 10
    later = after_compaction(model)
    assert len(later) > 30
    assert all("must not change db/prod.ini" in seen_in(each) for each in later)
    assert not any("may be changed now" in seen_in(each) for each in later[-1:])


async def test_what_is_finished_stays_finished_in_plan_and_summary(
    tmp_path: Path,
) -> None:
    plan = "- [x] Part 1 is read and filed as F-881.\n- [ ] Read the rest."
    said = "The migration of schema S-42 is finished and merged."
    note = call("update_notes", section="Plan", mode="replace", text=plan)

    def forgets(request: ModelRequest, number: int) -> Step:
        if number <= 2:
            return summary(work=f"- {said}", open="- Read on.")
        return summary(facts="- Codes begin with K.", open="- Read on.")

    lead = LongWork(36, forgets, acts={2: note}, says={3: said})
    ended, model = await worked(lay_parts(tmp_path), lead)

    assert len(compacted(ended.events())) >= 10
    for each in after_compaction(model):
        assert "- [x] Part 1 is read and filed as F-881." in seen_in(each)
        assert "schema S-42 is finished and merged" in seen_in(each)


async def test_a_correction_by_a_person_survives_ten_compactions(
    tmp_path: Path,
) -> None:
    correction = (
        "Correction: it is the 2026 tariff that counts, not the 2025 one. 不要用旧表。"
    )
    bench, lead = lay_parts(tmp_path, 80), LongWork(2, careless)
    model = ScriptedModel(lead)
    async with Orchestrator(
        runs_dir=bench.runs, model=model, clock=FakeClock()
    ) as here:
        task = bench.task(constraints=CONSTRAINTS, context_policy=OFTEN)
        first = await here.run(task)
        before = len(model.requests)
        lead.parts = 40
        second = Ended(await here.ask(first.folder, correction), model)

    assert second.result.state == "done"
    assert len(compacted(second.events())) >= 10
    asked = model.requests[before:]
    assert all(correction in seen_in(each) for each in asked)
    assert all(each in seen_in(asked[-1]) for each in CONSTRAINTS)


@pytest.mark.slow
async def test_subagents_that_run_through_compactions_are_heard_of_exactly_once(
    tmp_path: Path,
) -> None:
    """One ends at once, one during a summary, one much later, one is waited for."""
    bench = lay_parts(tmp_path)
    bench.write("refunds.md", f"{LINE}\n")
    during, later, last = Gate(), Gate(), Gate()

    async def slow(request: ModelRequest, number: int) -> Step:
        during.is_open.set()
        await settled()
        return careful(request)

    titles = ("Quick", "During", "Later", "Last")
    read = call("read_file", path="refunds.md")
    lead = LongWork(
        30,
        slow,
        acts={
            1: sent(*titles, wait="none"),
            16: later.opened(read),
            23: call("wait_for", timeout_s=0),
            24: last.opened(call("wait_for")),
            35: finish("It takes 14 days [a1#1], [a2#1], [a3#1], [a4#1]."),
        },
    )
    workers: dict[str, Any] = {
        "Quick": WORK,
        "During": during,
        "Later": later,
        "Last": last,
    }
    ended = await bench.play(
        lead, workers, constraints=CONSTRAINTS, context_policy=OFTEN
    )

    assert ended.result.state == "done", ended.result
    agents = [f"a{number}" for number in range(1, 5)]
    told = [
        each
        for event in ended.events(agent="lead")
        if event.kind in ("text.added", "tool.ended")
        for each in event.data.get("delivers") or ()
    ]
    assert sorted(told) == agents
    edits = compacted(ended.events(agent="lead"))
    assert len(edits) >= 8
    rows = [TABLE.findall(each["text"]) for each in edits]
    for table in rows:
        assert [row[:2] for row in table] == list(zip(agents, titles, strict=True))
    assert [state for *_, state in rows[0]][2:] == ["at work"] * 2
    assert all("complete, 1 items, delivered" in state for *_, state in rows[-1])
    assert edits[-1]["text"].count("A refund takes 14 days after arrival.") == 4
    assert len(ended.events("subagent.accepted")) == 4


@pytest.mark.slow
async def test_a_compacted_subagent_keeps_its_brief_and_can_be_asked_again(
    tmp_path: Path,
) -> None:
    bench = lay_parts(tmp_path)
    bench.write("refunds.md", f"{LINE}\n{OTHER}\n")
    more = call("read_file", path="refunds.md", first_line=2)
    worker = LongWork(
        30,
        careless,
        acts={1: READ, 17: submit(QUOTE), 18: more, 19: submit(MORE)},
    )
    question = "How many days does it take without a receipt?"
    lead: list[Step] = [
        sent("Long"),
        call("follow_up", agent="a1", question=question),
        finish("It takes 14 days [a1#1], and 30 at the most [a1#2]."),
    ]
    ended = await bench.play(
        lead, {"Long": worker}, constraints=CONSTRAINTS, context_policy=OFTEN
    )

    assert ended.result.state == "done", ended.result
    edits = compacted(ended.events(agent="a1"))
    assert len(edits) >= 4
    own = [each for each in ended.requests if "# Long\n" in seen_in(each)]
    assert len(own) >= 19
    for each in own:
        first = str(each.messages[0]["content"][0]["text"])
        assert "Find out how many days a refund takes in the case of Long" in first
        assert all(rule in first for rule in CONSTRAINTS)
    assert question in seen_in(own[-1])
    [answer] = ended.results("follow_up")
    assert "Without a receipt it takes 30 days." in answer
