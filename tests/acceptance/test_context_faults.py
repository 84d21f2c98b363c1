"""Faults that others have had when a context was cut, each shown not to be here.

The numbers are those of the list in `test_fault_cases.py`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import anyio
import pytest
from fake_endpoint import Answer, dropped, refused, stream, text, tool_use
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
from refund_runs import LINE, QUOTE, READ, WORK, sent
from run_bench import Ended, NoArgs, Prints, RunBench, finish, submit
from serving import serving

from orchestrator.messages import Block, text_of, tool_calls
from orchestrator.models.base import EXCEEDED, ModelRequest, Usage
from orchestrator.testing import (
    ScriptedModel,
    Step,
    call,
    fail,
    reply,
    say,
    think,
)
from orchestrator.tools.base import Effects, ToolContext

OFTEN = {"every_turns": 3}


def steps_of(request: ModelRequest) -> Iterator[tuple[list[Block], list[Block]]]:
    """Each message of the assistant that is sent, and the one behind it."""
    messages = request.messages
    for at, message in enumerate(messages):
        if message["role"] == "assistant":
            yield message["content"], messages[at + 1]["content"]


def is_paired(request: ModelRequest) -> bool:
    """Whether each call is answered once, in order, right behind it."""
    return all(
        [block["id"] for block in tool_calls(said)]
        == [b["tool_use_id"] for b in told if b["type"] == "tool_result"]
        for said, told in steps_of(request)
    )


class Waits:
    """A tool that never comes back, and whose effect nobody knows."""

    name: ClassVar[str] = "waits"
    description: ClassVar[str] = "Waits."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "effects"
    timeout_s: ClassVar[float] = 60

    def __init__(self, begins: Callable[[], None]) -> None:
        self._begins = begins

    async def run(self, args: NoArgs, context: ToolContext) -> str:
        self._begins()
        await anyio.sleep_forever()
        return ""


# ---- 1 to 6: pairs of call and result, with a compaction in between ------------------


@pytest.mark.slow
async def test_an_interrupted_call_keeps_its_result_through_compactions(
    tmp_path: Path,
) -> None:
    bench = lay_parts(tmp_path)
    with anyio.CancelScope() as scope:
        tools = [Waits(scope.cancel)]
        lead = LongWork(9, acts={5: [say("I wait."), call("waits")]})
        await bench.run(ScriptedModel(lead), tools=tools, context_policy=OFTEN)
    [folder] = bench.runs.glob("2*")

    ended = await bench.resume(folder, LongWork(20), {}, tools=tools)

    assert ended.result.state == "done", ended.result
    assert len(compacted(ended.events())) >= 4
    assert all(map(is_paired, ended.requests))
    [first] = ended.results("waits")
    assert "unknown" in first
    shown = [each for each in ended.requests if first in seen_in(each)]
    assert 1 <= len(shown) < len(ended.requests)


async def test_a_cancelled_sibling_costs_nothing_but_itself_through_compactions(
    tmp_path: Path,
) -> None:
    def breaks(_agent: str) -> str | BaseException:
        return anyio.get_cancelled_exc_class()()

    both = [call("read_file", path="part1.md"), call("prints")]
    lead = LongWork(12, acts=dict.fromkeys((3, 4, 7, 8), both))
    model = ScriptedModel(lead)
    ended = await lay_parts(tmp_path).run(
        model, tools=[Prints(breaks)], context_policy=OFTEN
    )

    assert ended.result.state == "done", ended.result
    assert len(compacted(ended.events())) >= 3
    assert all(map(is_paired, model.requests))
    assert len(ended.results("prints")) == 4
    assert sum("K-1037" in each for each in ended.results("read_file")) >= 1


async def test_three_sent_in_one_turn_have_three_results_beside_a_compaction(
    tmp_path: Path,
) -> None:
    bench = lay_parts(tmp_path)
    bench.write("refunds.md", f"{LINE}\n")
    three = [sent("One"), sent("Two"), sent("Three")]
    done = finish("It takes 14 days [a1#1], [a2#1].")
    lead = LongWork(20, acts={3: three, 16: done})
    workers: dict[str, Any] = {
        "One": WORK,
        "Two": [READ, READ, submit(QUOTE)],
        "Three": [fail("invalid")],
    }
    ended = await bench.play(lead, workers, context_policy=OFTEN)

    assert len(ended.results("delegate")) == 3
    edits = compacted(ended.events(agent="lead"))
    assert len(edits) >= 2
    with_step = [
        each
        for each in ended.requests
        if any(len(tool_calls(said)) == 3 for said, _ in steps_of(each))
    ]
    assert with_step
    assert all(map(is_paired, ended.requests))
    assert "a3 | Three | failed" in edits[-1]["text"]


class OddEndpoint:
    """Two calls a turn whose ids repeat; every third answer breaks off in a call."""

    def __init__(self, turns: int) -> None:
        self.turns, self.turn, self.breaks = turns, 0, 0

    def __call__(self, asked: dict[str, Any]) -> Answer:
        newest = text_of(asked["messages"][-1]["content"])
        if "Write the summary of the conversation" in newest:
            said = summary(work=f"- {self.turn} turns are over.", open="- Read on.")
            return stream(text(said), piece=200)
        reads = [
            tool_use("toolu_1", "read_file", path=f"part{self.turn * 2 + 1}.md"),
            tool_use("toolu_1", "read_file", path=f"part{self.turn * 2 + 2}.md"),
        ]
        if self.turn % 3 == 2 and self.breaks < self.turn // 3 + 1:
            self.breaks += 1
            return dropped(text("Half of"), *reads, ending="abort", keep=0.8)
        self.turn += 1
        if self.turn > self.turns:
            return stream(tool_use("toolu_1", "finish", report=REPORT))
        return stream(text("Both."), *reads)


async def test_half_answers_and_repeated_ids_stay_legal_through_compactions(
    tmp_path: Path,
) -> None:
    """Over the wire, at an endpoint that wants all results in one message."""
    bench, policy = lay_parts(tmp_path), OddEndpoint(15)
    async with serving(bench.runs, policy) as (endpoint, here):
        task = bench.task(model="claude-haiku-5-5", context_policy=OFTEN)
        ended = Ended(await here.run(task), None)  # type: ignore[arg-type]

    assert ended.result.state == "done", ended.result
    assert endpoint.violations == []
    assert policy.breaks == 5
    assert len(compacted(ended.events())) >= 4
    reads = Counter(each for each in ended.results("read_file"))
    assert sum(reads.values()) == 30
    assert "Half of" not in str(endpoint.requests)


# ---- 8, 9: thinking ------------------------------------------------------------------


async def test_a_clear_changes_results_only_and_thinking_goes_whole(
    tmp_path: Path,
) -> None:
    thoughts: dict[int, Block] = {}

    def thinks(request: ModelRequest) -> Step:
        if is_summary(request):
            return careful(request)
        number = len(thoughts) + 1
        thoughts[number] = think(f"Thought {number}: I read on.")
        does = call("read_file", path=f"part{number}.md")
        if number == 14:
            does = finish(REPORT)
        return reply(thoughts[number], {**does, "id": f"toolu_{number}"})

    scripted = ScriptedModel(thinks)
    bench = lay_parts(tmp_path, lines=90)
    ended = await bench.run(
        scripted,
        model="claude-sonnet-5-5",
        limits={"usd": 50},
        context_policy={"window_tokens": 8192, "every_turns": 9},
    )

    assert ended.result.state == "done", ended.result
    assert ended.events("context.cleared")
    assert ended.events("context.compacted")
    bare = 0
    for request in scripted.requests:
        for said, _ in steps_of(request):
            calls = tool_calls(said)
            if not calls:
                continue  # an answer beside the conversation
            [made] = calls
            number = int(made["id"].removeprefix("toolu_"))
            assert made["input"] == {"path": f"part{number}.md"}
            kept = [block for block in said if block["type"] == "thinking"]
            assert kept in ([], [thoughts[number]])
            bare += not kept
    assert bare


@pytest.mark.parametrize(
    ("model", "is_bound"), [("claude-sonnet-5", False), ("claude-sonnet-5-5", True)]
)
async def test_the_open_step_stays_whole_where_a_request_is_refused_as_too_long(
    tmp_path: Path, model: str, is_bound: bool
) -> None:
    """The model thought, called, and was told; then the request is too long."""
    is_full = False

    def plays(request: ModelRequest) -> Step:
        nonlocal is_full
        done = sum(message["role"] == "assistant" for message in request.messages)
        if done == 4 and not is_full:
            is_full = True
            return fail("too_long", "prompt is too long: 9100 tokens > 9000 maximum")
        if is_full:
            return finish(REPORT)
        read = call("read_file", path=f"part{done + 1}.md")
        return reply(think(f"Thought {done}."), {**read, "id": f"toolu_{done}"})

    scripted = ScriptedModel(plays)
    ended = await lay_parts(tmp_path, lines=120).run(
        scripted, model=model, limits={"usd": 50}
    )

    assert ended.result.state == "done", ended.result
    [edit] = ended.events("context.")
    assert edit.data["why"] == "too_long"
    said, told = list(steps_of(scripted.requests[-1]))[-1]
    assert [block["id"] for block in tool_calls(said)] == ["toolu_3"]
    assert "Part 4 has the code" in text_of(told)
    assert any(block["type"] == "thinking" for block in said) != is_bound


# ---- 16, 20, 23, 25, 33: when is compacted, and how often ----------------------------


async def test_an_answer_that_fills_the_window_is_no_finished_turn(
    tmp_path: Path,
) -> None:
    full = reply(
        "I would say that",
        stop_reason=EXCEEDED,
        usage=Usage(input_tokens=9000, output_tokens=300),
    )
    bench = lay_parts(tmp_path, lines=90)
    bench.write("refunds.md", f"{LINE}\n")
    worker = LongWork(4, acts={5: full, 6: submit(QUOTE)})
    worker.acts = {**worker.acts, 1: READ}
    lead = LongWork(6, acts={5: full, 7: sent("One"), 8: finish("In 14 days [a1#1].")})

    ended = await bench.play(lead, {"One": worker})

    assert ended.result.state == "done", ended.result
    assert [e.data["status"] for e in ended.events("subagent.ended")] == ["complete"]
    for agent in ("lead", "a1"):
        edits = ended.events("context.", agent)
        assert "exceeded" in {each.data["why"] for each in edits}
        answered = ended.events("model.answered", agent)
        [exceeded] = [e for e in answered if e.data["stop_reason"] == EXCEEDED]
        assert exceeded.data["usage"]["input_tokens"] == 9000
        assert not exceeded.data["kept"]
    assert ended.result.totals.input_tokens >= 18_000
    assert not any("I would say that" in seen_in(each) for each in ended.requests)


class Pinned:
    """A tool whose results must stay word for word."""

    name: ClassVar[str] = "rules_of"
    description: ClassVar[str] = "Tells the rules."
    Args: ClassVar[type[BaseModel]] = NoArgs
    effects: ClassVar[Effects] = "reads"
    timeout_s: ClassVar[float] = 5
    label: ClassVar[str] = "critical"

    def __init__(self) -> None:
        self.count = 0

    def run(self, args: NoArgs, context: ToolContext) -> str:
        self.count += 1
        return f"Rule {self.count} must hold.\n" + "Nobody may do otherwise. " * 120


async def test_what_cannot_become_smaller_is_not_compacted_again_and_again(
    tmp_path: Path,
) -> None:
    lead = LongWork(20, acts={n: call("rules_of") for n in (1, 2, 3)})
    model = ScriptedModel(lead)

    ended = await lay_parts(tmp_path, lines=60).run(
        model, tools=[Pinned()], context_policy={"window_tokens": 9000}
    )

    assert ended.result.state == "done", ended.result
    assert ended.events("context.")
    assert lead.asked <= 8
    turns = Counter(
        event.data["turn"]
        for event in ended.events("model.requested")
        if event.data.get("purpose")
    )
    assert max(turns.values(), default=0) <= 2


async def test_the_size_of_before_a_compaction_does_not_fire_it_again(
    tmp_path: Path,
) -> None:
    ended = await lay_parts(tmp_path, lines=90).run(
        ScriptedModel(LongWork(40)), context_policy={"window_tokens": 7600}
    )

    assert ended.result.state == "done", ended.result
    edits = compacted(ended.events())
    assert len(edits) >= 2
    turns = [each["turn"] for each in edits]
    gaps = [later - turn for turn, later in itertools.pairwise(turns)]
    assert min(gaps) >= 3
    told = {
        event.data["turn"]: event.data["usage"]["input_tokens"]
        for event in ended.events("model.answered")
        if not event.data.get("purpose")
    }
    for each in edits:
        assert told[each["turn"]] == pytest.approx(each["tokens_after"], rel=0.12)


async def test_empty_answers_cut_by_length_are_bounded_and_no_reason_to_compact(
    tmp_path: Path,
) -> None:
    empty = reply(stop_reason="max_tokens")
    lead = LongWork(30, acts=dict.fromkeys(range(6, 2000), empty))
    model = ScriptedModel(lead)

    ended = await lay_parts(tmp_path).run(model, context_policy={"every_turns": 4})

    assert ended.result.state in ("failed", "partial")
    assert ended.result.reason
    assert len(model.requests) <= 12


async def test_a_prompt_one_token_too_long_costs_one_more_request(
    tmp_path: Path,
) -> None:
    """In a subagent, whose window holds 8192, at an endpoint that says so."""
    told = (
        "input length and `max_tokens` exceed context limit: 6145 + 2048 > 8192, "
        "decrease input length or `max_tokens` and try again"
    )
    bench = RunBench(tmp_path, {"refunds.md": f"{LINE}\n"})
    worker: list[Step] = [READ, fail("too_long", told), submit(QUOTE)]
    ended = await bench.play(
        [sent("One"), finish("In 14 days [a1#1].")],
        {"One": worker},
        limits={"max_output_tokens": 2048},
    )

    assert ended.result.state == "done", ended.result
    asked = [each for each in ended.requests if "# One\n" in seen_in(each)]
    outputs = [each.max_output_tokens for each in asked]
    assert len(asked) == 3
    assert outputs[2] < outputs[1]


# ---- 30: characters that are tokens --------------------------------------------------


class Wide:
    """An endpoint that counts a token for each character, and holds 20,000."""

    def __init__(self, reads: int) -> None:
        self.reads, self.turn, self.too_long = reads, 0, 0
        self.sizes: list[int] = []

    def __call__(self, asked: dict[str, Any]) -> Answer:
        size = sum(
            len(text_of(m["content"])) + 20 * len(m["content"])
            for m in asked["messages"]
        )
        size += (len(str(asked["tools"])) + len(str(asked["system"]))) // 4
        if size + asked["max_tokens"] > 20_000:
            self.too_long += 1
            told = f"prompt is too long: {size} tokens > 20000 maximum"
            return refused(400, "invalid_request_error", told)
        self.sizes.append(size)
        usage = {"input_tokens": size, "output_tokens": 60}
        newest = text_of(asked["messages"][-1]["content"])
        if "Write the summary of the conversation" in newest:
            said = summary(work=f"- 已读到第 {self.turn} 份。", open="- 继续读。")
            return stream(text(said), usage=usage, piece=200)
        self.turn += 1
        if self.turn > self.reads:
            return stream(tool_use("toolu_end", "finish", report=REPORT), usage=usage)
        read = {"path": f"第{self.turn}份.md"}
        return stream(
            text("继续。"), tool_use(f"t{self.turn}", "read_file", **read), usage=usage
        )


async def test_chinese_is_counted_as_what_it_is_and_a_tail_stays(
    tmp_path: Path,
) -> None:
    bench, policy = RunBench(tmp_path), Wide(40)
    for number in range(1, 41):
        line = f"第{number}份文件说明了退款的期限和条件,请仔细阅读。" * 8
        bench.write(f"第{number}份.md", f"{line}\n" * 4)
    async with serving(bench.runs, policy) as (endpoint, here):
        task = bench.task(
            objective="请阅读所有文件,总结退款期限。",
            model="claude-haiku-5-5",
            limits={"usd": 20, "max_output_tokens": 2048},
            context_policy={"window_tokens": 20_000},
        )
        ended = Ended(await here.run(task), None)  # type: ignore[arg-type]

    assert ended.result.state == "done", ended.result
    assert endpoint.violations == []
    assert policy.too_long == 0
    assert ended.events("context.")
    assert max(policy.sizes) < 18_000
    for each in compacted(ended.events()):
        assert each["kept_messages"] >= 2


# ---- 55: asking again for what was cleared -------------------------------------------


async def test_asking_again_for_what_was_cleared_is_no_repeat(tmp_path: Path) -> None:
    """Where it is still there, the third time draws a warning and the fifth ends."""
    same: dict[int, Step] = {n: call("read_file", path="part1.md") for n in range(1, 5)}
    same[5] = finish(REPORT)
    bench, warned = lay_parts(tmp_path, lines=90), []
    for policy in ({}, {"policy": "window", "last_steps": 1}):
        ended = await bench.run(
            ScriptedModel(LongWork(0, acts=same)), context_policy=policy
        )
        assert ended.result.state == "done", ended.result
        added = ended.events("text.added")
        warned.append([e for e in added if e.data["reason"] == "nudge"])
        third = ended.results("read_file")[2]

    assert warned[0]
    assert not warned[1]
    assert "Part 1 has the code" in third
