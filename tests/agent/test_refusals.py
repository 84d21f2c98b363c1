"""A model refuses: another one goes on, for good, or the agent says why it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from agent_bench import DONE, AgentBench, Echo, last_user, use

from orchestrator.agent.spec import Outcome
from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.models.pricing import Price, Rates
from orchestrator.spec.limits import AgentLimits
from orchestrator.store.transcript import rebuild as transcript
from orchestrator.testing import Step, call, reply, think

FIRST, OTHER = "claude-haiku-5-5", "another-one"
PRICES = {
    FIRST: Price(FIRST, (Rates(1, 10, 1.25, 2, 0.1),), "made up"),
    OTHER: Price(OTHER, (Rates(3, 30, 3.75, 6, 0.3),), "made up"),
}


def refuses(category: str = "bio", *content: Any, **more: Any) -> Step:
    details = {"category": category, "explanation": "I may not."}
    return reply(*content, stop_reason="refusal", stop_details=details, **more)


def make(folder: Path, **more: Any) -> AgentBench:
    folder.mkdir(exist_ok=True)
    return AgentBench(folder, [Echo()], fallback=OTHER, price=PRICES, **more)


def models(bench: AgentBench) -> list[str]:
    return [each.model for each in bench.requests]


async def test_another_model_goes_on_and_stays(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run([use("t1"), refuses(), use("t2"), DONE])

    assert outcome.kind == "submitted"
    assert models(bench) == [FIRST, FIRST, OTHER, OTHER]
    refused, again = bench.requests[1:3]
    assert refused.messages == again.messages
    [replaced] = bench.events("model.replaced")
    assert replaced.data == {
        "turn": 2,
        "model": FIRST,
        "instead": OTHER,
        "reason": "bio",
        "request": {},
        "without": [],
    }
    # A refusal is no turn.
    assert [each.data["turn"] for each in bench.events("model.requested")] == [
        1, 2, 2, 3,
    ]  # fmt: skip


async def test_what_one_model_counted_is_an_estimate_for_another(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path)
    long = use("t1", text="a long text " * 2000)

    await bench.run([long, refuses(), DONE])

    refused, again = bench.events("model.requested")[1:]
    assert refused.data["estimated_tokens"] == again.data["estimated_tokens"]
    more = again.data["reserved_tokens"] - refused.data["reserved_tokens"]
    assert more > 0.2 * refused.data["estimated_tokens"]


async def test_nothing_of_a_refusal_stays(tmp_path: Path) -> None:
    bench = make(tmp_path)
    half = refuses("bio", "Here is the first half of ", use("t1", text="never"))

    await bench.run([half, DONE])

    sent = orjson.dumps([each.messages for each in bench.requests])
    assert b"first half" not in sent
    assert bench.events("tool.started")[0].data["name"] == "finish"
    assert not bench.events("model.answered")[0].data["kept"]


async def test_thinking_stays_with_the_model_that_thought_it(tmp_path: Path) -> None:
    bench = make(tmp_path)

    # The step is open: its thinking may go as a whole, but not change.
    await bench.run([[think("mine"), use("t1")], refuses(), [think("so"), DONE]])

    said = bench.requests[2].messages[1]["content"]
    assert [block["type"] for block in said] == ["tool_use"]
    assert orjson.loads(bench.requests[2].body)["model"] == OTHER


async def test_further_fields_are_those_of_the_other_model(tmp_path: Path) -> None:
    bench = make(tmp_path)
    fields = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}

    await bench.run([refuses(), DONE], request=fields)

    bodies = [orjson.loads(each.body) for each in bench.requests]
    assert [each.get("thinking") for each in bodies] == [{"type": "adaptive"}, None]
    assert [each["output_config"] for each in bodies] == [{"effort": "low"}] * 2


async def test_if_that_one_refuses_too_both_are_named(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run([refuses("bio"), refuses("cyber")])

    assert models(bench) == [FIRST, OTHER]
    assert (outcome.kind, outcome.reason) == (
        "failed",
        f"refused: bio (`{FIRST}`), then cyber (`{OTHER}`)",
    )


async def test_it_is_tried_once_even_if_it_refuses_much_later(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run([refuses("bio"), use("t1"), refuses("cyber")])

    assert models(bench) == [FIRST, OTHER, OTHER]
    assert outcome.kind == "failed"


@pytest.mark.parametrize("fallback", ["", FIRST, "offline"])
async def test_nothing_is_sent_again_unchanged(tmp_path: Path, fallback: str) -> None:
    bench = make(tmp_path)
    bench.fallback = fallback

    outcome = await bench.run([refuses()])

    assert (outcome.kind, outcome.reason) == ("failed", "refused: bio")
    assert len(bench.requests) == 1


async def test_an_offline_agent_never_begins_to_spend(tmp_path: Path) -> None:
    bench = make(tmp_path)

    outcome = await bench.run([refuses()], model="offline")

    assert (outcome.kind, len(bench.requests)) == ("failed", 1)


class TestLastCall:
    async def test_it_is_made_by_the_other_model(self, tmp_path: Path) -> None:
        bench = make(tmp_path)

        outcome = await bench.run([refuses(), DONE], limits=AgentLimits(turns=1))

        assert models(bench) == [FIRST, OTHER]
        assert (outcome.kind, outcome.limit) == ("submitted", "turns")
        told = [
            text_of(last_user(each)).count("[last_call]") for each in bench.requests
        ]
        assert told == [1, 1]

    async def test_if_both_refuse_the_agent_ends_by_its_limit(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path)

        outcome = await bench.run(
            [refuses("bio"), refuses("cyber")], limits=AgentLimits(turns=1)
        )

        assert (outcome.kind, outcome.text, outcome.limit) == ("limit", "", "turns")
        assert "the last call failed: refused: bio (`claude-haiku" in outcome.reason
        assert "then cyber" in outcome.reason


class TestMoney:
    async def test_a_refusal_before_any_output_costs_nothing(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path, usd=1.0)
        used = Usage(input_tokens=500, output_tokens=1)

        await bench.run(
            [refuses(usage=used), reply(DONE, usage=Usage(100, 0, 0, 0, 10))]
        )

        first, second = (each.data for each in bench.events("model.answered"))
        assert (first["usd"], first["usage"]["input_tokens"]) == (0.0, 500)
        assert second["usd"] == pytest.approx((100 * 3 + 10 * 30) / 1e6)
        assert bench.budget.spent.usd == pytest.approx(second["usd"])
        assert bench.budget.spent.tokens == 501 + 110

    async def test_one_after_some_output_is_paid_for(self, tmp_path: Path) -> None:
        bench = make(tmp_path, usd=1.0)
        used = Usage(input_tokens=500, output_tokens=10)

        await bench.run([refuses("bio", "Well, ", usage=used), DONE])

        first = bench.events("model.answered")[0].data
        assert first["usd"] == pytest.approx((500 * 1 + 10 * 10) / 1e6)

    async def test_what_the_other_model_may_cost_is_reserved(
        self, tmp_path: Path
    ) -> None:
        bench = make(tmp_path, usd=10.0)

        await bench.run([refuses(), DONE])

        first, second = (
            each.data["reserved_usd"] for each in bench.events("model.requested")
        )
        assert second == pytest.approx(3 * first)

    async def test_a_model_that_is_too_dear_is_not_asked(self, tmp_path: Path) -> None:
        bench = make(tmp_path, usd=0.03)
        # The call fits at the price of the first model, not at that of the other.
        outcome = await bench.run([refuses()], max_output_tokens=1000)

        assert models(bench) == [FIRST]
        assert (outcome.kind, outcome.limit) == ("limit", "usd")


def policy(request: ModelRequest) -> Step:
    """What to say, told from the request alone."""
    said = sum(each["role"] == "assistant" for each in request.messages)
    if said == 0:
        return [think("mine"), use("t1", text="a")]
    if request.model == FIRST:
        return refuses()
    return [think("so"), use("t2", text="b")] if said == 1 else DONE


async def test_cut_after_any_event_the_same_bytes_go_to_the_same_model(
    tmp_path: Path,
) -> None:
    whole = make(tmp_path / "whole")
    await whole.run(policy)
    sent = [(each.model, each.body) for each in whole.requests]
    length = len(whole.events())
    assert [model for model, _ in sent] == [FIRST, FIRST, OTHER, OTHER]

    for seq in range(1, length + 1):
        bench = make(tmp_path / f"b{seq}")
        await bench.run(policy)
        bench.cut(seq)
        answered = len(bench.events("model.answered"))

        outcome = await bench.resume(policy)

        assert outcome.kind == "submitted", seq
        assert [(each.model, each.body) for each in bench.requests] == sent[answered:]
        assert len(bench.events("model.replaced")) == 1
        events = bench.events()
        asked = [at for at, each in enumerate(events) if each.kind == "model.requested"]
        for at, request in zip(reversed(asked), reversed(bench.requests), strict=False):
            assert transcript(events[: at + 1], "lead") == request.messages


async def test_cut_around_a_refused_last_call_the_other_model_makes_it_once(
    tmp_path: Path,
) -> None:
    def last(request: ModelRequest) -> Step:
        return refuses() if request.model == FIRST else DONE

    whole = make(tmp_path / "whole")
    await whole.run(last, limits=AgentLimits(turns=1))
    sent = [(each.model, each.body) for each in whole.requests]

    for seq in range(2, len(whole.events()) + 1):
        bench = make(tmp_path / f"b{seq}")
        await bench.run(last, limits=AgentLimits(turns=1))
        bench.cut(seq)
        answered = len(bench.events("model.answered"))

        outcome: Outcome = await bench.resume(last)

        assert (outcome.kind, outcome.limit) == ("submitted", "turns"), seq
        assert [(each.model, each.body) for each in bench.requests] == sent[answered:]


async def test_an_end_by_refusal_is_reached_again_without_a_call(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path)
    await bench.run([refuses("bio"), refuses("cyber")])
    bench.cut(len(bench.events()) - 1)

    outcome = await bench.resume([])

    assert outcome.reason == f"refused: bio (`{FIRST}`), then cyber (`{OTHER}`)"
    assert bench.requests == []


async def test_an_end_by_a_refused_last_call_is_told_alike_in_a_later_process(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path)
    limits = AgentLimits(turns=1)
    before = await bench.run([refuses("bio"), refuses("cyber")], limits=limits)
    bench.cut(len(bench.events()) - 1)

    outcome = await bench.resume([])

    assert "bio" in before.reason
    assert outcome == before


async def test_a_damaged_log_is_proved_by_what_each_model_was_sent(
    tmp_path: Path,
) -> None:
    bench = make(tmp_path)
    await bench.run([use("t1"), refuses(), [think("so"), use("t2")], use("t3"), DONE])
    bench.cut(len(bench.events()) - 3)

    rebuilt = bench.left(lost=1)

    assert rebuilt.state.edits == []
    assert rebuilt.state.form.model == OTHER


async def test_a_category_is_bounded(bench: AgentBench) -> None:
    outcome = await bench.run([refuses("x" * 500 + "\n\x1b[31m")])

    assert len(outcome.reason) < 100


async def test_call_of_a_refusal_is_not_run(tmp_path: Path) -> None:
    bench = make(tmp_path)

    await bench.run([refuses("bio", call("echo")), DONE])

    names = [event.data["name"] for event in bench.events("tool.started")]
    assert names == ["finish"]
