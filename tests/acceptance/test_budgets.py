"""A small budget, subagents that never stop, and an endpoint with its own account.

Whatever happens, what it bills never passes the limit, there is a report, and nobody
ends with empty hands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_endpoint import Answer, FakeEndpoint, body, raw
from ledger_policy import LedgerPolicy, lay_endless
from run_bench import Ended, RunBench

from orchestrator.api import Orchestrator
from orchestrator.clock import SystemClock
from orchestrator.events import Event
from orchestrator.inspection.run import RunView
from orchestrator.models.anthropic import AnthropicModel
from orchestrator.models.governor import Governor
from orchestrator.testing import FakeClock

USD = 0.10
PARTS = 8
MODELS = {"lead": "claude-sonnet-5-5", "subagents": "claude-haiku-5-5"}
LINES = {
    "prose": lambda at: f"Line {at} of the paper is about nothing that anybody wants.",
    "digits": lambda at: " ".join(str(at * n * 7919 % 10**7) for n in range(1, 12)),
    "hex": lambda at: "".join(f"{at * n * 7919 % 2**32:08x}" for n in range(1, 12)),
    "cjk": lambda at: (
        f"第{at}行的内容与任何限制都没有关系，读者可以放心地跳过这一行，不会错过什么。"
    ),
}


@asynccontextmanager
async def service(policy: LedgerPolicy) -> AsyncIterator[Governor]:
    """The model behind an endpoint of this policy; waits between tries take no time."""
    async with FakeEndpoint(policy) as endpoint:
        client = AnthropicModel(api_key="key", base_url=endpoint.url)
        model = Governor(client, FakeClock())
        try:
            yield model
        finally:
            await model.aclose()
        assert endpoint.violations == []


async def spend(
    folder: Path,
    policy: LedgerPolicy,
    kind: str = "prose",
    limits: dict[str, Any] | None = None,
) -> Ended:
    bench = RunBench(folder)
    lay_endless(bench.root, PARTS, LINES[kind])
    async with service(policy) as model:
        return await bench.run(
            model, clock=SystemClock(), model=MODELS, limits=limits or {"usd": USD}
        )


def lost(ended: Ended) -> list[Event]:
    """Tries that may have been billed, whether another one could be paid or not."""
    failed = [*ended.events("model.retried"), *ended.events("model.failed")]
    return [each for each in failed if each.data["begun"]]


def booked(ended: Ended) -> float:
    return sum(float(event.data["usd"]) for event in ended.events("model.answered"))


def assert_the_figures_are_those_of_the_bill(
    ended: Ended, policy: LedgerPolicy
) -> None:
    view = RunView()
    for event in ended.events():
        view.apply(event)
    found, bills = view.tokens, policy.bills
    assert found.cache_read == sum(bill.read for bill in bills)
    assert found.sent == sum(bill.sent for bill in bills)
    assert found.output == sum(bill.said for bill in bills)
    assert found.limited == policy.tokens
    assert booked(ended) == pytest.approx(policy.usd, abs=1e-6)
    assert sum(view.cost.parts.values()) == pytest.approx(policy.usd, abs=1e-5)


def assert_nobody_is_empty_handed(ended: Ended) -> None:
    assert ended.result.report
    assert len(ended.events("subagent.accepted")) == PARTS
    delivered = ended.events("subagent.ended")
    assert {event.data["outcome"] for event in delivered} == {"submitted"}
    assert len(delivered) == PARTS
    assert all(event.data["findings"]["items"] for event in delivered)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LINES)
async def test_ten_cents_are_never_passed_and_everybody_hands_in(
    tmp_path: Path, kind: str
) -> None:
    policy = LedgerPolicy(PARTS)

    ended = await spend(tmp_path, policy, kind)

    assert policy.usd <= USD
    assert policy.usd >= 0.4 * USD  # and it is not spared either
    assert_the_figures_are_those_of_the_bill(ended, policy)
    assert_nobody_is_empty_handed(ended)
    assert ended.result.state == "partial"
    assert ended.result.exit_code == 3


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 3])
async def test_who_waits_in_line_has_its_part_however_much_others_spend(
    tmp_path: Path, at_once: int
) -> None:
    policy = LedgerPolicy(PARTS)

    ended = await spend(tmp_path, policy, limits={"usd": USD, "concurrency": at_once})

    assert policy.usd <= USD
    assert_nobody_is_empty_handed(ended)


@pytest.mark.slow
async def test_tokens_are_never_passed_either(tmp_path: Path) -> None:
    policy = LedgerPolicy(PARTS)

    ended = await spend(tmp_path, policy, limits={"tokens": 250_000})

    assert 100_000 <= policy.tokens <= 250_000
    assert_nobody_is_empty_handed(ended)


@pytest.mark.slow
async def test_most_are_told_before_it_is_over_and_nobody_twice(
    tmp_path: Path,
) -> None:
    ended = await spend(tmp_path, LedgerPolicy(PARTS))

    told = [e for e in ended.events("text.added") if e.data["reason"] == "wrap_up"]
    agents = [event.agent for event in told]
    assert len(set(agents)) == len(agents) >= PARTS // 2
    assert {event.data["limit"] for event in told} == {"usd"}
    for event in told:
        [over] = ended.events("limit.reached", event.agent)
        assert event.seq < over.seq


@pytest.mark.slow
@pytest.mark.parametrize(
    "tells",
    [
        pytest.param(lambda _usage: None, id="tells no usage"),
        pytest.param(
            lambda usage: {name: min(count, 3) for name, count in usage.items()},
            id="tells too little",
        ),
    ],
)
async def test_what_the_endpoint_tells_does_not_make_it_pass_the_limit(
    tmp_path: Path, tells: Callable[[dict[str, int]], dict[str, int] | None]
) -> None:
    policy = LedgerPolicy(PARTS, tells=tells)

    # A reply of 4,096 tokens fits, and is booked as such where nothing is told of it.
    ended = await spend(tmp_path, policy, limits={"usd": 1.5 * USD})

    assert policy.usd <= 1.5 * USD
    assert ended.result.report
    delivered = [event.data["outcome"] for event in ended.events("subagent.ended")]
    assert delivered == ["submitted"] * len(ended.events("subagent.accepted"))
    assert len(delivered) >= PARTS // 2  # what is not told is booked as reserved


async def test_a_count_beyond_all_reason_is_booked_and_ends_the_run(
    tmp_path: Path,
) -> None:
    def tells(usage: dict[str, int]) -> dict[str, int]:
        return {**usage, "output_tokens": usage["output_tokens"] * 1000}

    policy = LedgerPolicy(PARTS, tells=tells)

    ended = await spend(tmp_path, policy)

    assert len(policy.bills) == 1  # it is what will be on the bill
    assert booked(ended) > USD
    assert ended.result.state == "partial"
    assert ended.result.report


@pytest.mark.slow
async def test_what_broke_off_is_billed_and_does_not_pass_the_limit(
    tmp_path: Path,
) -> None:
    policy = LedgerPolicy(PARTS, breaks=lambda arrival: arrival % 7 == 3)

    ended = await spend(tmp_path, policy)

    assert policy.usd <= USD
    assert lost(ended)
    assert ended.result.report
    assert len(ended.events("subagent.ended")) == PARTS


@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        pytest.param(body(b""), id="empty 200"),
        pytest.param(body(b"<html>", "text/html"), id="web page at 200"),
        pytest.param(body(b"<html>", "text/html", status=502), id="502"),
        pytest.param(body(b"<html>", "text/html", status=524), id="524"),
        pytest.param(raw(ending="gone"), id="reset"),
    ],
)
async def test_an_answer_that_is_lost_on_its_way_is_billed_all_the_same(
    tmp_path: Path, instead: Answer
) -> None:
    policy = LedgerPolicy(PARTS, breaks=lambda n: n > 9 and n % 4 == 0, instead=instead)

    ended = await spend(tmp_path, policy)

    assert policy.usd <= USD
    assert lost(ended)
    assert ended.result.report


@pytest.mark.slow
@pytest.mark.parametrize("after", [12, 25, 40])
async def test_stopped_and_gone_on_with_the_limit_holds_over_both(
    tmp_path: Path, after: int
) -> None:
    bench, policy = RunBench(tmp_path), LedgerPolicy(PARTS)
    lay_endless(bench.root, PARTS, LINES["prose"])
    scope, answers = anyio.CancelScope(), 0

    def on_event(event: Event) -> None:
        nonlocal answers
        answers += event.kind == "model.answered"
        if answers == after:
            scope.cancel()

    async with (
        service(policy) as model,
        Orchestrator(runs_dir=bench.runs, model=model, clock=SystemClock()) as here,
    ):
        task = bench.task(model=MODELS, limits={"usd": USD})
        with scope:
            await here.run(task, on_event=on_event)
        [run] = bench.runs.glob("2*")
        spent = policy.usd
        result = await here.resume(run)

    assert 0 < spent < policy.usd <= USD
    ended = Ended(result, model)
    assert result.report
    assert len({event.agent for event in ended.events("subagent.ended")}) == PARTS
