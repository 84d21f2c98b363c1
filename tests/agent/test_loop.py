"""The loop of one agent, and the faults that loops of this kind have had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, Write, last_user, results_in, use

from orchestrator.agent.barring import CUT
from orchestrator.agent.hooks import Hooks
from orchestrator.errors import LimitReached, StoreError, ToolError
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Reply, Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import (
    FakeClock,
    Script,
    Step,
    broken_call,
    call,
    fail,
    hang,
    reply,
    say,
    think,
)


async def test_an_accepted_hand_in_ends_the_work(bench: AgentBench) -> None:
    outcome = await bench.run([DONE])

    assert (outcome.kind, outcome.value, outcome.turns) == (
        "submitted",
        "All is well.",
        1,
    )
    [ended] = bench.events("agent.ended")
    assert ended.data == {"outcome": "submitted", "reason": "", "turns": 1}


async def test_all_that_was_logged_is_on_disk_when_a_request_leaves(
    bench: AgentBench,
) -> None:
    unsynced: list[int] = []
    steps = iter([call("echo", text="a"), say("Thinking."), DONE])

    def play(_request: ModelRequest) -> Step:
        unsynced.append(bench.log._size - bench.log._synced)
        return next(steps)

    bench.tools = [Echo()]
    await bench.run(play)

    assert unsynced == [0, 0, 0]


async def test_intent_comes_before_the_model_and_before_an_effect(
    bench: AgentBench,
) -> None:
    bench.tools = [Write()]
    await bench.run([call("write_it", path="a", content="x"), DONE])

    kinds = [event.kind for event in bench.events()]
    assert kinds == [
        "agent.started",
        "model.requested",
        "model.answered",
        "tool.started",
        "tool.ended",
        "model.requested",
        "model.answered",
        "tool.started",
        "tool.ended",
        "agent.ended",
    ]


async def test_three_parallel_calls_get_three_results_whatever_the_finish_order(
    tmp_path: Path,
) -> None:
    gate = anyio.Event()

    async def does(text: str) -> str:
        if text == "slow":
            await gate.wait()
        elif text == "bad":
            raise ToolError("no such thing")
        else:
            gate.set()
        return text

    bench = AgentBench(tmp_path, [Echo(does)])
    step = [use("t1", text="slow"), use("t2", text="bad"), use("t3", text="quick")]

    await bench.run([step, DONE])

    second = bench.requests[1]
    assert [block["type"] for block in last_user(second)] == ["tool_result"] * 3
    assert results_in(second) == {"t1": "slow", "t2": "no such thing", "t3": "quick"}
    assert list(results_in(second)) == ["t1", "t2", "t3"]


async def test_results_of_one_step_are_one_user_message(bench: AgentBench) -> None:
    bench.tools = [Echo()]

    await bench.run([[use("t1"), use("t2")], DONE])

    roles = [message["role"] for message in bench.requests[1].messages]
    assert roles == ["user", "assistant", "user"]


async def test_an_id_that_comes_again_never_goes_out_twice(bench: AgentBench) -> None:
    bench.tools = [Echo()]
    script: Script = [
        [use("toolu_1", text="a")],
        [use("toolu_1", text="b"), use("toolu_1", text="c")],
        DONE,
    ]

    outcome = await bench.run(script)

    assert outcome.kind == "submitted"
    sent = bench.requests[2].messages
    ids = [
        block["id"]
        for message in sent
        for block in message["content"]
        if block["type"] == "tool_use"
    ]
    assert ids == ["toolu_1", "toolu_1-2", "toolu_1-3"]
    assert results_in(bench.requests[2]) == {"toolu_1-2": "b", "toolu_1-3": "c"}


async def test_interleaved_thinking_goes_back_byte_for_byte(bench: AgentBench) -> None:
    bench.tools = [Echo()]
    said = [think("first"), say("I look."), think("second", "sig=="), use("t1")]

    await bench.run([said, DONE])

    assert bench.requests[1].messages[1]["content"] == said


async def test_empty_text_beside_a_call_never_goes_back(bench: AgentBench) -> None:
    bench.tools = [Echo()]

    await bench.run([[say(""), use("t1")], DONE])

    assert bench.requests[1].messages[1]["content"] == [use("t1")]


async def test_an_empty_result_becomes_a_placeholder(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo(lambda _text: "")])

    await bench.run([use("t1"), DONE])

    assert results_in(bench.requests[1])["t1"].strip()


async def test_a_cut_write_is_not_run_and_its_file_stays(bench: AgentBench) -> None:
    write = Write()
    bench.tools = [write]
    (bench.root / "a.txt").write_text("precious")
    cut = reply(use("t1", "write_it", path="a.txt"), is_cut=True)

    await bench.run([cut, DONE])

    assert (bench.root / "a.txt").read_text() == "precious"
    assert write.written == []
    assert results_in(bench.requests[1]) == {"t1": CUT}
    assert last_user(bench.requests[1])[0]["is_error"]


async def test_of_two_calls_in_a_cut_reply_only_the_whole_one_is_run(
    bench: AgentBench,
) -> None:
    write = Write()
    bench.tools = [write]
    whole = use("t1", "write_it", path="a", content="x")
    cut = use("t2", "write_it", path="b")

    outcome = await bench.run([reply(whole, cut, is_cut=True), DONE])

    assert write.written == ["a"]
    assert results_in(bench.requests[1]) == {"t1": "written", "t2": CUT}
    assert outcome.kind == "submitted"


async def test_after_a_cut_call_the_next_reply_may_be_twice_as_long(
    bench: AgentBench,
) -> None:
    bench.tools = [Write()]
    cut = reply(use("t1", "write_it", path="b"), is_cut=True)

    await bench.run([cut, DONE], max_output_tokens=3000)

    assert [each.max_output_tokens for each in bench.requests] == [3000, 6000]


async def test_a_small_model_is_not_asked_for_more_than_it_can_say(
    bench: AgentBench,
) -> None:
    bench.tools = [Write()]
    cut = reply(use("t1", "write_it", path="b"), is_cut=True)

    await bench.run([cut, DONE], model="claude-haiku-4-5", max_output_tokens=40_000)

    assert [each.max_output_tokens for each in bench.requests] == [40_000, 64_000]


async def test_the_same_call_cut_again_and_again_ends_with_a_clear_status(
    bench: AgentBench,
) -> None:
    write = Write()
    bench.tools = [write]

    def cut(n: int) -> Any:
        return reply(use(f"t{n}", "write_it", path="b"), is_cut=True)

    outcome = await bench.run([cut(1), cut(2), cut(3), say("I give up.")])

    assert (outcome.kind, outcome.limit, outcome.text) == (
        "limit",
        "cut_replies",
        "I give up.",
    )
    assert write.written == []
    assert len(bench.requests) == 4


async def test_tool_use_without_a_call_is_nudged_once_and_leaves_no_empty_message(
    bench: AgentBench,
) -> None:
    bench.tools = [Echo()]
    script: Script = [use("t1"), reply(stop_reason="tool_use"), DONE]

    outcome = await bench.run(script)

    assert outcome.kind == "submitted"
    third = bench.requests[2].messages
    assert [message["role"] for message in third] == ["user", "assistant", "user"]
    assert [block["type"] for block in third[-1]["content"]] == ["tool_result", "text"]
    assert "[nudge_empty]" in third[-1]["content"][-1]["text"]


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param([think("hm")], id="thinking only"),
        pytest.param("(empty content)", id="placeholder"),
        pytest.param([say(" ")], id="blank"),
    ],
)
async def test_an_empty_reply_after_a_result_does_not_end_the_work(
    bench: AgentBench, empty: Any
) -> None:
    bench.tools = [Echo()]

    outcome = await bench.run([use("t1"), empty, DONE])

    assert outcome.kind == "submitted"


async def test_empty_replies_in_a_row_fail_and_are_told(bench: AgentBench) -> None:
    outcome = await bench.run([reply(), reply()])

    assert (outcome.kind, outcome.reason) == ("failed", "2 empty replies in a row")
    assert len(bench.requests) == 2


async def test_an_empty_reply_is_not_answered_by_the_same_request(
    bench: AgentBench,
) -> None:
    await bench.run([reply(), DONE])

    first, second = bench.requests
    assert first.body != second.body


async def test_end_turn_with_a_call_in_it_runs_the_call(bench: AgentBench) -> None:
    echo = Echo()
    bench.tools = [echo]

    await bench.run([reply("", use("t1"), stop_reason="end_turn"), DONE])

    assert echo.calls == ["t1"]
    assert bench.requests[1].messages[1]["content"] == [use("t1")]


async def test_a_made_up_tool_is_answered_with_the_names_there_are(
    bench: AgentBench,
) -> None:
    outcome = await bench.run([use("t1", "execute_python"), DONE])

    told = results_in(bench.requests[1])["t1"]
    assert "execute_python" in told
    assert "`read_file`" in told
    assert outcome.kind == "submitted"


async def test_a_model_that_only_makes_up_tools_is_stopped(bench: AgentBench) -> None:
    outcome = await bench.run(
        lambda _request: call("execute_python"), limits=AgentLimits(turns=50)
    )

    assert (outcome.kind, outcome.limit) == ("limit", "repeats")
    assert len(bench.requests) == 6


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("", id="empty"),
        pytest.param("  read_file  ", id="blanks"),
        pytest.param("Read_File", id="other case"),
        pytest.param("x" * 1000, id="1,000 characters"),
    ],
)
async def test_a_wrong_tool_name_is_answered_and_not_echoed_without_bound(
    bench: AgentBench, name: str
) -> None:
    outcome = await bench.run([use("t1", name), DONE])

    assert len(results_in(bench.requests[1])["t1"]) < 500
    assert outcome.kind == "submitted"


async def test_a_call_that_is_no_object_is_told_so(bench: AgentBench) -> None:
    bench.tools = [Echo()]

    await bench.run([broken_call("echo", '{"text": "a'), DONE])

    assert '{"text": "a' in next(iter(results_in(bench.requests[1]).values()))


async def test_a_repeated_step_is_warned_of_and_then_stopped(bench: AgentBench) -> None:
    echo = Echo()
    bench.tools = [echo]

    outcome = await bench.run(lambda _request: call("echo"))

    warned = ["[repeat_warning]" in text_of(last_user(r)) for r in bench.requests]
    assert warned == [False, False, False, True, True, True]
    assert (outcome.kind, outcome.limit) == ("limit", "repeats")
    assert len(echo.calls) == 4


async def test_text_alone_is_asked_for_twice_and_then_taken(bench: AgentBench) -> None:
    outcome = await bench.run(["one", "two", "three"])

    assert (outcome.kind, outcome.text) == ("unvalidated", "three")
    assert outcome.reason == "ended its turn without handing in"


async def test_hand_ins_that_are_sent_back_are_bounded(bench: AgentBench) -> None:
    def again(request: Any) -> Any:
        return call("finish", report=f"BACK {len(request.messages)}")

    outcome = await bench.run(again)

    assert (outcome.kind, len(bench.requests)) == ("unvalidated", 4)
    assert "BACK 7" in outcome.text


async def test_other_calls_of_the_last_step_run_before_the_hand_in(
    bench: AgentBench,
) -> None:
    echo = Echo()
    bench.tools = [echo]

    outcome = await bench.run([[DONE, use("t2")]])

    assert outcome.kind == "submitted"
    assert echo.calls == ["t2"]
    names = [event.data["name"] for event in bench.events("tool.ended")]
    assert names == ["echo", "finish"]


async def test_a_refusal_ends_with_its_category_and_nothing_is_sent_again(
    bench: AgentBench,
) -> None:
    refusal = reply("no", stop_reason="refusal", stop_details={"category": "bio"})

    outcome = await bench.run([refusal])

    assert (outcome.kind, outcome.reason) == ("failed", "refused: bio")
    [answered] = bench.events("model.answered")
    assert not answered.data["kept"]


async def test_a_failing_model_is_an_outcome(bench: AgentBench) -> None:
    outcome = await bench.run([fail("invalid", "no such model")])

    assert outcome.kind == "failed"
    assert outcome.reason == "invalid: no such model"


async def test_a_pause_goes_on(bench: AgentBench) -> None:
    outcome = await bench.run([reply("thinking aloud", stop_reason="pause_turn"), DONE])

    assert outcome.kind == "submitted"
    assert "[continue]" in text_of(last_user(bench.requests[1]))


async def test_a_cut_text_is_asked_for_again_with_twice_the_room(
    bench: AgentBench,
) -> None:
    outcome = await bench.run([reply("half a", stop_reason="max_tokens"), DONE])

    first, second = bench.requests
    assert first.messages == second.messages
    assert second.max_output_tokens == 2 * first.max_output_tokens
    assert outcome.kind == "submitted"


async def test_cut_texts_in_a_row_are_taken_as_they_are(bench: AgentBench) -> None:
    cut = reply("half a", stop_reason="max_tokens")

    outcome = await bench.run([cut, cut])

    assert (outcome.kind, outcome.text) == ("unvalidated", "half a")


async def test_a_bug_is_no_outcome(tmp_path: Path) -> None:
    def after_turn(_results: object) -> list[str]:
        raise KeyError("ours")

    bench = AgentBench(tmp_path, [Echo()])

    with pytest.raises(KeyError):
        await bench.run([use("t1"), DONE], hooks=Hooks(after_turn=after_turn))

    assert bench.events("agent.ended") == []
    assert bench.budget.holds == {}


async def test_a_disk_that_fails_ends_the_work_at_once(tmp_path: Path) -> None:
    bench = AgentBench(tmp_path, [Echo()])

    def does(_text: str) -> str:
        bench.log.close()
        return "hm"

    bench.tools = [Echo(does)]

    with pytest.raises(StoreError):
        await bench.run([use("t1"), DONE])

    assert len(bench.requests) == 1


async def test_cancelling_ends_the_call_and_leaves_nothing_half(
    bench: AgentBench,
) -> None:
    bench.tools = [Echo()]
    scope = anyio.CancelScope()
    steps = iter([use("t1"), hang()])

    def policy(_request: Any) -> Any:
        step = next(steps)
        if step == hang():
            scope.cancel()
        return step

    with scope:
        await bench.run(policy)

    assert bench.model.cancelled == 1
    assert [event.kind for event in bench.events()][-1] == "model.requested"
    assert bench.budget.holds == {}


LIMITS: list[Any] = [
    pytest.param(AgentLimits(turns=3), {}, "turns", id="turns"),
    pytest.param(AgentLimits(minutes=4), {}, "minutes", id="minutes"),
    pytest.param(AgentLimits(tokens=9000), {}, "tokens", id="its own tokens"),
    pytest.param(AgentLimits(), {"tokens": 9000}, "tokens", id="tokens of the run"),
    pytest.param(AgentLimits(usd=0.03), {}, "usd", id="its own dollars"),
    pytest.param(AgentLimits(), {"usd": 0.03}, "usd", id="dollars of the run"),
]


@pytest.mark.parametrize(("limits", "of_run", "name"), LIMITS)
async def test_a_limit_leaves_one_last_call_that_may_only_hand_in(
    tmp_path: Path, limits: AgentLimits, of_run: dict[str, Any], name: str
) -> None:
    clock = FakeClock()
    echo = Echo(lambda _text: clock.advance(60))
    bench = AgentBench(tmp_path, [echo], price=PRICE, clock=clock, **of_run)

    def policy(request: Any) -> Any:
        n = len(request.messages)
        if "[last_call]" in text_of(request.messages[-1]["content"]):
            return [call("echo", text="one more"), call("finish", report="So far.")]
        return call("echo", text=str(n))

    outcome = await bench.run(policy, limits=limits)

    assert (outcome.kind, outcome.value, outcome.limit) == (
        "submitted",
        "So far.",
        name,
    )
    assert f"`{name}` reached" in outcome.reason
    [reached] = bench.events("limit.reached")
    assert reached.data["limit"] == name
    told = [text_of(last_user(each)) for each in bench.requests]
    assert [("[last_call]" in text) for text in told].count(True) == 1
    *_, refused, accepted = bench.events("tool.ended")
    assert "a limit is reached" in refused.data["content"]
    assert (accepted.data["name"], accepted.data["ends"]) == ("finish", True)
    assert len(echo.calls) == len(bench.requests) - 1


@pytest.mark.parametrize(("limits", "of_run", "name"), LIMITS)
async def test_the_last_call_lies_within_the_limit(
    tmp_path: Path, limits: AgentLimits, of_run: dict[str, Any], name: str
) -> None:
    clock = FakeClock()
    echo = Echo(lambda _text: clock.advance(60))
    bench = AgentBench(tmp_path, [echo], price=PRICE, clock=clock, **of_run)

    await bench.run(
        lambda request: call("echo", text=str(len(request.messages))), limits=limits
    )

    answered = [event.data for event in bench.events("model.answered")]
    assert len(answered) <= (limits.turns or 1000)
    assert clock.monotonic() <= (limits.minutes or 1000) * 60
    usages = [Usage(**each["usage"]) for each in answered]
    tokens = of_run.get("tokens") or limits.tokens or 10**9
    assert sum(usage.limited_tokens for usage in usages) <= tokens
    usd = of_run.get("usd") or limits.usd or 10**9
    assert sum(each["usd"] for each in answered) <= usd


async def test_a_single_turn_is_the_last_call(bench: AgentBench) -> None:
    outcome = await bench.run([DONE], limits=AgentLimits(turns=1))

    assert (outcome.kind, outcome.turns) == ("submitted", 1)
    assert "[last_call]" in text_of(last_user(bench.requests[0]))


async def test_what_cannot_pay_a_single_call_sends_nothing(bench: AgentBench) -> None:
    outcome = await bench.run([DONE], limits=AgentLimits(tokens=1000))

    assert outcome.kind == "limit"
    assert outcome.reason.endswith("failed: too little is left for it")
    assert outcome.turns == 0
    assert bench.requests == []


async def test_a_hand_in_of_the_last_call_is_taken_as_it_is(bench: AgentBench) -> None:
    outcome = await bench.run(
        [call("finish", report="BACK, full of faults")], limits=AgentLimits(turns=1)
    )

    assert (outcome.kind, outcome.value) == ("submitted", "BACK, full of faults")


async def test_the_text_of_the_last_call_is_kept(bench: AgentBench) -> None:
    outcome = await bench.run([say("This much.")], limits=AgentLimits(turns=1))

    assert (outcome.kind, outcome.text) == ("limit", "This much.")


async def test_a_hand_in_that_no_tool_takes_is_kept_as_text(bench: AgentBench) -> None:
    outcome = await bench.run(
        [call("finish", report="fine", extra=1)], limits=AgentLimits(turns=1)
    )

    assert (outcome.kind, outcome.text) == ("limit", '{"report":"fine","extra":1}')


@pytest.mark.parametrize(
    ("last", "why"),
    [
        pytest.param(fail("overloaded", "busy"), "overloaded: busy", id="error"),
        pytest.param(hang(), "no answer within 0.05 s", id="silence"),
    ],
)
async def test_a_last_call_that_fails_ends_the_work_all_the_same(
    bench: AgentBench, last: Any, why: str
) -> None:
    outcome = await bench.run([last], limits=AgentLimits(turns=1), call_s=0.05)

    assert outcome.kind == "limit"
    assert f"the last call failed: {why}" in outcome.reason
    assert outcome.limit == "turns"


async def test_a_refused_last_call_leaves_nothing(bench: AgentBench) -> None:
    refusal = reply("no", stop_reason="refusal")

    outcome = await bench.run([refusal], limits=AgentLimits(turns=1))

    assert (outcome.kind, outcome.text, outcome.value) == ("limit", "", None)


async def test_a_call_that_outlasts_the_minutes_is_given_up(bench: AgentBench) -> None:
    def policy(request: Any) -> Any:
        is_last = "[last_call]" in text_of(last_user(request))
        return DONE if is_last else hang()

    # A fifth of the time is kept for the last call: 0.12 s, enough on a busy machine.
    outcome = await bench.run(policy, limits=AgentLimits(minutes=0.01))

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    assert bench.model.cancelled == 1


async def test_a_limit_told_by_a_tool_leaves_no_call_without_a_result(
    tmp_path: Path,
) -> None:
    def does(_text: str) -> str:
        raise LimitReached("minutes", 1, 1)

    bench = AgentBench(tmp_path, [Echo(does)])

    outcome = await bench.run([[use("t1"), use("t2")], DONE])

    assert (outcome.kind, outcome.limit) == ("submitted", "minutes")
    assert list(results_in(bench.requests[1])) == ["t1", "t2"]


async def test_a_discarded_reply_is_not_merged_with_the_next_one(
    bench: AgentBench,
) -> None:
    bench.tools = [Echo()]

    await bench.run(
        [reply("half", stop_reason="max_tokens"), [say("x"), use("t1")], DONE]
    )

    sent = bench.requests[2].messages
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"] == [say("x"), use("t1")]


async def test_usage_is_taken_over_in_place_of_the_estimate(bench: AgentBench) -> None:
    bench.tools = [Echo()]
    usage = Usage(input_tokens=5, cache_read_tokens=4000, output_tokens=7)
    agent = bench.agent(bench.model, bench.spec())

    agent.state.take_reply([say("x")], usage)

    assert agent.state.shown.tokens == 4012


async def test_words_of_the_program_come_after_all_results(bench: AgentBench) -> None:
    bench.tools = [Echo()]
    hooks = Hooks(after_turn=lambda results: [f"{len(results)} results"])

    await bench.run([[use("t1"), use("t2")], DONE], hooks=hooks)

    assert [block["type"] for block in last_user(bench.requests[1])] == [
        "tool_result",
        "tool_result",
        "text",
    ]
    [added] = bench.events("text.added")
    assert (added.data["reason"], added.data["text"]) == ("reminder", "2 results")


async def test_a_reply_of_a_model_of_ones_own_works(bench: AgentBench) -> None:
    bench.tools = [Echo()]
    done = Reply([use("t9", "finish", report="r")], "tool_use", Usage(known=False))

    assert (await bench.run([done])).kind == "submitted"
