from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence

import pytest
from best_schedule import (
    KINDS,
    LONG_HAUL,
    NUMBERS,
    PRICES,
    best_usd,
    compared,
    generated,
    input_usd,
    steady,
)

from orchestrator.context.ladder import Clear, Compact, Nothing
from orchestrator.context.layout import Layout
from orchestrator.context.numbers import Numbers
from orchestrator.context.recorded import Conversation
from orchestrator.context.schedule import best_clear
from orchestrator.context.whatif import Policy, what_if
from orchestrator.models.pricing import Rates


def planned(turns: frozenset[int]) -> Policy:
    """Return the policy that clears before these requests and foresees it."""
    request = itertools.count()

    def decide(
        layout: Layout,
        numbers: Numbers,
        *,
        rates: Rates | None,
        bands: Sequence[Rates] = (),
        rent_usd: float,
    ) -> Nothing | Clear | Compact:
        at = next(request)
        clearing = best_clear(layout, keep_results=numbers.keep_results)
        if at in turns and clearing.calls:
            return Clear(clearing.calls, "plan", clearing.freed_tokens, 0.0, 0.0)
        return Nothing(predicts_clear=at + 1 in turns)

    return Policy(decide)


def tried(conversation: Conversation, name: str) -> float:
    """Return the cheapest bill of all schedules, each of them tried."""
    best = math.inf
    # The first clear that takes anything away comes with the fifth request; one behind
    # the last means that the end is foreseen.
    later = range(4, len(conversation.turns) + 1)
    for count in range(len(later) + 1):
        for turns in itertools.combinations(later, count):
            if any(after - before == 1 for before, after in itertools.pairwise(turns)):
                continue
            usd = input_usd(
                conversation,
                PRICES[name],
                policy=planned(frozenset(turns)),
                numbers=NUMBERS,
            )
            best = min(best, usd)
    return best


@pytest.mark.parametrize("name", ["3/15", "Haiku 5.5"])
def test_no_schedule_that_is_tried_is_cheaper_than_the_best(name: str) -> None:
    conversation = steady(
        turns=10, result_tokens=3000, said_tokens=100, first_tokens=2000
    )

    found = best_usd(conversation, PRICES[name], window=191_000)

    assert found == pytest.approx(tried(conversation, name), rel=1e-9)


def test_where_no_schedule_fits_there_is_no_best() -> None:
    conversation = steady(turns=5, result_tokens=90, said_tokens=900, first_tokens=500)

    assert best_usd(conversation, PRICES["3/15"], window=4000) == math.inf


def test_the_bill_is_near_the_best_in_hindsight() -> None:
    """Over 800 longer ones: `tests/benchmarks/hindsight.py`."""
    found = [
        compared(generated(seed, kind=kind, longest=70), PRICES[name])
        for seed, (kind, name) in enumerate(itertools.product(KINDS, PRICES))
    ]

    assert min(each.ours for each in found) >= 1 - 1e-9
    assert statistics.mean(each.ours for each in found) <= 1.1
    assert max(each.ours for each in found) <= 1.25


def test_the_long_haul_costs_next_to_the_best_and_stays_small() -> None:
    found = compared(LONG_HAUL, PRICES["3/15"])
    outcome = what_if(LONG_HAUL, NUMBERS, price=PRICES["3/15"])

    assert found.ours <= 1.02
    assert found.at_100k > 1.2
    assert outcome.usd is not None
    assert outcome.usd <= 3.5
    assert outcome.compactions == 0
