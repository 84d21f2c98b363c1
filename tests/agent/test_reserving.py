"""What is reserved is the most that a call can take, though it is partly estimated."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest
from agent_bench import DONE, PRICE, AgentBench, Echo, results_in
from ledger_policy import count_tokens

from orchestrator.agent.budget import Budget
from orchestrator.agent.counting import counted
from orchestrator.agent.incoming import ResultSizes
from orchestrator.agent.reserving import (
    LEAST_OUTPUT_TOKENS,
    first_tokens,
    hand_in_tokens,
    most_tokens,
)
from orchestrator.agent.spec import MAX_HAND_IN_TOKENS
from orchestrator.context.shown import Shown
from orchestrator.context.tokens import estimate
from orchestrator.messages import text_block
from orchestrator.models.base import Usage
from orchestrator.spec.limits import AgentLimits
from orchestrator.testing import call, reply

RANDOM = random.Random(5)
TEXTS = {
    "prose": "Nothing that is said here is of any use to anybody at all. " * 40,
    "chinese": "这一段话没有任何用处，只是为了测试。" * 100,
    "korean": "이 글은 아무에게도 쓸모가 없습니다. " * 100,
    "digits": " ".join(str(RANDOM.randrange(10**9)) for _ in range(400)),
    "hex": " ".join(f"{RANDOM.randrange(2**64):016x}" for _ in range(200)),
    "base64": base64.b64encode(RANDOM.randbytes(3000)).decode(),
    "code": "def f(x, y):\n    return {'a': [x[i] + y for i in range(10)]}\n" * 60,
    "table": "| 12 | 3.5 | a-1 |\n" * 200,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_a_dear_way_of_counting_stays_below_the_margin(kind: str) -> None:
    text = TEXTS[kind]

    assert count_tokens(text) <= first_tokens(estimate(text))


def transcript(*, known: int, added: int, dearness: float = 1.0) -> Shown:
    made = Shown()
    made.append("user", [text_block("x")], tokens=9)
    made.reported(known)
    made.dearness = dearness
    made.append("user", [text_block("y")], tokens=added)
    return made


def test_what_the_service_counted_needs_no_margin() -> None:
    assert most_tokens(transcript(known=50_000, added=0)) < 50_050
    assert most_tokens(transcript(known=50_000, added=1000)) >= 51_500


def test_text_that_proved_dear_is_reserved_dearer() -> None:
    plain, dear = (
        most_tokens(transcript(known=5000, added=1000, dearness=each))
        for each in (1.0, 2.5)
    )

    assert plain < 7000 < 8000 <= dear


def test_dearness_is_learnt_from_what_the_service_counts() -> None:
    made = Shown()
    made.append("user", [text_block("x")], tokens=1000)

    made.measured(2200)
    made.reported(2200)
    made.append("user", [text_block("y")], tokens=1000)
    made.measured(2300)

    assert made.dearness == pytest.approx(2.2)


def test_a_small_message_or_a_wild_count_teaches_little() -> None:
    made = Shown()
    made.append("user", [text_block("x")], tokens=20)
    made.measured(900)
    assert made.dearness == 1

    made.append("user", [text_block("x")], tokens=1000)
    made.measured(10**9)
    assert made.dearness == 4


@pytest.mark.parametrize(
    ("deliverable", "kept"),
    [
        (100, 637),
        (1200, 2012),
        (4000, MAX_HAND_IN_TOKENS),
        (50_000, MAX_HAND_IN_TOKENS),
    ],
)
def test_what_is_kept_for_a_hand_in_follows_its_size(
    deliverable: int, kept: int
) -> None:
    assert hand_in_tokens(deliverable) == kept


async def test_a_small_budget_keeps_a_small_part_of_it_for_a_last_reply(
    tmp_path: Path,
) -> None:
    held: list[int] = []
    bench = AgentBench(tmp_path, price=PRICE)
    for usd in (0.05, 5.0):
        bench.budget = Budget(usd)
        agent = bench.agent(bench.model, bench.spec(max_output_tokens=8000))
        agent.caller.hold(agent.state, expected_tokens=0)
        held.append(bench.budget.held.tokens)

    assert held[1] - held[0] == MAX_HAND_IN_TOKENS - LEAST_OUTPUT_TOKENS


async def test_results_are_cut_shorter_where_the_whole_cannot_be_paid_for(
    tmp_path: Path,
) -> None:
    long = "Nothing that is said here is of use. " * 2000
    usage = Usage(input_tokens=1000, output_tokens=20)
    bench, sizes = AgentBench(tmp_path, [Echo(lambda _text: long)]), []
    for tokens in (None, 9000):
        bench.budget = Budget(tokens=tokens)
        await bench.run([reply(call("echo"), usage=usage), DONE])
        [shown] = results_in(bench.requests[1]).values()
        assert "art_" in shown
        sizes.append(estimate(shown))

    assert 3500 < sizes[0] < 4300
    assert 800 < sizes[1] < 2300


async def test_calls_beyond_what_can_be_paid_for_are_not_run(tmp_path: Path) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo], tokens=12_000)
    usage = Usage(input_tokens=1000, output_tokens=20)
    many = [call("echo", text=str(n)) for n in range(40)]

    outcome = await bench.run([reply(*many, usage=usage), DONE])

    assert outcome.kind == "submitted"
    shown = list(results_in(bench.requests[1]).values())
    assert 0 < len(echo.calls) < 40
    assert len(shown) == 40
    assert [text.startswith("Not run") for text in shown] == [
        place >= len(echo.calls) for place in range(40)
    ]


async def test_where_no_result_can_be_paid_for_only_the_last_call_is_left(
    tmp_path: Path,
) -> None:
    echo = Echo()
    bench = AgentBench(tmp_path, [echo])
    usage = Usage(input_tokens=1000, output_tokens=1024)

    outcome = await bench.run(
        [reply(call("echo"), usage=usage), DONE], limits=AgentLimits(tokens=6000)
    )

    assert (outcome.kind, outcome.limit) == ("submitted", "tokens")
    assert echo.calls == []


def test_hand_ins_and_notes_are_never_held_back() -> None:
    sizes = ResultSizes(8000, 4000)

    assert [sizes.of(name) for name in ("finish", "update_notes", "delegate")] == [
        0
    ] * 3
    assert sizes.of("read_file") > sizes.of("grep") > 4000
    assert sizes.part(0.001).of("grep") >= 200


TALK = [{"type": "text", "text": "Nothing that is said here is of any use. " * 200}]


@pytest.mark.parametrize(
    ("told", "content", "booked"),
    [
        pytest.param(
            Usage(input_tokens=4000, output_tokens=900), TALK, (4000, 900), id="right"
        ),
        pytest.param(
            Usage(input_tokens=1100, output_tokens=500), TALK, (1100, 500), id="low"
        ),
        pytest.param(
            Usage(input_tokens=90, output_tokens=900), TALK, (5000, 900), id="input"
        ),
        pytest.param(
            Usage(cache_read_tokens=4000, output_tokens=900),
            TALK,
            (4000, 900),
            id="all from the cache",
        ),
        pytest.param(
            Usage(input_tokens=9**9, output_tokens=9**9), [], (9**9, 9**9), id="absurd"
        ),
    ],
)
def test_counts_that_are_too_low_to_be_true_do_not_count(
    told: Usage, content: list[dict[str, Any]], booked: tuple[int, int]
) -> None:
    found = counted(told, content, sent_tokens=5000, count=estimate)

    assert (found.context_tokens, found.output_tokens) == booked


def test_a_long_answer_that_is_told_as_nothing_counts_as_estimated() -> None:
    told = Usage(input_tokens=4000, output_tokens=1)

    found = counted(told, TALK, sent_tokens=5000, count=estimate)

    assert found.output_tokens >= estimate(TALK[0]["text"])
