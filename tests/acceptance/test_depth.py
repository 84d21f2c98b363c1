"""Subagents that send subagents of their own: bounded, and the truth at every level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import pytest
from refund_runs import FILES, QUOTE, READ, SPLITTER, WORK, replies_in, sent, settled
from run_bench import Ended, RunBench, brief, delegate, finish, in_turn, played, submit

from orchestrator.models.base import ModelRequest
from orchestrator.testing import Step, call, fail, hang


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, {**FILES, "agents/splitter.md": SPLITTER})


async def play(
    bench: RunBench,
    lead: Sequence[Step],
    workers: Mapping[str, Sequence[Step]],
    **limits: int,
) -> Ended:
    return await bench.play(
        lead,
        workers,
        agents=["splitter", "explorer"],
        limits={"depth": 2, **limits},
    )


REPORT = finish("It takes 14 days [a1#1].")


async def test_findings_go_up_one_level_at_a_time(bench: RunBench) -> None:
    ended = await play(
        bench,
        [sent("Whole", agent="splitter"), REPORT],
        {"Whole": [sent("Left", "Right"), submit(QUOTE)], "Left": WORK, "Right": WORK},
    )

    assert ended.result.state == "done", ended.result
    accepted = [(e.agent, e.data["id"]) for e in ended.events("subagent.accepted")]
    assert accepted == [("lead", "a1"), ("a1", "a2"), ("a1", "a3")]
    assert "[a2#1]" in ended.results("delegate", "a1")[0]
    [told] = ended.results("delegate", "lead")
    assert "[a2#1]" not in told
    assert '<findings agent="a1"' in told
    # What it quotes was read below it, and counts.
    assert "unsupported" not in ended.text("report.md").lower()


async def test_the_lead_cannot_cite_what_it_was_not_given(bench: RunBench) -> None:
    report = finish("It takes 14 days [a2#1].")
    ended = await play(
        bench,
        [sent("Whole", agent="splitter"), report, report],
        {"Whole": [sent("Left"), submit(QUOTE)], "Left": WORK},
    )

    assert ended.result.missing == [
        "wrong citation [a2#1]: no findings of `a2`; there are: a1"
    ]


@pytest.mark.parametrize("at_once", [1, 2])
async def test_parents_that_wait_leave_their_places_to_their_children(
    bench: RunBench, at_once: int
) -> None:
    titles = [f"Whole {n}" for n in range(3)]
    parts = [f"Part {n}" for n in range(3)]
    ended = await play(
        bench,
        [sent(*titles, agent="splitter"), REPORT],
        {
            **{
                title: [sent(part), submit(QUOTE)]
                for title, part in zip(titles, parts, strict=True)
            },
            **dict.fromkeys(parts, WORK),
        },
        concurrency=at_once,
    )

    assert ended.result.state == "done", ended.result
    assert len(ended.events("subagent.ended")) == 6


async def test_one_that_always_delegates_is_bounded_by_depth(bench: RunBench) -> None:
    def always(request: ModelRequest) -> Step:
        done = replies_in(request)
        tools = {tool["name"] for tool in request.tools}
        if "delegate" in tools:
            return sent(f"Again {done}", agent="splitter")
        return READ if not done else submit(QUOTE)

    def lead(request: ModelRequest) -> Step:
        return REPORT if replies_in(request) else sent("Again", agent="splitter")

    model = played(lead, {"Again": always, **{f"Again {n}": always for n in range(9)}})
    ended = await bench.run(
        model,
        agents=["splitter"],
        limits={"depth": 3, "subagents": 12, "turns": 6},
    )

    assert ended.result.state == "partial"
    accepted = ended.events("subagent.accepted")
    assert len(accepted) <= 12
    parents = {e.data["id"]: e.agent for e in accepted}

    def depth(agent: str) -> int:
        return 1 + depth(parents[agent]) if agent in parents else 0

    assert max(depth(agent) for agent in parents) == 3
    assert len(ended.events("subagent.ended")) == len(accepted)


async def test_a_call_of_delegate_without_a_level_left_is_refused(
    bench: RunBench,
) -> None:
    ended = await bench.play(
        [sent("Whole", agent="splitter"), REPORT],
        {"Whole": [sent("Left"), *WORK]},
        agents=["splitter"],
    )

    [told] = ended.results("delegate", "a1")
    assert 'There is no tool "delegate"' in told
    assert len(ended.events("subagent.accepted")) == 1
    assert ended.result.state == "done"


async def test_a_failure_below_is_told_upwards_and_is_not_done(
    bench: RunBench,
) -> None:
    ended = await play(
        bench,
        [sent("Whole", agent="splitter"), REPORT],
        {
            "Whole": [sent("Left", "Right"), submit(QUOTE)],
            "Left": WORK,
            "Right": [fail("invalid", "no such model")],
        },
    )

    [told] = ended.results("delegate", "lead")
    assert 'status="partial"' in told
    assert (
        "Note: of its own subagents: subagent a3 (Right) failed: invalid: no such model"
        in told
    )


async def test_a_fault_of_the_program_above_ends_all_below_it(
    bench: RunBench,
) -> None:
    def breaks(_request: ModelRequest) -> Step:
        raise KeyError("a bug")

    model = played(
        [sent("Whole", agent="splitter"), REPORT, REPORT],
        {
            "Whole": in_turn(sent("Left", "Right", wait="first"), breaks),
            "Left": WORK,
            "Right": [hang()],
        },
    )
    ended = await bench.run(model, agents=["splitter", "explorer"], limits={"depth": 2})

    over = {e.data["id"]: e.data for e in ended.events("subagent.ended")}
    assert over["a3"]["reason"] == "a1 ended before it did"
    assert over["a1"]["outcome"] == "failed"
    assert "KeyError" in over["a1"]["traceback"]


async def test_cancelling_one_ends_all_below_it(bench: RunBench) -> None:
    lead = [
        delegate(brief("Whole", agent="splitter"), brief("Other"), wait="first"),
        call("cancel", agent="a1", reason="The other one answers it."),
        finish("It takes 14 days [a2#1]."),
    ]
    ended = await play(
        bench,
        lead,
        {
            "Whole": [sent("Left", "Right")],
            "Left": [hang()],
            "Right": [hang()],
            "Other": [READ, READ, READ, READ, submit(QUOTE)],
        },
        concurrency=4,
    )

    assert ended.result.state == "done", ended.result
    over = {e.data["id"]: e.data for e in ended.events("subagent.ended")}
    assert {over[each]["outcome"] for each in ("a1", "a3", "a4")} == {"cancelled"}
    assert over["a3"]["reason"] == "a1 ended before it did"


async def test_what_is_spent_below_counts_against_the_one_above(
    bench: RunBench,
) -> None:
    lead = [
        sent("Whole", agent="splitter", limits={"tokens": 60_000}),
        REPORT,
        REPORT,
    ]
    looks: list[Step] = [call("grep", pattern=f"word {n}") for n in range(60)]
    ended = await play(
        bench, lead, {"Whole": [sent("Left"), submit(QUOTE)], "Left": looks}
    )

    spent = {
        agent: sum(
            e.data["usage"]["input_tokens"] + e.data["usage"]["output_tokens"]
            for e in ended.events("model.answered", agent)
        )
        for agent in ("a1", "a2")
    }
    assert 0 < spent["a2"] < sum(spent.values()) <= 60_000
    limits = [e.agent for e in ended.events("limit.reached")]
    assert "a2" in limits


async def test_a_subagent_that_hands_in_while_its_own_are_out_is_told_once(
    bench: RunBench,
) -> None:
    ended = await play(
        bench,
        [sent("Whole", agent="splitter"), REPORT],
        {
            "Whole": [
                READ,
                sent("Left", wait="none"),
                submit(QUOTE),
                submit(QUOTE),
            ],
            "Left": [hang()],
        },
    )

    told, _ = ended.results("submit_findings", "a1")
    assert "a2 (Left): " in told
    [up] = ended.results("delegate", "lead")
    assert 'status="partial"' in up
    assert "subagent a2 (Left) was cancelled: a1 ended before it did" in up


async def test_a_tree_that_is_cut_off_goes_on_at_every_level(bench: RunBench) -> None:
    with anyio.CancelScope() as scope:

        async def stops(_request: ModelRequest) -> Step:
            await settled()
            scope.cancel()
            return hang()

        model = played(
            [sent("Whole", agent="splitter")],
            {
                "Whole": [sent("Left", "Right")],
                "Left": WORK,
                "Right": in_turn(READ, stops),
            },
        )
        await bench.run(model, agents=["splitter", "explorer"], limits={"depth": 2})
    [folder] = bench.runs.glob("2*")

    ended = await bench.resume(
        folder, [REPORT], {"Whole": [submit(QUOTE)], "Right": [submit(QUOTE)]}
    )

    assert ended.result.state == "done", ended.result
    assert len(ended.events("subagent.accepted")) == 3
    [told] = ended.results("delegate", "a1")
    assert '<findings agent="a2"' in told
    assert '<findings agent="a3"' in told


async def test_nobody_below_sees_more_than_the_one_above(bench: RunBench) -> None:
    bench.write("other/secret.md", "Nobody below may see this line.\n")
    whole = sent("Whole", agent="splitter", scope={"exclude": ["other"]})
    wide = sent("Left", scope={"include": ["other/secret.md"]})
    ended = await play(
        bench,
        [whole, REPORT],
        {
            "Whole": [wide, sent("Left"), submit(QUOTE)],
            "Left": [call("read_file", path="other/secret.md"), *WORK],
        },
    )

    refused, _ = ended.results("delegate", "a1")
    assert "`other/secret.md` cannot be used" in refused
    read, _ = ended.results("read_file", "a2")
    assert "Nobody below" not in read
