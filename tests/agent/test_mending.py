"""Requests adapt to an endpoint that lacks something, and never twice in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from agent_bench import DONE, AgentBench, Echo, use

from orchestrator.messages import text_block, text_of
from orchestrator.models.base import ModelRequest
from orchestrator.models.features import Lacks
from orchestrator.testing import ScriptedModel, Step, fail, think

FIELDS = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
SYSTEM = [text_block("You are a test. " * 400)]
"""Long enough to be marked for the cache."""
NO_MARKS = "messages.0.content.0.text.cache_control: Extra inputs are not permitted"
NO_THINKING = '"qwen3" does not support thinking'
BOUND = "Invalid `signature` in `thinking` block. The block is bound to another one"


def make(folder: Path, **more: Any) -> AgentBench:
    folder.mkdir(exist_ok=True)
    return AgentBench(folder, [Echo()], **more)


def sent(request: ModelRequest) -> set[str]:
    """The optional features of a request."""
    body = orjson.loads(request.body)
    marks = {"cache_control"} if b"cache_control" in request.body else set()
    return marks | ({"thinking", "output_config", "diagnostics"} & set(body))


def picky(*lacking: str) -> Any:
    """An endpoint that knows nothing of some features, one refusal for each."""

    def play(request: ModelRequest) -> Step:
        for name in lacking:
            if name in sent(request):
                return fail("invalid", f"{name}: Extra inputs are not permitted")
        steps = sum(each["role"] == "assistant" for each in request.messages)
        return DONE if steps > 1 else use(f"t{steps}")

    return play


async def test_what_is_refused_is_left_out_from_then_on(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run(
        picky("cache_control", "thinking"), request=FIELDS, system=SYSTEM
    )

    assert outcome.kind == "submitted"
    assert [sent(each) for each in bench.requests] == [
        {"cache_control", "thinking", "output_config"},
        {"thinking", "output_config"},
        {"output_config"},
        {"output_config"},
        {"output_config"},
    ]
    assert [each.data for each in bench.events("model.adapted")] == [
        {
            "model": "claude-haiku-5-5",
            "without": [name],
            "message": f"{name}: Extra inputs are not permitted",
        }
        for name in ("cache_control", "thinking")
    ]
    turns = [each.data["turn"] for each in bench.events("model.requested")]
    assert turns == [1, 1, 1, 2, 3]


async def test_those_that_start_later_know_it_from_the_start(tmp_path: Path) -> None:
    bench = make(tmp_path)
    await bench.run(picky("thinking"), request=FIELDS)
    bench.model = model = ScriptedModel(picky("thinking"))

    spec = bench.spec("a1", request=FIELDS)
    await bench.agent(model, spec).run()

    assert [sent(each) for each in model.requests] == [{"output_config"}] * 3
    [_, started] = bench.events("agent.started")
    assert started.data["settings"]["without"] == ["thinking"]
    assert bench.events("model.adapted", agent="a1") == []


async def test_those_at_work_switch_at_their_next_request(tmp_path: Path) -> None:
    bench, found = make(tmp_path), anyio.Event()

    async def slow(request: ModelRequest) -> Step:
        if len(request.messages) == 1:
            await found.wait()
            return use("t1")
        return DONE

    model, other = ScriptedModel(slow), ScriptedModel(picky("thinking"))
    agents = {
        "a1": bench.agent(model, bench.spec("a1", request=FIELDS)),
        "a2": bench.agent(other, bench.spec("a2", request=FIELDS)),
    }
    async with anyio.create_task_group() as group:
        group.start_soon(agents["a1"].run)
        await agents["a2"].run()
        found.set()

    assert [sent(each) for each in model.requests] == [
        {"thinking", "output_config"}, {"output_config"},
    ]  # fmt: skip
    [told] = bench.events("model.adapted", agent="a1")
    assert told.data["message"] == ""


async def test_what_one_model_lacks_another_may_have(tmp_path: Path) -> None:
    bench = make(tmp_path)
    await bench.run(picky("thinking"), request=FIELDS)

    await bench.run([DONE], id="a1", model="another", request=FIELDS)

    assert sent(bench.requests[0]) == {"thinking", "output_config"}


async def test_what_the_user_says_is_left_out_from_the_start(tmp_path: Path) -> None:
    bench = make(tmp_path, lacks=Lacks(["cache_control", "thinking"]))

    await bench.run([DONE], request=FIELDS, system=SYSTEM)

    assert sent(bench.requests[0]) == {"output_config"}


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("messages.1.content.0: invalid assistant message", id="a message"),
        pytest.param("model `qwen9` not found", id="a name"),
        pytest.param(NO_THINKING, id="a feature that was not sent"),
    ],
)
async def test_a_mistake_ends_with_the_endpoints_own_words(
    tmp_path: Path, message: str
) -> None:
    bench = make(tmp_path)

    outcome = await bench.run([use("t1"), fail("invalid", message)])

    assert (outcome.kind, outcome.reason) == ("failed", f"invalid: {message}")
    assert len(bench.requests) == 2


async def test_an_endpoint_that_never_has_enough_is_left(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run(
        [fail("invalid", NO_THINKING)] * 9, request=FIELDS, system=SYSTEM
    )

    assert outcome.kind == "failed"
    assert len(bench.requests) == 2


class TestThinkingThatIsBound:
    async def test_all_of_it_goes_once(self, tmp_path: Path) -> None:
        bench = make(tmp_path)
        bound = fail("thinking_bound", BOUND)
        script: list[Step] = [
            [think("one"), use("t1")], bound, [think("two"), use("t2")], DONE,
        ]  # fmt: skip

        outcome = await bench.run(script)

        assert outcome.kind == "submitted"
        kinds = [
            [block["type"] for block in message["content"]]
            for message in bench.requests[-1].messages
            if message["role"] == "assistant"
        ]
        assert kinds == [["tool_use"], ["thinking", "tool_use"]]
        [dropped] = bench.events("thinking.dropped")
        assert dropped.data["blocks"] == 1
        assert "bound to another" in dropped.data["why"]

    async def test_refused_without_it_too_all_is_said_in_one_message(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)
        bound = fail("thinking_bound", BOUND)
        script: list[Step] = [
            [think("one"), use("t1", text="what was heard")], bound, bound, DONE,
        ]  # fmt: skip

        outcome = await bench.run(script)

        assert outcome.kind == "submitted"
        [message] = bench.requests[-1].messages
        assert message["role"] == "user"
        assert message["content"][0] == bench.requests[0].messages[0]["content"][0]
        assert "what was heard" in text_of(message["content"])
        [compacted] = bench.events("context.compacted")
        assert (compacted.data["why"], compacted.data["kept_messages"]) == (
            "thinking",
            0,
        )

    async def test_a_third_refusal_is_the_end(self, tmp_path: Path) -> None:
        bench = make(tmp_path)
        bound = fail("thinking_bound", BOUND)

        outcome = await bench.run([[think("one"), use("t1")], *[bound] * 3])

        assert (outcome.kind, len(bench.requests)) == ("failed", 4)
        assert outcome.reason.startswith("thinking_bound: ")

    async def test_without_any_nothing_is_sent_again(self, tmp_path: Path) -> None:
        bench = make(tmp_path)

        outcome = await bench.run([use("t1"), fail("thinking_bound", BOUND)])

        assert (outcome.kind, len(bench.requests)) == ("failed", 2)


def moody(request: ModelRequest) -> Step:
    """Lacks marks and thinking, and takes no thinking back."""
    if "cache_control" in sent(request):
        return fail("invalid", NO_MARKS)
    if "output_config" in sent(request):
        return fail("invalid", "output_config: Extra inputs are not permitted")
    steps = sum(each["role"] == "assistant" for each in request.messages)
    if steps == 2 and b'"hm"' in request.body:
        return fail("thinking_bound", BOUND)
    return DONE if steps > 2 else [think("hm"), use(f"t{steps}")]


async def test_cut_after_any_event_the_same_bytes_leave(tmp_path: Path) -> None:
    given: dict[str, Any] = {"request": FIELDS, "system": SYSTEM}
    whole = make(tmp_path / "whole")
    await whole.run(moody, **given)
    bodies = [each.body for each in whole.requests]
    length = len(whole.events())
    assert len(bodies) == 7

    for seq in range(1, length + 1):
        bench = make(tmp_path / f"b{seq}")
        await bench.run(moody, **given)
        bench.cut(seq)
        ended = len(bench.events("model.answered", "model.failed"))
        told = {"model.failed": 0, **{each.kind: 1 for each in bench.events()[-1:]}}
        bench.lacks = Lacks()

        outcome = await bench.resume(moody)

        assert outcome.kind == "submitted", seq
        made = [each.body for each in bench.requests]
        if told["model.failed"]:  # what to change was not on disk: it is asked again
            made = made[1:]
        assert made == bodies[ended:], seq


async def test_a_damaged_log_is_proved_by_what_was_sent_in_each_form(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path)
    await bench.run(
        [
            fail("invalid", NO_THINKING),
            [think("hm"), use("t1")],
            [think("so"), use("t2")],
            DONE,
        ],
        request=FIELDS,
    )
    bench.cut(len(bench.events()) - 3)

    rebuilt = bench.left(lost=1)

    assert rebuilt.state.edits == []
    assert rebuilt.state.form.without == ("thinking",)
