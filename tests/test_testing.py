"""The doubles that this package offers to other people's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest

from orchestrator.errors import ModelError
from orchestrator.messages import encode, tool_result
from orchestrator.models.base import ModelRequest, Reply, Usage
from orchestrator.testing import (
    FakeClock,
    Script,
    ScriptedModel,
    Step,
    broken_call,
    call,
    conversations,
    fail,
    first_text,
    hang,
    reply,
    say,
    think,
)


def request_for(*messages: Any, **changes: Any) -> ModelRequest:
    asked = list(messages) or [{"role": "user", "content": "go"}]
    sent = {"model": "m", "max_tokens": 99, "messages": asked, "stream": True}
    return ModelRequest(
        model="m",
        system=[],
        tools=[],
        messages=asked,
        max_output_tokens=99,
        body=encode({**sent, **changes}),
    )


async def answer(script: Script, *requests: ModelRequest) -> list[Reply]:
    model = ScriptedModel(script)
    return [
        await model.complete(each, on_retry=lambda _retry: None)
        for each in requests or (request_for(),)
    ]


def after(given: Reply, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    calls = [block["id"] for block in given.content if block["type"] == "tool_use"]
    results = [tool_result(each, "result") for each in calls]
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": list(blocks or given.content)},
        {"role": "user", "content": [*results] or "next"},
    ]


# ---- steps --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "types", "stop"),
    [
        pytest.param("hello", ["text"], "end_turn", id="a text"),
        pytest.param(say("hello"), ["text"], "end_turn", id="say"),
        pytest.param(call("grep", pattern="x"), ["tool_use"], "tool_use", id="a call"),
        pytest.param(
            [think("hm"), say("x"), call("a"), call("b")],
            ["thinking", "text", "tool_use", "tool_use"],
            "tool_use",
            id="several",
        ),
        pytest.param(reply(), [], "end_turn", id="nothing"),
        pytest.param(reply("no", stop_reason="refusal"), ["text"], "refusal", id="why"),
    ],
)
async def test_a_step_becomes_a_reply(step: Step, types: list[str], stop: str) -> None:
    (given,) = await answer([step])

    assert [block["type"] for block in given.content] == types
    assert given.stop_reason == stop
    assert given.usage.known
    assert given.usage.context_tokens > 0


async def test_calls_have_ids_of_their_own_and_the_arguments() -> None:
    first, second = await answer(
        [[call("a", x=1), call("a", x=1)], call("b")], request_for(), request_for()
    )
    ids = [block["id"] for given in (first, second) for block in given.content]

    assert len(set(ids)) == 3
    assert first.content[0]["input"] == {"x": 1}


async def test_an_id_of_an_earlier_process_is_not_given_again() -> None:
    (old,) = await answer([call("a")])

    (new,) = await answer([call("a")], request_for(*after(old)))

    assert new.content[0]["id"] != old.content[0]["id"]


async def test_a_cut_reply_names_its_last_call() -> None:
    (given,) = await answer([reply(call("a"), call("b"), is_cut=True)])

    assert given.stop_reason == "max_tokens"
    assert given.cut_calls == {given.content[-1]["id"]}


async def test_a_broken_call_carries_its_text_beside_the_block() -> None:
    (given,) = await answer([broken_call("a", "{half")])
    (block,) = given.content

    assert given.broken_calls == {block["id"]: "{half"}
    assert block["input"] == {}
    assert set(block) == {"type", "id", "name", "input"}


async def test_given_usage_and_details_are_passed_on() -> None:
    usage = Usage(input_tokens=7, output_tokens=1)
    step = reply("no", usage=usage, stop_details={"category": "cyber"})
    (given,) = await answer([step])

    assert given.usage == usage
    assert given.stop_details == {"category": "cyber"}


async def test_a_whole_reply_is_given_as_it_is() -> None:
    whole = Reply([say("x")], "end_turn", Usage(1), message_id="mine")

    assert await answer([whole]) == [whole]


async def test_a_failure_is_raised_with_its_kind() -> None:
    with pytest.raises(ModelError) as caught:
        await answer([fail("rate_limited", "slow down", retry_after_s=3)])

    assert (caught.value.kind, caught.value.retry_after_s) == ("rate_limited", 3)


async def test_a_hanging_call_ends_when_it_is_cancelled() -> None:
    model = ScriptedModel([hang()])
    with anyio.move_on_after(0.01):
        await model.complete(request_for(), on_retry=lambda _retry: None)

    assert model.cancelled == 1


async def test_a_script_that_is_over_says_so() -> None:
    with pytest.raises(AssertionError, match="has 0 steps"):
        await answer([])


async def test_a_function_may_answer_and_may_wait() -> None:
    gate = anyio.Event()

    async def script(request: ModelRequest) -> Step:
        await gate.wait()
        return say("to " + first_text(request))

    gate.set()
    (given,) = await answer(script)
    (plain,) = await answer(lambda request: say(request.model))

    assert given.content == [say("to go")]
    assert plain.content == [say("m")]


async def test_several_conversations_each_play_their_own_script() -> None:
    asked = [
        request_for({"role": "user", "content": text})
        for text in ("lead: x", "sub one", "sub two", "sub one")
    ]
    script = conversations(
        {"lead": ["plan"], "sub": ["first", "second"], "other": lambda _: say("x")}
    )
    given = await answer(
        script, *asked, request_for({"role": "user", "content": "other"})
    )

    assert [each.content[0]["text"] for each in given] == [
        "plan", "first", "first", "second", "x",
    ]  # fmt: skip


async def test_a_conversation_without_a_script_is_named() -> None:
    with pytest.raises(AssertionError, match="starts: go"):
        await answer(conversations({"lead": ["x"]}))


async def test_requests_are_kept_as_they_were_sent() -> None:
    model = ScriptedModel(["a", "b"])
    request = request_for()
    await model.complete(request, on_retry=lambda _retry: None)
    request.messages[0]["content"] = "changed"

    assert model.requests[0].messages[0]["content"] == "go"
    assert model.requests_of("go") == model.requests
    assert model.requests_of("stop") == []


# ---- checks -------------------------------------------------------------------------


async def test_a_request_of_wrong_shape_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="first message must use"):
        await answer(["x"], request_for({"role": "assistant", "content": "x"}))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": "other"}, "model"),
        ({"max_tokens": 5}, "max_tokens"),
        ({"stream": False}, "stream"),
        ({"messages": [{"role": "user", "content": "other"}]}, "messages"),
    ],
)
async def test_bytes_that_differ_from_the_request_fail_the_test(
    change: dict[str, Any], named: str
) -> None:
    with pytest.raises(AssertionError, match=f"differ in `{named}`"):
        await answer(["x"], request_for(**change))


async def test_cache_marks_may_be_in_the_bytes_alone() -> None:
    block = say("go")
    marked = {**block, "cache_control": {"type": "ephemeral"}}
    request = request_for(
        {"role": "user", "content": [block]},
        messages=[{"role": "user", "content": [marked]}],
    )

    assert await answer(["x"], request)


THOUGHT = [think("first", "s1"), call("a"), think("second", "s2"), call("b")]


async def replayed(*blocks: dict[str, Any]) -> None:
    model = ScriptedModel([THOUGHT, "done"])
    given = await model.complete(request_for(), on_retry=lambda _retry: None)
    content = [given.content[number] for number in range(4)]
    chosen = [b if "type" in b else content[b["at"]] for b in blocks]
    await model.complete(
        request_for(*after(given, *chosen)), on_retry=lambda _retry: None
    )


def at(number: int) -> dict[str, Any]:
    return {"at": number}


async def test_thinking_that_comes_back_unchanged_is_fine() -> None:
    await replayed(at(0), at(1), at(2), at(3))


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([at(0), at(1), at(3)], id="one dropped"),
        pytest.param([at(2), at(1), at(0), at(3)], id="order changed"),
        pytest.param([think("other", "s1"), at(1), at(2), at(3)], id="changed"),
        pytest.param([at(1), at(3)], id="all dropped from the newest turn"),
    ],
)
async def test_changed_thinking_fails_the_test(blocks: list[dict[str, Any]]) -> None:
    with pytest.raises(AssertionError, match="cannot be modified"):
        await replayed(*blocks)


async def moved_on(model: str, *, with_thought: bool) -> None:
    """Send thinking back, or not, after what stood before it has changed."""
    scripted = ScriptedModel([[think("first", "s1"), call("a")], "done"])
    asked = replace(request_for(), model=model, body=b"")
    given = await scripted.complete(asked, on_retry=lambda _retry: None)
    blocks = given.content if with_thought else given.content[1:]
    changed = [{"role": "user", "content": "changed"}, *after(given, *blocks)[1:]]
    again = replace(asked, messages=changed)
    await scripted.complete(again, on_retry=lambda _retry: None)


@pytest.mark.parametrize(
    ("model", "with_thought"), [("claude-haiku-5-5", False), ("claude-opus-5", True)]
)
async def test_thinking_is_bound_to_what_is_before_it_by_some_models(
    model: str, *, with_thought: bool
) -> None:
    await moved_on(model, with_thought=with_thought)
    with pytest.raises(AssertionError, match=r"bound to what|cannot be modified"):
        await moved_on(model, with_thought=not with_thought)


# ---- clock --------------------------------------------------------------------------


async def test_sleepers_wake_in_the_order_of_their_times() -> None:
    clock = FakeClock()
    woke: list[tuple[str, float]] = []

    async def sleeper(name: str, *naps: float) -> None:
        for nap in naps:
            await clock.sleep(nap)
            woke.append((name, clock.monotonic()))

    async with anyio.create_task_group() as group:
        group.start_soon(sleeper, "long", 3600)
        group.start_soon(sleeper, "short", 10, 10, 3590)
        group.start_soon(sleeper, "middle", 15)

    assert woke == [
        ("short", 10), ("middle", 15), ("short", 20), ("long", 3600), ("short", 3610),
    ]  # fmt: skip


async def test_time_of_day_and_monotonic_time_move_together() -> None:
    clock = FakeClock()
    before = clock.now()
    await clock.sleep(90)

    assert (clock.now() - before).total_seconds() == 90
    assert clock.monotonic() == 90
    assert clock.slept == [90]


async def test_a_cancelled_sleeper_does_not_hold_up_the_others() -> None:
    clock = FakeClock(auto=False)
    woke = anyio.Event()

    async def patient() -> None:
        await clock.sleep(20)
        woke.set()

    async with anyio.create_task_group() as group:
        group.start_soon(patient)
        with anyio.move_on_after(0.01):
            await clock.sleep(10)
        await clock.advance(20)
        await woke.wait()

    assert clock.monotonic() == 20


async def test_time_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(auto=False)
    woke: list[float] = []

    async def sleeper() -> None:
        await clock.sleep(5)
        woke.append(clock.monotonic())
        await clock.sleep(5)
        woke.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(sleeper)
        await clock.advance(4)
        assert woke == []
        await clock.advance(100)

    assert woke == [5, 10]
    assert clock.monotonic() == 104


async def test_sleeping_no_time_lets_others_run_and_does_not_move_time() -> None:
    clock = FakeClock()
    await clock.sleep(0)
    await clock.sleep(-5)

    assert clock.monotonic() == 0
