from __future__ import annotations

from dataclasses import replace

import pytest
from best_schedule import NUMBERS, PRICES, generated, steady
from context_samples import numbers_of

from orchestrator.context.outcome import Visibility
from orchestrator.context.recorded import Conversation, Result, Turn
from orchestrator.context.whatif import NEVER, Leaves, clear_at, what_if
from orchestrator.models.base import Usage
from orchestrator.models.pricing import Price, Rates

PRICE = PRICES["3/15"]
FOUR = steady(turns=4, result_tokens=1000, said_tokens=100, first_tokens=2000)
SMALL = numbers_of(
    window_tokens=20_000,
    output_tokens=1000,
    soft_tokens=12_000,
    hard_tokens=15_000,
    tail_tokens=5000,
    summary_tokens=2000,
)


def test_without_edits_each_request_reads_the_one_before_it() -> None:
    found = what_if(FOUR, NUMBERS, price=PRICE, policy=NEVER)

    assert found.curve == (2000, 3100, 4200, 5300, 6400)
    assert [each.usage.cache_read_tokens for each in found.sent] == [
        0, 2000, 3100, 4200, 5300,
    ]  # fmt: skip
    assert [each.usage.cache_write_5m_tokens for each in found.sent][1:] == [1100] * 4
    assert found.peak_tokens == 6400
    assert found.input_tokens == 21_000
    assert found.cache_share == pytest.approx(14_600 / 21_000)
    assert found.usd_by == {
        "cache_write": pytest.approx(6400 * 3.75 / 1e6),
        "cache_read": pytest.approx(14_600 * 0.3 / 1e6),
        "output": pytest.approx(900 * 15 / 1e6),
    }
    assert found.usd == pytest.approx(sum(found.usd_by.values()))


def test_a_clear_writes_again_what_stands_behind_the_first_that_goes() -> None:
    found = what_if(FOUR, NUMBERS, price=PRICE, policy=clear_at(5000, keep_results=2))

    assert [each.done for each in found.sent] == [
        "",
        "",
        "",
        "clear: mark",
        "clear: mark",
    ]
    at = found.sent[3].usage
    assert at.context_tokens == 5300 - 910
    assert at.cache_read_tokens == 2000
    assert found.clears == 2


def test_the_newest_block_is_left_unwritten_before_a_clear_that_is_foreseen() -> None:
    found = what_if(
        steady(turns=12, result_tokens=3000, said_tokens=100, first_tokens=2000),
        NUMBERS,
        price=PRICE,
    )

    at = next(each.turn for each in found.sent if each.done == "clear: rent")
    before = found.sent[at - 2].usage
    assert before.input_tokens == 3100
    assert before.cache_write_5m_tokens == 0
    assert found.sent[at - 1].usage.input_tokens == 0


def test_a_clear_that_was_foreseen_and_does_not_come_is_written_late() -> None:
    turns = steady(
        turns=12, result_tokens=3000, said_tokens=100, first_tokens=2000
    ).turns
    first = what_if(Conversation(2000, turns), NUMBERS, price=PRICE)
    at = next(each.turn for each in first.sent if each.done == "clear: rent")
    numbers = replace(NUMBERS, every_turns=at - 1)

    found = what_if(Conversation(2000, turns), numbers, price=PRICE)

    summary = next(each for each in found.sent if each.done == "summary")
    assert summary.turn == at
    assert summary.usage.cache_write_5m_tokens == 2 * 3100 + 500


def test_a_cache_that_has_run_out_is_written_again() -> None:
    turns = [replace(each, waited_s=10.0) for each in FOUR.turns]
    turns[2] = replace(turns[2], waited_s=301.0)

    found = what_if(
        Conversation(2000, tuple(turns)), NUMBERS, price=PRICE, lifetime_s=300
    )

    assert [each.usage.cache_read_tokens for each in found.sent] == [
        0, 2000, 0, 4200, 5300,
    ]  # fmt: skip


def test_a_compaction_costs_a_request_that_reads_the_cache() -> None:
    pinned = [
        replace(turn, results=tuple(replace(r, label="critical") for r in turn.results))
        for turn in steady(
            turns=12, result_tokens=2000, said_tokens=100, first_tokens=2000
        ).turns
    ]

    found = what_if(Conversation(2000, tuple(pinned)), SMALL, price=PRICE)

    assert found.compactions == 2
    asked = next(each for each in found.sent if each.done == "summary")
    after = next(each for each in found.sent if each.done == "compact: hard")
    assert asked.turn == after.turn == 8
    # Seven steps, of which two stay; the summary of the rest is as long as allowed.
    assert asked.usage == Usage(0, 2100 + 500, 0, 14_600, 2000)
    assert after.tokens == 2000 + 2000 + 2 * 2100
    assert after.usage.cache_read_tokens == 2000
    assert not found.too_long
    assert len(found.curve) == 13


def test_every_so_many_turns_counts_from_the_compaction_before() -> None:
    long = steady(turns=14, result_tokens=1000, said_tokens=100, first_tokens=2000)
    found = what_if(long, replace(SMALL, every_turns=5, tail_steps=1), price=PRICE)

    at = [each.turn for each in found.sent if each.done.startswith("compact")]
    assert at == [6, 11]
    assert found.dropped == ((6, 4), (11, 9))


def test_what_stands_in_the_place_of_what_goes_is_as_long_as_told() -> None:
    long = steady(turns=8, result_tokens=1000, said_tokens=100, first_tokens=2000)
    leaves = Leaves(summary_share=0.1, beside_tokens=333, stub_tokens=50)

    cleared = what_if(
        long, NUMBERS, price=PRICE, policy=clear_at(5000, keep_results=2), leaves=leaves
    )
    compacted = what_if(
        long,
        replace(SMALL, every_turns=5, tail_steps=1),
        price=PRICE,
        leaves=leaves,
    )

    assert cleared.curve[3] == 5300 - 950
    assert cleared.cleared == {f"c{n}.1": n + 3 for n in range(1, 7)}
    assert compacted.curve[5] == 2000 + 440 + 333 + 1100


def test_decisions_go_by_estimates_and_requests_by_what_was_counted() -> None:
    counted = steady(turns=14, result_tokens=1000, said_tokens=2000, first_tokens=2000)
    dearer = [
        replace(
            turn,
            results=tuple(replace(r, estimated_tokens=3000) for r in turn.results),
            estimated_tokens=5000,
        )
        for turn in counted.turns
    ]

    plain = what_if(counted, NUMBERS, price=PRICE)
    found = what_if(replace(counted, turns=tuple(dearer)), NUMBERS, price=PRICE)

    assert plain.clears == 0
    assert [each.turn for each in found.sent if each.done] == [12]
    assert found.curve[:11] == plain.curve[:11]
    assert found.curve[11] == plain.curve[11] - 8 * (1000 - 90)


def test_what_others_had_cached_is_read_by_the_first_request() -> None:
    found = what_if(
        replace(FOUR, cached_tokens=1500), NUMBERS, price=PRICE, policy=NEVER
    )

    first = found.sent[0].usage
    assert (first.cache_read_tokens, first.cache_write_5m_tokens) == (1500, 500)


def test_a_window_of_steps_is_never_exceeded() -> None:
    numbers = numbers_of(policy="window", last_steps=4)
    conversation = steady(
        turns=20, result_tokens=1000, said_tokens=100, first_tokens=2000
    )

    found = what_if(conversation, numbers, price=PRICE)

    assert found.peak_tokens == 2000 + 100 + 4 * 1100
    assert found.compactions == 8
    assert "summary" not in {each.done for each in found.sent}


def test_a_request_that_would_be_refused_is_named() -> None:
    found = what_if(
        steady(turns=9, result_tokens=3000, said_tokens=100, first_tokens=2000),
        SMALL,
        price=PRICE,
        policy=NEVER,
    )

    assert found.too_long == (7, 8, 9, 10)


def test_without_a_price_there_is_no_bill() -> None:
    found = what_if(FOUR, NUMBERS, price=None)

    assert (found.usd, found.usd_by) == (None, {})


def test_an_empty_conversation_has_no_requests() -> None:
    found = what_if(Conversation(10, ()), NUMBERS, price=PRICE)

    assert (found.curve, found.peak_tokens, found.cache_share) == ((), 0, 0.0)


FREE = Price("offline", (Rates(0, 0, 0, 0, 0),), "")


def with_facts() -> Conversation:
    """Six reads of which the first two hold facts; the stub keeps one of them."""
    turns = [
        Turn(
            100,
            (
                Result(
                    f"c{n}",
                    2500,
                    60,
                    text=f"page {n} code-{n} 金额 {n}00 元",
                    stub=f"[cleared] code-{n}",
                ),
            ),
            text=f"reading {n}",
        )
        for n in range(1, 9)
    ]
    return Conversation(1000, tuple(turns), "Never open secrets/.")


def test_facts_are_followed_through_clears() -> None:
    facts = ["secrets/", "code-1", "金额 100 元", "reading 2", "code-8", "nowhere"]

    found = what_if(with_facts(), SMALL, price=FREE, facts=facts).facts

    everywhere = tuple(range(2, 9))
    assert found["secrets/"] == Visibility((1, *everywhere), True, True)
    assert found["code-1"] == Visibility(everywhere, True, True)
    assert found["金额 100 元"] == Visibility((2, 3, 4, 5, 6), False, True)
    assert found["reading 2"].turns == tuple(range(3, 9))
    assert found["code-8"] == found["nowhere"] == Visibility((), False, False)


def test_what_is_cleared_without_a_reference_is_lost() -> None:
    found = what_if(
        with_facts(),
        SMALL,
        price=FREE,
        facts=["金额 100 元"],
        policy=clear_at(9000, keep_results=3),
    )

    assert found.facts["金额 100 元"] == Visibility((2, 3, 4), False, False)


def test_a_summary_is_read_for_facts_and_measured() -> None:
    numbers = replace(SMALL, every_turns=4, soft_tokens=None, hard_tokens=None)

    def summary_of(text: str) -> str:
        assert "code-1" in text
        return "kept: code-1"

    found = what_if(
        with_facts(),
        numbers,
        price=FREE,
        facts=["code-1", "金额 100 元"],
        summary_of=summary_of,
    )

    assert found.compactions == 1
    assert found.facts["code-1"].at_end
    assert found.facts["金额 100 元"] == Visibility((2, 3, 4), False, True)


def test_superseded_results_are_told_to_the_policy() -> None:
    seen = []

    def watch(layout, numbers, **_):  # type: ignore[no-untyped-def]
        seen.append([each.call for each in layout.items if each.is_superseded])
        return NEVER.decide(layout, numbers, rates=None, rent_usd=0.0)

    turns = list(FOUR.turns)
    again = replace(turns[2].results[0], supersedes=("c1.1",))
    turns[2] = replace(turns[2], results=(again,))

    what_if(
        Conversation(2000, tuple(turns)),
        NUMBERS,
        price=PRICE,
        policy=replace(NEVER, decide=watch),
    )

    assert seen == [[], [], [], ["c1.1"], ["c1.1"]]


@pytest.mark.parametrize("seed", range(6))
def test_each_token_is_counted_once(seed: int) -> None:
    found = what_if(generated(seed, longest=40), NUMBERS, price=PRICE)

    for each in found.sent:
        usage = each.usage
        assert min(usage.input_tokens, usage.cache_write_5m_tokens) >= 0
        assert usage.cache_read_tokens >= 0
