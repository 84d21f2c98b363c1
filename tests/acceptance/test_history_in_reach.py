"""What is no longer sent stays within reach, and what is wanted again stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest
from long_work import (
    REPORT,
    LongWork,
    careful,
    compacted,
    is_summary,
    lay_parts,
    seen_in,
    summary,
)
from pydantic import BaseModel
from run_bench import NoArgs, finish, last_results

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest
from orchestrator.testing import ScriptedModel, Step, call
from orchestrator.tools.base import Effects, ToolContext

OFTEN = {"every_turns": 3}
WAYS: dict[str, dict[str, Any]] = {
    "compacted": OFTEN,
    "cleared": {"window_tokens": 8192},
    "window": {"policy": "window", "last_steps": 4},
    "budget": {"policy": "budget", "window_tokens": 8192},
}

SOME = [
    pytest.param(way, marks=() if "ed" in way[-2:] else (pytest.mark.slow,))
    for way in WAYS
]
"""The plain policies take their turn with the slow tests."""


def code(part: int) -> str:
    return f"K-{part * 37 + 1000}"


def ref_of(part: int, request: ModelRequest) -> str:
    """The reference that a search gives for a part, from its newest answer."""
    found = re.findall(
        rf"^(h\d+(?:\.\d+)?): [^\n]*part{part}\.md", last_results(request), re.MULTILINE
    )
    assert found, last_results(request)
    return str(found[0])


@pytest.mark.parametrize("way", SOME)
async def test_all_that_was_dropped_is_found_and_opened_in_two_calls(
    tmp_path: Path, way: str
) -> None:
    parts, asked = 12, range(1, 7)
    acts: dict[int, Any] = {}
    turn = parts
    for part in asked:
        acts[turn + 1] = call("recall", query=f"code of part {part}")
        acts[turn + 2] = lambda request, part=part: call(
            "read_ref", ref=ref_of(part, request), pattern="has the code"
        )
        turn += 2
    acts[turn + 1] = finish(REPORT)
    model = ScriptedModel(LongWork(parts, acts=acts))

    ended = await lay_parts(tmp_path, lines=90).run(model, context_policy=WAYS[way])

    assert ended.result.state == "done", ended.result
    assert ended.events("context.")
    opened = ended.results("read_ref")
    for part, told in zip(asked, opened, strict=True):
        assert code(part) in told


@pytest.mark.parametrize("way", SOME)
async def test_every_step_opens_by_its_reference_whatever_became_of_it(
    tmp_path: Path, way: str
) -> None:
    parts = 14
    every = [call("read_ref", ref=f"h{n}", pattern="code") for n in range(1, parts + 1)]
    lead = LongWork(parts, acts={parts + 1: every, parts + 2: finish(REPORT)})

    ended = await lay_parts(tmp_path, lines=90).run(
        ScriptedModel(lead), context_policy=WAYS[way]
    )

    assert ended.result.state == "done", ended.result
    for part, told in enumerate(ended.results("read_ref"), 1):
        assert code(part) in told


async def test_what_is_asked_for_again_soon_after_its_clear_stays_from_then_on(
    tmp_path: Path,
) -> None:
    """It was cleared at turn n, is read again within three, and is not cleared."""
    wanted: list[str] = []

    def again(request: ModelRequest) -> Step:
        if is_summary(request):
            return careful(request)
        stubs = re.findall(r'\[Cleared: read_file\("(part\d+)\.md"\)', seen_in(request))
        number = len(model.requests)
        if stubs and not wanted:
            wanted.append(stubs[-1])
            return call("read_file", path=f"{stubs[-1]}.md")
        if number > 26:
            return finish(REPORT)
        return call("read_file", path=f"part{number}.md")

    model = ScriptedModel(again)
    ended = await lay_parts(tmp_path, lines=50).run(
        model, context_policy={"window_tokens": 8192}
    )

    assert ended.result.state == "done", ended.result
    [part] = wanted
    ends = ended.events("tool.ended")
    reads = [e for e in ends if "has the code" in text_of(e.data["content"])]
    same = [e for e in reads if f"{part}.md" in text_of(e.data["content"])]
    assert len(same) == 2
    cleared = [
        each for e in ended.events("context.cleared") for each in e.data["stubs"]
    ]
    assert same[0].data["call"] in cleared
    assert same[1].data["call"] not in cleared
    assert len(cleared) > 8
    last = seen_in(model.requests[-1])
    assert code(int(part.removeprefix("part"))) in last or "Too long to stand" in last


async def test_a_file_in_sight_is_pointed_to_and_after_its_clear_read_anew(
    tmp_path: Path,
) -> None:
    same = call("read_file", path="part1.md")
    lead = LongWork(12, acts={1: same, 2: same, 12: same, 13: finish(REPORT)})

    ended = await lay_parts(tmp_path, lines=90).run(
        ScriptedModel(lead), context_policy={"window_tokens": 8192}
    )

    assert ended.result.state == "done", ended.result
    reads = ended.results("read_file")
    assert code(1) in reads[0]
    assert code(1) not in reads[1]
    assert "h1" in reads[1]
    cleared = [
        each for e in ended.events("context.cleared") for each in e.data["stubs"]
    ]
    assert ended.events("tool.ended")[0].data["call"] in cleared
    assert code(1) in reads[11]


async def test_a_file_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    bench = lay_parts(tmp_path)

    def changes(_request: ModelRequest) -> Step:
        bench.write("part1.md", "Part 1 has the code K-NEW.\n")
        return same

    same = call("read_file", path="part1.md")
    lead = LongWork(2, acts={1: same, 2: changes, 3: finish(REPORT)})
    ended = await bench.run(ScriptedModel(lead))

    first, second = ended.results("read_file")
    assert code(1) in first
    assert "K-NEW" in second


async def test_what_a_tool_calls_critical_stays_word_for_word(tmp_path: Path) -> None:
    words = "Rule 7 of the house: nobody changes the ledger. 不得修改账本。"

    class House:
        name: ClassVar[str] = "rules_of"
        description: ClassVar[str] = "Tells the rules."
        Args: ClassVar[type[BaseModel]] = NoArgs
        effects: ClassVar[Effects] = "reads"
        timeout_s: ClassVar[float] = 5
        label: ClassVar[str] = "critical"

        def run(self, args: NoArgs, context: ToolContext) -> str:
            return words

    bench = lay_parts(tmp_path)
    lead = LongWork(
        20,
        lambda _request, _n: summary(work="- Read.", open="- Read on."),
        acts={2: call("rules_of")},
    )
    model = ScriptedModel(lead)
    ended = await bench.run(model, tools=[House()], context_policy=OFTEN)

    assert ended.result.state == "done", ended.result
    assert len(compacted(ended.events())) >= 5
    assert all(words in seen_in(each) for each in model.requests[2:])


# ---- other models, other policies ----------------------------------------------------


async def test_another_model_writes_summaries_from_the_record_alone(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(LongWork(14))
    models = {"lead": "claude-sonnet-5-5", "summaries": "claude-haiku-5-5"}

    ended = await lay_parts(tmp_path).run(
        model, model=models, limits={"usd": 20}, context_policy=OFTEN
    )

    assert ended.result.state == "done", ended.result
    edits = compacted(ended.events())
    assert len(edits) >= 3
    assert {each["how"] for each in edits} == {"model"}
    others = [each for each in model.requests if each.model == "claude-haiku-5-5"]
    assert len(others) == len(edits)
    for each in others:
        assert (each.system, each.tools, len(each.messages)) == ([], [], 1)
        assert "<record>" in last_results(each)
        assert "has the code" in last_results(each)
    assert all(each["usd"] for each in edits)
    started = ended.events("run.started")[0].data["models"]
    assert started["summaries"] == "claude-haiku-5-5"


async def test_a_judge_puts_back_what_a_summary_has_lost(tmp_path: Path) -> None:
    lost = "The invoice of Anna Weiss was paid twice."

    def plays(request: ModelRequest) -> Step | Any:
        if "Your part is to find what the summary must not lose" in last_results(
            request
        ):
            return f"- {lost}\n- "
        return lead(request)

    lead = LongWork(
        12,
        lambda _request, _n: summary(work="- Read.", open="- Read on."),
        says={2: lost},
    )
    model = ScriptedModel(plays)
    ended = await lay_parts(tmp_path).run(
        model,
        model="claude-sonnet-5-5",
        limits={"usd": 20},
        context_policy={**OFTEN, "judge": "claude-haiku-5-5"},
    )

    assert ended.result.state == "done", ended.result
    edits = compacted(ended.events())
    assert all(lost in each["added"] for each in edits[:1])
    assert lost in seen_in(model.requests[-1])
    assert seen_in(model.requests[-1]).count(lost) == 1
    purposes = [e.data.get("purpose") for e in ended.events("model.answered")]
    assert purposes.count("judge") == len(edits)
    assert ended.events("run.started")[0].data["models"]["judge"] == "claude-haiku-5-5"
    asked = [e.data for e in ended.events("model.requested") if e.data.get("purpose")]
    assert {(each["purpose"], each["model"]) for each in asked} == {
        ("summary", "claude-sonnet-5-5"),
        ("judge", "claude-haiku-5-5"),
    }


async def test_a_compaction_comes_every_so_many_turns(tmp_path: Path) -> None:
    ended = await lay_parts(tmp_path, lines=90).run(
        ScriptedModel(LongWork(20)), context_policy={"every_turns": 5}
    )

    turns = [each["turn"] for each in compacted(ended.events())]
    assert turns == [6, 11, 16, 21]


async def test_the_policy_window_shows_the_last_steps_and_asks_for_no_summary(
    tmp_path: Path,
) -> None:
    lead = LongWork(30)
    model = ScriptedModel(lead)

    ended = await lay_parts(tmp_path).run(
        model, context_policy={"policy": "window", "last_steps": 8}
    )

    assert ended.result.state == "done", ended.result
    assert lead.asked == 0
    assert {each["how"] for each in compacted(ended.events())} == {"none"}
    shown = [
        sum(m["role"] == "assistant" for m in each.messages) for each in model.requests
    ]
    assert max(shown) == 8
    assert min(shown[8:]) >= 6


async def test_the_policy_budget_shows_the_newest_steps_that_fit(
    tmp_path: Path,
) -> None:
    lead = LongWork(30)
    ended = await lay_parts(tmp_path, lines=90).run(
        ScriptedModel(lead), context_policy={"policy": "budget", "window_tokens": 9000}
    )

    assert ended.result.state == "done", ended.result
    assert lead.asked == 0
    edits = compacted(ended.events())
    assert len(edits) >= 3
    marks = ended.events("agent.started")[0].data["settings"]["context"]
    sizes = [
        event.data["estimated_tokens"] for event in ended.events("model.requested")
    ]
    assert max(sizes) <= marks["hard_tokens"]
