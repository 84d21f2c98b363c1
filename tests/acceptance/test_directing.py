"""A lead that directs subagents which work on: each result reaches it exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from refund_runs import (
    FILES,
    LINE,
    MORE,
    OTHER,
    QUOTE,
    READ,
    WORK,
    Gate,
    frames,
    sent,
    settled,
)
from run_bench import (
    Ended,
    RunBench,
    brief,
    delegate,
    finish,
    in_turn,
    item,
    played,
    submit,
)

from orchestrator.messages import Block
from orchestrator.models.base import ModelRequest
from orchestrator.testing import Script, Step, call, fail, hang


@pytest.fixture
def bench(tmp_path: Path) -> RunBench:
    return RunBench(tmp_path, FILES)


def shown(ended: Ended) -> list[str]:
    """Whose findings the lead was shown in the whole conversation, in order."""
    return frames(str(ended.requests_of("lead")[-1].messages).replace("\\n", "\n"))


async def test_the_first_result_comes_back_and_the_others_come_by_themselves(
    bench: RunBench,
) -> None:
    gate = Gate()
    lead = in_turn(
        sent("Quick", "Slow", wait="first"),
        gate.opened(READ),
        READ,
        finish("It takes 14 days [a1#1], [a2#1]."),
    )
    ended = await bench.play(lead, {"Quick": WORK, "Slow": gate})

    assert ended.result.state == "done", ended.result
    [told] = ended.results("delegate")
    assert frames(told) == ["a1"]
    assert "a2 | Slow | at work" in told
    [late] = [e for e in ended.events("text.added") if e.data["reason"] == "findings"]
    assert late.data["delivers"] == ["a2"]
    assert "Subagents have ended in the meantime." in late.data["text"]
    assert shown(ended) == ["a1", "a2"]


async def test_who_waits_for_none_goes_on_at_once_and_can_wait_later(
    bench: RunBench,
) -> None:
    one, two = Gate(), Gate()
    lead = in_turn(
        sent("One", "Two", wait="none"),
        call("wait_for", timeout_s=0),
        one.opened(call("wait_for", mode="any")),
        two.opened(call("wait_for", agents=["a2"], mode="all")),
        call("wait_for"),
        finish("It takes 14 days [a1#1], [a2#1]."),
    )
    ended = await bench.play(lead, {"One": one, "Two": two})

    assert ended.result.state == "done", ended.result
    [table] = ended.results("delegate")
    assert frames(table) == []
    assert "a1 | One | " in table
    now, first, second, last = ended.results("wait_for")
    assert frames(now) == []
    assert now.startswith("agent | title | "), now
    assert sorted(frames(first + second) + frames(last)) == ["a1", "a2"]
    assert "No subagent is at work, and all findings have been delivered." in last
    assert sorted(shown(ended)) == ["a1", "a2"]


async def test_whom_nobody_sent_cannot_be_waited_for(bench: RunBench) -> None:
    lead: list[Step] = [
        sent("One"),
        [call("wait_for", agents=["a7"]), call("cancel", agent="a9", reason="No.")],
        finish("It takes 14 days [a1#1]."),
    ]
    ended = await bench.play(lead, {"One": WORK})

    [waited], [cancelled] = ended.results("wait_for"), ended.results("cancel")
    assert waited == "no subagent `a7` of yours; there are: a1"
    assert cancelled == "no subagent `a9` of yours; there are: a1"


async def test_a_report_is_held_back_once_while_subagents_are_out(
    bench: RunBench,
) -> None:
    gate = Gate()
    report = finish("It takes 14 days [a1#1].")
    lead = in_turn(sent("One", wait="none"), report, gate.opened(READ), report)
    ended = await bench.play(lead, {"One": gate})

    assert ended.result.state == "done", ended.result
    held, _ = ended.results("finish")
    assert "a1 (One): at work" in held
    assert [e.data["unfinished"] for e in ended.events("report.submitted")] == [
        ["a1"],
        [],
    ]
    assert shown(ended) == ["a1"]


async def test_a_report_that_insists_cancels_who_is_out_and_is_partial(
    bench: RunBench,
) -> None:
    report = finish("It takes some days.")

    async def later(_request: ModelRequest) -> Step:
        await settled()
        return report

    ended = await bench.play(
        in_turn(sent("One", wait="none"), report, later), {"One": [READ, hang()]}
    )

    assert (ended.result.state, ended.result.exit_code) == ("partial", 3)
    assert ended.result.missing == [
        "subagent a1 (One) was cancelled: lead ended before it did"
    ]
    [over] = ended.events("subagent.ended")
    assert over.data["outcome"] == "cancelled"
    assert "Files it opened: refunds.md" in over.data["findings"]["summary"]


async def test_a_report_in_the_step_of_its_findings_was_written_without_them(
    bench: RunBench,
) -> None:
    report = finish("It takes 14 days [a1#1].")
    ended = await bench.play([[sent("One"), report], report], {"One": WORK})

    assert ended.result.state == "done", ended.result
    held, _ = ended.results("finish")
    assert "a1 (One): its findings come with this message" in held
    assert shown(ended) == ["a1"]


async def test_findings_that_come_with_an_insisted_report_are_missing_in_it(
    bench: RunBench,
) -> None:
    gate = Gate()
    report = finish("It takes some days.")
    insisted: list[Block] = [call("wait_for", mode="all"), report]
    lead = in_turn(sent("One", wait="none"), report, gate.opened(insisted))
    ended = await bench.play(lead, {"One": gate})

    assert ended.result.missing == [
        "subagent a1 (One): its findings came too late for the report"
    ]


async def test_text_without_a_call_waits_for_who_is_out_in_place_of_a_nudge(
    bench: RunBench,
) -> None:
    gate = Gate()
    lead: Script = in_turn(
        sent("One", "Two", wait="none"),
        "I wait.",
        finish("It takes 14 days [a1#1], [a2#1]."),
    )
    gate.is_open.set()
    ended = await bench.play(lead, {"One": gate, "Two": WORK})

    assert ended.result.state == "done", ended.result
    reasons = [event.data["reason"] for event in ended.events("text.added", "lead")]
    assert reasons == ["findings"]
    assert sorted(shown(ended)) == ["a1", "a2"]


async def test_a_limit_of_the_lead_waits_for_who_is_out_before_the_last_call(
    bench: RunBench,
) -> None:
    gate = Gate()
    lead = in_turn(
        sent("One", "Two", wait="none"),
        READ,
        gate.opened(finish("It takes 14 days [a1#1], [a2#1].")),
    )
    gate.is_open.set()
    ended = await bench.play(lead, {"One": gate, "Two": WORK}, limits={"turns": 3})

    assert sorted(shown(ended)) == ["a1", "a2"]
    assert ended.result.missing == [
        "the lead was stopped by a limit: `turns` reached: used 3 of 3"
    ]


async def test_one_that_is_not_needed_is_cancelled_and_nothing_is_missing(
    bench: RunBench,
) -> None:
    lead = in_turn(
        sent("One", "Two", wait="first"),
        call("cancel", agent="a2", reason="The first one answers it."),
        finish("It takes 14 days [a1#1]."),
    )
    ended = await bench.play(lead, {"One": WORK, "Two": [READ, hang()]})

    assert ended.result.state == "done", ended.result
    [told] = ended.results("cancel")
    assert frames(told) == ["a2"]
    assert "lead cancelled it: The first one answers it." in told
    assert "Withdrawn by the lead: a2 (Two): lead cancelled it" in ended.text(
        "report.md"
    )
    [asked] = ended.events("control.received")
    assert (asked.data["action"], asked.data["by"]) == ("cancel", "lead")


async def test_a_further_question_is_answered_on_what_was_read(
    bench: RunBench,
) -> None:
    lead = [
        sent("One"),
        call("follow_up", agent="a1", question="And without a receipt?"),
        finish("It takes 14 days [a1#1], 30 without a receipt [a1#2]."),
    ]
    ended = await bench.play(lead, {"One": [*WORK, submit(MORE)]})

    assert ended.result.state == "done", ended.result
    [told] = ended.results("follow_up")
    assert "Asked: And without a receipt?" in told
    assert "[a1#2] Without a receipt" in told
    *_, last = ended.requests_of("a1")
    assert [message["role"] for message in last.messages] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    accepted, question = last.messages[-1]["content"]
    assert accepted["type"] == "tool_result"
    assert question["text"].endswith("# Further question\n\nAnd without a receipt?")
    kept = ended.json("agents/a1/findings.json")
    assert [each["question"] for each in kept["follow_ups"]] == [
        "And without a receipt?"
    ]
    assert "## a1#2" in ended.text("agents/a1/findings.md")


async def test_a_further_question_has_five_turns_of_its_own(bench: RunBench) -> None:
    looks: list[Step] = [call("grep", pattern=f"word {n}") for n in range(4)]
    lead = [
        sent("One"),
        call("follow_up", agent="a1", question="And without a receipt?"),
        finish("It takes 14 days [a1#1], 30 without a receipt [a1#2]."),
    ]
    ended = await bench.play(
        lead, {"One": [*WORK, *looks, submit(MORE)]}, limits={"turns": 3}
    )

    [told] = ended.results("follow_up")
    assert "stopped by a limit: `turns` reached: used 7 of 7" in told
    assert "[a1#2] Without a receipt" in told


@pytest.mark.parametrize(
    ("script", "why"),
    [
        pytest.param([READ, hang()], "a1 is still at work", id="at work"),
        pytest.param([fail("invalid")], "a1 was cut off (failed)", id="failed"),
    ],
)
async def test_who_cannot_be_asked_further_is_told(
    bench: RunBench, script: list[Step], why: str
) -> None:
    report = finish("It takes some days.")
    lead = [
        sent("One", "Two", wait="first"),
        call("follow_up", agent="a1", question="And without a receipt?"),
        report,
        report,
    ]
    slow: list[Step] = WORK if len(script) > 1 else [READ, hang()]
    ended = await bench.play(lead, {"One": script, "Two": slow})

    [told] = ended.results("follow_up")
    assert told.startswith(why)


async def test_of_two_questions_in_one_step_only_one_is_put(bench: RunBench) -> None:
    asked = [
        call("follow_up", agent="a1", question=f"Question {n}: which line says so?")
        for n in range(3)
    ]
    lead: list[Step] = [
        sent("One"),
        [*asked, call("follow_up", agent="a1", question=" \n ")],
        finish("It takes 14 days [a1#1], [a1#2]."),
    ]
    ended = await bench.play(lead, {"One": [*WORK, submit(MORE)]})

    assert ended.result.state == "done", ended.result
    told = sorted(ended.results("follow_up"), key=len)
    assert told[0] == "the question is empty: say what you want to know"
    assert told[1] == told[2] == "a1 is still at work: `wait_for` it first, then ask"
    assert frames(told[3]) == ["a1"]
    assert len(ended.events("subagent.asked")) == 1


async def test_a_new_one_answers_where_the_old_one_cannot_go_on(
    bench: RunBench,
) -> None:
    lead = [
        sent("One"),
        call("follow_up", agent="a1", question="And without a receipt?"),
        finish("It takes 14 days [a1#1], 30 without a receipt [a2#1]."),
    ]
    new: list[Step] = [READ, submit(MORE)]
    model = played(
        lead,
        {
            "One: And without a receipt?": new,
            "One": [*WORK, fail("too_long", "prompt is too long")],
        },
    )
    ended = await bench.run(model)

    assert ended.result.state == "done", ended.result
    [told] = ended.results("follow_up")
    assert "a1 could not go on: a new subagent was sent." in told
    assert "[a2#1] Without a receipt" in told
    first = str(ended.requests_of("a2")[0].messages)
    assert "A refund takes 14 days after arrival. [refunds.md:1]" in first


async def test_a_brief_that_was_answered_is_answered_from_the_store(
    bench: RunBench,
) -> None:
    lead = [sent("One"), sent("One"), finish("It takes 14 days [a1#1].")]
    ended = await bench.play(lead, {"One": WORK})

    assert ended.result.state == "done", ended.result
    _, again = ended.results("delegate")
    assert frames(again) == ["a1"]
    assert "the brief is the same as before" in again
    assert [e.data["id"] for e in ended.events("brief.reused")] == ["a1"]
    assert len(ended.events("subagent.accepted")) == 1


async def test_a_changed_scope_is_looked_at_anew(bench: RunBench) -> None:
    def changed(_request: ModelRequest) -> Step:
        bench.write("refunds.md", f"{LINE}\n{OTHER}\nAnd that is all.\n")
        return sent("One")

    lead = in_turn(sent("One"), changed, finish("It takes 14 days [a2#1]."))
    ended = await bench.play(lead, {"One": in_turn(*WORK, *WORK)})

    assert [e.data["id"] for e in ended.events("subagent.accepted")] == ["a1", "a2"]
    assert "- Changed since it was read: `refunds.md` (a1#1)" in ended.text("report.md")


async def test_a_change_between_reading_and_delivery_is_told_with_the_findings(
    bench: RunBench,
) -> None:
    def changes(_request: ModelRequest) -> Step:
        bench.write("refunds.md", "It never takes long.\n")
        return submit(QUOTE)

    ended = await bench.play(
        [sent("One"), finish("It takes 14 days [a1#1].")],
        {"One": in_turn(READ, changes)},
    )

    [told] = ended.results("delegate")
    assert "Note: changed since it was read: `refunds.md` (a1#1)" in told


async def test_citations_in_a_brief_become_places(bench: RunBench) -> None:
    review = brief("Review", background="Draft: it takes 14 days [a1#1].")
    lead = [
        sent("One"),
        delegate(review),
        finish("It takes 14 days [a1#1]."),
    ]
    ended = await bench.play(lead, {"One": WORK, "Review": WORK})

    assert "it takes 14 days [refunds.md:1]." in str(
        ended.requests_of("a2")[0].messages
    )


@pytest.mark.slow
async def test_a_burst_of_late_findings_becomes_references(bench: RunBench) -> None:
    titles = [f"Case {n}" for n in range(20)]
    many = [
        item(f"{LINE} Case number {n}, told at some length.", "refunds.md:1", LINE)
        for n in range(50)
    ]
    gate = Gate(READ, submit(*many))
    lead = in_turn(
        sent(*titles, wait="none", deliverable={"max_tokens": 4000}),
        call("wait_for", mode="all", timeout_s=0.01),
        gate.opened(call("wait_for", mode="all")),
        finish("It takes 14 days [a1#1]."),
    )
    ended = await bench.play(
        lead,
        dict.fromkeys(titles, gate),
        limits={"concurrency": 20},
    )

    assert ended.result.state == "done", ended.result
    assert sorted(shown(ended)) == sorted(f"a{n}" for n in range(1, 21))
    for event in ended.events("tool.ended", "lead"):
        assert event.data["tokens"] < 200_000 * 0.26
    assert "and the rest, with `read_ref`: art_" in "".join(ended.results("wait_for"))


# ---- stopped and gone on with --------------------------------------------------------


async def cut(
    bench: RunBench, lead: Sequence[Step], workers: dict[str, Script]
) -> Path:
    """A run that is cut off when its lead asks for the step behind these."""
    with anyio.CancelScope() as scope:

        async def stops(_request: ModelRequest) -> Step:
            await settled()
            scope.cancel()
            return hang()

        await bench.run(played(in_turn(*lead, stops), workers))
    assert scope.cancelled_caught
    [folder] = bench.runs.glob("2*")
    return folder


async def test_three_at_work_when_the_lead_dies_deliver_once_after_it(
    bench: RunBench,
) -> None:
    folder = await cut(
        bench,
        [sent("One", "Two", "Three", wait="none")],
        {"One": WORK, "Two": [READ, hang()], "Three": [READ, hang()]},
    )

    ended = await bench.resume(
        folder,
        in_turn(READ, call("wait_for", mode="all"), finish("14 days [a1#1], [a3#1].")),
        {"Two": [submit(QUOTE)], "Three": [submit(QUOTE)]},
    )

    assert ended.result.state == "done", ended.result
    assert sorted(shown(ended)) == ["a1", "a2", "a3"]


async def test_what_was_delivered_late_before_the_lead_died_is_not_delivered_again(
    bench: RunBench,
) -> None:
    folder = await cut(
        bench,
        [sent("One", wait="none"), READ, READ],
        {"One": WORK},
    )

    ended = await bench.resume(folder, [READ, finish("14 days [a1#1].")], {})

    assert ended.result.state == "done", ended.result
    assert shown(ended) == ["a1"]


async def test_a_further_question_that_was_cut_off_is_answered_after_it(
    bench: RunBench,
) -> None:
    with anyio.CancelScope() as scope:

        async def stops(_request: ModelRequest) -> Step:
            scope.cancel()
            return hang()

        lead = [
            sent("One"),
            call("follow_up", agent="a1", question="And without a receipt?"),
        ]
        worker = in_turn(*WORK, call("grep", pattern="receipt"), stops)
        await bench.run(played(lead, {"One": worker}))
    [folder] = bench.runs.glob("2*")

    ended = await bench.resume(
        folder,
        [finish("It takes 14 days [a1#1], 30 without a receipt [a1#2].")],
        {"One": [submit(MORE)]},
    )

    assert ended.result.state == "done", ended.result
    assert len(ended.events("subagent.asked")) == 1
    [told] = ended.results("follow_up")
    assert "[a1#2] Without a receipt" in told


async def test_one_that_was_cancelled_stays_cancelled(bench: RunBench) -> None:
    folder = await cut(
        bench,
        [
            sent("One", "Two", wait="first"),
            call("cancel", agent="a2", reason="Not needed."),
        ],
        {"One": WORK, "Two": [READ, hang()]},
    )

    ended = await bench.resume(folder, [finish("14 days [a1#1].")], {})

    assert ended.result.state == "done", ended.result
    assert shown(ended) == ["a1", "a2"]
